/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _COUPLED_START_H
#define _COUPLED_START_H

/*
 * HyStart++ (RFC 9406): it ends the first slow start of a path before the queue
 * overflows. Used if net.mptcp.coupled_hystart is 1.
 *
 * The coupled congestion controls leave slow start to TCP (RFC 6356, section 3).
 * Reno's ends with the loss of up to a whole window. After it, the window may be
 * halved more than once, to less than the path holds. Reno recovers by one segment
 * per round trip; a coupled congestion control, whose increase on a path may be a
 * small part of this, needs seconds. So the end of slow start matters more here
 * than it does to TCP.
 *
 * In rounds of one round-trip time each, with smallest being the smallest sample of
 * the round:
 *
 *	thresh(rtt) = rtt / 8, at least 4 ms, at most 16 ms
 *	8 samples or more, and smallest >= min + thresh(min):
 *		baseline = smallest; conservative slow start begins: 1/4 segment per
 *		acked segment
 *	in conservative slow start, 8 samples or more, and smallest < baseline:
 *		it was a false alarm, and normal slow start goes on
 *	in conservative slow start, 8 samples or more, and smallest >= baseline +
 *	thresh(baseline); or 5 rounds of it, the round in which it began included:
 *		ssthresh = cwnd
 *
 * An ACK counts for at most 8 segments, the RFC's bound for senders without pacing.
 * This applies only to the first slow start, before any loss, as the RFC advises.
 *
 * Deviations, both because a queue may be shorter than what the path itself holds:
 * min is the smallest round-trip time of the path so far, the handshake's included,
 * and not of the previous round only. So a rise that takes two rounds, or occurs in
 * the first window, is detected as well. Linux's CUBIC compares with a minimum, too.
 * And a second rise ends conservative slow start, whose purpose is to find out
 * whether the first rise was a false alarm; 5 rounds multiply a window by 3.
 */

#include "coupled_types.h"

#define COUPLED_START_MIN_THRESH_US	4000
#define COUPLED_START_MAX_THRESH_US	16000
#define COUPLED_START_DIVISOR		8
#define COUPLED_START_SAMPLES		8
#define COUPLED_START_ROUNDS		5
#define COUPLED_START_SLOWER		4
#define COUPLED_START_MAX_ACKED		8U

/**
 * struct coupled_start - a path in its first slow start
 * @round_end: snd_nxt when the round began; maintained by the caller
 * @least_us: smallest RTT sample of this round, us; 0: none yet
 * @baseline_us: @least_us when conservative slow start began
 * @samples: number of samples of this round, up to COUPLED_START_SAMPLES
 * @rounds: round of conservative slow start, from 1; 0: not in it
 *
 * All zero before the first ACK.
 */
struct coupled_start {
	u32 round_end;
	u32 least_us;
	u32 baseline_us;
	unsigned char samples;
	unsigned char rounds;
};

/**
 * coupled_start_round() - end a round and begin the next
 * @s: the path
 *
 * Return: whether slow start ends.
 */
static inline bool coupled_start_round(struct coupled_start *s)
{
	s->least_us = 0;
	s->samples = 0;
	if (!s->rounds)
		return false;
	return s->rounds++ >= COUPLED_START_ROUNDS;
}

static inline u32 coupled_start_thresh(u32 from_us)
{
	u32 thresh = from_us / COUPLED_START_DIVISOR;

	if (thresh < COUPLED_START_MIN_THRESH_US)
		return COUPLED_START_MIN_THRESH_US;
	return thresh > COUPLED_START_MAX_THRESH_US ? COUPLED_START_MAX_THRESH_US : thresh;
}

static inline bool coupled_start_rises(u32 from_us, u32 to_us)
{
	return to_us >= from_us && to_us - from_us >= coupled_start_thresh(from_us);
}

/**
 * coupled_start_sample() - process a round-trip time sample
 * @s: the path
 * @rtt_us: the sample, us
 * @min_us: smallest round-trip time of this path so far, us
 *
 * Return: whether slow start ends.
 */
static inline bool coupled_start_sample(struct coupled_start *s, u32 rtt_us, u32 min_us)
{
	if (!rtt_us)
		rtt_us = 1;
	if (!s->least_us || rtt_us < s->least_us)
		s->least_us = rtt_us;
	if (s->samples < COUPLED_START_SAMPLES)
		s->samples++;
	if (s->samples < COUPLED_START_SAMPLES)
		return false;
	if (s->rounds) {
		if (s->least_us < s->baseline_us)
			s->rounds = 0;
		return s->rounds && coupled_start_rises(s->baseline_us, s->least_us);
	}
	if (coupled_start_rises(min_us, s->least_us)) {
		s->baseline_us = s->least_us;
		s->rounds = 1;
	}
	return false;
}

#endif /* _COUPLED_START_H */
