// SPDX-License-Identifier: GPL-2.0-only
/*
 * OLIA, the Opportunistic Linked Increases Algorithm (Khalili et al., 2012), as a
 * TCP congestion control.
 *
 * Equations, scales and deviations are in coupled_olia.h. coupled.c explains how
 * subflows share data, and which count. Slow start is Reno's; HyStart++ may be
 * enabled (coupled_start.h). On a TCP socket it behaves as Reno. Bytes between
 * losses are counted between reductions of the window: by fast recovery, timeout
 * or ECN. A reduction that proves spurious counts as well.
 */

#include <linux/module.h>

#include "coupled.h"
#include "coupled_olia.h"

struct olia {
	struct coupled_window window;
	u64 gap;	/* bytes acked between the last two losses */
	u64 since;	/* bytes_acked at the last loss */
};

static u64 olia_loss_gap(const struct sock *sk)
{
	const struct olia *olia = inet_csk_ca(sk);

	return max(olia->gap, tcp_sk(sk)->bytes_acked - olia->since);
}

static void olia_init(struct sock *sk)
{
	struct olia *olia = inet_csk_ca(sk);

	olia->gap = 0;
	olia->since = tcp_sk(sk)->bytes_acked;
	coupled_window_init(sk);
}

static u32 olia_ssthresh(struct sock *sk)
{
	struct coupled_path paths[COUPLED_MAX_PATHS];
	struct olia *olia = inet_csk_ca(sk);
	u32 n = coupled_collect(sk, paths);

	olia->gap = tcp_sk(sk)->bytes_acked - olia->since;
	olia->since = tcp_sk(sk)->bytes_acked;
	coupled_sk(sk)->credit = 0;
	return max(tcp_snd_cwnd(tcp_sk(sk)) >> 1, coupled_min_window(n));
}

static void olia_set_state(struct sock *sk, u8 state)
{
	coupled_state(sk, state, olia_loss_gap(sk));
}

static void olia_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	coupled_window_sample(sk, sample);
	if (coupled_delivered(sample))
		coupled_publish(sk, coupled_srtt_us(sk), olia_loss_gap(sk));
}

static u32 olia_collect(struct sock *sk, struct coupled_path paths[COUPLED_MAX_PATHS])
{
	u32 n = coupled_collect(sk, paths);

	paths[0].loss_gap = olia_loss_gap(sk);
	return n;
}

static void olia_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct coupled_path paths[COUPLED_MAX_PATHS];
	enum coupled_olia_rule rule;
	u32 n;

	acked = coupled_first_start(sk, acked);
	if (!acked)
		return;
	n = olia_collect(sk, paths);
	rule = coupled_olia_best_rule(sock_net(sk));
	coupled_grow(sk, n, coupled_olia_increase(paths, n, 0, rule), acked);
}

static struct tcp_congestion_ops olia __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= olia_init,
	.release	= coupled_release,
	.ssthresh	= olia_ssthresh,
	.cong_avoid	= olia_cong_avoid,
	.set_state	= olia_set_state,
	.pkts_acked	= olia_pkts_acked,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "olia",
};

static int __init olia_register(void)
{
	BUILD_BUG_ON(sizeof(struct olia) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&olia);
}
late_initcall(olia_register);
