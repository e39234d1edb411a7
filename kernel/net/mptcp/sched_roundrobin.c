// SPDX-License-Identifier: GPL-2.0-only
/*
 * Round robin: one segment to each subflow in turn, in the order of their creation.
 *
 * A subflow without room in its congestion window is skipped. So the turns matter
 * while several subflows have room. In a bulk transfer, which fills all windows, each
 * ACK makes room on one subflow, which is then chosen: shares follow the windows.
 * Out-of-tree MPTCP does the same with its defaults, num_segments=1 and
 * cwnd_limited=Y.
 */

#include "sched_common.h"

struct roundrobin {
	u32 last;	/* subflow_id of the subflow chosen last */
};

static struct roundrobin *roundrobin_of(struct mptcp_sock *msk)
{
	BUILD_BUG_ON(sizeof(struct roundrobin) > sizeof(msk->sched_priv));
	return (struct roundrobin *)msk->sched_priv;
}

/* Does @a come before @b in the cyclic order that starts after @last? */
static bool roundrobin_before(u32 last, u32 a, u32 b)
{
	return a - last - 1 < b - last - 1;
}

static int roundrobin_get_send(struct mptcp_sock *msk)
{
	enum mptcp_sched_class class = mptcp_sched_best_class(msk);
	struct mptcp_subflow_context *subflow, *next = NULL;
	struct roundrobin *rr = roundrobin_of(msk);

	mptcp_for_each_subflow(msk, subflow) {
		if (!mptcp_sched_eligible(subflow, class) ||
		    !mptcp_sched_room(subflow))
			continue;
		if (!next || roundrobin_before(rr->last, subflow->subflow_id,
					       next->subflow_id))
			next = subflow;
	}
	if (!next)
		return -EINVAL;

	rr->last = next->subflow_id;
	return mptcp_sched_grant(next, 1);
}

MPTCP_SCHED_SPLIT(roundrobin_get_send)

static struct mptcp_sched_ops mptcp_sched_roundrobin = {
	MPTCP_SCHED_GET(roundrobin_get_send),
	.init	= mptcp_sched_clear,
	.flags	= MPTCP_SCHED_BOUNDED,
	.name	= "roundrobin",
	.owner	= THIS_MODULE,
};

static int __init roundrobin_register(void)
{
	return mptcp_register_scheduler(&mptcp_sched_roundrobin);
}
late_initcall(roundrobin_register);
