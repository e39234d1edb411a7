// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lowest RTT first, the default of out-of-tree MPTCP 0.8x to 0.9x.
 *
 * Among the subflows whose congestion window has room, the subflow with the lowest
 * smoothed RTT is filled. If none has room, data waits in the connection, not in a
 * subflow.
 *
 * net.mptcp.scheduler_opportunistic adds opportunistic retransmission and
 * penalisation, which out-of-tree MPTCP always had: see sched_opportunistic.c, and
 * minrtt_v09 for that kernel's variant. Lost data is retransmitted as in mainline,
 * not from a queue for reinjection.
 */

#include "sched_common.h"

static int minrtt_get_send(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *best;

	best = mptcp_sched_lowest_rtt(msk, mptcp_sched_best_class(msk), true);
	return best ? mptcp_sched_grant(best, mptcp_sched_room(best)) : -EINVAL;
}

MPTCP_SCHED_SPLIT(minrtt_get_send)

static struct mptcp_sched_ops mptcp_sched_minrtt = {
	MPTCP_SCHED_GET(minrtt_get_send),
	.sent		= mptcp_sched_default_sent,
	.get_blocked	= mptcp_sched_default_blocked,
	.penalise	= mptcp_sched_default_penalise,
	.flags		= MPTCP_SCHED_BOUNDED,
	.name		= "minrtt",
	.owner		= THIS_MODULE,
};

static int __init minrtt_register(void)
{
	return mptcp_register_scheduler(&mptcp_sched_minrtt);
}
late_initcall(minrtt_register);
