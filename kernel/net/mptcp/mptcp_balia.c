// SPDX-License-Identifier: GPL-2.0-only
/*
 * BALIA, the Balanced Linked Adaptation algorithm (Peng, Walid, Hwang, Low, 2016),
 * as a TCP congestion control, and balia_v09, the same with the deviations of the
 * out-of-tree kernels 0.8x to 0.9x.
 *
 * Equations, scales and deviations are in coupled_balia.h; how subflows find each
 * other, and which count, in coupled.c. Slow start is Reno's; HyStart++ may be
 * turned on (coupled_start.h). On a TCP socket both are Reno.
 *
 * balia_v09, besides what coupled_balia.h says, grows once per ACK and not per
 * acked segment, and its slow start is always Reno's. A loss takes what was computed when
 * the window last grew, or at the last timeout. If that is more than the window,
 * which happens when losses follow each other closely, the difference wraps in
 * those kernels: ssthresh is larger than any window, so that the window is not cut
 * at all and slow start goes on. Here ssthresh is TCP_INFINITE_SSTHRESH then, which
 * does the same without frightening fast recovery's arithmetic.
 */

#include <linux/module.h>

#include "coupled.h"
#include "coupled_balia.h"

struct balia_v09 {
	struct coupled_sock cs;
	u32 decrease;	/* what the next loss will take, segments */
};

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

static void balia_v09_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct balia_v09 *balia = inet_csk_ca(sk);
	struct coupled_path paths[COUPLED_MAX_PATHS];
	u32 n, before = tcp_snd_cwnd(tcp_sk(sk));

	acked = coupled_v09_acked(sk, coupled_slow_start(sk, acked));
	n = coupled_collect(sk, paths);
	if (acked)
		coupled_grow(sk, n, coupled_balia_increase(paths, n, 0), acked);
	if (tcp_snd_cwnd(tcp_sk(sk)) == before)
		return;
	paths[0].cwnd = tcp_snd_cwnd(tcp_sk(sk));
	balia->decrease = coupled_balia_v09_decrease(paths, n, 0);
}

static void balia_v09_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct balia_v09 *balia = inet_csk_ca(sk);
	struct coupled_path paths[COUPLED_MAX_PATHS];

	if (event == CA_EVENT_LOSS)
		balia->decrease = coupled_balia_v09_decrease(paths, coupled_collect(sk, paths), 0);
}

static u32 balia_v09_ssthresh(struct sock *sk)
{
	const struct balia_v09 *balia = inet_csk_ca(sk);
	struct coupled_path paths[COUPLED_MAX_PATHS];
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (coupled_collect(sk, paths) == 1)
		return coupled_reno_ssthresh(sk);
	coupled_sk(sk)->credit = 0;
	if (balia->decrease > cwnd)
		return TCP_INFINITE_SSTHRESH;
	return max(cwnd - balia->decrease, 1U);
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

static struct tcp_congestion_ops balia_v09 __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= coupled_init,
	.release	= coupled_release,
	.ssthresh	= balia_v09_ssthresh,
	.cong_avoid	= balia_v09_cong_avoid,
	.cwnd_event	= balia_v09_cwnd_event,
	.pkts_acked	= coupled_pkts_acked,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "balia_v09",
};

static int __init balia_register(void)
{
	BUILD_BUG_ON(sizeof(struct coupled_window) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(sizeof(struct balia_v09) > ICSK_CA_PRIV_SIZE);
	return coupled_register(&balia, &balia_v09);
}
late_initcall(balia_register);
