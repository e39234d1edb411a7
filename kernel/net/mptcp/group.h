/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MPTCP_GROUP_H
#define _MPTCP_GROUP_H

/*
 * The definition of a group, for coupled.c and for the congestion controls of the
 * out-of-tree kernel, which read the sockets of their siblings (v09.h).
 */

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct sock;
struct tcp_congestion_ops;

/**
 * struct coupled_group - the subflows of a connection with the same congestion control
 * @node: in the hash table; protected by the bucket's lock
 * @msk: the MPTCP socket; the group holds a reference on it; constant
 * @ops: the congestion control; constant
 * @lock: protects the fields below, and what members publish. A member leaves the
 *	list in release(), under this lock, before its socket is freed
 * @members: in the order in which they joined
 * @count: number of members; also read without the lock, as a hint
 * @alpha: lia_v09's increase, see v09_lia.c
 * @stale: lia_v09 has to compute @alpha before it uses it
 */
struct coupled_group {
	struct hlist_node node;
	struct sock *msk;
	const struct tcp_congestion_ops *ops;
	spinlock_t lock;	/* for the fields below */
	struct list_head members;
	u32 count;
	u64 alpha;
	bool stale;
};

#endif /* _MPTCP_GROUP_H */
