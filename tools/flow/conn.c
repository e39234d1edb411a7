// SPDX-License-Identifier: MIT
/* The life of a connection: created, handshake done, passed to its mode, sampled, finished. */
#include "conn.h"
#include "loop.h"
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define GREET_AGAIN_NS (200 * NS_PER_MS)

static struct conn *conn_new(struct flow *flow, int fd, __u64 number)
{
	struct conn **link = &flow->conns;
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		die(EXIT_RUNTIME, "no memory for another connection");
	c->flow = flow;
	c->fd = fd;
	c->number = number;
	while (*link)
		link = &(*link)->next;
	*link = c;
	return c;
}

static __u64 sooner(__u64 one, __u64 other)
{
	return !one || (other && other < one) ? other : one;
}

/* The instant at which to call conn_alarm(); 0 = never. */
static __u64 alarm_at(const struct conn *c)
{
	switch (c->state) {
	case CONN_CONNECTING:
		return sooner(c->connect_at + c->flow->opt->connect_timeout_ns, c->greet_at);
	case CONN_HEADER:
	case CONN_DONE:
		return 0;
	default:
		return sooner(c->sample_at, c->wire.mode->alarm_at(c));
	}
}

void conn_set_alarm(struct conn *c)
{
	alarms_set(&c->flow->alarms, c, alarm_at(c));
}

static const char *error_word(int error)
{
	switch (error) {
	case ECONNRESET:
	case EPIPE:
	case ENOTCONN:	/* an MPTCP socket whose last subflow is gone */
		return "reset";
	case ECONNREFUSED:
		return "refused";
	case ETIMEDOUT:
		return "timeout";
	case ENETUNREACH:
	case EHOSTUNREACH:
		return "unreachable";
	default:
		return strerrorname_np(error);
	}
}

void conn_fail(struct conn *c, int error)
{
	c->error = error;
	conn_finish(c, error_word(error));
}

/* Return the socket's error. This clears it. */
static int socket_error(const struct conn *c)
{
	int error = 0;
	socklen_t len = sizeof(error);

	return getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) ? errno : error;
}

/* Closed before the end: by the peer, or because the kernel gave up the connection. */
void conn_closed(struct conn *c)
{
	int error = socket_error(c);

	if (error)
		conn_fail(c, error);
	else
		conn_finish(c, "closed");
}

void conn_finish(struct conn *c, const char *error)
{
	struct flow *flow = c->flow;

	if (c->own && c->wire.mode->flush)
		c->wire.mode->flush(c);
	if (c->started)
		report_sample(c, true);
	report_end(c, error);
	if (error) {
		fprintf(stderr, "flow: connection %llu failed: %s\n", c->number, error);
		flow->failed = true;
	}
	close(c->fd);
	c->state = CONN_DONE;
	loop_read_at(c, 0);
	conn_set_alarm(c);
	flow->finished++;
}

static void begin(struct conn *c)
{
	const struct options *opt = c->flow->opt;
	const struct mode *mode = c->wire.mode;
	struct sockaddr_storage local;
	socklen_t len = sizeof(local);

	c->own = calloc(1, mode->own_size);
	if (!c->own)
		die(EXIT_RUNTIME, "no memory for another connection");
	if (!getsockname(c->fd, (struct sockaddr *)&local, &len))
		net_format(&local, c->local);
	c->mptcp = net_is_mptcp(c->fd);
	c->sender = c->wire.download == opt->server;
	c->checksum = c->wire.checksum || opt->checksum;
	xxh64_init(&c->hash);
	if (opt->interval_ns)
		c->sample_at = c->start_at + opt->interval_ns;
	c->started = true;
	report_start(c);
	mode->begin(c);
}

void conn_connect(struct flow *flow, __u64 number)
{
	const struct options *opt = flow->opt;
	struct conn *c;
	int fd, error;

	flow->now_ns = 0;
	loop_now(flow);
	fd = net_connect(opt);
	error = errno;
	c = conn_new(flow, fd, number);
	c->state = CONN_CONNECTING;
	c->connect_at = loop_now(flow);
	c->udp = opt->udp;
	c->wire = (struct wire){
		.mode = flow->mode,
		.download = opt->download,
		.checksum = opt->checksum,
		.exponential = opt->exponential,
		.number = number,
		.bytes = opt->bytes,
		.duration_ns = opt->duration_ns,
		.seed = opt->seed,
	};
	if (flow->mode->greet)
		flow->mode->greet(&c->wire);
	loop_add(flow, fd, EPOLLOUT, c);
	if (error)
		conn_fail(c, error);
	else
		conn_set_alarm(c);
}

void conn_connect_all(struct flow *flow)
{
	for (__u64 i = 0; i < flow->opt->connections; i++)
		conn_connect(flow, i);
}

static bool send_header(struct conn *c)
{
	ssize_t len = wire_encode(&c->wire, c->header);

	/* The send buffer is empty, so the kernel takes all of it or there is an error. */
	return send(c->fd, c->header, len, MSG_NOSIGNAL) == len;
}

static void name_peer(struct conn *c)
{
	struct sockaddr_storage remote;
	socklen_t len = sizeof(remote);

	if (!getpeername(c->fd, (struct sockaddr *)&remote, &len))
		net_format(&remote, c->remote);
}

/*
 * UDP has no handshake: the header is sent repeatedly until the server answers, with the header or the first message.
 * Errors are ignored, as they refer to earlier datagrams.
 */
