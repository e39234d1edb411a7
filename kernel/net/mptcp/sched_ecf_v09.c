// SPDX-License-Identifier: GPL-2.0-only
/*
 * ECF as its authors implemented it in out-of-tree MPTCP 0.9x. sched_ecf.c explains
 * the idea and names its source. Differences:
 *
 * - delta is half of rttvar_us, which is never below the minimum retransmission
 *   timeout of 200 ms, so delta is at least 100 ms;
 * - the backlog is all data that waits in the connection, also beyond the peer's
 *   window, but at least the window of the subflow that would get it;
 * - products have 32 bits and wrap;
 * - opportunistic retransmission and penalisation.
 *
 * Deviations: as in sched_v09.c; also, the backlog is counted as payload, not as
 * memory, and the scheduler waits for the fast subflow only while this has data in
 * flight, and not after a retransmission timeout.
 */

#include "sched_v09_common.h"

struct ecf_v09 {
	u32 waiting;
};

static struct ecf_v09 *ecf_v09_of(struct mptcp_sock *msk)
{
	BUILD_BUG_ON(sizeof(struct ecf_v09) > sizeof(msk->sched_priv));
	return (struct ecf_v09 *)msk->sched_priv;
}

/* The subflow that gets the next segment; NULL: none for now. */
static struct mptcp_subflow_context *ecf_v09_choose(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *fast, *best;
	struct v09_path fast_path, best_path;
	u64 backlog;

	fast = v09_lowest_rtt(msk, false);
	best = v09_lowest_rtt(msk, true);
	/* fast may be NULL: another CPU may have made subflows unusable. */
	if (!best || !fast || best == fast || !mptcp_sched_ack_is_due(fast))
		return best;

	fast_path = v09_path(fast);
	best_path = v09_path(best);
	backlog = min_t(u64, msk->write_seq - msk->snd_nxt, U32_MAX);
	if (v09_ecf_waits(&fast_path, &best_path, backlog,
			  &ecf_v09_of(msk)->waiting))
		return NULL;
	return best;
}

static int ecf_v09_get_send(struct mptcp_sock *msk)
{
	return mptcp_sched_grant(ecf_v09_choose(msk), 1);
}

static struct sock *ecf_v09_get_blocked(struct mptcp_sock *msk)
{
	bool penal;

	return v09_blocked(msk, ecf_v09_choose(msk), false, &penal);
}

MPTCP_SCHED_SPLIT(ecf_v09_get_send)

static struct mptcp_sched_ops mptcp_sched_ecf_v09 = {
	MPTCP_SCHED_GET(ecf_v09_get_send),
	.init		= mptcp_sched_clear,
	.sent		= mptcp_sched_note,
	.get_blocked	= ecf_v09_get_blocked,
	.penalise	= v09_halve,
	.flags		= MPTCP_SCHED_BOUNDED,
	.name		= "ecf_v09",
	.owner		= THIS_MODULE,
};

static int __init ecf_v09_register(void)
{
	return mptcp_register_scheduler(&mptcp_sched_ecf_v09);
}
late_initcall(ecf_v09_register);
