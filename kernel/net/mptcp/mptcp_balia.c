// SPDX-License-Identifier: GPL-2.0-only
/*
 * BALIA, the Balanced Linked Adaptation algorithm (Peng, Walid, Hwang, Low, 2016),
 * as a TCP congestion control.
 *
 * Equations, scales and deviations are in coupled_balia.h. coupled.c explains how
 * subflows share data, and which count. Slow start is Reno's; HyStart++ may be
 * enabled (coupled_start.h). On a TCP socket it behaves as Reno.
 */

#include <linux/module.h>

#include "coupled.h"
#include "coupled_balia.h"

static void balia_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct coupled_path paths[COUPLED_MAX_PATHS];
	u32 n;

	acked = coupled_first_start(sk, acked);
	if (!acked)
		return;
	n = coupled_collect(sk, paths);
	coupled_grow(sk, n, coupled_balia_increase(paths, n, 0), acked);
}

static u32 balia_ssthresh(struct sock *sk)
{
	struct coupled_path paths[COUPLED_MAX_PATHS];
	u32 n = coupled_collect(sk, paths);

	coupled_sk(sk)->credit = 0;
	return coupled_balia_ssthresh(paths, n, 0);
}

static struct tcp_congestion_ops balia __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= coupled_window_init,
	.release	= coupled_release,
	.ssthresh	= balia_ssthresh,
	.cong_avoid	= balia_cong_avoid,
	.set_state	= coupled_set_state,
	.pkts_acked	= coupled_window_acked,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "balia",
};

static int __init balia_register(void)
{
	BUILD_BUG_ON(sizeof(struct coupled_window) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&balia);
}
late_initcall(balia_register);
