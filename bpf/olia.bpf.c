// SPDX-License-Identifier: GPL-2.0-only
/*
 * OLIA, the Opportunistic Linked Increases Algorithm (Khalili et al., 2012), for stock
 * kernels: the counterpart of the lab kernel's mptcp_olia.c. Equations, scales and
 * deviations are in coupled_olia.h. Of the two metrics there this uses the one in the
 * authors' code. coupled.bpf.h explains how subflows share data. On a TCP socket it
 * behaves as Reno. Bytes between losses are counted between reductions of the window:
 * by fast recovery, timeout or ECN. A reduction that proves spurious counts as well.
 */

#include "kernel.h"
#include "coupled.bpf.h"
#include "coupled_olia.h"

char _license[] SEC("license") = "GPL";

struct olia {
	struct coupled_sock cs;
	u64 gap;	/* bytes acked between the last two losses */
	u64 since;	/* bytes_acked at the last loss */
};

static __always_inline u64 olia_loss_gap(const struct sock *sk)
{
	const struct olia *olia = inet_csk_ca(sk);
	u64 since = tcp_sk(sk)->bytes_acked - olia->since;

	return max(olia->gap, since);
}

/* The steps of coupled_olia_increase(), each of which the verifier checks separately. */
__outline u32 olia_best(const struct coupled_paths *all)
{
	return all ? coupled_olia_best(all->path, all->n, COUPLED_OLIA_KERNEL) : 0;
}

__outline u32 olia_largest(const struct coupled_paths *all)
{
	return all ? coupled_olia_largest(all->path, all->n, 1) : 0;
}

/* eps of the first path: its denominator, negative if the window shrinks, or 0. */
__outline int olia_shift(u32 best, u32 largest, u32 n)
{
	struct coupled_olia_eps eps = coupled_olia_shift(best, largest, n, 0);

	return eps.sign * (int)eps.den;
}

__outline s64 olia_linked(const struct coupled_paths *all)
{
	return all ? coupled_fixed(coupled_olia_linked(all->path, all->n, 0)) : 0;
}

__outline s64 olia_moved(const struct coupled_path *path, u32 den)
{
	return path ? coupled_fixed(coupled_olia_moved(path, den)) : 0;
}

/* coupled_olia_increase() of the first path; not used if it is the only path. */
static __always_inline s64 olia_increase(const struct coupled_paths *all)
{
	int den;
	s64 linked;

	if (all->n == 1)
		return 0;
	linked = olia_linked(all);
	den = olia_shift(olia_best(all), olia_largest(all), all->n);
	if (den < 0)
		return linked - olia_moved(&all->path[0], -den);
	return den ? linked + olia_moved(&all->path[0], den) : linked;
}

OPERATION(void, init)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct olia *olia = inet_csk_ca(sk);

	olia->gap = 0;
	olia->since = tcp_sk(sk)->bytes_acked;
	coupled_init(sk);
}

OPERATION(void, release)
{
	coupled_release((struct sock *)ctx[0]);
}

OPERATION(u32, ssthresh)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct olia *olia = inet_csk_ca(sk);
	struct coupled_paths all = {};
	u64 acked = tcp_sk(sk)->bytes_acked;
	u32 half = tcp_sk(sk)->snd_cwnd >> 1;
	u32 least;

	coupled_collect(sk, &all);
	least = coupled_min_window(all.n);
	olia->gap = acked - olia->since;
	olia->since = acked;
	olia->cs.credit = 0;
	return max(half, least);
}

OPERATION(void, set_state)
{
	struct sock *sk = (struct sock *)ctx[0];

	coupled_state(sk, (u8)ctx[1], olia_loss_gap(sk));
}

OPERATION(void, pkts_acked)
{
	struct sock *sk = (struct sock *)ctx[0];

	if (coupled_delivered((const struct ack_sample *)ctx[1]))
		coupled_publish(sk, coupled_srtt_us(sk), olia_loss_gap(sk));
}

OPERATION(void, cong_avoid)
{
	struct sock *sk = (struct sock *)ctx[0];
	u32 acked = coupled_slow_start(sk, ctx[2]);
	struct coupled_paths all = {};

	if (!acked)
		return;
	coupled_collect(sk, &all);
	all.path[0].loss_gap = olia_loss_gap(sk);
	coupled_grow(sk, all.n, olia_increase(&all), acked);
}

OPERATION(u32, undo_cwnd)
{
	return tcp_reno_undo_cwnd((struct sock *)ctx[0]);
}

REGISTERED struct tcp_congestion_ops olia = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= (void *)init,
	.release	= (void *)release,
	.ssthresh	= (void *)ssthresh,
	.cong_avoid	= (void *)cong_avoid,
	.set_state	= (void *)set_state,
	.pkts_acked	= (void *)pkts_acked,
	.undo_cwnd	= (void *)undo_cwnd,
	.name		= "olia",
};
