// SPDX-License-Identifier: MIT
/* The life of a connection: made, greeted, handed to transfer.c, sampled, finished. */
#include "flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

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
	conn_finish(c, error_word(error));
}

void conn_finish(struct conn *c, const char *error)
{
	struct flow *flow = c->flow;

	if (c->started)
		report_sample(c, true);
	report_end(c, error);
	if (error) {
		fprintf(stderr, "flow: connection %llu failed: %s\n", c->number, error);
		flow->failed = true;
	}
	close(c->fd);
	c->state = CONN_DONE;
	c->read_at = 0;
	flow->finished++;
}

static void begin(struct conn *c)
{
	const struct options *opt = &c->flow->opt;
	struct sockaddr_storage local;
	socklen_t len = sizeof(local);

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
	transfer_begin(c);
}

void conn_connect(struct flow *flow, __u64 number)
{
	const struct options *opt = &flow->opt;
	struct conn *c;
	int fd, error;

	flow->now_ns = 0;
	loop_now(flow);
	fd = net_connect(opt);
	error = errno;
	c = conn_new(flow, fd, number);
	c->state = CONN_CONNECTING;
	c->connect_at = loop_now(flow);
	c->wire = (struct wire){
		.download = opt->download,
		.checksum = opt->checksum,
		.number = number,
		.bytes = opt->bytes,
		.duration_ns = opt->duration_ns,
		.seed = opt->seed,
	};
	loop_add(flow, fd, EPOLLOUT, c);
	if (error)
		conn_fail(c, error);
}

static void connected(struct conn *c)
{
	struct sockaddr_storage remote;
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len))
		error = errno;
	if (error) {
		conn_fail(c, error);
		return;
	}
	len = sizeof(remote);
	if (!getpeername(c->fd, (struct sockaddr *)&remote, &len))
		net_format(&remote, c->remote);
	c->start_at = loop_now(c->flow);
	wire_encode(&c->wire, c->header);
	/* The send buffer is empty, so the kernel takes all of it or there is an error. */
	if (send(c->fd, c->header, WIRE_SIZE, MSG_NOSIGNAL) != WIRE_SIZE) {
		conn_fail(c, errno);
		return;
	}
	begin(c);
}

void conn_accept(struct flow *flow)
{
	const struct options *opt = &flow->opt;
	struct sockaddr_storage remote;
	socklen_t len = sizeof(remote);
	struct conn *c;
	int fd = accept4(flow->listener, (struct sockaddr *)&remote, &len,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			die(EXIT_RUNTIME, "cannot accept a connection: %s", strerror(errno));
		return;	/* the peer gave up before we came to it */
	}
	net_accepted(opt, fd);
	c = conn_new(flow, fd, flow->accepted++);
	c->state = CONN_HEADER;
	c->start_at = loop_now(flow);
	net_format(&remote, c->remote);
	loop_add(flow, fd, EPOLLIN, c);
	/*
	 * Enough: stop looking, but do not close. The kernel needs the listening socket to let
	 * further subflows join the MPTCP connections that are open.
	 */
	if (flow->accepted == opt->connections)
		epoll_ctl(flow->epoll, EPOLL_CTL_DEL, flow->listener, NULL);
}

/* Never reads past the header, so that the payload can be read with MSG_TRUNC. */
static void read_header(struct conn *c)
{
	ssize_t n = recv(c->fd, c->header + c->header_len, WIRE_SIZE - c->header_len, 0);

	if (n < 0) {
		if (errno != EAGAIN)
			conn_fail(c, errno);
		return;
	}
	c->header_len += n;
	if (n && c->header_len < WIRE_SIZE)
		return;
	if (!n || !wire_decode(&c->wire, c->header)) {
		conn_finish(c, "header");
		return;
	}
	begin(c);
}

void conn_event(struct conn *c, __u32 events)
{
	switch (c->state) {
	case CONN_CONNECTING:
		connected(c);
		break;
	case CONN_HEADER:
		read_header(c);
		break;
	case CONN_SENDING:
		transfer_send(c, events);
		break;
	case CONN_DRAINING:
		transfer_drain(c);
		break;
	case CONN_RECEIVING:
		transfer_receive(c);
		break;
	case CONN_DONE:
		break;
	}
}

/* When conn_alarm() is to be called; 0 = never. */
__u64 conn_alarm_at(const struct conn *c)
{
	switch (c->state) {
	case CONN_CONNECTING:
		return c->connect_at + c->flow->opt.connect_timeout_ns;
	case CONN_SENDING:
		if (c->stop_at && (!c->sample_at || c->stop_at < c->sample_at))
			return c->stop_at;
		return c->sample_at;
	case CONN_DRAINING:
	case CONN_RECEIVING:
		return c->sample_at;
	default:
		return 0;
	}
}

void conn_alarm(struct conn *c)
{
	__u64 now = loop_now(c->flow);
	__u64 interval = c->flow->opt.interval_ns;

	if (c->state == CONN_CONNECTING) {
		conn_finish(c, "connect-timeout");
		return;
	}
	if (c->sample_at && c->sample_at <= now) {
		report_sample(c, false);
		/* On a slow machine samples may be missed; they are not made up for. */
		c->sample_at += ((now - c->sample_at) / interval + 1) * interval;
	}
	if (c->state == CONN_SENDING && c->stop_at && c->stop_at <= now)
		transfer_stop(c);
}
