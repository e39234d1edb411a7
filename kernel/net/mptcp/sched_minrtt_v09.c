// SPDX-License-Identifier: GPL-2.0-only
/*
 * The "default" of out-of-tree MPTCP 0.9x: lowest RTT first, with opportunistic
 * retransmission and penalisation. sched_v09.c explains how they work there, and
 * which deviations there are here.
 */

#include "sched_v09_common.h"

static int minrtt_v09_get_send(struct mptcp_sock *msk)
{
	return mptcp_sched_grant(v09_lowest_rtt(msk, true), 1);
}

static struct sock *minrtt_v09_get_blocked(struct mptcp_sock *msk)
{
	bool penal;

	return v09_blocked(msk, v09_lowest_rtt(msk, true), false, &penal);
}

MPTCP_SCHED_SPLIT(minrtt_v09_get_send)

static struct mptcp_sched_ops mptcp_sched_minrtt_v09 = {
	MPTCP_SCHED_GET(minrtt_v09_get_send),
	.init		= mptcp_sched_clear,
	.sent		= mptcp_sched_note,
	.get_blocked	= minrtt_v09_get_blocked,
	.penalise	= v09_halve,
	.flags		= MPTCP_SCHED_BOUNDED,
	.name		= "minrtt_v09",
	.owner		= THIS_MODULE,
};

static int __init minrtt_v09_register(void)
{
	return mptcp_register_scheduler(&mptcp_sched_minrtt_v09);
}
late_initcall(minrtt_v09_register);
