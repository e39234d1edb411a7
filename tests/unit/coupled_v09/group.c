// SPDX-License-Identifier: GPL-2.0-only
/*
 * The subflows of the connection under test as a group: in place of coupled.c, of which
 * no more is needed here than who joins and who leaves.
 */

#include <stdlib.h>

#include "coupled.h"
#include "group.h"

static struct sock msk;
static struct mptcp_subflow_context subflow = { .conn = &msk };

/* On the heap, so that a use after the last member's leaving is found. */
static struct coupled_group *group;

/* What a socket of this kind has before its control is initialised. */
void connect_group(struct sock *sk, bool mptcp)
{
	sk->is_mptcp = mptcp;
}

bool sk_is_mptcp(const struct sock *sk)
{
	return sk->is_mptcp;
}

struct mptcp_subflow_context *mptcp_subflow_ctx(const struct sock *sk)
{
	(void)sk;
	return &subflow;
}

void coupled_init(struct sock *sk)
{
	struct coupled_sock *cs = coupled_sk(sk);
	struct list_head *members;

	memset(cs, 0, sizeof(*cs));
	if (!sk->is_mptcp)
		return;
	if (!group) {
		group = calloc(1, sizeof(*group));
		if (!group)
			abort();
		group->members.next = &group->members;
		group->members.prev = &group->members;
	}
	members = &group->members;
	cs->node.prev = members->prev;
	cs->node.next = members;
	members->prev->next = &cs->node;
	members->prev = &cs->node;
	group->count++;
	cs->group = group;
}

void coupled_release(struct sock *sk)
{
	struct coupled_sock *cs = coupled_sk(sk);

	if (!cs->group)
		return;
	cs->node.prev->next = cs->node.next;
	cs->node.next->prev = cs->node.prev;
	cs->group = NULL;
	if (--group->count)
		return;
	free(group);
	group = NULL;
}
