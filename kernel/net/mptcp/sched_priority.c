// SPDX-License-Identifier: GPL-2.0-only
/*
 * Strict priority: the first subflow is filled to its cwnd; the remaining data goes
 * to the next one, and so on.
 *
 * The order is by net.mptcp.scheduler_weights, highest first. Among equal weights, and
 * if no weights are set, the subflow that was created first comes first. The first
 * subflow of a connection uses the route on which the connection was opened.
 */

#include "sched_common.h"

struct priority {
	u32 generation;		/* of the weights, when @weight was looked up */
	u8 weight;		/* 0: not looked up yet */
};

static u8 priority_weight(struct mptcp_subflow_context *subflow, u32 generation)
{
	struct priority *p = (struct priority *)subflow->sched_priv;

	BUILD_BUG_ON(sizeof(struct priority) > sizeof(subflow->sched_priv));
	if (!p->weight || p->generation != generation) {
		p->weight = mptcp_weight(subflow);
		p->generation = generation;
	}
	return p->weight;
}

static int priority_get_send(struct mptcp_sock *msk)
{
	u32 generation = mptcp_weights_generation(sock_net((struct sock *)msk));
	enum mptcp_sched_class class = mptcp_sched_best_class(msk);
	struct mptcp_subflow_context *subflow, *first = NULL;
	u8 weight, highest = 0;

	mptcp_for_each_subflow(msk, subflow) {
		if (!mptcp_sched_eligible(subflow, class) ||
		    !mptcp_sched_room(subflow))
			continue;
		weight = priority_weight(subflow, generation);
		if (weight > highest ||
		    (weight == highest &&
		     subflow->subflow_id < first->subflow_id)) {
			highest = weight;
			first = subflow;
		}
	}
	return first ? mptcp_sched_grant(first, mptcp_sched_room(first)) : -EINVAL;
}

MPTCP_SCHED_SPLIT(priority_get_send)

static struct mptcp_sched_ops mptcp_sched_priority = {
	MPTCP_SCHED_GET(priority_get_send),
	.init	= mptcp_sched_clear,
	.flags	= MPTCP_SCHED_BOUNDED,
	.name	= "priority",
	.owner	= THIS_MODULE,
};

static int __init priority_register(void)
{
	return mptcp_register_scheduler(&mptcp_sched_priority);
}
late_initcall(priority_register);
