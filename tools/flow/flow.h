/* SPDX-License-Identifier: MIT */
/*
 * flow: one process moves payload over TCP or MPTCP connections and says what the sockets saw.
 *
 * One epoll loop serves all connections. A connection starts with a small header in which the
 * client tells the server what it wants. What follows is the matter of a mode (mode.h), each of
 * which is one file.
 *
 * The program has to run well in a lab kernel whose clock stands still while anything computes:
 * it always sleeps in epoll, and it makes few, large system calls, because there the switch
 * between user and kernel is what costs (real) time.
 */
#ifndef FLOW_H
#define FLOW_H

#include "alarms.h"

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdnoreturn.h>

#define EXIT_RUNTIME 1
#define EXIT_USAGE 2
#define EXIT_CONNECTION 3	/* a connection failed, and its end event says why */

#define NS_PER_S 1000000000ULL
#define NS_PER_MS 1000000ULL
#define NS_PER_US 1000ULL

#define ARRAY_SIZE(array) (sizeof(array) / sizeof(*(array)))

#define UNLIMITED (~0ULL)	/* no byte target: the sender stops by time */

struct conn;
struct mode;
struct options;

struct flow {
	const struct options *opt;
	const struct mode *mode;	/* of a client's connections; NULL at the server */
	FILE *out;
	int epoll;
	int timer;
	int signals;
	int listener;		/* -1 at the client */
	__u64 due_at;		/* the client's mode has something to do; 0 = nothing */
	__u64 accepted;
	__u64 finished;
	bool failed;
	struct conn *conns;
	__u64 reaped;		/* of the finished, those that are freed */
	__u64 read_at;		/* earliest of all connections; 0 = none */
	bool read_stale;	/* the connection of that instant may no longer read then */
	struct alarms alarms;
	__u64 now_ns;		/* the clock as read since the last wakeup; 0 = not read yet */
	__u64 timer_ns;		/* what the timer is set to; 0 = off */
};

/* main.c */
noreturn void die(int status, const char *format, ...) __attribute__
	((format(printf, 2, 3)));

#endif
