// SPDX-License-Identifier: GPL-2.0-only
/*
 * BLEST as its authors implemented it in out-of-tree MPTCP 0.9x. sched_blest.c
 * explains the idea and names its source. Differences:
 *
 * - The RTT of the fast subflow is the mean of its lowest and highest RTT. A segment
 *   occupies the slow subflow for as long as this subflow's RTT, which is taken to
 *   grow with its segments in flight, from the lowest to the highest.
 * - In its first slow start the fast subflow is expected to double its window each
 *   RTT, up to 16 times.
 * - lambda is corrected at most once per lowest RTT of the slow subflow. It rises if,
 *   since the last correction, the receive window or the send buffer was full while a
 *   subflow had room. The code of opportunistic retransmission and penalisation
 *   detects this. BLEST has both mechanisms, and penalises all slower subflows at
 *   once.
 *
 * Deviations: as in sched_v09.c; also, the scheduler waits for the fast subflow only
 * while this has data in flight, and not after a retransmission timeout.
 */

#include "sched_v09_common.h"

struct blest_v09 {
	s16 lambda;		/* in 1/1000 */
	bool blocked;		/* since lambda was last corrected */
	u32 corrected;		/* when lambda was last corrected, jiffies */
};

static struct blest_v09 *blest_v09_of(struct mptcp_sock *msk)
{
	BUILD_BUG_ON(sizeof(struct blest_v09) > sizeof(msk->sched_priv));
	return (struct blest_v09 *)msk->sched_priv;
}

static void blest_v09_init(struct mptcp_sock *msk)
{
	mptcp_sched_clear(msk);
	blest_v09_of(msk)->lambda = V09_LAMBDA_START;
	blest_v09_of(msk)->corrected = tcp_jiffies32;
}

static void blest_v09_measure(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *subflow;

	mptcp_for_each_subflow(msk, subflow) {
		u32 srtt_8 = READ_ONCE(mptcp_sched_tp(subflow)->srtt_us);
		struct v09_subflow *priv = v09_subflow(subflow);

		if (!mptcp_subflow_active(subflow))
			continue;
		priv->min_srtt_8 = min(priv->min_srtt_8, srtt_8);
		priv->max_srtt_8 = max(priv->max_srtt_8, srtt_8);
	}
}

static void blest_v09_correct(struct blest_v09 *blest, const struct v09_path *slow)
{
	if (tcp_jiffies32 - blest->corrected <
	    usecs_to_jiffies(slow->min_srtt_8 >> 3))
		return;

	blest->lambda = v09_blest_lambda(blest->lambda, blest->blocked);
	blest->blocked = false;
	blest->corrected = tcp_jiffies32;
}

/* The subflow that gets the next segment; NULL: none for now. */
static struct mptcp_subflow_context *blest_v09_choose(struct mptcp_sock *msk)
{
	struct blest_v09 *blest = blest_v09_of(msk);
	struct mptcp_subflow_context *fast, *best;
	struct v09_path fast_path, best_path;
	u64 window;

	blest_v09_measure(msk);
	fast = v09_lowest_rtt(msk, false);
	best = v09_lowest_rtt(msk, true);
	/* fast may be NULL: another CPU may have made subflows unusable. */
	if (!best || !fast || best == fast || !mptcp_sched_ack_is_due(fast))
		return best;

	best_path = v09_path(best);
	fast_path = v09_path(fast);
	blest_v09_correct(blest, &best_path);
	window = READ_ONCE(msk->wnd_end) - READ_ONCE(msk->snd_una);
	if (v09_blest_blocks(&fast_path, &best_path, best_path.mss,
			     min_t(u64, window, U32_MAX), blest->lambda))
		return NULL;
	return best;
}

static int blest_v09_get_send(struct mptcp_sock *msk)
{
	return mptcp_sched_grant(blest_v09_choose(msk), 1);
}

static struct sock *blest_v09_get_blocked(struct mptcp_sock *msk)
{
	struct sock *ssk;
	bool penal;

	ssk = v09_blocked(msk, blest_v09_choose(msk), true, &penal);
	if (penal)
		blest_v09_of(msk)->blocked = true;
	return ssk;
}

MPTCP_SCHED_SPLIT(blest_v09_get_send)

static struct mptcp_sched_ops mptcp_sched_blest_v09 = {
	MPTCP_SCHED_GET(blest_v09_get_send),
	.init		= blest_v09_init,
	.sent		= mptcp_sched_note,
	.get_blocked	= blest_v09_get_blocked,
	.penalise	= v09_halve,
	.flags		= MPTCP_SCHED_BOUNDED,
	.name		= "blest_v09",
	.owner		= THIS_MODULE,
};

static int __init blest_v09_register(void)
{
	return mptcp_register_scheduler(&mptcp_sched_blest_v09);
}
late_initcall(blest_v09_register);
