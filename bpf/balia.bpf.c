// SPDX-License-Identifier: GPL-2.0-only
/*
 * BALIA, the Balanced Linked Adaptation algorithm (Peng, Walid, Hwang, Low, 2016), for
 * stock kernels: the counterpart of the lab kernel's mptcp_balia.c. Equations, scales
 * and deviations are in coupled_balia.h. coupled.bpf.h explains how subflows share
 * data. On a TCP socket it behaves as Reno.
 */

#include "kernel.h"
#include "coupled.bpf.h"
#include "coupled_balia.h"
#include "coupled_ops.bpf.h"

__outline s64 balia_increase(const struct coupled_paths *all)
{
	return all ? coupled_balia_increase(all->path, all->n, 0) : 0;
}

__outline u32 balia_window(const struct coupled_paths *all)
{
	return all ? coupled_balia_ssthresh(all->path, all->n, 0) : 0;
}

OPERATION(void, cong_avoid)
{
	struct sock *sk = (struct sock *)ctx[0];
	u32 acked = coupled_slow_start(sk, ctx[2]);
	struct coupled_paths all = {};

	if (!acked)
		return;
	coupled_collect(sk, &all);
	coupled_grow(sk, all.n, balia_increase(&all), acked);
}

OPERATION(u32, ssthresh)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct coupled_paths all = {};

	coupled_collect(sk, &all);
	coupled_sk(sk)->credit = 0;
	return balia_window(&all);
}

REGISTERED struct tcp_congestion_ops balia = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= (void *)init,
	.release	= (void *)release,
	.ssthresh	= (void *)ssthresh,
	.cong_avoid	= (void *)cong_avoid,
	.set_state	= (void *)set_state,
	.pkts_acked	= (void *)pkts_acked,
	.undo_cwnd	= (void *)undo_cwnd,
	.name		= "balia",
};
