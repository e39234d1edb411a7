// SPDX-License-Identifier: MIT
/*
 * A library for LD_PRELOAD: it sets the congestion control and the MPTCP scheduler of every
 * stream socket that a program opens or accepts, as given to `flow with`. If the kernel refuses a
 * name, the call fails and the error is reported on stderr, so that no program runs with another
 * one than requested.
 */
#include "uapi.h"
#include "with.h"

#include <dlfcn.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NEXT(function) ((typeof(&(function)))dlsym(RTLD_NEXT, #function))

static int option(int fd, int name)
{
	socklen_t len = sizeof(int);
	int value = 0;

	return getsockopt(fd, SOL_SOCKET, name, &value, &len) ? -1 : value;
}

static int is_stream(int fd)
{
	int domain = option(fd, SO_DOMAIN);

	return (domain == AF_INET || domain == AF_INET6) && option(fd, SO_TYPE) == SOCK_STREAM;
}

static int set(int fd, int level, int number, const char *what, const char *name)
{
	if (!name || !setsockopt(fd, level, number, name, strlen(name)))
		return 0;
	fprintf(stderr, "flow: the %s '%s' was refused: %s\n", what, name, strerror(errno));
	return -1;
}

/* Copies of the settings of `flow with`, because programs may clear their environment (vsftpd does). */
static const char *congestion, *scheduler;
static int any_address;

static const char *told(const char *name)
{
	const char *value = getenv(name);

	return value ? strdup(value) : NULL;
}

__attribute__((constructor)) static void listen_to_flow(void)
{
	congestion = told(FLOW_WITH_CONGESTION);
	scheduler = told(FLOW_WITH_SCHEDULER);
	any_address = getenv(FLOW_WITH_ANY_ADDRESS) != NULL;
}

static int set_congestion(int fd)
{
	return set(fd, IPPROTO_TCP, TCP_CONGESTION, "congestion control", congestion);
}

static int set_scheduler(int fd)
{
	if (option(fd, SO_PROTOCOL) != IPPROTO_MPTCP)
		return 0;
	return set(fd, SOL_MPTCP, FLOW_MPTCP_SCHEDULER, "scheduler", scheduler);
}

static int refused(int fd)
{
	int error = errno;

	close(fd);
	errno = error;
	return -1;
}

int socket(int domain, int type, int protocol)
{
	int fd = NEXT(socket)(domain, type, protocol);

	if (fd < 0 || !is_stream(fd))
		return fd;
	return set_congestion(fd) || set_scheduler(fd) ? refused(fd) : fd;
}

static void forget_address(struct sockaddr_storage *ss)
{
	if (ss->ss_family == AF_INET6)
		((struct sockaddr_in6 *)ss)->sin6_addr = in6addr_any;
	else
		((struct sockaddr_in *)ss)->sin_addr.s_addr = INADDR_ANY;
}

/*
 * A further subflow to another address of the host needs a socket that listens there. A program that listens at one
 * address only (vsftpd, for its data connections) would get no such subflow.
 */
int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_storage ss = { 0 };

	if (!any_address || len > sizeof(ss) || !is_stream(fd) || option(fd, SO_PROTOCOL) != IPPROTO_MPTCP)
		return NEXT(bind)(fd, addr, len);
	memcpy(&ss, addr, len);
	forget_address(&ss);
	return NEXT(bind)(fd, (struct sockaddr *)&ss, len);
}

/*
 * MPTCP sockets refuse SO_OOBINLINE, and programs that set it (vsftpd) give up. MPTCP has no urgent data, so it is
 * safe to report success.
 */
int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (level == SOL_SOCKET && name == SO_OOBINLINE && option(fd, SO_PROTOCOL) == IPPROTO_MPTCP)
		return 0;
	return NEXT(setsockopt)(fd, level, name, value, len);
}

/* An accepted MPTCP socket inherits the scheduler, but the congestion control for one subflow only. */
static int accepted(int fd)
{
	if (fd < 0 || !is_stream(fd))
		return fd;
	return set_congestion(fd) ? refused(fd) : fd;
}

int accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	return accepted(NEXT(accept)(fd, addr, len));
}

int accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	return accepted(NEXT(accept4)(fd, addr, len, flags));
}
