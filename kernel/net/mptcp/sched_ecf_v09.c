// SPDX-License-Identifier: GPL-2.0-only
/*
 * ECF as its authors had it in out-of-tree MPTCP 0.9x. sched_ecf.c has the idea
 * and its source; different here:
 *
 * - delta is half of rttvar_us, which has the minimum retransmission timeout
 *   of 200 ms as its floor: at least 100 ms;
 * - all that waits in the connection counts, what lies beyond the peer's window
 *   too, but not less than the window of the subflow it would go to;
 * - products have 32 bits and wrap;
 * - opportunistic retransmission and penalisation.
 *
 * Deviations: those of sched_v09.c; what waits in the connection is counted as
 * payload, not as memory; and the fast subflow is only waited for while it has
 * data in flight, and not after a retransmission timeout.
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

/* Whom to give a segment; NULL: to nobody, for now. */
static struct mptcp_subflow_context *ecf_v09_choose(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *fast, *best;
	struct v09_path fast_path, best_path;
	u64 backlog;

	fast = v09_lowest_rtt(msk, false);
	best = v09_lowest_rtt(msk, true);
	/* There may be no @fast: on another CPU, subflows become unusable. */
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
