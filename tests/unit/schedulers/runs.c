// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of runs of sched_runs.c for Python's ctypes: as much of a kernel as it
 * needs, and the file itself without its #include lines, as runs.inc.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

typedef unsigned int u32;
typedef unsigned long long u64;

#define GFP_ATOMIC	0
#define __GFP_NOWARN	0
#define READ_ONCE(x)	(x)
#define after64(a, b)	((long long)((b) - (a)) < 0)
#define before64(a, b)	after64(b, a)
#define max(a, b)	((a) > (b) ? (a) : (b))
#define min_t(type, a, b)	((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define DIV64_U64_ROUND_UP(a, b)	(((a) + (b) - 1) / (b))
#define TCP_CA_Open	0
#define TCP_CA_Loss	4
#define SUBFLOWS	4

struct list_head {
	struct list_head *next, *prev;
};

/* Context and socket of a subflow are one here, and its congestion window is its room. */
#define mptcp_subflow_context	sock
struct sock {
	u32 subflow_id;
	u32 sched_quota;
	u32 mss_cache;
	u32 room;
	int ca_state;
};

struct mptcp_sock {
	u64 snd_una;
	struct list_head sched_runs;
	struct sock subflows[SUBFLOWS];
};

#define mptcp_subflow_ctx(ssk)	(ssk)
#define tcp_sk(ssk)		(ssk)
#define mptcp_sched_ca_state(subflow)	((subflow)->ca_state)
#define mptcp_sched_room(subflow)	((subflow)->room)
#define mptcp_for_each_subflow(msk, subflow)	\
	for (subflow = (msk)->subflows; subflow < (msk)->subflows + SUBFLOWS; subflow++)

#define list_entry(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))
#define list_first_entry_or_null(head, type, member) \
	(list_empty(head) ? NULL : list_entry((head)->next, type, member))
#define list_last_entry(head, type, member) list_entry((head)->prev, type, member)
#define list_for_each_entry(pos, head, member)				\
	for (pos = list_entry((head)->next, typeof(*pos), member);	\
	     &pos->member != (head);					\
	     pos = list_entry(pos->member.next, typeof(*pos), member))
#define list_for_each_entry_safe(pos, n, head, member)			\
	for (pos = list_entry((head)->next, typeof(*pos), member),	\
	     n = list_entry(pos->member.next, typeof(*pos), member);	\
	     &pos->member != (head);					\
	     pos = n, n = list_entry(n->member.next, typeof(*n), member))

int live_runs;		/* allocated and not freed */
int fail_after = -1;	/* number of allocations that still succeed; -1: no limit */

static inline void list_add(struct list_head *new, struct list_head *head)
{
	new->next = head->next;
	new->prev = head;
	head->next->prev = new;
	head->next = new;
}

static inline void list_del(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void *kmalloc(size_t size, int flags)
{
	(void)flags;
	if (!fail_after)
		return NULL;
	if (fail_after > 0)
		fail_after--;
	live_runs++;
	return malloc(size);
}

static inline void kfree(void *memory)
{
	live_runs--;
	free(memory);
}

static inline u32 mptcp_sched_carrier(const struct sock *subflow)
{
	return 1U << (subflow->subflow_id % 32);
}

#include "runs.inc"

static struct mptcp_sock test_msk;

void test_start(u64 una)
{
	test_msk.snd_una = una;
	test_msk.sched_runs.next = &test_msk.sched_runs;
	test_msk.sched_runs.prev = &test_msk.sched_runs;
}

void test_note(u32 subflow, u64 seq, u32 len)
{
	struct sock ssk = { .subflow_id = subflow };

	mptcp_sched_note(&test_msk, &ssk, seq, len);
}

u32 test_left_edge(u64 una, u64 *len)
{
	test_msk.snd_una = una;
	return mptcp_sched_left_edge(&test_msk, len);
}

/*
 * The segments that subflow @on may retransmit from @seq on, if the subflows in @lost had a timeout and it has room for
 * @room segments of @mss bytes. Return their number, or 0.
 */
u32 test_lost(u32 lost, u32 on, u32 room, u32 mss, u64 *seq)
{
	struct sock *ssk = &test_msk.subflows[on];
	u32 id;

	for (id = 0; id < SUBFLOWS; id++) {
		test_msk.subflows[id].subflow_id = id;
		test_msk.subflows[id].ca_state = lost & 1U << id ? TCP_CA_Loss : TCP_CA_Open;
	}
	ssk->room = room;
	ssk->mss_cache = mss;
	return mptcp_sched_lost(&test_msk, ssk, seq) ? ssk->sched_quota : 0;
}

void test_forget(void)
{
	mptcp_sched_forget(&test_msk);
}
