// SPDX-License-Identifier: MIT
/*
 * The event loop.
 *
 * Two clocks wake it. Samples and the ends of timed sending use a timerfd with absolute times,
 * which is exact. Receivers with a quantum read often, so their reads use epoll's timeout,
 * which needs no further system call; the kernel may be late by 0.1 %.
 *
 * Reads are due on a common grid, so only the earliest instant of them is kept. In both cases a
 * wakeup for one of a thousand connections does not visit the others.
 */
#include "loop.h"
#include "conn.h"
#include "oneway.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_MAX 64

/* Read the clock at most once per wakeup: in the lab kernel this is a real system call. */
__u64 loop_now(struct flow *flow)
{
	struct timespec ts;

	if (!flow->now_ns) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		flow->now_ns = ts.tv_sec * NS_PER_S + ts.tv_nsec;
	}
	return flow->now_ns;
}

void loop_add(struct flow *flow, int fd, __u32 events, void *who)
{
	struct epoll_event event = { .events = events, .data.ptr = who };

	if (epoll_ctl(flow->epoll, EPOLL_CTL_ADD, fd, &event))
		die(EXIT_RUNTIME, "epoll_ctl: %s", strerror(errno));
}

void loop_watch(struct conn *c, __u32 events)
{
	struct epoll_event event = { .events = events, .data.ptr = c };

	if (epoll_ctl(c->flow->epoll, EPOLL_CTL_MOD, c->fd, &event))
		die(EXIT_RUNTIME, "epoll_ctl: %s", strerror(errno));
}

static void set_timer(struct flow *flow)
{
	const struct conn *first = alarms_first(&flow->alarms);
	struct itimerspec spec = { 0 };
	__u64 at = first ? first->alarm_at : 0;

	if (flow->due_at && (!at || flow->due_at < at))
		at = flow->due_at;
	if (at == flow->timer_ns)
		return;
	spec.it_value.tv_sec = at / NS_PER_S;
	spec.it_value.tv_nsec = at % NS_PER_S;
	if (timerfd_settime(flow->timer, TFD_TIMER_ABSTIME, &spec, NULL))
		die(EXIT_RUNTIME, "timerfd_settime: %s", strerror(errno));
	flow->timer_ns = at;
}

void loop_read_at(struct conn *c, __u64 at)
{
	struct flow *flow = c->flow;

	flow->read_stale |= c->read_at && c->read_at == flow->read_at && at != c->read_at;
	c->read_at = at;
	if (at && (!flow->read_at || at < flow->read_at))
		flow->read_at = at;
}

static void find_read(struct flow *flow)
{
	flow->read_stale = false;
	flow->read_at = 0;
	for (const struct conn *c = flow->conns; c; c = c->next)
		if (c->read_at && (!flow->read_at || c->read_at < flow->read_at))
			flow->read_at = c->read_at;
}

/* The timeout of epoll; NULL if no receiver waits for the end of its quantum. */
static const struct timespec *read_timeout(struct flow *flow, struct timespec *ts)
{
	__u64 now, wait;

	if (flow->read_stale)
		find_read(flow);
	if (!flow->read_at)
		return NULL;
	now = loop_now(flow);
	wait = flow->read_at > now ? flow->read_at - now : 0;
	ts->tv_sec = wait / NS_PER_S;
	ts->tv_nsec = wait % NS_PER_S;
	return ts;
}

static void due_reads(struct flow *flow)
{
	if (!flow->read_at || flow->read_at > loop_now(flow))
		return;
	for (struct conn *c = flow->conns; c; c = c->next) {
		if (!c->read_at || c->read_at > loop_now(flow))
			continue;
		oneway_receive(c);
		conn_set_alarm(c);
	}
}

/* Call each connection once, even if its next alarm is already due. */
static void due_alarms(struct flow *flow)
{
	struct conn *c, *due = NULL, **last = &due;

	flow->timer_ns = 0;
	while ((c = alarms_first(&flow->alarms)) && c->alarm_at <= loop_now(flow)) {
		alarms_set(&flow->alarms, c, 0);
		c->next_due = NULL;
		*last = c;
		last = &c->next_due;
	}
	for (c = due; c; c = c->next_due)
		conn_alarm(c);
	if (flow->due_at)
		flow->mode->due(flow);
}

static void reap(struct flow *flow)
{
	struct conn **link = &flow->conns;

	if (flow->reaped == flow->finished)
		return;
	flow->reaped = flow->finished;
	while (*link) {
		struct conn *c = *link;

		if (c->state != CONN_DONE) {
			link = &c->next;
			continue;
		}
		*link = c->next;
		if (c->own && c->wire.mode->release)
			c->wire.mode->release(c);
		free(c->own);
		free(c);
	}
}

/* Return false if a signal requested the end. */
static bool turn(struct flow *flow)
{
	struct epoll_event events[EVENTS_MAX];
	struct timespec ts;
	bool timer = false, go_on = true;
	int n;

	set_timer(flow);
	n = epoll_pwait2(flow->epoll, events, EVENTS_MAX, read_timeout(flow, &ts), NULL);
	if (n < 0 && errno != EINTR)
		die(EXIT_RUNTIME, "epoll_pwait2: %s", strerror(errno));
	flow->now_ns = 0;
	for (int i = 0; i < n; i++) {
		void *who = events[i].data.ptr;

		if (who == &flow->timer)
			timer = true;
		else if (who == &flow->signals)
			go_on = false;
		else if (who == &flow->listener)
			conn_accept(flow);
		else
			conn_event(who, events[i].events);
	}
	due_reads(flow);
	/* After the reads, so that a sample includes all data that arrived by its time. */
	if (timer)
		due_alarms(flow);
	reap(flow);
	return go_on;
}

static void open_loop(struct flow *flow)
{
	flow->epoll = epoll_create1(EPOLL_CLOEXEC);
	flow->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (flow->epoll < 0 || flow->timer < 0)
		die(EXIT_RUNTIME, "cannot make the event loop: %s", strerror(errno));
	/* Edge-triggered: one event per expiry, and the timer need not be read. */
	loop_add(flow, flow->timer, EPOLLIN | EPOLLET, &flow->timer);
	loop_add(flow, flow->signals, EPOLLIN, &flow->signals);
}

static bool finished(const struct flow *flow)
{
	if (flow->mode && flow->mode->finished)
		return flow->mode->finished(flow);
	return flow->opt->connections && flow->finished >= flow->opt->connections;
}

void loop_run(struct flow *flow)
{
	bool go_on = true;

	open_loop(flow);
	if (flow->opt->server) {
		flow->listener = net_listen(flow->opt);
		loop_add(flow, flow->listener, EPOLLIN, &flow->listener);
	} else if (flow->mode->start) {
		flow->mode->start(flow);
	} else {
		conn_connect_all(flow);
	}
	while (go_on && !finished(flow))
		go_on = turn(flow);
	for (struct conn *c = flow->conns; c; c = c->next)
		if (c->state != CONN_DONE)
			conn_finish(c, "interrupted");
	reap(flow);
	if (flow->listener >= 0)
		close(flow->listener);
}
