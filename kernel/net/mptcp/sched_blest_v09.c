// SPDX-License-Identifier: GPL-2.0-only
/*
 * BLEST as its authors had it in out-of-tree MPTCP 0.9x. sched_blest.c has the
 * idea and its source; different here:
 *
 * - the RTT of the fast subflow is the middle of the lowest and the highest that
 *   it had; a segment stays on the slow one for as long as its RTT grows with
 *   its window, from the lowest to the highest;
 * - in the first slow start the fast subflow is taken to double each RTT, up to
 *   16 times;
 * - lambda rises if, in the last lowest RTT of the slow subflow, the receive
 *   window or the send buffer was full and a subflow had room: in the path of
 *   opportunistic retransmission and penalisation, which it has too, of all
 *   slower subflows at once.
 *
 * Deviations: those of sched_v09.c; and the fast subflow is only waited for while
 * it has data in flight, and not after a retransmission timeout.
 */

#include "sched_v09_common.h"

struct blest_v09 {
	s16 lambda;		/* in 1/1000 */
	bool blocked;		/* since lambda was corrected */
	u32 corrected;		/* in jiffies */
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

/* Whom to give a segment; NULL: to nobody, for now. */
static struct mptcp_subflow_context *blest_v09_choose(struct mptcp_sock *msk)
{
	struct blest_v09 *blest = blest_v09_of(msk);
	struct mptcp_subflow_context *fast, *best;
	struct v09_path fast_path, best_path;
	u64 window;

	blest_v09_measure(msk);
	fast = v09_lowest_rtt(msk, false);
	best = v09_lowest_rtt(msk, true);
	/* There may be no @fast: on another CPU, subflows become unusable. */
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
