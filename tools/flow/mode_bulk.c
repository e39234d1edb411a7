// SPDX-License-Identifier: MIT
/* Payload in bulk: for a time, a number of bytes, or the content of a file. */
#include "conn.h"
#include "loop.h"
#include "oneway.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITE_SIZE (1024 * 1024)	/* one write of constant payload */
#define CHUNK_SIZE (256 * 1024)	/* one write of generated payload */

struct bulk {
	__u64 stop_at;		/* when a sender stops by time; 0 = by bytes */
	unsigned char *chunk;	/* buffer for payload that is not constant */
	size_t chunk_len;
	size_t chunk_sent;
};

/* Never written, so all of it maps to one page of zeros in the cache. */
static unsigned char zeros[WRITE_SIZE];

static int file = -1;
static __u64 file_size;

static void prepare(const struct options *opt)
{
	const char *path = opt->file;
	struct stat st;

	if (!path)
		return;
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0 || fstat(file, &st))
		die(EXIT_RUNTIME, "--file: cannot read '%s': %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		die(EXIT_RUNTIME, "--file: '%s' is not a regular file", path);
	file_size = st.st_size;
}

static void check(const struct options *opt, bool chosen)
{
	if (!chosen)
		return;
	options_check_target(opt);
	if (opt->file && opt->download)
		die(EXIT_USAGE, "--file: only for uploads, not with --download");
}

static void greet(struct wire *wire)
{
	if (file >= 0)
		wire->bytes = file_size;
}

static void begin(struct conn *c)
{
	struct bulk *bulk = c->own;

	if (!c->sender) {
		c->state = CONN_RECEIVING;
		loop_watch(c, EPOLLIN | (c->flow->opt->quantum_ns ? EPOLLONESHOT : 0));
		return;
	}
	c->state = CONN_SENDING;
	c->first_at = loop_now(c->flow);
	if (c->wire.duration_ns)
		bulk->stop_at = c->first_at + c->wire.duration_ns;
	if (!c->wire.bytes)
		oneway_stop(c);
	else
		loop_watch(c, EPOLLOUT | EPOLLRDHUP);
}

/* Prepare the next chunk; return false if the file has become shorter or cannot be read. */
static bool refill(struct conn *c)
{
	struct bulk *bulk = c->own;
	ssize_t n = CHUNK_SIZE;

	if (!bulk->chunk)
		bulk->chunk = malloc(CHUNK_SIZE);
	if (!bulk->chunk)
		die(EXIT_RUNTIME, "no memory to make payload in");
	if (file >= 0)
		n = pread(file, bulk->chunk, CHUNK_SIZE, c->bytes);
	else
		payload_fill(c->wire.seed, c->wire.number, c->bytes, bulk->chunk, CHUNK_SIZE);
	bulk->chunk_len = n > 0 ? n : 0;
	bulk->chunk_sent = 0;
	return n > 0;
}

/* One write per wakeup: while the socket has room, the next wakeup comes at once. */
static void send_some(struct conn *c, __u32 events)
{
	struct bulk *bulk = c->own;
	const unsigned char *data = zeros;
	size_t len = WRITE_SIZE;
	ssize_t n;

	if (c->checksum || file >= 0) {
		if (bulk->chunk_sent == bulk->chunk_len && !refill(c)) {
			conn_finish(c, "file");
			return;
		}
		data = bulk->chunk + bulk->chunk_sent;
		len = bulk->chunk_len - bulk->chunk_sent;
	}
	if (len > c->wire.bytes - c->bytes)
		len = c->wire.bytes - c->bytes;
	n = send(c->fd, data, len, MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN) {
		conn_fail(c, errno);
		return;
	}
	if (events & EPOLLRDHUP) {
		conn_closed(c);
		return;
	}
	if (n < 0)
		return;
	if (c->checksum)
		xxh64_update(&c->hash, data, n);
	bulk->chunk_sent += n;
	c->bytes += n;
	if (c->bytes == c->wire.bytes)
		oneway_stop(c);
}

static void event(struct conn *c, __u32 events)
{
	if (c->state == CONN_SENDING)
		send_some(c, events);
	else
		oneway_event(c);
}

static __u64 alarm_at(const struct conn *c)
{
	const struct bulk *bulk = c->own;

	return c->state == CONN_SENDING ? bulk->stop_at : 0;
}

static void release(struct conn *c)
{
	struct bulk *bulk = c->own;

	free(bulk->chunk);
}

const struct mode mode_bulk = {
	.own_size = sizeof(struct bulk),
	.synopsis =
"  flow client --connect ADDR --port P (--seconds S | --bytes B | --file PATH) [OPTION]...\n",
	.check = check,
	.prepare = prepare,
	.greet = greet,
	.accepts = wire_has_target,
	.begin = begin,
	.event = event,
	.alarm_at = alarm_at,
	.alarm = oneway_stop,
	.release = release,
};
