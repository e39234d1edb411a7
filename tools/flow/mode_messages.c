// SPDX-License-Identifier: MIT
/*
 * Messages of one size, each at its time: streams, calls, cross traffic.
 *
 * Each message begins with its number and its intended sending time. Its delay counts from this time: if the socket
 * accepts no data for a while, messages wait, and are sent as soon as it does. On TCP, messages follow each other
 * without a gap; on UDP, each datagram is one message, which is dropped if the socket does not accept it.
 */
#include "conn.h"
#include "loop.h"
#include "oneway.h"
#include "random.h"
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define UDP_LINGER_NS (3 * NS_PER_S / 2)	/* the sender stays longer, to end after its receiver */
#define UDP_PATIENCE_NS NS_PER_S		/* the receiver's timeout after the last message was due */
#define PACKETS_MAX 250		/* messages in one event */
#define HEAD 16			/* number and time of a message */
#define MESSAGE_MOST (1 << 20)

/* The client's parameters, and the header's extra part. */
struct plan {
	__u64 size;		/* bytes of each message */
	__u64 gap_ns;		/* from one to the next */
	__u64 on_ns;		/* time during which the source sends; 0 = always */
	__u64 off_ns;		/* time during which it is silent */
};

struct pace {
	struct plan plan;
	__u64 next_at;		/* intended instant of the next message */
	__u64 on_end;		/* when the source falls silent */
	__u64 end_at;		/* no message is due from this time on */
	__u64 count;		/* messages sent in full, or received */
	size_t done;		/* bytes of the current message that are sent */
	bool blocked;		/* the socket accepts no more data for now */
	struct random random;
	unsigned char *message;
	unsigned char head[HEAD];
	__u64 logged;		/* messages in the arrays below */
	__u64 seq[PACKETS_MAX];
	__u64 sent_at[PACKETS_MAX];
	__s64 delay[PACKETS_MAX];
	/* Counters over all messages. */
	__u64 delay_sum;
	__u64 delay_max;
};

static struct plan wanted;
static bool log_all;		/* the receiver reports every message */

static const struct spec specs[] = {
	{ "message-bytes", NUMBER, CLIENT, &wanted.size, HEAD, 65507, "a whole number of bytes", 1, NULL },
	{ "message-ns", NUMBER, CLIENT, &wanted.gap_ns, 1, 86400000000000, "a whole number of nanoseconds", 1, NULL },
	{ "on-us", NUMBER, CLIENT, &wanted.on_ns, 1, 86400000000, "a whole number of microseconds", NS_PER_US, NULL },
	{ "off-us", NUMBER, CLIENT, &wanted.off_ns, 1, 86400000000, "a whole number of microseconds", NS_PER_US, NULL },
	{ "log", FLAG, CLIENT, &log_all, 0, 0, NULL, 0, NULL },
};

static bool chosen(void)
{
	return wanted.size;
}

static void check(const struct options *opt, bool is_chosen)
{
	if (!wanted.size != !wanted.gap_ns)
		die(EXIT_USAGE, "--message-bytes and --message-ns belong together");
	if (!wanted.on_ns != !wanted.off_ns)
		die(EXIT_USAGE, "--on-us and --off-us belong together");
	if (wanted.size && (!opt->duration_ns || opt->checksum || opt->file))
		die(EXIT_USAGE, "--message-bytes: only with --seconds, and without --checksum and --file");
	if (!wanted.size && (wanted.on_ns || log_all || opt->udp))
		die(EXIT_USAGE, "--on-us, --log and --udp: only with --message-bytes");
	if (is_chosen)
		options_check_target(opt);
}

static void greet(struct wire *wire)
{
	const __u64 values[] = { wanted.size, wanted.gap_ns, wanted.on_ns, wanted.off_ns };

	wire->log = log_all;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		wire_put64(wire->extra + 8 * i, values[i]);
}

static struct plan plan_of(const struct wire *wire)
{
	return (struct plan){
		.size = wire_get64(wire->extra),
		.gap_ns = wire_get64(wire->extra + 8),
		.on_ns = wire_get64(wire->extra + 16),
		.off_ns = wire_get64(wire->extra + 24),
	};
}