static void greet(struct conn *c, __u32 events)
{
	unsigned char answer[sizeof(c->header)];
	ssize_t n = events & EPOLLIN ? recv(c->fd, answer, sizeof(answer), MSG_PEEK) : -1;

	if (n > 0) {
		struct wire wire;
		size_t wanted;

		if (wire_decode(&wire, answer, n, &wanted) && wanted == (size_t)n)
			recv(c->fd, answer, sizeof(answer), 0);
		c->start_at = loop_now(c->flow);
		begin(c);
		return;
	}
	if (events & EPOLLERR) {
		socklen_t len = sizeof(int);
		int error;

		/* Clear the error; the next attempt is scheduled. */
		getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len);
		if (c->greet_at)
			return;
	}
	name_peer(c);
	send_header(c);
	c->greet_at = loop_now(c->flow) + GREET_AGAIN_NS;
	loop_watch(c, EPOLLIN);
}

static void connected(struct conn *c)
{
	int error = socket_error(c);

	if (error) {
		conn_fail(c, error);
		return;
	}
	name_peer(c);
	c->start_at = loop_now(c->flow);
	if (!send_header(c)) {
		conn_fail(c, errno);
		return;
	}
	begin(c);
}

static bool is_known(const struct flow *flow, const char *remote)
{
	for (const struct conn *c = flow->conns; c; c = c->next)
		if (!strcmp(c->remote, remote))
			return true;
	return false;
}

/* A header from a new peer: give it a socket of its own, and send the header back. */
static void accept_datagram(struct flow *flow)
{
	unsigned char header[WIRE_MOST];
	char remote[ADDRESS_TEXT];
	struct net_datagram from;
	struct wire wire;
	struct conn *c;
	size_t wanted;
	ssize_t n = net_receive(flow->listener, header, sizeof(header), &from);
	int fd;

	if (n < 0 || !wire_decode(&wire, header, n, &wanted) || wanted != (size_t)n || !wire.mode->datagrams)
		return;
	net_format(&from.peer, remote);
	if (is_known(flow, remote))
		return;
	fd = net_answer(flow->opt, &from);
	c = conn_new(flow, fd, flow->accepted++);
	c->udp = true;
	c->wire = wire;
	c->start_at = loop_now(flow);
	memcpy(c->remote, remote, sizeof(remote));
	loop_add(flow, fd, EPOLLIN, c);
	send_header(c);
	begin(c);
	conn_set_alarm(c);
}

void conn_accept(struct flow *flow)
{
	const struct options *opt = flow->opt;
	struct sockaddr_storage remote;
	socklen_t len = sizeof(remote);
	struct conn *c;
	int fd;

	if (opt->udp) {
		accept_datagram(flow);
		return;
	}
	fd = accept4(flow->listener, (struct sockaddr *)&remote, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			die(EXIT_RUNTIME, "cannot accept a connection: %s", strerror(errno));
		return;	/* the peer gave up before accept() */
	}
	net_accepted(opt, fd);
	c = conn_new(flow, fd, flow->accepted++);
	c->state = CONN_HEADER;
	c->start_at = loop_now(flow);
	net_format(&remote, c->remote);
	loop_add(flow, fd, EPOLLIN, c);
	/*
	 * All connections were accepted: stop listening for events, but do not close. The kernel
	 * needs the listening socket for further subflows of open MPTCP connections.
	 */
	if (flow->accepted == opt->connections)
		epoll_ctl(flow->epoll, EPOLL_CTL_DEL, flow->listener, NULL);
}

/* Read no more than the header, so that the payload can be read with MSG_TRUNC. */
static void read_header(struct conn *c)
{
	size_t wanted;
	bool good = wire_decode(&c->wire, c->header, c->header_len, &wanted);
	ssize_t n = recv(c->fd, c->header + c->header_len, wanted - c->header_len, 0);

	if (n < 0) {
		if (errno != EAGAIN)
			conn_fail(c, errno);
		return;
	}
	c->header_len += n;
	good = good && wire_decode(&c->wire, c->header, c->header_len, &wanted);
	if (!n || !good)
		conn_finish(c, "header");
	else if (c->header_len == wanted)
		begin(c);
}

void conn_event(struct conn *c, __u32 events)
{
	switch (c->state) {
	case CONN_CONNECTING:
		if (c->udp)
			greet(c, events);
		else
			connected(c);
		break;
	case CONN_HEADER:
		read_header(c);
		break;
	case CONN_DONE:
		break;
	default:
		c->wire.mode->event(c, events);
	}
	conn_set_alarm(c);
}

void conn_alarm(struct conn *c)
{
	__u64 now = loop_now(c->flow);
	__u64 interval = c->flow->opt->interval_ns, at;

	if (c->state == CONN_CONNECTING) {
		if (c->connect_at + c->flow->opt->connect_timeout_ns <= now)
			conn_finish(c, "connect-timeout");
		else
			greet(c, 0);
		conn_set_alarm(c);
		return;
	}
	if (c->sample_at && c->sample_at <= now) {
		report_sample(c, false);
		/* On a slow machine samples may be missed; they are not taken later. */
		c->sample_at += ((now - c->sample_at) / interval + 1) * interval;
	}
	at = c->wire.mode->alarm_at(c);
	if (at && at <= now)
		c->wire.mode->alarm(c);
	conn_set_alarm(c);
}
