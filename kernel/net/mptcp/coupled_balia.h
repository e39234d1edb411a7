/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _COUPLED_BALIA_H
#define _COUPLED_BALIA_H

/*
 * BALIA, the Balanced Linked Adaptation algorithm: Peng, Walid, Hwang, Low,
 * "Multipath TCP: Analysis, Design, and Implementation", IEEE/ACM ToN 2016;
 * draft-walid-mptcp-congestion-control.
 *
 * With windows w in segments, rates x = w / rtt and a = max_k(x_k) / x_r:
 *
 *	for each acked segment on path r
 *		w_r += x_r / (rtt_r (sum_k x_k)^2) * (1 + a) / 2 * (4 + a) / 5
 *	for each loss on path r
 *		w_r -= w_r / 2 * min(a, 3/2)
 *
 * With one path, a is 1, the increase 1 / w and the decrease w / 2, as in Reno. The
 * increase never exceeds 1 / w_r, since (1 + a) (4 + a) <= 10 a^2 for a >= 1.
 *
 * Error: relative 2^-25 (see coupled_types.h), and rounding to 2^-COUPLED_SHIFT.
 * The window after a loss is rounded down to a whole segment, or is one above.
 *
 * Deviations: none. The window after a loss is at least 1 segment, or 2 with one
 * path: see coupled_min_window() in coupled_types.h for the sources.
 */

#include "coupled_types.h"

/* a = max_k(x_k) / x_r */
static __always_inline struct coupled_num
coupled_balia_ratio(const struct coupled_path *paths, u32 n, u32 self)
{
	struct coupled_num own = coupled_rate(&paths[self]);
	struct coupled_num best = own;
	u32 i;

	for (i = 0; i < COUPLED_MAX_PATHS && i < n; i++) {
		struct coupled_num rate = coupled_rate(&paths[i]);

		if (coupled_less(best, rate))
			best = rate;
	}
	return coupled_quot(best, own);
}

/**
 * coupled_balia_increase() - BALIA's increase of a window
 * @paths: the paths of the connection
 * @n: number of paths, 1 to COUPLED_MAX_PATHS
 * @self: index of the path on which a segment was acked
 *
 * Return: increase per acked segment in 2^-COUPLED_SHIFT segments, at most
 * COUPLED_ONE; 0 if @n or @self is out of range.
 */
static inline s64 coupled_balia_increase(const struct coupled_path *paths, u32 n, u32 self)
{
	struct coupled_num a, gain, linked;

	if (!coupled_valid(n, self))
		return 0;
	if (n == 1)
		return coupled_fixed(coupled_quot(coupled_int(1), coupled_cwnd(&paths[0])));
	a = coupled_balia_ratio(paths, n, self);
	gain = coupled_mul(coupled_add(coupled_int(1), a), coupled_add(coupled_int(4), a));
	linked = coupled_square(coupled_total_rate(paths, n));
	linked = coupled_quot(coupled_gain(&paths[self]), linked);
	return coupled_fixed(coupled_quot(coupled_mul(linked, gain), coupled_int(10)));
}

/**
 * coupled_balia_ssthresh() - BALIA's window after a loss
 * @paths: the paths of the connection
 * @n: number of paths, 1 to COUPLED_MAX_PATHS
 * @self: index of the path with the loss
 *
 * Return: window in segments, at least 1, or 2 with one path.
 */
static inline u32 coupled_balia_ssthresh(const struct coupled_path *paths, u32 n, u32 self)
{
	u32 least = coupled_min_window(n);
	u64 a, keep;

	if (!coupled_valid(n, self))
		return 2;
	/* In 2^-30, so that w (1 - min(a, 3/2) / 2) fits into 64 bits. */
	a = coupled_floor(coupled_balia_ratio(paths, n, self), 30);
	if (a > 3ULL << 29)
		a = 3ULL << 29;
	keep = (paths[self].cwnd * ((2ULL << 30) - a)) >> 31;
	return keep < least ? least : (u32)keep;
}

#endif /* _COUPLED_BALIA_H */
