// SPDX-License-Identifier: MIT
/*
 * Requests and responses. The first 16 bytes of a request have the number of its remaining bytes, and the length of its
 * response. A connection has one request at a time; the client pauses in between, or opens a new connection for each.
 */
#include "conn.h"
#include "loop.h"
#include "random.h"
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define PIECE (256 * 1024)
#define HEAD 16			/* sizes of a request and its response */

/* The rest of the current request and response. */
struct ask {
	struct random random;
	__u64 left_out;		/* bytes to send */
	__u64 left_in;		/* bytes to receive */
	__u64 request;
	__u64 response;
	__u64 asked_at;		/* when the current request began; 0 = thinking */
	__u64 first_at;		/* when the first byte of its response arrived */
	__u64 next_at;		/* when the next request begins; 0 = not scheduled */
	__u64 stop_at;
	__u64 count;
	size_t head_len;
	unsigned char head[HEAD];
};

static struct {
	bool ask;
	__u64 requests;		/* per connection; 0 = until the duration is over */
	__u64 request_bytes;
	struct sizes responses;
	__u64 think_ns;
	__u64 arrival_ns;	/* interval of new connections with one request each; 0 = all at once */
} wanted;

/* State of connections that arrive one by one. */
static struct {
	struct random random;
	__u64 end;
	__u64 count;
} arrivals;

static const char *const distributions[] = { "fixed", "exponential", "pareto", "lognormal" };

static const struct spec specs[] = {
	{ "ask", FLAG, CLIENT, &wanted.ask, 0, 0, NULL, 0, NULL },
	{ "requests", NUMBER, CLIENT, &wanted.requests, 1, 1000000000, "a number of requests", 1, NULL },
	{ "request-bytes", NUMBER, CLIENT, &wanted.request_bytes, 0, TARGET_MAX, "a whole number of bytes", 1, NULL },
	{ "response-bytes", NUMBER, CLIENT, &wanted.responses.mean, 1, TARGET_MAX, "a whole number of bytes", 1, NULL },
	{ "largest-bytes", NUMBER, CLIENT, &wanted.responses.largest, 1, TARGET_MAX, "a whole number of bytes", 1, NULL },
	{ "sizes", WORD, CLIENT, &wanted.responses.distribution, 0, ARRAY_SIZE(distributions),
	  "fixed, exponential, pareto or lognormal", 0, distributions },
	{ "shape-milli", NUMBER, CLIENT, &wanted.responses.shape_milli, 1, 100000, "a number of thousandths", 1, NULL },
	{ "think-us", NUMBER, CLIENT, &wanted.think_ns, 0, 86400000000, "a whole number of microseconds", NS_PER_US, NULL },
	{ "arrival-us", NUMBER, CLIENT, &wanted.arrival_ns, 1, 86400000000,
	  "a whole number of microseconds", NS_PER_US, NULL },
};

static bool chosen(void)
{
	return wanted.ask;
}

static void check(const struct options *opt, bool is_chosen)
{
	const struct sizes *sizes = &wanted.responses;

	if (!is_chosen)
		return;
	if (!sizes->mean)
		die(EXIT_USAGE, "--response-bytes is missing");
	if (opt->bytes != UNLIMITED || opt->file || opt->checksum)
		die(EXIT_USAGE, "--ask: not with --bytes, --file or --checksum");
	if (!wanted.requests && !opt->duration_ns)
		die(EXIT_USAGE, "say how long with --seconds, or how often with --requests");
	if (wanted.arrival_ns && !opt->duration_ns)
		die(EXIT_USAGE, "--arrival-us: only with --seconds");
	if ((sizes->distribution == SIZES_PARETO && sizes->shape_milli <= 1000) ||
	    (sizes->distribution == SIZES_LOGNORMAL && !sizes->shape_milli))
		die(EXIT_USAGE, "--sizes: needs a --shape-milli, above 1000 for pareto");
}

/* Open the connections that are due; arrivals begin with the first one. */
static void due(struct flow *flow)
{
	while (flow->due_at && flow->due_at <= loop_now(flow)) {
		__u64 at = flow->due_at;

		conn_connect(flow, arrivals.count++);
		at += random_time(&arrivals.random, wanted.arrival_ns, flow->opt->exponential);
		flow->due_at = at < arrivals.end && arrivals.count < flow->opt->connections ? at : 0;
	}
}

static void start(struct flow *flow)
{
	const struct options *opt = flow->opt;

	if (!wanted.arrival_ns) {
		conn_connect_all(flow);
		return;
	}
	random_init(&arrivals.random, opt->seed, 0);
	flow->due_at = loop_now(flow);
	arrivals.end = flow->due_at + opt->duration_ns;
	due(flow);
}

static bool finished(const struct flow *flow)
{
	if (wanted.arrival_ns)
		return !flow->due_at && flow->finished >= arrivals.count;
	return flow->finished >= flow->opt->connections;
}

static void greet(struct wire *wire)
{
	wire->download = true;
	wire->bytes = 0;
}

static unsigned char zeros[PIECE];
static unsigned char received[PIECE];

static void event(struct conn *c, __u32 events);

