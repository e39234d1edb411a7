// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which subflows carry which data. Out-of-tree MPTCP keeps a mask of subflows in
 * every segment of the connection; mainline does not know.
 *
 * The data that is not acknowledged is a list of runs, in the order of their
 * sequence numbers: consecutive bytes that the same subflows were given. Only
 * schedulers that need it keep it. Data that was sent before, or for which there
 * was no memory, has no carrier.
 */

#include <linux/slab.h>
#include "sched_common.h"

struct sched_run {
	struct list_head node;
	u64 seq;		/* first byte */
	u64 end;		/* first byte behind it */
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

/* Cut @run in two at @at, which lies inside of it. Return the second part. */
static struct sched_run *runs_split(struct sched_run *run, u64 at)
{
	struct sched_run *second;

	second = runs_add(&run->node, at, run->end, run->carriers);
	if (second)
		run->end = at;
	return second;
}

/* These bytes, as far as they are in the list, have one more carrier. */
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

/* The sent() of a scheduler that asks for mptcp_sched_left_edge(). */
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
 * mptcp_sched_left_edge() - who carries the first byte that is not acknowledged
 * @msk: the connection
 * @len: output, at least so many bytes from there on have the same carriers, or NULL
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

/* The carriers that only subflows after a retransmission timeout have. */
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
 * mptcp_sched_lost() - what may go onto a subflow because others had a timeout
 * @msk: the connection
 * @ssk: this subflow, locked; it is granted so many segments
 * @seq: input, where to begin; output, the first byte that it may retransmit
 *
 * Out-of-tree MPTCP queues all that a subflow carries for reinjection when that
 * subflow's retransmission timer fires.
 *
 * Return: is there such data, and room for it?
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

/* The connection ends, or nobody asks any more. */
void mptcp_sched_forget(struct mptcp_sock *msk)
{
	struct sched_run *run, *next;

	list_for_each_entry_safe(run, next, &msk->sched_runs, node)
		runs_remove(run);
}
