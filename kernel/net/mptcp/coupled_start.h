/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _COUPLED_START_H
#define _COUPLED_START_H

/*
 * HyStart++ (RFC 9406): the first slow start of a path, ended before its queue
 * overflows. Used if net.mptcp.coupled_hystart is 1.
 *
 * The coupled controls leave slow start to TCP (RFC 6356, section 3). Reno's ends
 * with the loss of up to a whole window, after which the window may be halved more
 * than once, to less than the path holds. Reno makes up for that with one segment
 * per round-trip; a coupled control, whose increase on a path may be a small part
 * of this, needs seconds. So how slow start ends matters more here than to TCP.
 *
 * In rounds of one round-trip time each, with the smallest of their samples:
 *
 *	thresh(rtt) = rtt / 8, at least 4 ms, at most 16 ms
 *	8 samples or more, and smallest >= min + thresh(min):
 *		conservative slow start: 1/4 segment per acked segment
 *	there, 8 samples or more, and smallest < that of the round that led there:
 *		it was a false alarm, and slow start goes on
 *	there, 8 samples or more, and smallest >= that + thresh(that);
 *	or 5 rounds of it, the one that it began in included:
 *		ssthresh = cwnd
 *
 * An ACK counts for at most 8 segments, the RFC's bound for senders without pacing.
 * Only the first slow start is treated so, that before any loss, as the RFC advises.
 *
 * Deviations, both because a queue may be shorter than what the path itself holds:
 * min is the path's smallest round-trip time, the handshake's included, and not that
 * of the round before, so that a rise which takes two rounds, or the first window,
 * is seen as well. Linux's CUBIC compares with a minimum, too. And a second rise
 * ends conservative slow start, which is there to find out whether the first was a
 * false alarm; 5 rounds multiply a window by 3.
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
 * @round_end: snd_nxt when the round began; the caller's
 * @least_us: the same of this round; 0: none yet
 * @baseline_us: the same when conservative slow start began
 * @samples: of this round, as far as they matter
 * @rounds: of conservative slow start, from 1; 0: not in it
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
 * coupled_start_round() - a round ends and another begins
 * @s: the path
 *
 * Return: whether slow start ends, too.
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
 * coupled_start_sample() - a round-trip time was measured
 * @s: the path
 * @rtt_us: in us
 * @min_us: the smallest ever on this path, us
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
