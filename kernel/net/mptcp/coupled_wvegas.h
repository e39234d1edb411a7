/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _COUPLED_WVEGAS_H
#define _COUPLED_WVEGAS_H

/*
 * wVegas, weighted Vegas: Cao, Xu, Fu, "Delay-based congestion control for
 * multipath TCP", ICNP 2012; draft-xu-mptcp-congestion-control.
 *
 * Once per round trip, with the window w in segments, the mean round-trip time rtt
 * of the round, the smallest round-trip time so far, base, and rates x = w / rtt:
 *
 *	diff = w (rtt - base) / rtt		packets of this path in queues
 *	alpha_r = 10 x_r / sum_k x_k		packets that it should have there,
 *						renewed when diff >= alpha_r
 *	w += 1 if diff < alpha_r, w -= 1 if diff > alpha_r
 *
 * So a connection keeps about 10 packets in queues, whatever its number of paths.
 * Slow start ends as in Vegas, when diff exceeds one packet: w is then set to what
 * the path holds without a queue, plus one. A loss halves w as in Reno.
 *
 * A queue that existed when base was measured would never be noticed. So when the
 * queueing delay rtt - base reaches twice its smallest value since the last
 * draining, w becomes w base / (2 rtt) once, which drains the path's own packets.
 * ssthresh does not change then, so that the window grows back in slow start.
 * Otherwise ssthresh follows the window: it is at least 3/4 of the window at the end
 * of every round, and is lowered with a window that shrinks by one. All this is
 * from the authors' kernel code; both rules for ssthresh are also in Linux's Vegas.
 *
 * Error: diff and alpha are computed with a relative error of 2^-25 (see
 * coupled_types.h) and truncated to 2^-COUPLED_WVEGAS_SHIFT packets. Divisions of
 * the window round down to a whole segment.
 *
 * Deviations: the queueing delay can cause draining only in rounds in which diff is
 * at least alpha_r. Without this the rule halves a window that has just begun to
 * fill a queue (1 packet, then 2), and 10 packets are never reached. ssthresh is
 * set to a window that shrinks by one, where older versions of the authors' code
 * set one less: slow start included cwnd == ssthresh then, and does not today. The
 * window is at least 2 segments, as in the authors' code.
 */

#include "coupled_types.h"

/* Target of a connection's packets in queues, on all paths together. */
#define COUPLED_WVEGAS_TOTAL	10

/* Slow start ends when more packets than this are in queues. */
#define COUPLED_WVEGAS_GAMMA	1

/* Packets in queues are counted in units of 2^-16. */
#define COUPLED_WVEGAS_SHIFT	16

/**
 * struct coupled_wvegas - a path at the end of a round
 * @cwnd: congestion window, segments
 * @ssthresh: slow start threshold, segments
 * @base_rtt_us: smallest round-trip time so far, us
 * @rtt_us: mean round-trip time of this round, us
 * @alpha: packets that should be in queues, 2^-COUPLED_WVEGAS_SHIFT; 0: not known
 * @queue_us: smallest queueing delay since the last draining, us; 0: not known
 */
struct coupled_wvegas {
	u32 cwnd;
	u32 ssthresh;
	u32 base_rtt_us;
	u32 rtt_us;
	u32 alpha;
	u32 queue_us;
};

/* Packets in queues: w (rtt - base) / rtt, in 2^-COUPLED_WVEGAS_SHIFT. */
static inline u64 coupled_wvegas_diff(const struct coupled_wvegas *v)
{
	struct coupled_num queued;

	if (v->rtt_us <= v->base_rtt_us)
		return 0;
	queued = coupled_mul(coupled_int(v->cwnd), coupled_int(v->rtt_us - v->base_rtt_us));
	return coupled_floor(coupled_quot(queued, coupled_int(v->rtt_us)), COUPLED_WVEGAS_SHIFT);
}

/* w base / (part rtt), rounded down to segments. */
static inline u32 coupled_wvegas_held(const struct coupled_wvegas *v, u32 part)
{
	struct coupled_num held = coupled_mul(coupled_int(v->cwnd), coupled_int(v->base_rtt_us));
	struct coupled_num rtt = coupled_mul(coupled_int(v->rtt_us), coupled_int(part));

	return (u32)coupled_floor(coupled_quot(held, rtt), 0);
}

