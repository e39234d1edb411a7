// SPDX-License-Identifier: GPL-2.0-only
/*
 * lia_v09: LIA (RFC 6356) as the out-of-tree MPTCP kernel had it. See v09.h.
 *
 * In congestion avoidance the window grows by one segment in
 *
 *	1 + max(4096 / A, w) acknowledgements,	A = 4096 max_k(w_k / rtt_k^2) / (sum_k x_k)^2
 *
 * where A, at least 1, and the quotient are truncated. A belongs to the connection. It is
 * computed when a window grew, and after a change of state or a timeout of any subflow. When
 * a subflow joins, it is reset to 1, so that windows grow by one segment in 4096 ACKs at the
 * fastest until it is computed again. A connection with one subflow grows like this, too.
 */

#include <linux/module.h>

#include "v09.h"

/* Fixed-point scales: of A, and of windows while rates are summed. */
#define LIA_V09_SHIFT		12
#define LIA_V09_RATE_SHIFT	10
#define LIA_V09_GAIN_SHIFT	(LIA_V09_SHIFT + 2 * LIA_V09_RATE_SHIFT)

/* The path with the largest w / rtt^2, the last of equal ones; all zero if none counts. */
static struct v09_path lia_v09_best(struct coupled_group *group)
{
	struct v09_path best = {}, path = {};
	u64 largest = 0;

	while (v09_next(group, &path)) {
		u64 gain = div64_u64((u64)path.cwnd << LIA_V09_GAIN_SHIFT,
				     (u64)path.srtt * path.srtt);

		if (gain >= largest) {
			largest = gain;
			best = path;
		}
	}
	return best;
}

static u64 lia_v09_alpha(struct coupled_group *group)
{
	struct v09_path best = lia_v09_best(group), path = {};
	u64 total = 0;

	if (!best.cs)
		return 1;
	/* Sum of the rates, in 1/1024 segments per round-trip time of the best path. */
	while (v09_next(group, &path))
		total += div_u64(((u64)path.cwnd << LIA_V09_RATE_SHIFT) * best.srtt, path.srtt);
	total *= total;
	/* 0 after an overflow; that kernel divides by zero then. */
	if (!total)
		return 1;
	return max(div64_u64((u64)best.cwnd << LIA_V09_GAIN_SHIFT, total), 1ULL);
}

static void lia_v09_renew(struct sock *sk)
{
	struct coupled_group *group = v09_lock(sk);

	if (!group)
		return;
	group->alpha = lia_v09_alpha(group);
	v09_unlock(group);
}

/* ACKs per segment of growth; A is computed first if a subflow has changed its state. */
static u32 lia_v09_acks(struct sock *sk)
{
	struct coupled_group *group = v09_lock(sk);
	u32 alpha, cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (group->stale) {
		group->alpha = lia_v09_alpha(group);
		group->stale = false;
	}
	alpha = max((u32)group->alpha, 1U);
	v09_unlock(group);
	return max((1U << LIA_V09_SHIFT) / alpha, cwnd);
}

static void lia_v09_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	if (!v09_is_mptcp(sk)) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tcp_sk(sk))) {
		tcp_slow_start(tcp_sk(sk), acked);
		lia_v09_renew(sk);
	} else if (v09_count_ack(sk, lia_v09_acks(sk))) {
		lia_v09_renew(sk);
	}
}

static void lia_v09_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_LOSS)
		lia_v09_renew(sk);
}

static void lia_v09_set_state(struct sock *sk, u8 state)
{
	struct coupled_group *group = v09_lock(sk);

	if (!group)
		return;
	group->stale = true;
	v09_unlock(group);
}

/* A subflow that joins resets A. */
static void lia_v09_init(struct sock *sk)
{
	struct coupled_group *group;

	v09_init(sk);
	group = v09_lock(sk);
	if (!group)
		return;
	group->alpha = 1;
	group->stale = false;
	v09_unlock(group);
}

static struct tcp_congestion_ops lia_v09 __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= lia_v09_init,
	.release	= coupled_release,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= lia_v09_cong_avoid,
	.cwnd_event	= lia_v09_cwnd_event,
	.set_state	= lia_v09_set_state,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "lia_v09",
};

static int __init lia_v09_register(void)
{
	BUILD_BUG_ON(sizeof(struct coupled_sock) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&lia_v09);
}
late_initcall(lia_v09_register);
