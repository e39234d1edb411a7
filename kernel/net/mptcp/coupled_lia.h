/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _COUPLED_LIA_H
#define _COUPLED_LIA_H

/*
 * LIA, the Linked Increases Algorithm: RFC 6356 (Raiciu, Handley, Wischik, 2011).
 *
 * With windows w in segments, rates x = w / rtt, in congestion avoidance, for
 * each acked segment on path r:
 *
 *	w_r += min(max_k(w_k / rtt_k^2) / (sum_k x_k)^2, 1 / w_r)
 *
 * The RFC writes the first term as alpha / sum_k w_k, in bytes. A loss halves w_r
 * as in Reno. With one path both terms are 1 / w, as in Reno.
 *
 * Error: relative 2^-25 (see coupled_types.h), and rounding to 2^-COUPLED_SHIFT.
 *
 * Deviations: segments instead of bytes, as everywhere in Linux's TCP, so paths
 * with different segment sizes are treated alike. alpha is not stored but computed
 * for each ACK, which section 4.1 of the RFC allows but does not require.
 */

#include "coupled_types.h"

/* max_k(w_k / rtt_k^2) / (sum_k x_k)^2, without the bound of 1 / w_r. */
static __always_inline struct coupled_num
coupled_lia_linked(const struct coupled_path *paths, u32 n)
{
	struct coupled_num best = { 0, 0 };
	u32 i;

	for (i = 0; i < COUPLED_MAX_PATHS && i < n; i++) {
		struct coupled_num v = coupled_gain(&paths[i]);

		if (coupled_less(best, v))
			best = v;
	}
	return coupled_quot(best, coupled_square(coupled_total_rate(paths, n)));
}

/**
 * coupled_lia_increase() - LIA's increase of a window
 * @paths: the paths of the connection
 * @n: number of paths, 1 to COUPLED_MAX_PATHS
 * @self: index of the path on which a segment was acked
 *
 * Return: increase per acked segment in 2^-COUPLED_SHIFT segments, at most
 * COUPLED_ONE; 0 if @n or @self is out of range.
 */
static inline s64 coupled_lia_increase(const struct coupled_path *paths, u32 n, u32 self)
{
	struct coupled_num reno;

	if (!coupled_valid(n, self))
		return 0;
	reno = coupled_quot(coupled_int(1), coupled_cwnd(&paths[self]));
	if (n == 1)
		return coupled_fixed(reno);
	return coupled_fixed(coupled_min(coupled_lia_linked(paths, n), reno));
}

#endif /* _COUPLED_LIA_H */
