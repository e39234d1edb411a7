// SPDX-License-Identifier: MIT
/*
 * Requests and responses. A request says in its first 16 bytes how many more it has, and how many the response shall
 * have. A connection has one of them under way; a client thinks in between, or makes a new connection for each.
 */
#include "flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define PIECE (256 * 1024)

static unsigned char zeros[PIECE];
static unsigned char received[PIECE];

static void ask_now(struct conn *c)
{
	const struct options *opt = &c->flow->opt;
	struct ask *ask = c->ask;

	ask->request = opt->request_bytes;
	ask->response = random_size(&ask->random, opt);
	wire_put64(ask->head, ask->request);
	wire_put64(ask->head + 8, ask->response);
	ask->head_len = 0;
	ask->left_out = ask->request;
	ask->left_in = ask->response;
	/* With a connection of its own, a request begins when that is asked for. */
	ask->asked_at = opt->arrival_ns ? c->connect_at : loop_now(c->flow);
	ask->first_at = 0;
	ask->next_at = 0;
	loop_watch(c, EPOLLOUT | EPOLLIN);
	ask_event(c);
}

void ask_begin(struct conn *c)
{
	const struct options *opt = &c->flow->opt;

	c->ask = calloc(1, sizeof(*c->ask));
	if (!c->ask)
		die(EXIT_RUNTIME, "no memory for requests");
	net_at_once(c->fd);
	c->first_at = loop_now(c->flow);
	if (opt->server) {
		c->state = CONN_ANSWERING;
		loop_watch(c, EPOLLIN);
		return;
	}
	c->state = CONN_ASKING;
	random_init(&c->ask->random, opt->seed, c->number + 1);
	c->ask->stop_at = opt->duration_ns ? c->start_at + opt->duration_ns : 0;
	ask_now(c);
}

/* Sends the rest of head and body. False when the socket takes no more for now, or has failed. */
static bool send_rest(struct conn *c, bool with_head)
{
	struct ask *ask = c->ask;

	while ((with_head && ask->head_len < MESSAGE_HEAD) || ask->left_out) {
		bool head = with_head && ask->head_len < MESSAGE_HEAD;
		size_t len = head ? MESSAGE_HEAD - ask->head_len : ask->left_out < PIECE ? ask->left_out : PIECE;
		ssize_t n = send(c->fd, head ? ask->head + ask->head_len : zeros, len, MSG_NOSIGNAL);

		if (n < 0) {
			if (errno != EAGAIN)
				conn_fail(c, errno);
			return false;
		}
		if (head)
			ask->head_len += n;
		else
			ask->left_out -= n;
	}
	return true;
}

/* 0 = the peer has closed, -1 = nothing now, or a failure. */
static ssize_t receive(struct conn *c, unsigned char *to, size_t len)
{
	ssize_t n = recv(c->fd, to, len, 0);

	if (n < 0 && errno != EAGAIN)
		conn_fail(c, errno);
	return n;
}

static void answered(struct conn *c)
{
	const struct options *opt = &c->flow->opt;
	struct ask *ask = c->ask;
	__u64 now = loop_now(c->flow);

	report_request(c, now);
	ask->count++;
	ask->asked_at = 0;
	if (opt->arrival_ns || ask->count == opt->requests) {
		conn_finish(c, NULL);
		return;
	}
	ask->next_at = now + random_time(&ask->random, opt->think_ns, opt->exponential);
	loop_watch(c, EPOLLIN);
	if (ask->stop_at && ask->next_at >= ask->stop_at)
		conn_finish(c, NULL);
	else if (ask->next_at == now)
		ask_now(c);
}

static void client_event(struct conn *c)
{
	struct ask *ask = c->ask;
	bool sent = send_rest(c, true);
	ssize_t n;

	if (c->state == CONN_DONE)
		return;
	if (sent)
		loop_watch(c, EPOLLIN);
	/* While it thinks nothing may come, but the end. */
	n = receive(c, received, !ask->left_in ? 1 : ask->left_in < PIECE ? ask->left_in : PIECE);
	if (n == 0 || (n > 0 && !ask->left_in))
		conn_finish(c, n ? "protocol" : "closed");
	if (n <= 0 || c->state == CONN_DONE)
		return;
	c->last_at = loop_now(c->flow);
	if (!ask->first_at)
		ask->first_at = c->last_at;
	c->bytes += n;
	ask->left_in -= n;
	if (!ask->left_in)
		answered(c);
}

static void server_event(struct conn *c)
{
	struct ask *ask = c->ask;
	ssize_t n;

	if (ask->left_out) {
		if (send_rest(c, false))
			loop_watch(c, EPOLLIN);
		c->last_at = loop_now(c->flow);
		return;
	}
	if (ask->head_len < MESSAGE_HEAD) {
		n = receive(c, ask->head + ask->head_len, MESSAGE_HEAD - ask->head_len);
		if (n == 0)
			conn_finish(c, ask->head_len ? "header" : NULL);
		if (n <= 0)
			return;
		ask->head_len += n;
		if (ask->head_len < MESSAGE_HEAD)
			return;
		ask->left_in = wire_get64(ask->head);
		ask->response = wire_get64(ask->head + 8);
	}
	while (ask->left_in) {
		n = receive(c, received, ask->left_in < PIECE ? ask->left_in : PIECE);
		if (n == 0)
			conn_finish(c, "closed");
		if (n <= 0)
			return;
		ask->left_in -= n;
	}
	ask->head_len = 0;
	ask->count++;
	ask->left_out = ask->response;
	c->bytes += ask->response;
	loop_watch(c, EPOLLOUT);
	server_event(c);
}

void ask_event(struct conn *c)
{
	if (c->state == CONN_ASKING)
		client_event(c);
	else
		server_event(c);
}

void ask_alarm(struct conn *c)
{
	ask_now(c);
}

__u64 ask_alarm_at(const struct conn *c)
{
	return c->state == CONN_ASKING ? c->ask->next_at : 0;
}

/* Makes the connections that are due; the first one is when the arrivals begin. */
void ask_arrivals(struct flow *flow)
{
	const struct options *opt = &flow->opt;

	while (flow->arrival_at && flow->arrival_at <= loop_now(flow)) {
		__u64 at = flow->arrival_at;

		conn_connect(flow, flow->arrived++);
		at += random_time(&flow->random, opt->arrival_ns, opt->exponential);
		flow->arrival_at = at < flow->arrivals_end && flow->arrived < opt->connections ? at : 0;
	}
}
