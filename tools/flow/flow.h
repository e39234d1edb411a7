/* SPDX-License-Identifier: MIT */
/*
 * flow: one process transfers payload over TCP or MPTCP connections and reports the state of
 * the sockets.
 *
 * One epoll loop serves all connections. A connection starts with a small header in which the
 * client tells the server what it wants. The mode (mode.h) defines what follows; each mode is
 * one file.
 *
 * The program has to run well in a lab kernel whose clock stands still while a program
 * computes: it always sleeps in epoll, and makes few, large system calls, because switches
 * between user and kernel mode cost most of the (real) time there.
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
#define EXIT_CONNECTION 3	/* a connection failed; its end event has the reason */

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
	const struct mode *mode;	/* of the client's connections; NULL at the server */
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
	__u64 reaped;		/* number of finished connections that are freed */
	__u64 read_at;		/* earliest read_at of all connections; 0 = none */
	bool read_stale;	/* the connection with this read_at may have changed it */
	struct alarms alarms;
	__u64 now_ns;		/* the clock as read since the last wakeup; 0 = not read yet */
	__u64 timer_ns;		/* expiry of the timer; 0 = off */
};

/* main.c */
noreturn void die(int status, const char *format, ...) __attribute__
	((format(printf, 2, 3)));

#endif
