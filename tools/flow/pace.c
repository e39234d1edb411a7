// SPDX-License-Identifier: MIT
/*
 * Messages of one size, each at its time: streams, calls, cross traffic.
 *
 * In front of each stand its number and the instant at which it was to be sent. That is what its delay counts from: if
 * the socket takes nothing for a while, messages wait for it, and are sent as soon as it takes them. On TCP they follow
 * each other without anything in between; a UDP datagram is one message, and is dropped if the socket does not take it.
 */
#include "flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define UDP_LINGER_NS (3 * NS_PER_S / 2)	/* how long a sender stays, so that it ends after its receiver */
#define UDP_PATIENCE_NS NS_PER_S		/* how long a receiver waits after the last message was due */

static void go_on(struct pace *pace, const struct wire *wire)
{
	pace->next_at += wire->gap_ns;
	if (!wire->on_ns || pace->next_at < pace->on_end)
		return;
	pace->next_at = pace->on_end + random_time(&pace->random, wire->off_ns, wire->exponential);
	pace->on_end = pace->next_at + random_time(&pace->random, wire->on_ns, wire->exponential);
}

void pace_begin(struct conn *c)
{
	struct pace *pace = calloc(1, sizeof(*pace));
	__u64 now = loop_now(c->flow);

	if (pace)
		pace->message = calloc(1, c->wire.message);
	if (!pace || !pace->message)
		die(EXIT_RUNTIME, "no memory for messages");
	c->pace = pace;
	pace->end_at = now + c->wire.duration_ns;
	if (!c->sender) {
		c->state = CONN_RECEIVING;
		loop_watch(c, EPOLLIN);
		return;
	}
	net_at_once(c->fd);
	random_init(&pace->random, c->wire.seed, c->wire.number);
	pace->next_at = now;
	pace->on_end = now + random_time(&pace->random, c->wire.on_ns, c->wire.exponential);
	c->first_at = now;
	c->state = CONN_SENDING;
	loop_watch(c, EPOLLRDHUP);
	pace_send(c);
}

static void stop(struct conn *c)
{
	if (!c->udp) {
		transfer_stop(c);
		return;
	}
	c->last_at = loop_now(c->flow);
	c->state = CONN_DRAINING;
	loop_watch(c, 0);
}

static void set_blocked(struct conn *c, bool blocked)
{
	if (c->pace->blocked != blocked)
		loop_watch(c, (blocked ? EPOLLOUT : 0) | EPOLLRDHUP);
	c->pace->blocked = blocked;
}

/* Sends what is due. */
void pace_send(struct conn *c)
{
	struct pace *pace = c->pace;

	while (pace->done || (pace->next_at < pace->end_at && pace->next_at <= loop_now(c->flow))) {
		ssize_t n;

		if (!pace->done) {
			wire_put64(pace->message, pace->count);
			wire_put64(pace->message + 8, pace->next_at);
		}
		n = send(c->fd, pace->message + pace->done, c->wire.message - pace->done, MSG_NOSIGNAL);
		if (n < 0 && c->udp)
			n = c->wire.message;	/* lost on the sending host */
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
		if (pace->done < c->wire.message)
			continue;
		pace->done = 0;
		pace->count++;
		go_on(pace, &c->wire);
	}
	set_blocked(c, false);
	if (pace->next_at >= pace->end_at)
		stop(c);
}

static void arrived(struct conn *c, const unsigned char *head)
{
	struct pace *pace = c->pace;
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
		report_packets(c);
}

/* c->bytes counts what came before. */
void pace_received(struct conn *c, const unsigned char *data, size_t len)
{
	__u64 size = c->wire.message, at = c->bytes % size;

	if (c->udp) {
		if (len == size)
			arrived(c, data);
		return;
	}
	while (len) {
		size_t part = len < size - at ? len : size - at;

		if (at < MESSAGE_HEAD)
			memcpy(c->pace->head + at, data, part < MESSAGE_HEAD - at ? part : MESSAGE_HEAD - at);
		at += part;
		data += part;
		len -= part;
		if (at < size)
			return;
		at = 0;
		arrived(c, c->pace->head);
	}
}

__u64 pace_alarm_at(const struct conn *c)
{
	const struct pace *pace = c->pace;

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
