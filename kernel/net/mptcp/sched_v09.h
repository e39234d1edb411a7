/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SCHED_V09_H
#define _SCHED_V09_H

/*
 * The arithmetic of the schedulers of out-of-tree MPTCP 0.9x, in the same units and
 * integer widths: what overflows 32 bits there overflows here. Sources: mptcp_sched.c,
 * mptcp_blest.c and mptcp_ecf.c of 0.95 (github.com/multipath-tcp). The same code
 * compiles into the kernel and into a user-space library, which tests compare with
 * values recorded from the original.
 */

#ifdef __KERNEL__

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#else

#include <stdbool.h>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef short s16;

static inline u32 min(u32 a, u32 b)
{
	return a < b ? a : b;
}

static inline u32 max(u32 a, u32 b)
{
	return a > b ? a : b;
}

static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

#endif

#define V09_INFINITE_SSTHRESH	0x7fffffffU
#define V09_CWND_SMALL		4U	/* segments */
#define V09_RTT_RATIO		4U

#define V09_LAMBDA_START	1200	/* lambda is in units of 1/1000 */
#define V09_LAMBDA_MIN		1000
#define V09_LAMBDA_MAX		1300
#define V09_LAMBDA_UP		40
#define V09_LAMBDA_DOWN		10
#define V09_LAMBDA_ONE		1000

#define V09_START_ROUNDS_MAX	16U
#define V09_BETA_INVERSE	4U

/*
 * A subflow as the schedulers see it, in the units of struct tcp_sock; times in us. The
 * congestion controls have another struct v09_path, in v09.h.
 */
struct v09_path {
	u32 srtt_8;		/* 8 times the smoothed RTT: srtt_us */
	u32 rttvar_4;		/* 4 times its deviation: rttvar_us */
	u32 min_srtt_8;		/* lowest and highest srtt_8 of the subflow so far */
	u32 max_srtt_8;
	u32 cwnd;		/* segments */
	u32 ssthresh;		/* segments */
	u32 in_flight;		/* segments */
	u32 unsent;		/* bytes in its own queue */
	u32 unacked;		/* bytes, the unsent ones included */
	u32 mss;		/* bytes */
};

/* Do the bytes in the subflow's queue fit into the free part of its window? */
static inline bool v09_has_room(const struct v09_path *path)
{
	if (path->in_flight >= path->cwnd)
		return false;
	return path->unsent <= (path->cwnd - path->in_flight) * path->mss;
}

/* The penalty: halve the window, and ssthresh unless in slow start. */
static inline void v09_halve(u32 *cwnd, u32 *ssthresh)
{
	if (*cwnd >= *ssthresh)
		*ssthresh = max(*ssthresh >> 1, 2U);
	*cwnd = max(*cwnd >> 1, 1U);
}

/* Does @slow, which carries the segment that blocks, deserve the penalty? */
static inline bool v09_deserves_penalty(const struct v09_path *fast,
					const struct v09_path *slow,
					bool sees_no_loss)
{
	return fast->srtt_8 < slow->srtt_8 && sees_no_loss;
}

/*
 * Should @fast retransmit a segment that @slow carries? @retransmit is the decision so
 * far. Return whether to check the next carrier, which may change the decision.
 */
static inline bool v09_ask_retransmit(const struct v09_path *fast,
				      const struct v09_path *slow,
				      bool *retransmit)
{
	if (slow->cwnd <= V09_CWND_SMALL) {
		*retransmit = true;
		return false;
	}
	*retransmit = V09_RTT_RATIO * fast->srtt_8 < slow->srtt_8;
	return *retransmit;
}

/* BLEST: the next lambda, after an RTT in which the window was @blocked or not. */
static inline s16 v09_blest_lambda(s16 lambda, bool blocked)
{
	lambda += blocked ? V09_LAMBDA_UP : -V09_LAMBDA_DOWN;
	if (lambda > V09_LAMBDA_MAX)
		return V09_LAMBDA_MAX;
	if (lambda < V09_LAMBDA_MIN)
		return V09_LAMBDA_MIN;
	return lambda;
}

/* BLEST: time until a segment sent on @slow is acknowledged, in 1/8 us. */
static inline u32 v09_blest_linger_8(const struct v09_path *slow)
{
	u32 in_flight = slow->in_flight + 1;
	u32 linger = slow->max_srtt_8;

	if (in_flight < slow->cwnd)
		linger = slow->min_srtt_8 + (slow->max_srtt_8 - slow->min_srtt_8) *
			 in_flight / slow->cwnd;
	return max(linger, slow->srtt_8);
}

/* BLEST: bytes that @fast can send in @time_8, times lambda; cwnd grows as Reno's. */
static inline u32 v09_blest_fast_bytes(const struct v09_path *fast, u32 time_8,
				       s16 lambda)
{
	u32 rtt_8 = (fast->min_srtt_8 + fast->max_srtt_8) / 2;
	u32 rounds = rtt_8 ? time_8 / rtt_8 + 1 : 1;
	u32 segs;

	if (fast->ssthresh == V09_INFINITE_SSTHRESH)
		segs = fast->cwnd *
		       ((1U << min(rounds, V09_START_ROUNDS_MAX)) - 1);
	else
		segs = (max(fast->cwnd, fast->ssthresh + 1) + (rounds - 1) / 2) *
		       rounds;
	return div_u64((u64)segs * fast->mss * lambda, V09_LAMBDA_ONE);
}

/* BLEST: would a segment of @len bytes on @slow block @fast? */
static inline bool v09_blest_blocks(const struct v09_path *fast,
				    const struct v09_path *slow, u32 len,
				    u32 window, s16 lambda)
{
	u32 bytes = v09_blest_fast_bytes(fast, v09_blest_linger_8(slow), lambda);
	u32 taken = len + slow->unacked;

	return bytes > (taken < window ? window - taken : 0);
}

/*
 * ECF: leave @slow idle and wait for @fast? @backlog is the number of bytes that wait
 * in the connection. All products have 32 bits.
 */
static inline bool v09_ecf_waits(const struct v09_path *fast,
				 const struct v09_path *slow, u32 backlog,
				 u32 *waiting)
{
	u32 delta = max(fast->rttvar_4 >> 1, slow->rttvar_4 >> 1);
	u32 fast_rtt = fast->srtt_8 >> 3, slow_rtt = slow->srtt_8 >> 3;
	u32 fast_window = fast->cwnd * slow->mss;
	u32 slow_window = slow->cwnd * slow->mss;
	u64 with_fast, with_slow;

	with_fast = fast_rtt * (max(backlog, fast_window) + fast_window);
	with_slow = fast_window * (slow_rtt + delta);
	if (V09_BETA_INVERSE * with_fast >=
	    V09_BETA_INVERSE * with_slow + *waiting * with_slow) {
		*waiting = 0;
		return false;
	}

	with_slow = slow_rtt * max(backlog, slow_window);
	with_fast = slow_window * (2 * fast_rtt + delta);
	if (with_slow < with_fast)
		return false;

	*waiting = 1;
	return true;
}

#endif /* _SCHED_V09_H */
