// SPDX-License-Identifier: GPL-2.0-only
/*
 * Redundant: every subflow carries all data, as far as it can.
 *
 * Each subflow has its own position in the stream (sched_seq), and continues from it
 * whenever its congestion window has room. Data that the peer has acknowledged on the
 * connection is skipped, so a slow subflow does not lag behind. A transfer takes as
 * long as on the faster path, and a loss on one path costs nothing if the other path
 * delivers.
 *
 * The send head is the first byte that has not been given to any usable subflow. When
 * a subflow fails, mainline moves the send head back to the first unacknowledged
 * byte, so that the data is sent again. Here the other subflows have sent it or will
 * send it anyway. So the head is moved forward to the position of the foremost one.
 */

#include "sched_common.h"

struct redundant {
	bool present;		/* sched_seq is valid */
};

static struct redundant *redundant_of(struct mptcp_subflow_context *subflow)
{
	BUILD_BUG_ON(sizeof(struct redundant) > sizeof(subflow->sched_priv));
	return (struct redundant *)subflow->sched_priv;
}

/* The first byte that waits to be sent, or the end of the stream. */
static u64 redundant_send_seq(const struct mptcp_sock *msk)
{
	const struct mptcp_data_frag *head = msk->first_pending;

	return head ? head->data_seq + head->already_sent : msk->snd_nxt;
}

/*
 * Data in flight may be on any of several subflows, so each subflow starts with the
 * first unacknowledged byte. A single subflow has been given all data, and must not
 * repeat it: until a second subflow joins, the connection may still fall back to TCP.
 * Before connect() there is nothing to repeat, and no sequence number is known.
 */
static void redundant_init(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *subflow;

	mptcp_sched_clear(msk);
	if (!list_is_singular(&msk->conn_list) ||
	    inet_sk_state_load((struct sock *)msk) == TCP_CLOSE)
		return;

	subflow = list_first_entry(&msk->conn_list,
				   struct mptcp_subflow_context, node);
	subflow->sched_seq = redundant_send_seq(msk);
	redundant_of(subflow)->present = true;
}

/* Move the send head, if mainline moved it back, forward to the foremost subflow. */
static void redundant_move_head(struct mptcp_sock *msk, u64 foremost)
{
	struct mptcp_data_frag *head;

	while ((head = msk->first_pending)) {
		if (!after64(foremost, head->data_seq + head->already_sent))
			break;
		head->already_sent = min_t(u64, foremost - head->data_seq,
					   head->data_len);
		if (head->already_sent < head->data_len)
			break;
		msk->first_pending = mptcp_send_next((struct sock *)msk);
	}
}

static int redundant_get_send(struct mptcp_sock *msk)
{
	enum mptcp_sched_class class = mptcp_sched_best_class(msk);
	struct mptcp_subflow_context *subflow;
	u64 una = READ_ONCE(msk->snd_una), foremost = una;
	struct mptcp_data_frag *last;
	int ret = -EINVAL;

	if (list_empty(&msk->rtx_queue))
		return ret;

	mptcp_for_each_subflow(msk, subflow) {
		if (!mptcp_sched_eligible(subflow, class))
			continue;
		/* A new subflow also carries the data that others have in flight. */
		if (!redundant_of(subflow)->present ||
		    before64(subflow->sched_seq, una)) {
			subflow->sched_seq = una;
			redundant_of(subflow)->present = true;
		}
		if (after64(subflow->sched_seq, foremost))
			foremost = subflow->sched_seq;
	}
	redundant_move_head(msk, foremost);

	last = list_last_entry(&msk->rtx_queue, struct mptcp_data_frag, list);
	mptcp_for_each_subflow(msk, subflow) {
		if (!mptcp_sched_eligible(subflow, class) ||
		    !before64(subflow->sched_seq,
			      last->data_seq + last->data_len))
			continue;
		if (!mptcp_sched_grant(subflow, mptcp_sched_room(subflow)))
			ret = 0;
	}
	return ret;
}

MPTCP_SCHED_SPLIT(redundant_get_send)

static struct mptcp_sched_ops mptcp_sched_redundant = {
	MPTCP_SCHED_GET(redundant_get_send),
	.init	= redundant_init,
	.flags	= MPTCP_SCHED_BOUNDED | MPTCP_SCHED_COPIES,
	.name	= "redundant",
	.owner	= THIS_MODULE,
};

static int __init redundant_register(void)
{
	return mptcp_register_scheduler(&mptcp_sched_redundant);
}
late_initcall(redundant_register);