static bool accepts(const struct wire *wire)
{
	struct plan plan = plan_of(wire);

	return wire_has_target(wire) && wire->duration_ns &&
	       plan.size >= HEAD && plan.size <= MESSAGE_MOST && plan.gap_ns;
}

static void go_on(struct pace *pace, bool exponential)
{
	const struct plan *plan = &pace->plan;

	pace->next_at += plan->gap_ns;
	if (!plan->on_ns || pace->next_at < pace->on_end)
		return;
	pace->next_at = pace->on_end + random_time(&pace->random, plan->off_ns, exponential);
	pace->on_end = pace->next_at + random_time(&pace->random, plan->on_ns, exponential);
}

static void send_due(struct conn *c);

static void begin(struct conn *c)
{
	struct pace *pace = c->own;
	__u64 now = loop_now(c->flow);

	pace->plan = plan_of(&c->wire);
	pace->message = calloc(1, pace->plan.size);
	if (!pace->message)
		die(EXIT_RUNTIME, "no memory for messages");
	pace->end_at = now + c->wire.duration_ns;
	if (!c->sender) {
		c->state = CONN_RECEIVING;
		loop_watch(c, EPOLLIN);
		return;
	}
	net_at_once(c->fd);
	random_init(&pace->random, c->wire.seed, c->wire.number);
	pace->next_at = now;
	pace->on_end = now + random_time(&pace->random, pace->plan.on_ns, c->wire.exponential);
	c->first_at = now;
	c->state = CONN_SENDING;
	loop_watch(c, EPOLLRDHUP);
	send_due(c);
}

static void stop(struct conn *c)
{
	if (!c->udp) {
		oneway_stop(c);
		return;
	}
	c->last_at = loop_now(c->flow);
	c->state = CONN_DRAINING;
	loop_watch(c, 0);
}

static void set_blocked(struct conn *c, bool blocked)
{
	struct pace *pace = c->own;

	if (pace->blocked != blocked)
		loop_watch(c, (blocked ? EPOLLOUT : 0) | EPOLLRDHUP);
	pace->blocked = blocked;
}

static void send_due(struct conn *c)
{
	struct pace *pace = c->own;
	size_t size = pace->plan.size;

	while (pace->done || (pace->next_at < pace->end_at && pace->next_at <= loop_now(c->flow))) {
		ssize_t n;

		if (!pace->done) {
			wire_put64(pace->message, pace->count);
			wire_put64(pace->message + 8, pace->next_at);
		}
		n = send(c->fd, pace->message + pace->done, size - pace->done, MSG_NOSIGNAL);
		if (n < 0 && c->udp)
			n = size;	/* lost on the sending host */
		if (n < 0 && errno == EAGAIN) {
			set_blocked(c, true);
			return;
		}
		if (n < 0) {
			conn_fail(c, errno);
			return;
		}
		c->bytes += n;
		pace->done += n;
		if (pace->done < size)
			continue;
		pace->done = 0;
		pace->count++;
		go_on(pace, c->wire.exponential);
	}
	set_blocked(c, false);
	if (pace->next_at >= pace->end_at)
		stop(c);
}

static void put_numbers(const struct conn *c, const char *name, const __u64 *values)
{
	const struct pace *pace = c->own;

	fprintf(c->flow->out, ",\"%s\":[", name);
	for (__u64 i = 0; i < pace->logged; i++)
		fprintf(c->flow->out, i ? ",%llu" : "%llu", values[i]);
	fputc(']', c->flow->out);
}

/* Report the messages that have arrived since the last call. */
static void flush(struct conn *c)
{
	struct pace *pace = c->own;

	if (!pace->logged)
		return;
	report_open(c, "packets", loop_now(c->flow));
	put_numbers(c, "seq", pace->seq);
	put_numbers(c, "sent_ns", pace->sent_at);
	fputs(",\"delay_ns\":[", c->flow->out);
	for (__u64 i = 0; i < pace->logged; i++)
		fprintf(c->flow->out, i ? ",%lld" : "%lld", pace->delay[i]);
	fputc(']', c->flow->out);
	report_close(c);
	pace->logged = 0;
}

