// SPDX-License-Identifier: MIT
/* A mode from outside of tools/flow: a byte goes to the server and back, a given number of times. */
#include "conn.h"
#include "loop.h"
#include "report.h"

#include <sys/epoll.h>

struct bounce {
	__u64 left;
	__u64 returns;
};

static __u64 wanted;

static const struct spec specs[] = {
	{ "bounces", NUMBER, CLIENT, &wanted, 1, 1000, "a number of bounces", 1, NULL },
};

static bool chosen(void)
{
	return wanted;
}

static void check(const struct options *opt, bool is_chosen)
{
	if (is_chosen && opt->duration_ns)
		die(EXIT_USAGE, "--bounces: not with --seconds");
}

static void greet(struct wire *wire)
{
	wire_put64(wire->extra, wanted);
}

static void begin(struct conn *c)
{
	struct bounce *bounce = c->own;

	c->state = CONN_TALKING;
	bounce->left = wire_get64(c->wire.extra);
	loop_watch(c, EPOLLIN);
	if (c->sender)
		send(c->fd, "x", 1, MSG_NOSIGNAL);
}

static void event(struct conn *c, __u32 events)
{
	struct bounce *bounce = c->own;
	char byte;

	if (!(events & EPOLLIN))
		return;
	if (recv(c->fd, &byte, 1, 0) != 1) {
		conn_finish(c, bounce->left ? "closed" : NULL);
		return;
	}
	bounce->returns++;
	bounce->left--;
	if (!c->sender || bounce->left)
		send(c->fd, &byte, 1, MSG_NOSIGNAL);
	else
		conn_finish(c, NULL);
}

static __u64 alarm_at(const struct conn *c)
{
	(void)c;
	return 0;
}

static void tell_end(const struct conn *c)
{
	const struct bounce *bounce = c->own;

	report_number(c, "returns", bounce->returns);
}

const struct mode mode_bounce = {
	.flag = 64,
	.extra = 8,
	.own_size = sizeof(struct bounce),
	.synopsis =
"  flow client --connect ADDR --port P --bounces N [OPTION]...\n",
	.options = specs,
	.n_options = ARRAY_SIZE(specs),
	.chosen = chosen,
	.check = check,
	.greet = greet,
	.begin = begin,
	.event = event,
	.alarm_at = alarm_at,
	.tell_end = tell_end,
};
