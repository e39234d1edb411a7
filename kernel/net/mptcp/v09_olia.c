// SPDX-License-Identifier: GPL-2.0-only
/*
 * olia_v09: OLIA (Khalili et al., 2012) as the out-of-tree MPTCP kernel had it. See v09.h.
 *
 * In congestion avoidance each ACK, whatever number of bytes it acknowledges, adds to a
 * credit, truncated to 1/1024 segment:
 *
 *	(w_r / rtt_r^2) / (sum_k x_k)^2 + eps_r / w_r,	eps_r as in coupled_olia.h
 *
 * At 1023/1024 the window grows by one segment, at -1023/1024 it shrinks by one, but not
 * below 1; the rest of the credit is lost. ssthresh does not change, so a window that
 * shrinks below it is in slow start.
 *
 * M, the largest windows, requires equality. B, the largest l / rtt^2, requires equality of
 * 64-bit products that may overflow. All products of rates have 64 bits, too. l is the
 * larger of two distances in sequence space. They do not end at the last acked byte, but at
 * snd_una of the last ACK for which TCP called cong_avoid(). A loss is a change to
 * Recovery, CWR or Loss, if such an ACK acked data since the previous loss, and no timeout
 * has retransmitted anything. In the state Recovery the window of a sibling is its
 * ssthresh, and so is the subflow's own, except for w_r.
 */

#include <linux/module.h>

#include "v09.h"

/* Scale of the credit, and of windows while rates are summed. */
#define OLIA_V09_SHIFT	10
/* Credit that is converted to a segment: one unit less than a segment. */
#define OLIA_V09_WHOLE	((1 << OLIA_V09_SHIFT) - 1)

/**
 * struct olia_v09 - private data of a subflow
 * @cs: its place in its group
 * @older: snd_una at the loss before the last one
 * @loss: snd_una at the last loss
 * @acked: snd_una at the last call of cong_avoid()
 * @sign: of eps; also written by siblings; protected by the group's lock
 * @den: 1 / |eps| if eps is not 0; likewise
 * @credit: fraction of a segment that is not in the window yet, 1/1024 segment
 */
struct olia_v09 {
	struct coupled_sock cs;
	u32 older;
	u32 loss;
	u32 acked;
	s32 sign;
	u32 den;
	s32 credit;
};

/* Quality of a path, which determines B: bytes between losses, square of its RTT. */
struct olia_v09_quality {
	u64 gap;
	u64 square;
};

static u32 olia_v09_window(const struct v09_path *path)
{
	/* A bit field, to which READ_ONCE() cannot be applied; a sibling's may be changing. */
	if (data_race(inet_csk(path->sk)->icsk_ca_state == TCP_CA_Recovery))
		return READ_ONCE(tcp_sk(path->sk)->snd_ssthresh);
	return path->cwnd;
}

static struct olia_v09_quality olia_v09_quality(const struct v09_path *path)
{
	const struct olia_v09 *olia = inet_csk_ca(path->sk);
	u32 loss = READ_ONCE(olia->loss);

	return (struct olia_v09_quality) {
		.gap = max(READ_ONCE(olia->acked) - loss, loss - READ_ONCE(olia->older)),
		.square = (u64)path->srtt * path->srtt,
	};
}

static bool olia_v09_equal(const struct olia_v09_quality *a, const struct olia_v09_quality *b)
{
	return a->gap * b->square == b->gap * a->square;
}

static struct olia_v09_quality olia_v09_best(struct coupled_group *group)
{
	struct olia_v09_quality best = { .gap = 0, .square = 1 };
	struct v09_path path = {};

	while (v09_next(group, &path)) {
		struct olia_v09_quality quality = olia_v09_quality(&path);

		if (quality.gap * best.square >= best.gap * quality.square)
			best = quality;
	}
	return best;
}

static u32 olia_v09_largest(struct coupled_group *group)
{
	struct v09_path path = {};
	u32 largest = 0;

	while (v09_next(group, &path))
		largest = max(largest, olia_v09_window(&path));
	return largest;
}