static void tell_end(const struct conn *c)
{
	const struct pace *pace = c->own;

	report_number(c, "messages", pace->count);
	if (c->sender)
		return;
	report_number(c, "delay_sum_ns", pace->delay_sum);
	report_number(c, "delay_max_ns", pace->delay_max);
}

static void arrived(struct conn *c, const unsigned char *head)
{
	struct pace *pace = c->own;
	__u64 sent_at = wire_get64(head + 8), now = loop_now(c->flow);
	__s64 delay = now - sent_at;

	pace->count++;
	if (delay > 0) {
		pace->delay_sum += delay;
		if ((__u64)delay > pace->delay_max)
			pace->delay_max = delay;
	}
	if (!c->wire.log)
		return;
	pace->seq[pace->logged] = wire_get64(head);
	pace->sent_at[pace->logged] = sent_at;
	pace->delay[pace->logged] = delay;
	if (++pace->logged == PACKETS_MAX)
		flush(c);
}

/* c->bytes counts the bytes before @data. */
static void received(struct conn *c, const unsigned char *data, size_t len)
{
	struct pace *pace = c->own;
	__u64 size = pace->plan.size, at = c->bytes % size;

	if (c->udp) {
		if (len == size)
			arrived(c, data);
		return;
	}
	while (len) {
		size_t part = len < size - at ? len : size - at;

		if (at < HEAD)
			memcpy(pace->head + at, data, part < HEAD - at ? part : HEAD - at);
		at += part;
		data += part;
		len -= part;
		if (at < size)
			return;
		at = 0;
		arrived(c, pace->head);
	}
}

static __u64 alarm_at(const struct conn *c)
{
	const struct pace *pace = c->own;

	switch (c->state) {
	case CONN_SENDING:
		return pace->blocked ? 0 : pace->next_at;
	case CONN_DRAINING:
		return c->udp ? pace->end_at + UDP_LINGER_NS : 0;
	case CONN_RECEIVING:
		return c->udp ? pace->end_at + UDP_PATIENCE_NS : 0;
	default:
		return 0;
	}
}

static void alarm_due(struct conn *c)
{
	if (c->state == CONN_SENDING)
		send_due(c);
	else
		conn_finish(c, NULL);
}

static void event(struct conn *c, __u32 events)
{
	if (c->state != CONN_SENDING)
		oneway_event(c);
	else if (events & EPOLLRDHUP && !c->udp)
		conn_closed(c);
	else
		send_due(c);
}

static void release(struct conn *c)
{
	struct pace *pace = c->own;

	free(pace->message);
}

const struct mode mode_messages = {
	.flag = WIRE_MESSAGES,
	.extra = 32,
	.own_size = sizeof(struct pace),
	.datagrams = true,
	.synopsis =
"  flow client --connect ADDR --port P --seconds S --message-bytes B --message-ns N [OPTION]...\n",
	.help =
"\n"
"CLIENT: MESSAGES\n"
"  The sender sends messages at their times for S seconds, whether or not they get through. Each\n"
"  carries its number and the instant at which it was to be sent.\n"
"  --message-bytes B     of each, from 16\n"
"  --message-ns N        from one to the next\n"
"  --on-us N, --off-us N send for N microseconds, then be silent for N, again and again\n"
"  --exponential         these times are means of random ones\n"
"  --log                 the receiver tells every message\n"
"  --udp                 datagrams; the server needs it as well. It ends a second after the last one\n"
"                        was due, and may be told how many connections it serves.\n",
	.output =
"  packets   with --log: lists seq, sent_ns (intended) and delay_ns (to the last byte read)\n"
"  end       also messages (their number), and at the receiver delay_sum_ns and delay_max_ns\n",
	.options = specs,
	.n_options = ARRAY_SIZE(specs),
	.chosen = chosen,
	.check = check,
	.greet = greet,
	.accepts = accepts,
	.begin = begin,
	.event = event,
	.received = received,
	.alarm_at = alarm_at,
	.alarm = alarm_due,
	.flush = flush,
	.tell_end = tell_end,
	.release = release,
};
