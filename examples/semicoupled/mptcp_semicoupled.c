// SPDX-License-Identifier: GPL-2.0-only
/*
 * SEMICOUPLED: Wischik, Raiciu, Greenhalgh, Handley, "Design, implementation and
 * evaluation of congestion control for multipath TCP", NSDI 2011, section 2.4: LIA
 * with a fixed aggressiveness a instead of a computed one.
 *
 * With windows w in segments, in congestion avoidance, for each acked segment:
 *
 *	w_r += a / sum_k w_k
 *
 * A loss halves w_r as in Reno. Here a is 1: then n paths with equal loss carry
 * sqrt(n) times as much as one TCP would, and no window grows by more than Reno's
 * 1 / w_r, since the sum holds w_r. With one path it is Reno.
 */

#include <linux/module.h>

#include "coupled.h"

static s64 semicoupled_increase(const struct coupled_path *paths, u32 n)
{
	u64 total = 0;
	u32 i;

	for (i = 0; i < n; i++)
		total += paths[i].cwnd;
	return coupled_fixed(coupled_quot(coupled_int(1), coupled_int(max(total, 1ULL))));
}

static void semicoupled_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct coupled_path paths[COUPLED_MAX_PATHS];
	u32 n;

	acked = coupled_slow_start(sk, acked);
	if (!acked)
		return;
	n = coupled_collect(sk, paths);
	coupled_grow(sk, n, semicoupled_increase(paths, n), acked);
}

static struct tcp_congestion_ops semicoupled __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= coupled_init,
	.release	= coupled_release,
	.ssthresh	= coupled_reno_ssthresh,
	.cong_avoid	= semicoupled_cong_avoid,
	.set_state	= coupled_set_state,
	.pkts_acked	= coupled_pkts_acked,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "semicoupled",
};

static int __init semicoupled_register(void)
{
	BUILD_BUG_ON(sizeof(struct coupled_sock) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&semicoupled);
}
late_initcall(semicoupled_register);