static void ask_now(struct conn *c)
{
	struct ask *ask = c->own;

	ask->request = wanted.request_bytes;
	ask->response = random_size(&ask->random, &wanted.responses);
	wire_put64(ask->head, ask->request);
	wire_put64(ask->head + 8, ask->response);
	ask->head_len = 0;
	ask->left_out = ask->request;
	ask->left_in = ask->response;
	/* A request with a connection of its own begins with connect(). */
	ask->asked_at = wanted.arrival_ns ? c->connect_at : loop_now(c->flow);
	ask->first_at = 0;
	ask->next_at = 0;
	loop_watch(c, EPOLLOUT | EPOLLIN);
	event(c, 0);
}

static void begin(struct conn *c)
{
	const struct options *opt = c->flow->opt;
	struct ask *ask = c->own;

	net_at_once(c->fd);
	c->first_at = loop_now(c->flow);
	c->state = CONN_TALKING;
	if (opt->server) {
		loop_watch(c, EPOLLIN);
		return;
	}
	random_init(&ask->random, opt->seed, c->number + 1);
	ask->stop_at = opt->duration_ns ? c->start_at + opt->duration_ns : 0;
	ask_now(c);
}

/* Send the rest of head and body. Return false if the socket accepts no more for now, or has failed. */
static bool send_rest(struct conn *c, bool with_head)
{
	struct ask *ask = c->own;

	while ((with_head && ask->head_len < HEAD) || ask->left_out) {
		bool head = with_head && ask->head_len < HEAD;
		size_t len = head ? HEAD - ask->head_len : ask->left_out < PIECE ? ask->left_out : PIECE;
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

/* Return 0 if the peer has closed, -1 if there is no data now, or on failure. */
static ssize_t receive(struct conn *c, unsigned char *to, size_t len)
{
	ssize_t n = recv(c->fd, to, len, 0);

	if (n < 0 && errno != EAGAIN)
		conn_fail(c, errno);
	return n;
}

/* The response is complete. */
static void answered(struct conn *c)
{
	struct ask *ask = c->own;
	__u64 now = loop_now(c->flow);

	report_open(c, "request", now);
	report_number(c, "asked_ns", ask->asked_at);
	report_number(c, "first_ns", ask->first_at);
	report_number(c, "request", ask->request);
	report_number(c, "response", ask->response);
	report_close(c);
	ask->count++;
	ask->asked_at = 0;
	if (wanted.arrival_ns || ask->count == wanted.requests) {
		conn_finish(c, NULL);
		return;
	}
	ask->next_at = now + random_time(&ask->random, wanted.think_ns, c->flow->opt->exponential);
	loop_watch(c, EPOLLIN);
	if (ask->stop_at && ask->next_at >= ask->stop_at)
		conn_finish(c, NULL);
	else if (ask->next_at == now)
		ask_now(c);
}

static void client_event(struct conn *c)
{
	struct ask *ask = c->own;
	bool sent = send_rest(c, true);
	ssize_t n;

	if (c->state == CONN_DONE)
		return;
	if (sent)
		loop_watch(c, EPOLLIN);
	/* Between requests only the end of the connection is valid. */
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
	struct ask *ask = c->own;
	ssize_t n;

	if (ask->left_out) {
		if (send_rest(c, false))
			loop_watch(c, EPOLLIN);
		c->last_at = loop_now(c->flow);
		return;
	}
	if (ask->head_len < HEAD) {
		n = receive(c, ask->head + ask->head_len, HEAD - ask->head_len);
		if (n == 0)
			conn_finish(c, ask->head_len ? "header" : NULL);
		if (n <= 0)
			return;
		ask->head_len += n;
		if (ask->head_len < HEAD)
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

static void event(struct conn *c, __u32 events)
{
	(void)events;
	if (c->flow->opt->server)
		server_event(c);
	else
		client_event(c);
}

static __u64 alarm_at(const struct conn *c)
{
	const struct ask *ask = c->own;

	return ask->next_at;
}

static void tell_end(const struct conn *c)
{
	const struct ask *ask = c->own;

	report_number(c, "requests", ask->count);
}

const struct mode mode_requests = {
	.flag = WIRE_REQUESTS,
	.own_size = sizeof(struct ask),
	.synopsis =
"  flow client --connect ADDR --port P --ask --response-bytes B (--seconds S | --requests N)\n"
"      [OPTION]...\n",
	.help =
"\n"
"CLIENT: REQUESTS\n"
"  --ask                 each connection sends a request, waits for its response, and so on\n"
"  --requests N          end a connection after N of them\n"
"  --request-bytes B     beside a head of 16 bytes; default 0\n"
"  --response-bytes B    of a response, or the mean\n"
"  --sizes NAME          fixed (default), exponential, pareto or lognormal\n"
"  --shape-milli N       thousandths of alpha (pareto) or sigma (lognormal)\n"
"  --largest-bytes B     larger responses are cut to this\n"
"  --think-us N          from a response to the next request; --exponential: on average\n"
"  --arrival-us N        a new connection that often for S seconds, with one request each, at most\n"
"                        --connections; --exponential: on average\n",
	.output =
"  request   of a client with --ask, when it has its response: asked_ns, first_ns (first byte of\n"
"            the response), request, response (bytes)\n"
"  end       also requests (their number)\n",
	.options = specs,
	.n_options = ARRAY_SIZE(specs),
	.chosen = chosen,
	.check = check,
	.start = start,
	.due = due,
	.finished = finished,
	.greet = greet,
	.begin = begin,
	.event = event,
	.alarm_at = alarm_at,
	.alarm = ask_now,
	.tell_end = tell_end,
};
