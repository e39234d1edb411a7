// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code that the schedulers of out-of-tree MPTCP 0.9x share: the choice of a subflow,
 * and the actions when the receive window or the send buffer is full. Their
 * arithmetic is in sched_v09.h.
 *
 * As in the out-of-tree kernel, and unlike sched_opportunistic.c:
 *
 * - A subflow has room if the bytes in its queue do not exceed the free part of its
 *   congestion window, even if they fill it. It gets one segment per decision.
 * - A segment is not retransmitted if the faster subflow carries it. Otherwise its
 *   carriers are checked in list order. The check stops at the first window of at most
 *   4 segments (retransmit), or at the first RTT that is not more than four times the
 *   faster subflow's (do not retransmit). If it does not stop, retransmit.
 * - Penalties happen at most once per RTT of the faster subflow, counted in jiffies.
 *
 * Deviations, as for all schedulers of the lab: mptcp_sched_class() decides which
 * subflows are usable; after a retransmission timeout data is retransmitted as in
 * mainline, not from a queue for reinjection; DATA_FIN need not use the subflow on
 * which the peer's DATA_FIN arrived.
 */

#include "sched_v09_common.h"

struct v09_subflow *v09_subflow(struct mptcp_subflow_context *subflow)
{
	struct v09_subflow *priv = (struct v09_subflow *)subflow->sched_priv;

	BUILD_BUG_ON(sizeof(*priv) > sizeof(subflow->sched_priv));
	if (!priv->present) {
		priv->present = true;
		priv->penalty_jiffies = tcp_jiffies32;
		priv->min_srtt_8 = U32_MAX;
	}
	return priv;
}

/* A snapshot of a subflow, which is not locked: its fields may not match exactly. */
struct v09_path v09_path(struct mptcp_subflow_context *subflow)
{
	const struct v09_subflow *priv = v09_subflow(subflow);
	const struct tcp_sock *tp = mptcp_sched_tp(subflow);
	u32 write_seq = READ_ONCE(tp->write_seq);

	return (struct v09_path) {
		.srtt_8 = READ_ONCE(tp->srtt_us),
		.rttvar_4 = READ_ONCE(tp->rttvar_us),
		.min_srtt_8 = priv->min_srtt_8,
		.max_srtt_8 = priv->max_srtt_8,
		.cwnd = max(mptcp_sched_cwnd(tp), 1U),
		.ssthresh = READ_ONCE(tp->snd_ssthresh),
		.in_flight = mptcp_sched_in_flight(tp),
		.unsent = write_seq - READ_ONCE(tp->snd_nxt),
		.unacked = write_seq - READ_ONCE(tp->snd_una),
		.mss = max(READ_ONCE(tp->mss_cache), 1U),
	};
}

/* The subflow with the lowest RTT; if @with_room, of the subflows with room. */
struct mptcp_subflow_context *v09_lowest_rtt(struct mptcp_sock *msk, bool with_room)
{
	enum mptcp_sched_class class = mptcp_sched_best_class(msk);
	struct mptcp_subflow_context *subflow, *best = NULL;
	u32 srtt_8 = U32_MAX;

	mptcp_for_each_subflow(msk, subflow) {
		struct v09_path path;

		if (!mptcp_sched_eligible(subflow, class))
			continue;
		path = v09_path(subflow);
		if (path.srtt_8 >= srtt_8)
			continue;
		if (with_room &&
		    (!v09_has_room(&path) ||
		     !sk_stream_memory_free(mptcp_subflow_tcp_sock(subflow))))
			continue;
		srtt_8 = path.srtt_8;
		best = subflow;
	}
	return best;
}

/*
 * Penalise the first other carrier in list order, or @all, where they deserve it.
 * Return the carriers whose window is about to be halved.
 */
static u32 v09_penalise(struct mptcp_sock *msk, struct mptcp_subflow_context *fast,
			u32 carriers, bool all)
{
	struct v09_subflow *priv = v09_subflow(fast);
	struct v09_path path = v09_path(fast);
	struct mptcp_subflow_context *subflow;
	u32 penalised = 0;

	if (tcp_jiffies32 - priv->penalty_jiffies <
	    usecs_to_jiffies(path.srtt_8 >> 3))
		return 0;

	mptcp_for_each_subflow(msk, subflow) {
		struct v09_path slow;

		if (subflow == fast || !(carriers & mptcp_sched_carrier(subflow)))
			continue;
		slow = v09_path(subflow);
		if (v09_deserves_penalty(&path, &slow,
					 mptcp_sched_sees_no_loss(subflow))) {
			mptcp_sched_order_penalty(subflow);
			priv->penalty_jiffies = tcp_jiffies32;
			penalised |= mptcp_sched_carrier(subflow);
		}
		if (!all)
			break;
	}
	return penalised;
}

/*
 * Return whether @fast is to retransmit the first unacknowledged segment, which
 * @carriers have. The windows of @penalised are about to be halved.
 * v09_ask_retransmit() returns whether to check the next carrier; its output, retransmit,
 * is the decision so far.
 */
static bool v09_retransmits(struct mptcp_sock *msk, struct mptcp_subflow_context *fast,
			    u32 carriers, u32 penalised)
{
	struct v09_path path = v09_path(fast);
	struct mptcp_subflow_context *subflow;
	bool retransmit = false;

	if (carriers & mptcp_sched_carrier(fast))
		return false;

	mptcp_for_each_subflow(msk, subflow) {
		struct v09_path slow;

		if (subflow == fast || !(carriers & mptcp_sched_carrier(subflow)))
			continue;
		slow = v09_path(subflow);
		/* The out-of-tree kernel has halved this window by now. */
		if (penalised & mptcp_sched_carrier(subflow))
			v09_halve(&slow.cwnd, &slow.ssthresh);
		if (!v09_ask_retransmit(&path, &slow, &retransmit))
			break;
	}
	return retransmit;
}

/**
 * v09_blocked() - the get_blocked() of these schedulers
 * @msk: the connection
 * @fast: subflow that would get the next segment, or NULL
 * @all: penalise all slower subflows that carry the segment, not only the first
 * @penal: output, whether penalties were considered: a subflow has room, but the
 *	receive window or the send buffer is full. Input of BLEST's lambda.
 *
 * Return: the subflow to retransmit on, or NULL.
 */
struct sock *v09_blocked(struct mptcp_sock *msk, struct mptcp_subflow_context *fast,
			 bool all, bool *penal)
{
	u32 carriers = mptcp_sched_left_edge(msk, NULL);
	u32 penalised = 0;

	*penal = false;
	if (!fast || !carriers || list_is_singular(&msk->conn_list))
		return NULL;

	*penal = mptcp_sched_has_to_penalise(msk);
	if (*penal)
		penalised = v09_penalise(msk, fast, carriers, all);
	if (!v09_retransmits(msk, fast, carriers, penalised))
		return NULL;
	fast->sched_quota = 1;
	return mptcp_subflow_tcp_sock(fast);
}
