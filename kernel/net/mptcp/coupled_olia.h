/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _COUPLED_OLIA_H
#define _COUPLED_OLIA_H

/*
 * OLIA, the Opportunistic Linked Increases Algorithm: Khalili, Gast, Popovic,
 * Le Boudec, "MPTCP is not Pareto-optimal", CoNEXT 2012 and IEEE/ACM ToN 2013;
 * draft-khalili-mptcp-congestion-control.
 *
 * With windows w in segments, rates x = w / rtt, n paths, for each acked segment
 * on path r:
 *
 *	w_r += (w_r / rtt_r^2) / (sum_k x_k)^2 + eps_r / w_r
 *
 *	M: the paths with the largest window
 *	B: the paths with the largest l_k / rtt_k^2 or l_k^2 / rtt_k (see below),
 *	   where l is the larger of the bytes acked between the last two losses
 *	   and those acked since
 *	eps_r =  1 / (n |B \ M|)  if r is in B \ M: a good path with a small window
 *	eps_r = -1 / (n |M|)      if r is in M and B \ M is not empty
 *	eps_r =  0                otherwise
 *
 * A loss halves w_r as in Reno, to 1 segment at least: see coupled_min_window() in
 * coupled_types.h for the sources. With one path this is Reno.
 *
 * The sources disagree on B. The draft's algorithm (as INET's SCTP and mp-quic-go,
 * which follow it, implement it) has l^2 / rtt; the authors' kernel code, and code
 * derived from it, has l / rtt^2. The latter is the square of Reno's rate with one
 * loss in l bytes, sqrt(2 l) / rtt, up to a factor that is the same for all paths.
 * With it, the best path is the path on which TCP would be fastest, which is the
 * paper's argument. It is the default; net.mptcp.coupled_olia_best chooses the
 * other. They differ only if round-trip times differ.
 *
 * Error: relative 2^-25 of each of the two terms (see coupled_types.h), and
 * rounding of each to 2^-COUPLED_SHIFT. The terms may have opposite signs; the
 * bound holds for each term, not for their difference. No relative bound is given
 * for a first term below 2^-COUPLED_SHIFT segments: it may become 0 on a path that
 * is a million times slower than another.
 *
 * Deviations: the equations take windows as real numbers, but here they are
 * truncated to segments. So windows that differ by at most one segment count as
 * equal in M; otherwise a single packet would move a path into or out of the set.
 * Ties in B are equality after rounding to 32 bits.
 */

#include "coupled_types.h"

/* eps_r = sign / den; sign is -1, 0 or 1. */
struct coupled_olia_eps {
	s32 sign;
	u32 den;
};

/* eps of path @self, from the sets B and M with one bit for each path. */
static __always_inline struct coupled_olia_eps
coupled_olia_shift(u32 best, u32 largest, u32 n, u32 self)
{
	struct coupled_olia_eps eps = { 0, 1 };
	u32 promoted = 0, demoted = 0, i;

	for (i = 0; i < COUPLED_MAX_PATHS && i < n; i++) {
		promoted += (best & ~largest) >> i & 1;
		demoted += largest >> i & 1;
	}
	if (!promoted)
		return eps;
	if ((best & ~largest) >> self & 1) {
		eps.sign = 1;
		eps.den = n * promoted;
	} else if (largest >> self & 1) {
		eps.sign = -1;
		eps.den = n * demoted;
	}
	return eps;
}

/* The set M. Windows that differ by at most @slack segments count as equal. */
static inline u32 coupled_olia_largest(const struct coupled_path *paths, u32 n, u32 slack)
{
	u32 largest = 0, set = 0, i;

	for (i = 0; i < COUPLED_MAX_PATHS && i < n; i++) {
		if (paths[i].cwnd > largest)
			largest = paths[i].cwnd;
	}
	for (i = 0; i < COUPLED_MAX_PATHS && i < n; i++) {
		if (largest - paths[i].cwnd <= slack)
			set |= 1U << i;
	}
	return set;
}

/**
 * enum coupled_olia_rule - the metric of the best paths; values of the sysctl
 * @COUPLED_OLIA_KERNEL: l / rtt^2, as in the authors' code
 * @COUPLED_OLIA_DRAFT: l^2 / rtt, as in the draft
 */
enum coupled_olia_rule {
	COUPLED_OLIA_KERNEL,
	COUPLED_OLIA_DRAFT,
};

/* Quality metric of a path: l / rtt^2 or l^2 / rtt. */
static __always_inline struct coupled_num
coupled_olia_quality(const struct coupled_path *path, enum coupled_olia_rule rule)
{
	struct coupled_num gap = coupled_int(path->loss_gap);

	if (rule == COUPLED_OLIA_DRAFT)
		return coupled_quot(coupled_square(gap), coupled_rtt(path));
	return coupled_quot(gap, coupled_square(coupled_rtt(path)));
}

/* The set B. */
static inline u32 coupled_olia_best(const struct coupled_path *paths, u32 n,
				    enum coupled_olia_rule rule)
{
	struct coupled_num best = { 0, 0 };
	u32 set = 0, i;

	for (i = 0; i < COUPLED_MAX_PATHS && i < n; i++) {
		struct coupled_num quality = coupled_olia_quality(&paths[i], rule);

		if (coupled_less(best, quality)) {
			best = quality;
			set = 0;
		}
		if (!coupled_less(quality, best))
			set |= 1U << i;
	}
	return set;
}

/* (w_r / rtt_r^2) / (sum_k x_k)^2 */
static __always_inline struct coupled_num
coupled_olia_linked(const struct coupled_path *paths, u32 n, u32 self)
{
	struct coupled_num total = coupled_total_rate(paths, n);

	return coupled_quot(coupled_gain(&paths[self]), coupled_square(total));
}

/* |eps_r| / w_r */
static __always_inline struct coupled_num
coupled_olia_moved(const struct coupled_path *path, u32 den)
{
	return coupled_quot(coupled_int(1), coupled_mul(coupled_cwnd(path), coupled_int(den)));
}

/**
 * coupled_olia_increase() - OLIA's increase of a window
 * @paths: the paths of the connection
 * @n: number of paths, 1 to COUPLED_MAX_PATHS
 * @self: index of the path on which a segment was acked
 * @rule: the metric of the best paths
 *
 * Return: increase per acked segment in 2^-COUPLED_SHIFT segments, from -0.5 to
 * 1.5 segments; 0 if @n or @self is out of range. If negative, the window shrinks.
 */
static inline s64 coupled_olia_increase(const struct coupled_path *paths, u32 n, u32 self,
					enum coupled_olia_rule rule)
{
	struct coupled_olia_eps eps;
	u32 best, largest;
	s64 linked;

	if (!coupled_valid(n, self))
		return 0;
	if (n == 1)
		return coupled_fixed(coupled_quot(coupled_int(1), coupled_cwnd(&paths[0])));
	linked = coupled_fixed(coupled_olia_linked(paths, n, self));
	best = coupled_olia_best(paths, n, rule);
	largest = coupled_olia_largest(paths, n, 1);
	eps = coupled_olia_shift(best, largest, n, self);
	if (!eps.sign)
		return linked;
	return linked + eps.sign * (s64)coupled_fixed(coupled_olia_moved(&paths[self], eps.den));
}

#endif /* _COUPLED_OLIA_H */
