// SPDX-License-Identifier: GPL-2.0-only
/*
 * balia_v09: BALIA (Peng et al., 2016) as the out-of-tree MPTCP kernel had it. See v09.h.
 *
 * With rates x = w mss / rtt in bytes per second, all with the mss of the computing
 * subflow r, and m the largest of them:
 *
 *	the window grows by one segment in 1 + w_r 10 (sum_k x_k)^2 / ((x_r + m) (4 x_r + m))
 *	acknowledgements, where the quotient is the result of the last computation
 *	a loss takes w_r / 2, or 3/4 w_r if m / x_r, truncated, is 2 or more, with the window
 *	and the rates of the last computation
 *
 * Each subflow computes both when its window has grown, after a timeout (after ssthresh()),
 * and when recovery from a loss is complete. That kernel was also meant to compute the
 * increase after a change of state, but it sets the flag for this in the subflow and checks
 * it in the connection, where it is never set.
 *
 * The decrease may exceed the window, if TCP has reduced the window since. In that kernel
 * the difference wraps, and fast recovery computes windows of up to 2^32 segments from it.
 * Here ssthresh is TCP_INFINITE_SSTHRESH then: the window is not reduced.
 */

#include <linux/module.h>

#include "v09.h"

/* Rates are divided by 32 until the largest is at most this, bytes/s. */
#define BALIA_V09_RATE_LIMIT	BIT_ULL(25)
#define BALIA_V09_RATE_STEP	5

/**
 * struct balia_v09 - private data of a subflow
 * @cs: its place in its group
 * @acks: ACKs for one segment, of which 32 bits are used; 0: the next ACK adds one
 * @decrease: reduction of the window by the next loss, segments
 */
struct balia_v09 {
	struct coupled_sock cs;
	u64 acks;
	u64 decrease;
};

/* In bytes per second, divided by 2^@shift. */
static u64 balia_v09_rate(const struct v09_path *path, u32 mss, u32 shift)
{
	return div_u64((u64)mss * path->cwnd * (USEC_PER_SEC << 3), path->srtt) >> shift;
}

struct balia_v09_rates {
	u64 own;
	u64 best;
	u64 total;
};

static struct balia_v09_rates balia_v09_collect(struct sock *sk, struct coupled_group *group,
						u32 shift)
{
	struct balia_v09_rates rates = {};
	struct v09_path path = {};

	while (v09_next(group, &path)) {
		u64 rate = balia_v09_rate(&path, tcp_sk(sk)->mss_cache, shift);

		if (path.sk == sk)
			rates.own = rate;
		rates.best = max(rates.best, rate);
		rates.total += rate;
	}
	return rates;
}

static u64 balia_v09_acks(const struct balia_v09_rates *rates, u32 cwnd)
{
	u64 acks = div64_u64(rates->total * rates->total * 10, rates->own + rates->best);

	acks = div64_u64(acks * cwnd, 4 * rates->own + rates->best);
	return acks ?: cwnd;
}

static void balia_v09_renew(struct sock *sk)
{
	struct coupled_group *group = v09_lock(sk);
	struct balia_v09 *balia = inet_csk_ca(sk);
	u32 shift = 0, cwnd = tcp_snd_cwnd(tcp_sk(sk));
	struct balia_v09_rates rates;
	u64 ratio = 1;

	if (!group)
		return;
	rates = balia_v09_collect(sk, group, 0);
	balia->acks = cwnd;
	if (rates.own) {
		ratio = div64_u64(rates.best, rates.own);
		while (rates.best >> shift > BALIA_V09_RATE_LIMIT)
			shift += BALIA_V09_RATE_STEP;
		rates = balia_v09_collect(sk, group, shift);
		balia->acks = balia_v09_acks(&rates, cwnd);
	}
	v09_unlock(group);
	balia->decrease = ratio < 2 ? cwnd >> 1 : (u64)(cwnd >> 1) * 3 >> 1;
}

static void balia_v09_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct balia_v09 *balia = inet_csk_ca(sk);

	if (!v09_is_mptcp(sk)) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tcp_sk(sk))) {
		tcp_slow_start(tcp_sk(sk), acked);
		balia_v09_renew(sk);
	} else if (v09_count_ack(sk, (u32)balia->acks)) {
		balia_v09_renew(sk);
	}
}

static void balia_v09_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_COMPLETE_CWR || event == CA_EVENT_LOSS)
		balia_v09_renew(sk);
}

static u32 balia_v09_ssthresh(struct sock *sk)
{
	const struct balia_v09 *balia = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (!v09_is_mptcp(sk))
		return tcp_reno_ssthresh(sk);
	if (balia->decrease > cwnd)
		return TCP_INFINITE_SSTHRESH;
	return max(cwnd - (u32)balia->decrease, 1U);
}

static void balia_v09_init(struct sock *sk)
{
	struct balia_v09 *balia = inet_csk_ca(sk);

	balia->acks = 0;
	balia->decrease = 0;
	v09_init(sk);
}

static struct tcp_congestion_ops balia_v09 __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= balia_v09_init,
	.release	= coupled_release,
	.ssthresh	= balia_v09_ssthresh,
	.cong_avoid	= balia_v09_cong_avoid,
	.cwnd_event	= balia_v09_cwnd_event,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "balia_v09",
};

static int __init balia_v09_register(void)
{
	BUILD_BUG_ON(sizeof(struct balia_v09) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&balia_v09);
}
late_initcall(balia_v09_register);
