// SPDX-License-Identifier: GPL-2.0-only
/*
 * LIA, the Linked Increases Algorithm (RFC 6356), for stock kernels: the counterpart
 * of the lab kernel's mptcp_lia.c. Equations, scales and deviations are in
 * coupled_lia.h. coupled.bpf.h explains how subflows share data. On a TCP socket it
 * behaves as Reno.
 */

#include "kernel.h"
#include "coupled.bpf.h"
#include "coupled_lia.h"
#include "coupled_ops.bpf.h"

__outline s64 lia_increase(const struct coupled_paths *all)
{
	return all ? coupled_lia_increase(all->path, all->n, 0) : 0;
}

OPERATION(void, cong_avoid)
{
	struct sock *sk = (struct sock *)ctx[0];
	u32 acked = coupled_slow_start(sk, ctx[2]);
	struct coupled_paths all = {};

	if (!acked)
		return;
	coupled_collect(sk, &all);
	coupled_grow(sk, all.n, lia_increase(&all), acked);
}

OPERATION(u32, ssthresh)
{
	return coupled_reno_ssthresh((struct sock *)ctx[0]);
}

REGISTERED struct tcp_congestion_ops lia = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= (void *)init,
	.release	= (void *)release,
	.ssthresh	= (void *)ssthresh,
	.cong_avoid	= (void *)cong_avoid,
	.set_state	= (void *)set_state,
	.pkts_acked	= (void *)pkts_acked,
	.undo_cwnd	= (void *)undo_cwnd,
	.name		= "lia",
};
