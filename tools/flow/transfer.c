// SPDX-License-Identifier: MIT
/* Payload: the sender's and the receiver's part. */
#include "flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define BUFFER_SIZE (1024 * 1024)	/* one read, or one write of constant payload */
#define CHUNK_SIZE (256 * 1024)	/* one write of generated payload */
#define READS_MAX 64		/* in a row; a fast sender must not keep us from the timers */

/* Never written, so all of it is one page of zeros in the cache. */
static unsigned char zeros[BUFFER_SIZE];
static unsigned char received[BUFFER_SIZE];

void transfer_begin(struct conn *c)
{
	if (!c->sender) {
		c->state = CONN_RECEIVING;
		loop_watch(c, EPOLLIN | (c->flow->opt.quantum_ns ? EPOLLONESHOT : 0));
		return;
	}
	c->state = CONN_SENDING;
	c->first_at = loop_now(c->flow);
	if (c->wire.duration_ns)
		c->stop_at = c->first_at + c->wire.duration_ns;
	if (!c->wire.bytes)
		transfer_stop(c);
	else
		loop_watch(c, EPOLLOUT | EPOLLRDHUP);
}

/* All is written: say so to the receiver and wait until it has closed. */
void transfer_stop(struct conn *c)
{
	if (shutdown(c->fd, SHUT_WR)) {
		conn_fail(c, errno);
		return;
	}
	c->last_at = loop_now(c->flow);
	c->state = CONN_DRAINING;
	loop_watch(c, EPOLLIN);
}

/* Makes the next chunk; false if the file has become shorter or cannot be read. */
static bool refill(struct conn *c)
{
	ssize_t n = CHUNK_SIZE;

	if (!c->chunk)
		c->chunk = malloc(CHUNK_SIZE);
	if (!c->chunk)
		die(EXIT_RUNTIME, "no memory to make payload in");
	if (c->flow->file >= 0)
		n = pread(c->flow->file, c->chunk, CHUNK_SIZE, c->bytes);
	else
		payload_fill(c->wire.seed, c->wire.number, c->bytes, c->chunk, CHUNK_SIZE);
	c->chunk_len = n > 0 ? n : 0;
	c->chunk_sent = 0;
	return n > 0;
}

/* One write per wakeup: as long as there is room the next wakeup comes at once. */
void transfer_send(struct conn *c, __u32 events)
{
	const unsigned char *data = zeros;
	size_t len = BUFFER_SIZE;
	ssize_t n;

	if (c->pace) {
		if (events & EPOLLRDHUP && !c->udp)
			conn_finish(c, "closed");
		else
			pace_send(c);
		return;
	}
	if (c->checksum || c->flow->file >= 0) {
		if (c->chunk_sent == c->chunk_len && !refill(c)) {
			conn_finish(c, "file");
			return;
		}
		data = c->chunk + c->chunk_sent;
		len = c->chunk_len - c->chunk_sent;
	}
	if (len > c->wire.bytes - c->bytes)
		len = c->wire.bytes - c->bytes;
	n = send(c->fd, data, len, MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN) {
		conn_fail(c, errno);
		return;
	}
	if (events & EPOLLRDHUP) {
		conn_finish(c, "closed");	/* by the receiver, before the end */
		return;
	}
	if (n < 0)
		return;
	if (c->checksum)
		xxh64_update(&c->hash, data, n);
	c->chunk_sent += n;
	c->bytes += n;
	if (c->bytes == c->wire.bytes)
		transfer_stop(c);
}

void transfer_drain(struct conn *c)
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

	if (c->pace)
		pace_received(c, received, n);

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

/* A UDP client that has had no answer yet says again who it is. */
static bool is_greeting(const struct conn *c, ssize_t n)
{
	struct wire wire;
	size_t wanted;

	if (!c->udp || n != WIRE_MOST || !wire_decode(&wire, received, n, &wanted))
		return false;
	if (c->flow->opt.server)
		send(c->fd, received, n, MSG_NOSIGNAL);
	return true;
}

/*
 * Reads until there is no more, with a quantum, or once. Returns whether anything came; the
 * connection may be finished after that. MSG_TRUNC discards in the kernel, on TCP and MPTCP
 * sockets alike, what nobody looks at.
 */
static bool read_all(struct conn *c)
{
	int reads = c->flow->opt.quantum_ns || c->pace ? READS_MAX : 1;
	__u64 before = c->bytes;
	ssize_t n;

	do {
		n = recv(c->fd, received, BUFFER_SIZE, c->checksum || c->pace ? 0 : MSG_TRUNC);
		if (n > 0 && !is_greeting(c, n))
			account(c, n);
	} while ((n == BUFFER_SIZE || (c->udp && n > 0)) && --reads);
	if (c->udp)
		return c->bytes != before;	/* errors are those of datagrams that we sent */
	if (n < 0 && errno != EAGAIN)
		conn_fail(c, errno);
	else if (n == 0)
		conn_finish(c, c->wire.bytes == UNLIMITED || c->wire.bytes == c->bytes ?
				       NULL : "length");
	return c->bytes != before;
}

/*
 * With a quantum, the socket is out of epoll's sight (EPOLLONESHOT) from a wakeup on. It is
 * read again when the quantum has passed, and only when nothing had come by then is epoll asked
 * to wake us: in a steady flow that is two system calls per quantum and the clock.
 */
void transfer_receive(struct conn *c)
{
	__u64 quantum = c->flow->opt.quantum_ns;
	bool some = read_all(c);

	if (!quantum || c->state == CONN_DONE)
		return;
	/* A common grid: one wakeup serves all connections that have something. */
	c->read_at = some ? (loop_now(c->flow) / quantum + 1) * quantum : 0;
	if (!some)
		loop_watch(c, EPOLLIN | EPOLLONESHOT);
}
