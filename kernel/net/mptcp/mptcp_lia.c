// SPDX-License-Identifier: GPL-2.0-only
/*
 * LIA, the Linked Increases Algorithm (RFC 6356), as a TCP congestion control.
 *
 * Equations, scales and deviations are in coupled_lia.h. coupled.c explains how
 * subflows share data, and which count. Slow start is TCP's, for each subflow
 * separately: the RFC couples congestion avoidance only. HyStart++ may be enabled
 * (coupled_start.h). On a TCP socket it behaves as Reno.
 */

#include <linux/module.h>

#include "coupled.h"
#include "coupled_lia.h"

static void lia_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct coupled_path paths[COUPLED_MAX_PATHS];
	u32 n;

	acked = coupled_first_start(sk, acked);
	if (!acked)
		return;
	n = coupled_collect(sk, paths);
	coupled_grow(sk, n, coupled_lia_increase(paths, n, 0), acked);
}

static struct tcp_congestion_ops lia __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= coupled_window_init,
	.release	= coupled_release,
	.ssthresh	= coupled_reno_ssthresh,
	.cong_avoid	= lia_cong_avoid,
	.set_state	= coupled_set_state,
	.pkts_acked	= coupled_window_acked,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "lia",
};

static int __init lia_register(void)
{
	BUILD_BUG_ON(sizeof(struct coupled_window) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&lia);
}
late_initcall(lia_register);
