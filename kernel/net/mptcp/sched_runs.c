// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which subflows carry which data. Out-of-tree MPTCP keeps a mask of subflows in
 * every segment of the connection; mainline does not keep this information.
 *
 * Carrier of a byte: a subflow that was given the byte.
 * Run: consecutive unacknowledged bytes with the same set of carriers.
 * To note: to record that a subflow was given some bytes.
 *
 * Each connection has a list of runs in the order of their sequence numbers. Only
 * schedulers that use it maintain it. Data that was sent before, or for which the
 * allocation of a run failed, has no carriers.
 */

#include <linux/slab.h>
#include "sched_common.h"

struct sched_run {
	struct list_head node;
	u64 seq;		/* first byte */
	u64 end;		/* first byte after the run */
	u32 carriers;		/* see mptcp_sched_carrier() */
};

static void runs_remove(struct sched_run *run)
{
	list_del(&run->node);
	kfree(run);
}

static struct sched_run *runs_first(struct mptcp_sock *msk)
{
	return list_first_entry_or_null(&msk->sched_runs, struct sched_run,
					node);
}

static void runs_prune(struct mptcp_sock *msk)
{
	u64 una = READ_ONCE(msk->snd_una);
	struct sched_run *run;

	while ((run = runs_first(msk)) && !after64(run->end, una))
		runs_remove(run);
}

static struct sched_run *runs_add(struct list_head *after, u64 seq, u64 end,
				  u32 carriers)
{
	struct sched_run *run = kmalloc(sizeof(*run), GFP_ATOMIC | __GFP_NOWARN);

	if (!run)
		return NULL;
	run->seq = seq;
	run->end = end;
	run->carriers = carriers;
	list_add(&run->node, after);
	return run;
}

/* Split @run at @at, which lies inside it. Return the second part, or NULL without memory. */
static struct sched_run *runs_split(struct sched_run *run, u64 at)
{
	struct sched_run *second;

	second = runs_add(&run->node, at, run->end, run->carriers);
	if (second)
		run->end = at;
	return second;
}

/*
 * Add a carrier to these bytes, as far as they are in the list. Runs are split while the
 * list is iterated. This is safe: runs_split() removes nothing, and inserts the second
 * part after the first. After a split at @seq the iteration continues from the second
 * part. After a split at @end it reaches the second part, which begins at @end, and stops.
 */
static void runs_mark(struct mptcp_sock *msk, u64 seq, u64 end, u32 carrier)
{
	struct sched_run *run;

	list_for_each_entry(run, &msk->sched_runs, node) {
		if (!before64(run->seq, end))
			break;
		if (!after64(run->end, seq))
			continue;
		if (run->carriers & carrier)
			continue;
		if (before64(run->seq, seq)) {
			run = runs_split(run, seq);
			if (!run)
				break;
		}
		if (after64(run->end, end) && !runs_split(run, end))
			break;
		run->carriers |= carrier;
	}
}

static void runs_append(struct mptcp_sock *msk, struct sched_run *last, u64 seq,
			u64 end, u32 carrier)
{
	if (last && last->end == seq && last->carriers == carrier)
		last->end = end;
	else
		runs_add(msk->sched_runs.prev, seq, end, carrier);
}

/* sent() of schedulers that call mptcp_sched_left_edge(). */
void mptcp_sched_note(struct mptcp_sock *msk, struct sock *ssk, u64 seq, u32 len)
{
	u32 carrier = mptcp_sched_carrier(mptcp_subflow_ctx(ssk));
	struct sched_run *last = NULL;
	u64 end = seq + len;

	runs_prune(msk);
	if (!list_empty(&msk->sched_runs))
		last = list_last_entry(&msk->sched_runs, struct sched_run, node);
	if (last && before64(seq, last->end)) {
		u64 known = last->end;

		runs_mark(msk, seq, end, carrier);
		if (!after64(end, known))
			return;
		seq = known;
		last = list_last_entry(&msk->sched_runs, struct sched_run, node);
	}
	runs_append(msk, last, seq, end, carrier);
}

/**
 * mptcp_sched_left_edge() - return the carriers of the first unacknowledged byte
 * @msk: the connection
 * @len: output or NULL; at least @len bytes from there on have the same carriers
 *
 * Return: the carriers, see mptcp_sched_carrier(); 0 if they are not known.
 */
u32 mptcp_sched_left_edge(struct mptcp_sock *msk, u64 *len)
{
	u64 una = READ_ONCE(msk->snd_una);
	struct sched_run *run;

	runs_prune(msk);
	run = runs_first(msk);
	if (!run || after64(run->seq, una))
		return 0;
	if (len)
		*len = run->end - una;
	return run->carriers;
}

/* The carrier bits whose subflows are all in TCP_CA_Loss. */
static u32 lost_carriers(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *subflow;
	u32 lost = 0, others = 0;

	mptcp_for_each_subflow(msk, subflow) {
		if (mptcp_sched_ca_state(subflow) == TCP_CA_Loss)
			lost |= mptcp_sched_carrier(subflow);
		else
			others |= mptcp_sched_carrier(subflow);
	}
	return lost & ~others;
}

/**
 * mptcp_sched_lost() - find data that a subflow may retransmit after a timeout of others
 * @msk: the connection
 * @ssk: this subflow, locked; its sched_quota is set to the number of segments
 * @seq: input, where to begin; output, the first byte that @ssk may retransmit
 *
 * Out-of-tree MPTCP queues all data that a subflow carries for reinjection when the
 * retransmission timer of this subflow fires.
 *
 * Return: whether there is such data, and room for it.
 */
bool mptcp_sched_lost(struct mptcp_sock *msk, struct sock *ssk, u64 *seq)
{
	struct mptcp_subflow_context *subflow = mptcp_subflow_ctx(ssk);
	u32 mss = max(READ_ONCE(tcp_sk(ssk)->mss_cache), 1U);
	u32 room = mptcp_sched_room(subflow);
	u32 lost = lost_carriers(msk);
	struct sched_run *run;

	if (!room || !lost)
		return false;

	list_for_each_entry(run, &msk->sched_runs, node) {
		if (!after64(run->end, *seq) || !run->carriers ||
		    run->carriers & ~lost)
			continue;
		if (after64(run->seq, *seq))
			*seq = run->seq;
		subflow->sched_quota = min_t(u64, room,
					     DIV64_U64_ROUND_UP(run->end - *seq,
								mss));
		return true;
	}
	return false;
}

/* Free the list: the connection ends, or its scheduler does not use the list any more. */
void mptcp_sched_forget(struct mptcp_sock *msk)
{
	struct sched_run *run, *next;

	list_for_each_entry_safe(run, next, &msk->sched_runs, node)
		runs_remove(run);
}
