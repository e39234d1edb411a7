// SPDX-License-Identifier: GPL-2.0-only
/*
 * Helpers of the lab's packet schedulers: which subflows may be used, how much may
 * be sent on a subflow, and where lost data is retransmitted.
 */

#include "sched_common.h"

/*
 * Backup subflows are used only if no other subflow is active. A subflow in
 * TCP_CA_Loss only retransmits its own data, unless no better class is in use:
 * out-of-tree MPTCP calls it temporarily unavailable.
 */
enum mptcp_sched_class mptcp_sched_class(struct mptcp_subflow_context *subflow)
{
	bool loss;

	if (!mptcp_subflow_active(subflow))
		return MPTCP_SCHED_UNUSABLE;

	loss = mptcp_sched_ca_state(subflow) == TCP_CA_Loss;
	if (mptcp_sched_is_backup(subflow))
		return loss ? MPTCP_SCHED_BACKUP_LOSS : MPTCP_SCHED_BACKUP;
	return loss ? MPTCP_SCHED_LOSS : MPTCP_SCHED_OPEN;
}

/* The class to choose from; no subflow may be chosen if it is MPTCP_SCHED_UNUSABLE. */
enum mptcp_sched_class mptcp_sched_best_class(struct mptcp_sock *msk)
{
	enum mptcp_sched_class best = MPTCP_SCHED_UNUSABLE;
	struct mptcp_subflow_context *subflow;

	mptcp_for_each_subflow(msk, subflow)
		best = min(best, mptcp_sched_class(subflow));
	return best;
}

/* May this subflow be chosen, given the best class? */
bool mptcp_sched_eligible(struct mptcp_subflow_context *subflow,
			  enum mptcp_sched_class class)
{
	return class != MPTCP_SCHED_UNUSABLE &&
	       mptcp_sched_class(subflow) == class;
}

/*
 * Number of segments that fit into the congestion window now, after the segments that
 * wait in the subflow's own queue. mss_cache does not account for MPTCP's options. So
 * the number of queued segments is underestimated rather than overestimated, and cwnd
 * is always filled, as congestion controls require.
 */
u32 mptcp_sched_room(const struct mptcp_subflow_context *subflow)
{
	struct sock *ssk = mptcp_subflow_tcp_sock(subflow);
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 mss = max(READ_ONCE(tp->mss_cache), 1U);
	u32 cwnd = mptcp_sched_cwnd(tp);
	u32 unsent, used;

	if (!sk_stream_memory_free(ssk))
		return 0;

	unsent = READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt);
	used = mptcp_sched_in_flight(tp) + DIV_ROUND_UP(unsent, mss);
	return used < cwnd ? min(cwnd - used, MPTCP_SCHED_MAX_SEGS) : 0;
}

struct mptcp_subflow_context *
mptcp_sched_lowest_rtt(struct mptcp_sock *msk, enum mptcp_sched_class class,
		       bool with_room)
{
	struct mptcp_subflow_context *subflow, *best = NULL;

	mptcp_for_each_subflow(msk, subflow) {
		if (!mptcp_sched_eligible(subflow, class))
			continue;
		if (best && mptcp_sched_srtt(subflow) >= mptcp_sched_srtt(best))
			continue;
		if (!with_room || mptcp_sched_room(subflow))
			best = subflow;
	}
	return best;
}

/* Decide for @subflow and @segs segments; -EINVAL, so no decision, if either is 0. */
int mptcp_sched_grant(struct mptcp_subflow_context *subflow, u32 segs)
{
	if (!subflow || !segs)
		return -EINVAL;

	subflow->sched_quota = segs;
	mptcp_subflow_set_scheduled(subflow, true);
	return 0;
}

/* Retransmit lost data on a subflow that has nothing in flight. */
int mptcp_sched_on_idle(struct mptcp_sock *msk)
{
	struct sock *ssk = mptcp_subflow_get_retrans(msk);

	if (!ssk)
		return -EINVAL;

	mptcp_subflow_set_scheduled(mptcp_subflow_ctx(ssk), true);
	return 0;
}

/* Clear the private state that the previous or the listener's scheduler left. */
void mptcp_sched_clear(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *subflow;

	memset(msk->sched_priv, 0, sizeof(msk->sched_priv));
	mptcp_for_each_subflow(msk, subflow) {
		memset(subflow->sched_priv, 0, sizeof(subflow->sched_priv));
		subflow->sched_quota = 0;
		subflow->sched_seq = 0;
	}
}
