// SPDX-License-Identifier: MIT
/* Sockets: create them, set them up, and format their addresses. */
#include "net.h"
#include "options.h"
#include "uapi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct address {
	struct sockaddr_storage ss;
	socklen_t len;
};

static struct address resolve(const char *option, const char *text, __u64 port)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };
	struct address address = { 0 };
	struct addrinfo *found;

	if (getaddrinfo(text, NULL, &hints, &found))
		die(EXIT_USAGE, "--%s: '%s' is not a numeric IPv4 or IPv6 address", option, text);
	memcpy(&address.ss, found->ai_addr, found->ai_addrlen);
	address.len = found->ai_addrlen;
	freeaddrinfo(found);
	if (address.ss.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&address.ss)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)&address.ss)->sin_port = htons(port);
	return address;
}

/* Report invalid addresses before anything is opened. */
void net_check(const struct options *opt)
{
	sa_family_t bind = AF_UNSPEC;

	if (opt->bind)
		bind = resolve("bind", opt->bind, 0).ss.ss_family;
	if (opt->connect && resolve("connect", opt->connect, 0).ss.ss_family != bind && opt->bind)
		die(EXIT_USAGE, "--bind: '%s' and '%s' are of different families", opt->bind,
		    opt->connect);
}

static void set(int fd, int level, int name, const char *option, int value)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)))
		die(EXIT_RUNTIME, "%s %d was refused: %s", option, value, strerror(errno));
}

static void set_congestion(const struct options *opt, int fd)
{
	const char *name = opt->congestion;

	if (name && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, strlen(name)))
		die(EXIT_RUNTIME, "--congestion: '%s' was refused: %s", name, strerror(errno));
}

/* Set before the handshake, because accepted sockets inherit the listener's scheduler. */
static void set_scheduler(const struct options *opt, int fd)
{
	const char *name = opt->scheduler;

	if (name && setsockopt(fd, SOL_MPTCP, FLOW_MPTCP_SCHEDULER, name, strlen(name)))
		die(EXIT_RUNTIME, "--scheduler: '%s' was refused: %s", name, strerror(errno));
}

/* Buffer sizes have to be set before the handshake, which fixes the window scale. */
static void set_up(const struct options *opt, int fd)
{
	if (opt->udp)
		return;
	if (opt->rcvbuf)
		set(fd, SOL_SOCKET, SO_RCVBUF, "--rcvbuf", opt->rcvbuf);
	if (opt->sndbuf)
		set(fd, SOL_SOCKET, SO_SNDBUF, "--sndbuf", opt->sndbuf);
	set_congestion(opt, fd);
	set_scheduler(opt, fd);
}

static int try_socket(const struct options *opt, int family)
{
	if (opt->udp)
		return socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);
	return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		      opt->mptcp ? IPPROTO_MPTCP : IPPROTO_TCP);
}

static int open_socket(const struct options *opt, int family)
{
	int fd = try_socket(opt, family);

	if (fd < 0)
		die(EXIT_RUNTIME, "cannot open %s socket: %s", opt->mptcp ? "an MPTCP" : "a TCP",
		    strerror(errno));
	set_up(opt, fd);
	return fd;
}

/* Without --bind: one socket for IPv6 and IPv4, or IPv4 alone on a kernel without IPv6. */
static struct address any_address(const struct options *opt)
{
	int fd = try_socket(opt, AF_INET6);

	if (fd < 0)
		return resolve("bind", "0.0.0.0", opt->port);
	close(fd);
	return resolve("bind", "::", opt->port);
}

static void tell_local(int fd, sa_family_t family)
{
	if (family == AF_INET6)
		set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, "IPV6_RECVPKTINFO", 1);
	else
		set(fd, IPPROTO_IP, IP_PKTINFO, "IP_PKTINFO", 1);
}

int net_listen(const struct options *opt)
{
	struct address address = opt->bind ? resolve("bind", opt->bind, opt->port)
					   : any_address(opt);
	int fd = open_socket(opt, address.ss.ss_family);

	set(fd, SOL_SOCKET, SO_REUSEADDR, "SO_REUSEADDR", 1);
	if (!opt->bind && address.ss.ss_family == AF_INET6)
		set(fd, IPPROTO_IPV6, IPV6_V6ONLY, "IPV6_V6ONLY", 0);
	if (opt->udp)
		tell_local(fd, address.ss.ss_family);
	if (bind(fd, (struct sockaddr *)&address.ss, address.len) || (!opt->udp && listen(fd, SOMAXCONN)))
		die(EXIT_RUNTIME, "cannot listen on %s port %llu: %s",
		    opt->bind ? opt->bind : "any address,", opt->port, strerror(errno));
	return fd;
}