/**
 * coupled_wvegas_alpha() - packets that a path should have in queues
 * @paths: the paths of the connection; rtt_us is the mean of their last rounds
 * @n: number of paths, 1 to COUPLED_MAX_PATHS
 * @self: index of the path
 *
 * Return: packets in 2^-COUPLED_WVEGAS_SHIFT, at least 1 unit.
 */
static inline u32 coupled_wvegas_alpha(const struct coupled_path *paths, u32 n, u32 self)
{
	struct coupled_num share;
	u64 alpha;

	if (!coupled_valid(n, self))
		return COUPLED_WVEGAS_TOTAL << COUPLED_WVEGAS_SHIFT;
	share = coupled_quot(coupled_rate(&paths[self]), coupled_total_rate(paths, n));
	share = coupled_mul(share, coupled_int(COUPLED_WVEGAS_TOTAL));
	alpha = coupled_floor(share, COUPLED_WVEGAS_SHIFT);
	return alpha ? (u32)alpha : 1;
}

/**
 * coupled_wvegas_slow_start() - whether slow start goes on after a round
 * @v: the path; if slow start ends, its cwnd and ssthresh are changed
 *
 * Return: true if the path is in slow start and stays there.
 */
static inline bool coupled_wvegas_slow_start(struct coupled_wvegas *v)
{
	u32 held;

	if (v->cwnd >= v->ssthresh)
		return false;
	if (coupled_wvegas_diff(v) <= (u64)COUPLED_WVEGAS_GAMMA << COUPLED_WVEGAS_SHIFT)
		return true;
	held = coupled_wvegas_held(v, 1) + 1;
	if (held < v->cwnd)
		v->cwnd = held;
	if (v->cwnd < 2)
		v->cwnd = 2;
	v->ssthresh = v->cwnd;
	return false;
}

/* Move cwnd by one segment, towards alpha packets in queues; slow start must not follow. */
static inline void coupled_wvegas_step(struct coupled_wvegas *v, u64 diff)
{
	if (diff < v->alpha) {
		v->cwnd++;
	} else if (diff > v->alpha) {
		v->cwnd--;
		if (v->ssthresh > v->cwnd)
			v->ssthresh = v->cwnd;
	}
}

/* Drain the path's own packets if the queueing delay has doubled. */
static inline void coupled_wvegas_drain(struct coupled_wvegas *v)
{
	u32 queue = v->rtt_us > v->base_rtt_us ? v->rtt_us - v->base_rtt_us : 0;

	if (!v->queue_us || queue < v->queue_us)
		v->queue_us = queue;
	if (v->queue_us && queue / 2 >= v->queue_us) {
		v->cwnd = coupled_wvegas_held(v, 2);
		v->queue_us = 0;
	}
}

/*
 * Enforce a window of at least 2 segments, and ssthresh of at least 3/4 of it, as
 * tcp_current_ssthresh() does. After draining, ssthresh is above the window.
 */
static inline void coupled_wvegas_settle(struct coupled_wvegas *v)
{
	u32 least;

	if (v->cwnd < 2)
		v->cwnd = 2;
	least = (v->cwnd >> 1) + (v->cwnd >> 2);
	if (v->ssthresh < least)
		v->ssthresh = least;
}

/**
 * coupled_wvegas_round() - congestion avoidance at the end of a round
 * @v: the path; cwnd, ssthresh, alpha and queue_us are updated
 * @paths: the paths of the connection; rtt_us is the mean of their last rounds
 * @n: number of paths, 1 to COUPLED_MAX_PATHS
 * @self: index of the path
 */
static inline void coupled_wvegas_round(struct coupled_wvegas *v, const struct coupled_path *paths,
					u32 n, u32 self)
{
	u64 diff = coupled_wvegas_diff(v);
	bool full;

	if (!v->alpha || diff >= v->alpha)
		v->alpha = coupled_wvegas_alpha(paths, n, self);
	full = diff >= v->alpha;
	coupled_wvegas_step(v, diff);
	if (full)
		coupled_wvegas_drain(v);
	coupled_wvegas_settle(v);
}

#endif /* _COUPLED_WVEGAS_H */
