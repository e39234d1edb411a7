// SPDX-License-Identifier: MIT
/*
 * A library for LD_PRELOAD: congestion control and MPTCP scheduler on every stream socket that a
 * program opens or accepts, as `flow with` says. A name that the kernel refuses makes the call fail
 * and is told on standard error, so that no program runs with something else than was asked for.
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

static int set_congestion(int fd)
{
	return set(fd, IPPROTO_TCP, TCP_CONGESTION, "congestion control",
		   getenv(FLOW_WITH_CONGESTION));
}

static int set_scheduler(int fd)
{
	if (option(fd, SO_PROTOCOL) != IPPROTO_MPTCP)
		return 0;
	return set(fd, SOL_MPTCP, FLOW_MPTCP_SCHEDULER, "scheduler", getenv(FLOW_WITH_SCHEDULER));
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

/* An accepted MPTCP socket has its listener's scheduler, and its congestion control for one subflow only. */
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