/* Set eps of all subflows that count. Other subflows keep their last eps. */
static void olia_v09_shift(struct coupled_group *group)
{
	struct olia_v09_quality best = olia_v09_best(group);
	u32 largest = olia_v09_largest(group), n = 0;
	struct v09_path path = {};
	u8 promoted = 0, demoted = 0;

	while (v09_next(group, &path)) {
		struct olia_v09_quality quality = olia_v09_quality(&path);

		n++;
		if (olia_v09_window(&path) == largest)
			demoted++;
		else if (olia_v09_equal(&quality, &best))
			promoted++;
	}
	path.cs = NULL;
	while (v09_next(group, &path)) {
		struct olia_v09_quality quality = olia_v09_quality(&path);
		struct olia_v09 *olia = inet_csk_ca(path.sk);

		olia->sign = 0;
		olia->den = 1;
		if (!promoted)
			continue;
		if (olia_v09_window(&path) == largest) {
			olia->sign = -1;
			olia->den = n * demoted;
		} else if (olia_v09_equal(&quality, &best)) {
			olia->sign = 1;
			olia->den = n * promoted;
		}
	}
}

/* (sum of rates)^2, in 1/1024 segments per round-trip time @srtt; at least 1. */
static u64 olia_v09_rate(struct coupled_group *group, u32 srtt)
{
	struct v09_path path = {};
	u64 rate = 1;

	while (v09_next(group, &path))
		rate += div_u64(((u64)olia_v09_window(&path) << OLIA_V09_SHIFT) * srtt, path.srtt);
	return rate * rate;
}

/* Credit for one ACK, in 1/1024 segment; negative values wrap in 32 bits. */
static u32 olia_v09_step(struct sock *sk, struct coupled_group *group)
{
	const struct olia_v09 *olia = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	u64 own = (u64)cwnd << OLIA_V09_SHIFT;
	u64 rate, linked, unit;

	olia_v09_shift(group);
	rate = olia_v09_rate(group, tcp_sk(sk)->srtt_us);
	linked = olia->den * own * own;
	unit = (olia->den * cwnd) * rate ?: 1;
	if (olia->sign > 0)
		return div64_u64((rate + linked) << OLIA_V09_SHIFT, unit);
	if (!olia->sign)
		return div64_u64(linked << OLIA_V09_SHIFT, unit);
	if (linked < rate)
		return -(u32)div64_u64((rate - linked) << OLIA_V09_SHIFT, unit);
	return div64_u64((linked - rate) << OLIA_V09_SHIFT, unit);
}

/* Change cwnd by one segment if the credit suffices. */
static void olia_v09_spend(struct sock *sk)
{
	struct olia_v09 *olia = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (olia->credit >= OLIA_V09_WHOLE) {
		if (cwnd < tp->snd_cwnd_clamp)
			tcp_snd_cwnd_set(tp, cwnd + 1);
		olia->credit = 0;
	} else if (olia->credit <= -OLIA_V09_WHOLE) {
		if (cwnd > 1)
			tcp_snd_cwnd_set(tp, cwnd - 1);
		olia->credit = 0;
	}
}

static void olia_v09_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct olia_v09 *olia = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct coupled_group *group;

	if (!v09_is_mptcp(sk)) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	WRITE_ONCE(olia->acked, tp->snd_una);
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	group = v09_lock(sk);
	olia->credit = (u32)olia->credit + olia_v09_step(sk, group);
	v09_unlock(group);
	olia_v09_spend(sk);
}

static void olia_v09_set_state(struct sock *sk, u8 state)
{
	struct olia_v09 *olia = inet_csk_ca(sk);

	if (state != TCP_CA_Recovery && state != TCP_CA_CWR && state != TCP_CA_Loss)
		return;
	if (olia->acked == olia->loss || inet_csk(sk)->icsk_retransmits)
		return;
	WRITE_ONCE(olia->older, olia->loss);
	WRITE_ONCE(olia->loss, olia->acked);
}

static void olia_v09_init(struct sock *sk)
{
	struct olia_v09 *olia = inet_csk_ca(sk);
	u32 una = tcp_sk(sk)->snd_una;

	olia->older = una;
	olia->loss = una;
	olia->acked = una;
	olia->sign = 0;
	olia->den = 1;
	olia->credit = 0;
	v09_init(sk);
}

static struct tcp_congestion_ops olia_v09 __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= olia_v09_init,
	.release	= coupled_release,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= olia_v09_cong_avoid,
	.set_state	= olia_v09_set_state,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "olia_v09",
};

static int __init olia_v09_register(void)
{
	BUILD_BUG_ON(sizeof(struct olia_v09) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&olia_v09);
}
late_initcall(olia_v09_register);
