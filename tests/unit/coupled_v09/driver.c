// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls a congestion control as TCP does, for a connection of up to 8 subflows, one event
 * at a time. See kernel.h and driver.py.
 */

#include <stdlib.h>

#include "kernel.h"

#define MAX_CONTROLS	8
#define MAX_PATHS	8

/* In the order of driver.py's OPERATIONS. */
enum operation {
	JOIN_TCP,
	JOIN,
	LEAVE,
	SK_STATE,
	CA_STATE,
	RTT,
	SAMPLE,
	SEND,
	ACK,
	SSTHRESH,
	SETTLE,
	CWND,
	EVENT,
	RETRANSMITS,
	CLAMP,
	UNDO,
};

static struct tcp_congestion_ops *controls[MAX_CONTROLS];
static struct tcp_congestion_ops *ops;
static struct tcp_sock *paths[MAX_PATHS];

int tcp_register_congestion_control(struct tcp_congestion_ops *control)
{
	u32 i;

	for (i = 0; i < MAX_CONTROLS; i++) {
		if (!controls[i]) {
			controls[i] = control;
			return 0;
		}
	}
	abort();
}

void spin_lock_bh(struct lock *lock)
{
	if (lock->taken)
		abort();
	lock->taken = true;
}

void spin_unlock_bh(struct lock *lock)
{
	if (!lock->taken)
		abort();
	lock->taken = false;
}

u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 cwnd = min(tp->snd_cwnd + acked, tp->snd_ssthresh);

	acked -= cwnd - tp->snd_cwnd;
	tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
	return acked;
}

u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, tp->snd_cwnd / 2 + tp->snd_cwnd / 4);
}

u32 tcp_reno_ssthresh(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

/* Reno counts acked segments, and grows by a segment for each window of them. */
static void additive_increase(struct tcp_sock *tp, u32 window, u32 acked)
{
	if (tp->snd_cwnd_cnt >= window) {
		tp->snd_cwnd_cnt = 0;
		tp->snd_cwnd++;
	}
	tp->snd_cwnd_cnt += acked;
	tp->snd_cwnd += tp->snd_cwnd_cnt / window;
	tp->snd_cwnd_cnt %= window;
	tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_cwnd_clamp);
}

void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	(void)ack;
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		additive_increase(tp, tp->snd_cwnd, acked);
}

/* A socket that has gone is freed, for the address sanitiser to see who reads it. */
static void leave(u32 path)
{
	struct sock *sk = (struct sock *)paths[path];

	if (!sk)
		return;
	if (ops->release)
		ops->release(sk);
	free(sk);
	paths[path] = NULL;
}

static void join(u32 path, bool mptcp, u32 mss, u32 cwnd, u32 sequence)
{
	struct tcp_sock *tp;

	leave(path);
	tp = calloc(1, sizeof(*tp));
	if (!tp)
		abort();
	paths[path] = tp;
	((struct sock *)tp)->sk_state = TCP_ESTABLISHED;
	tp->mss_cache = mss;
	tp->snd_cwnd = cwnd;
	tp->snd_cwnd_clamp = ~0U;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->snd_una = sequence;
	tp->snd_nxt = sequence;
	connect_group((struct sock *)tp, mptcp);
	ops->init((struct sock *)tp);
}

static void sample(struct sock *sk, s32 rtt_us)
{
	struct ack_sample given = { .pkts_acked = 1, .rtt_us = rtt_us };

	if (ops->pkts_acked)
		ops->pkts_acked(sk, &given);
}

static void acknowledge(struct sock *sk, u32 bytes, u32 acked, bool limited)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->is_cwnd_limited = limited;
	tp->snd_una += bytes;
	if (after(tp->snd_una, tp->snd_nxt))
		tp->snd_nxt = tp->snd_una;
	ops->cong_avoid(sk, tp->snd_una, acked);
}

/* A loss, as fast recovery, a timeout and ECN begin it. */
static void reduce(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 ssthresh = ops->ssthresh(sk);

	tp->prior_cwnd = tp->snd_cwnd;
	tp->snd_cwnd_cnt = 0;
	/* balia_v09: a difference that wraps in the out-of-tree kernel. */
	tp->snd_ssthresh = min(ssthresh, TCP_INFINITE_SSTHRESH);
}

static void set_ca_state(struct sock *sk, u8 state)
{
	if (ops->set_state)
		ops->set_state(sk, state);
	inet_csk(sk)->icsk_ca_state = state;
}

static void change(struct sock *sk, u32 operation, u32 value)
{
	struct tcp_sock *tp = tcp_sk(sk);

	switch (operation) {
	case SK_STATE:
		sk->sk_state = value;
		break;
	case CA_STATE:
		set_ca_state(sk, value);
		break;
	case RTT:
		tp->srtt_us = value;
		break;
	case SEND:
		tp->snd_nxt += value;
		break;
	case SSTHRESH:
		reduce(sk);
		break;
	case SETTLE:
		if (tp->snd_ssthresh < TCP_INFINITE_SSTHRESH)
			tp->snd_cwnd = tp->snd_ssthresh;
		break;
	case CWND:
		tp->snd_cwnd = value;
		break;
	case EVENT:
		if (ops->cwnd_event)
			ops->cwnd_event(sk, value);
		break;
	case RETRANSMITS:
		inet_csk(sk)->icsk_retransmits = value;
		break;
	case CLAMP:
		tp->snd_cwnd_clamp = value;
		break;
	case UNDO:
		tp->snd_cwnd = ops->undo_cwnd(sk);
		break;
	default:
		abort();
	}
}

/* A new connection; false if there is no such congestion control. */
bool drive_open(const char *name)
{
	u32 i;

	for (i = 0; i < MAX_PATHS; i++)
		leave(i);
	for (i = 0; i < MAX_CONTROLS && controls[i]; i++) {
		if (!strcmp(controls[i]->name, name)) {
			ops = controls[i];
			return true;
		}
	}
	return false;
}

/* One event of one path; its window and slow start threshold after it, 0 if it is not there. */
u64 drive(u32 operation, u32 path, u32 a, u32 b, u32 c)
{
	struct sock *sk = (struct sock *)paths[path];

	if (operation == JOIN || operation == JOIN_TCP)
		join(path, operation == JOIN, a, b, c);
	else if (!sk)
		return 0;
	else if (operation == LEAVE)
		leave(path);
	else if (operation == SAMPLE)
		sample(sk, a);
	else if (operation == ACK)
		acknowledge(sk, a, b, c);
	else
		change(sk, operation, a);
	if (!paths[path])
		return 0;
	return (u64)paths[path]->snd_cwnd << 32 | paths[path]->snd_ssthresh;
}
