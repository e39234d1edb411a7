// SPDX-License-Identifier: GPL-2.0-only
/*
 * ECF, earliest completion first: Y.-s. Lim, E. Nahum, D. Towsley, R. Gibbens,
 * "ECF: An MPTCP Path Scheduler to Manage Heterogeneous Paths", CoNEXT 2017.
 *
 * The subflow F with the lowest RTT is used as long as it has room. If it has
 * none, the next best subflow, S, is used only if this does not complete later than
 * waiting for F would. With k segments of the connection that no subflow has been
 * given yet, n = 1 + k / CWND_F, and delta the larger of the two subflows' RTT
 * deviations, the scheduler waits for F if
 *
 *	n * RTT_F < (1 + waiting * beta) * (RTT_S + delta)
 *	and	k / CWND_S * RTT_S >= 2 * RTT_F + delta
 *
 * "waiting" is 1 from the first such decision until the first inequality does not
 * hold; beta = 0.25 is the hysteresis.
 *
 * Deviations: k excludes data beyond the peer's window, since no subflow could send
 * it now; with a send buffer larger than the receive buffer it would hide that
 * little data remains. The deviation of the RTT is the kernel's mean deviation
 * (mdev_us), because rttvar_us is never below the minimum retransmission timeout,
 * 200 ms. The scheduler waits for F only while F has data in flight, and not after a
 * retransmission timeout.
 */

#include "sched_common.h"

#define ECF_BETA_INVERSE	4
#define ECF_SEGS_MAX		(1024 * 1024)	/* products stay below 2^56 */

struct ecf {
	bool waiting;
};

static struct ecf *ecf_of(struct mptcp_sock *msk)
{
	BUILD_BUG_ON(sizeof(struct ecf) > sizeof(msk->sched_priv));
	return (struct ecf *)msk->sched_priv;
}

/* Segments within the peer's window that no subflow has been given yet; at least 1. */
static u64 ecf_backlog(const struct mptcp_sock *msk, u32 mss)
{
	u64 end = READ_ONCE(msk->wnd_end);

	if (after64(end, msk->write_seq))
		end = msk->write_seq;
	if (!after64(end, msk->snd_nxt))
		return 1;
	return min_t(u64, DIV64_U64_ROUND_UP(end - msk->snd_nxt, mss),
		     ECF_SEGS_MAX);
}

static u64 ecf_cwnd(const struct mptcp_subflow_context *subflow)
{
	return clamp_t(u32, mptcp_sched_cwnd(mptcp_sched_tp(subflow)), 1,
		       ECF_SEGS_MAX);
}

static u64 ecf_deviation_us(const struct mptcp_subflow_context *subflow)
{
	return READ_ONCE(mptcp_sched_tp(subflow)->mdev_us) >> 2;
}

static bool ecf_wait(struct mptcp_sock *msk,
		     const struct mptcp_subflow_context *fast,
		     const struct mptcp_subflow_context *slow)
{
	u32 mss = max(READ_ONCE(mptcp_sched_tp(fast)->mss_cache), 1U);
	u64 delta = max(ecf_deviation_us(fast), ecf_deviation_us(slow));
	u64 fast_rtt = mptcp_sched_srtt(fast);
	u64 slow_rtt = mptcp_sched_srtt(slow);
	u64 k = ecf_backlog(msk, mss);
	struct ecf *ecf = ecf_of(msk);

	if (ECF_BETA_INVERSE * (ecf_cwnd(fast) + k) * fast_rtt >=
	    (ECF_BETA_INVERSE + ecf->waiting) * ecf_cwnd(fast) *
	    (slow_rtt + delta)) {
		ecf->waiting = false;
		return false;
	}
	if (k * slow_rtt < ecf_cwnd(slow) * (2 * fast_rtt + delta))
		return false;

	ecf->waiting = true;
	return true;
}

/* The slower subflow gets one segment per decision, because k changes. */
static int ecf_get_send(struct mptcp_sock *msk)
{
	enum mptcp_sched_class class = mptcp_sched_best_class(msk);
	struct mptcp_subflow_context *fast, *best;

	best = mptcp_sched_lowest_rtt(msk, class, true);
	if (!best)
		return -EINVAL;

	fast = mptcp_sched_lowest_rtt(msk, class, false);
	/* NULL if all subflows left this class meanwhile, on another CPU. */
	if (!fast || fast == best)
		return mptcp_sched_grant(best, mptcp_sched_room(best));
	if (mptcp_sched_ack_is_due(fast) && ecf_wait(msk, fast, best))
		return -EINVAL;
	return mptcp_sched_grant(best, 1);
}

MPTCP_SCHED_SPLIT(ecf_get_send)

static struct mptcp_sched_ops mptcp_sched_ecf = {
	MPTCP_SCHED_GET(ecf_get_send),
	.init	= mptcp_sched_clear,
	.flags	= MPTCP_SCHED_BOUNDED,
	.name	= "ecf",
	.owner	= THIS_MODULE,
};

static int __init ecf_register(void)
{
	return mptcp_register_scheduler(&mptcp_sched_ecf);
}
late_initcall(ecf_register);
