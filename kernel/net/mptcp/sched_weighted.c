// SPDX-License-Identifier: GPL-2.0-only
/*
 * Weighted: the bytes of the subflows are in the ratio of their weights, which
 * net.mptcp.scheduler_weights assigns to addresses.
 *
 * It is deficit round robin (Shreedhar and Varghese, 1996) with one virtual counter
 * per subflow: the bytes that it has been given, divided by its weight. The lowest is
 * next. All bytes that TCP has been given count, reinjected data included, because
 * the path carries it.
 *
 * If weights are set, the ratio is enforced: if the next subflow has no room, each of
 * the others may run ahead of it by 64 KB, and then waits. The connection is as fast
 * as its paths can be in this ratio. It waits for a subflow only while ACKs are due:
 * not after a retransmission timeout, and not without data in flight. A subflow gets
 * no credit for the time it was unusable. If no weights are set, there is no ratio to
 * enforce, and no subflow waits: round robin by bytes.
 */

#include "sched_common.h"

#define WEIGHTED_SHIFT	16
#define WEIGHTED_AHEAD	65536	/* bytes; two of a send buffer's fragments */

struct weighted {
	u64 served;		/* bytes / weight, << WEIGHTED_SHIFT */
	u32 write_seq;		/* of the subflow, up to which bytes are counted */
	u32 generation;		/* of the weights */
	u8 weight;
	bool present;		/* was usable in the previous decision */
};

static struct weighted *weighted_of(struct mptcp_subflow_context *subflow)
{
	BUILD_BUG_ON(sizeof(struct weighted) > sizeof(subflow->sched_priv));
	return (struct weighted *)subflow->sched_priv;
}

static u64 weighted_share(const struct weighted *w, u32 bytes)
{
	return div_u64((u64)bytes << WEIGHTED_SHIFT, w->weight);
}

/* Counters wrap after 2^48 bytes with weight 1. */
static bool weighted_less(const struct weighted *a, const struct weighted *b)
{
	return before64(a->served, b->served);
}

/* Update the weight and the counter of a subflow. */
static void weighted_charge(struct mptcp_subflow_context *subflow,
			    u32 generation)
{
	u32 write_seq = READ_ONCE(mptcp_sched_tp(subflow)->write_seq);
	struct weighted *w = weighted_of(subflow);

	if (!w->weight) {
		w->weight = mptcp_weight(subflow);
		w->generation = generation;
		w->write_seq = write_seq;
	}
	w->served += weighted_share(w, write_seq - w->write_seq);
	w->write_seq = write_seq;

	if (w->generation != generation) {
		w->weight = mptcp_weight(subflow);
		w->generation = generation;
	}
}

/*
 * Update all subflows; return the lowest counter of the subflows that are usable in this
 * decision and were in the previous one.
 */
static struct weighted *weighted_charge_all(struct mptcp_sock *msk,
					    enum mptcp_sched_class class)
{
	u32 generation = mptcp_weights_generation(sock_net((struct sock *)msk));
	struct mptcp_subflow_context *subflow;
	struct weighted *least = NULL, *w;

	mptcp_for_each_subflow(msk, subflow) {
		weighted_charge(subflow, generation);
		w = weighted_of(subflow);
		if (!mptcp_sched_eligible(subflow, class))
			w->present = false;
		else if (w->present && (!least || weighted_less(w, least)))
			least = w;
	}
	return least;
}

static int weighted_get_send(struct mptcp_sock *msk)
{
	bool strict = mptcp_weights_given(sock_net((struct sock *)msk));
	enum mptcp_sched_class class = mptcp_sched_best_class(msk);
	struct mptcp_subflow_context *subflow, *next = NULL;
	struct weighted *w, *floor, *awaited = NULL;

	floor = weighted_charge_all(msk, class);
	mptcp_for_each_subflow(msk, subflow) {
		if (!mptcp_sched_eligible(subflow, class))
			continue;
		w = weighted_of(subflow);
		if (!w->present) {
			if (floor && weighted_less(w, floor))
				w->served = floor->served;
			w->present = true;
		}

		if (mptcp_sched_room(subflow)) {
			if (!next || weighted_less(w, weighted_of(next)))
				next = subflow;
		} else if (strict && mptcp_sched_ack_is_due(subflow)) {
			if (!awaited || weighted_less(w, awaited))
				awaited = w;
		}
	}
	if (!next)
		return -EINVAL;

	w = weighted_of(next);
	if (awaited && after64(w->served, awaited->served +
			       weighted_share(w, WEIGHTED_AHEAD)))
		return -EINVAL;

	return mptcp_sched_grant(next, min_t(u32, mptcp_sched_room(next),
					     w->weight));
}

MPTCP_SCHED_SPLIT(weighted_get_send)

static struct mptcp_sched_ops mptcp_sched_weighted = {
	MPTCP_SCHED_GET(weighted_get_send),
	.init	= mptcp_sched_clear,
	.flags	= MPTCP_SCHED_BOUNDED,
	.name	= "weighted",
	.owner	= THIS_MODULE,
};

static int __init weighted_register(void)
{
	return mptcp_register_scheduler(&mptcp_sched_weighted);
}
late_initcall(weighted_register);
