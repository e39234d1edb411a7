/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SCHED_V09_COMMON_H
#define _SCHED_V09_COMMON_H

#include "sched_common.h"

/* Private state of a subflow, in sched_priv. */
struct v09_subflow {
	u32 penalty_jiffies;	/* when it last caused a penalty of others */
	u32 min_srtt_8;		/* lowest and highest RTT, for BLEST */
	u32 max_srtt_8;
	bool present;
};

struct v09_subflow *v09_subflow(struct mptcp_subflow_context *subflow);
struct v09_path v09_path(struct mptcp_subflow_context *subflow);
struct mptcp_subflow_context *v09_lowest_rtt(struct mptcp_sock *msk, bool with_room);
struct sock *v09_blocked(struct mptcp_sock *msk, struct mptcp_subflow_context *fast,
			 bool all, bool *penal);

#endif /* _SCHED_V09_COMMON_H */
