// SPDX-License-Identifier: MIT
#include "oneway.h"
#include "conn.h"
#include "loop.h"

#include <errno.h>
#include <sys/epoll.h>

#define BUFFER_SIZE (1024 * 1024)	/* one read */
#define READS_MAX 64		/* in a row; a fast sender must not delay timers */

static unsigned char received[BUFFER_SIZE];

/* All data is written: shut down writing, and wait until the receiver has closed. */
void oneway_stop(struct conn *c)
{
	if (shutdown(c->fd, SHUT_WR)) {
		conn_fail(c, errno);
		return;
	}
	c->last_at = loop_now(c->flow);
	c->state = CONN_DRAINING;
	loop_watch(c, EPOLLIN);
}

static void drain(struct conn *c)
{
	char byte;
	ssize_t n = recv(c->fd, &byte, 1, 0);

	if (c->udp)
		return;
	if (n == 0)
		conn_finish(c, NULL);
	else if (n > 0)
		conn_finish(c, "protocol");	/* a receiver sends nothing */
	else if (errno != EAGAIN)
		conn_fail(c, errno);
}

static void account(struct conn *c, size_t n)
{
	__u64 now = loop_now(c->flow);

	if (c->wire.mode->received)
		c->wire.mode->received(c, received, n);

	if (c->last_at && now - c->last_at > c->pause_ns) {
		c->pause_ns = now - c->last_at;
		c->pause_at = c->last_at;
	}
	c->last_at = now;
	if (!c->first_at)
		c->first_at = now;
	if (c->checksum)
		xxh64_update(&c->hash, received, n);
	c->bytes += n;
}

/* A UDP client that has had no answer yet sends its header again. */
static bool is_greeting(const struct conn *c, ssize_t n)
{
	struct wire wire;
	size_t wanted;

	if (!c->udp || !wire_decode(&wire, received, n, &wanted) || wanted != (size_t)n)
		return false;
	if (c->flow->opt->server)
		send(c->fd, received, n, MSG_NOSIGNAL);
	return true;
}

/*
 * With a quantum, or if the mode looks at the payload, read until there is no more data;
 * otherwise read once. Return whether any data arrived; the connection may be finished after the
 * call. MSG_TRUNC makes the kernel discard payload that nothing needs, on TCP and on MPTCP
 * sockets.
 */
static bool read_all(struct conn *c)
{
	bool looks = c->wire.mode->received;
	int reads = c->flow->opt->quantum_ns || looks ? READS_MAX : 1;
	__u64 before = c->bytes;
	ssize_t n;

	do {
		n = recv(c->fd, received, BUFFER_SIZE, c->checksum || looks ? 0 : MSG_TRUNC);
		if (n > 0 && !is_greeting(c, n))
			account(c, n);
	} while ((n == BUFFER_SIZE || (c->udp && n > 0)) && --reads);
	if (c->udp)
		return c->bytes != before;	/* errors refer to datagrams that were sent */
	if (n < 0 && errno != EAGAIN)
		conn_fail(c, errno);
	else if (n == 0)
		conn_finish(c, c->wire.bytes == UNLIMITED || c->wire.bytes == c->bytes ?
				       NULL : "length");
	return c->bytes != before;
}

/*
 * With a quantum, a wakeup disables further events of the socket (EPOLLONESHOT). It is read
 * again at the end of the quantum. Events are enabled only if no data arrived by then: a
 * steady flow needs two system calls per quantum, and the clock.
 */
void oneway_receive(struct conn *c)
{
	__u64 quantum = c->flow->opt->quantum_ns;
	bool some = read_all(c);

	if (!quantum || c->state == CONN_DONE)
		return;
	/* A common grid: one wakeup serves all connections that have data. */
	loop_read_at(c, some ? (loop_now(c->flow) / quantum + 1) * quantum : 0);
	if (!some)
		loop_watch(c, EPOLLIN | EPOLLONESHOT);
}

void oneway_event(struct conn *c)
{
	if (c->state == CONN_DRAINING)
		drain(c);
	else
		oneway_receive(c);
}