/* Start the handshake. Return the socket, with errno 0 or the error of connect(). */
int net_connect(const struct options *opt)
{
	struct address remote = resolve("connect", opt->connect, opt->port);
	int fd = open_socket(opt, remote.ss.ss_family);

	if (opt->bind) {
		struct address local = resolve("bind", opt->bind, 0);

		if (bind(fd, (struct sockaddr *)&local.ss, local.len))
			die(EXIT_RUNTIME, "--bind: cannot use '%s': %s", opt->bind,
			    strerror(errno));
	}
	errno = 0;
	if (connect(fd, (struct sockaddr *)&remote.ss, remote.len) && errno == EINPROGRESS)
		errno = 0;
	return fd;
}

static void take_local(struct cmsghdr *c, struct net_datagram *from)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&from->local;
	struct sockaddr_in *in = (struct sockaddr_in *)&from->local;

	from->local.ss_family = from->peer.ss_family;
	if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO)
		in6->sin6_addr = ((struct in6_pktinfo *)CMSG_DATA(c))->ipi6_addr;
	else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO)
		in->sin_addr = ((struct in_pktinfo *)CMSG_DATA(c))->ipi_addr;
}

ssize_t net_receive(int fd, void *buf, size_t len, struct net_datagram *from)
{
	union {
		struct cmsghdr align;
		char bytes[256];
	} control;
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = {
		.msg_name = &from->peer,
		.msg_namelen = sizeof(from->peer),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;

	memset(from, 0, sizeof(*from));
	n = recvmsg(fd, &msg, 0);
	from->len = msg.msg_namelen;
	for (struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
		take_local(c, from);
	return n;
}

/* A UDP socket for one peer, bound to the address to which the peer sent. */
int net_answer(const struct options *opt, const struct net_datagram *from)
{
	struct sockaddr_storage local = from->local;
	int fd = open_socket(opt, local.ss_family);

	/* The port has the same place in both kinds of address. */
	((struct sockaddr_in *)&local)->sin_port = htons(opt->port);
	set(fd, SOL_SOCKET, SO_REUSEADDR, "SO_REUSEADDR", 1);
	if (bind(fd, (struct sockaddr *)&local, from->len) ||
	    connect(fd, (const struct sockaddr *)&from->peer, from->len))
		die(EXIT_RUNTIME, "cannot answer a datagram: %s", strerror(errno));
	return fd;
}

/* Disable Nagle's algorithm. UDP does not have it. */
void net_at_once(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* A TCP socket inherits this from the listener, an MPTCP socket only for its first subflow. */
void net_accepted(const struct options *opt, int fd)
{
	set_congestion(opt, fd);
}

bool net_is_mptcp(int fd)
{
	int protocol = 0;
	socklen_t len = sizeof(protocol);

	return !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) &&
	       protocol == IPPROTO_MPTCP;
}

/* name stays empty if the socket does not report it. */
void net_congestion(int fd, char *name, socklen_t len)
{
	memset(name, 0, len);
	len--;
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len))
		name[0] = '\0';
}

/* name stays empty on TCP, and on kernels that do not report it. */
void net_scheduler(int fd, char *name, socklen_t len)
{
	memset(name, 0, len);
	len--;
	if (getsockopt(fd, SOL_MPTCP, FLOW_MPTCP_SCHEDULER, name, &len))
		name[0] = '\0';
}

static void format6(const struct sockaddr_in6 *in6, char out[ADDRESS_TEXT])
{
	char text[INET6_ADDRSTRLEN];
	char scope[IF_NAMESIZE + 1] = "";

	inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
	if (in6->sin6_scope_id && if_indextoname(in6->sin6_scope_id, scope + 1))
		scope[0] = '%';
	snprintf(out, ADDRESS_TEXT, "[%s%s]:%u", text, scope, ntohs(in6->sin6_port));
}

/* An IPv4 peer of an IPv6 socket is formatted as IPv4, so that both ends report the same. */
void net_format(const struct sockaddr_storage *ss, char out[ADDRESS_TEXT])
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;
	const struct sockaddr_in *in = (const struct sockaddr_in *)ss;
	struct in_addr ipv4 = in->sin_addr;
	char text[INET_ADDRSTRLEN];

	if (ss->ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		format6(in6, out);
		return;
	}
	if (ss->ss_family == AF_INET6)
		memcpy(&ipv4, in6->sin6_addr.s6_addr + 12, sizeof(ipv4));
	inet_ntop(AF_INET, &ipv4, text, sizeof(text));
	/* The port has the same place in both kinds of address. */
	snprintf(out, ADDRESS_TEXT, "%s:%u", text, ntohs(in->sin_port));
}
