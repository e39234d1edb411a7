// SPDX-License-Identifier: GPL-2.0-only
/*
 * A scheduler of your own: the subflow with the fewest retransmissions.
 *
 * Of the active subflows with room in their send buffer, choose the subflow that has
 * retransmitted the fewest segments since it was created; of equal ones, the subflow
 * with the lowest smoothed round-trip time. Backups are used only if no other subflow is
 * active. There is no get_retrans: the kernel then calls get_send for retransmissions,
 * too.
 *
 * Only kernels of the MPTCP developers' tree can register it: their types have the
 * iterator over subflows, which mainline lacks.
 */

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define EINVAL	22

char _license[] SEC("license") = "GPL";

extern int bpf_iter_mptcp_subflow_new(struct bpf_iter_mptcp_subflow *it,
				      struct sock *sk) __ksym;
extern struct mptcp_subflow_context *
bpf_iter_mptcp_subflow_next(struct bpf_iter_mptcp_subflow *it) __ksym;
extern void bpf_iter_mptcp_subflow_destroy(struct bpf_iter_mptcp_subflow *it) __ksym;
extern struct sock *
bpf_mptcp_subflow_tcp_sock(const struct mptcp_subflow_context *subflow) __ksym;
extern bool mptcp_subflow_active(struct mptcp_subflow_context *subflow) __ksym;
extern bool bpf_sk_stream_memory_free(const struct sock *sk) __ksym;
extern void mptcp_subflow_set_scheduled(struct mptcp_subflow_context *subflow,
					bool scheduled) __ksym;

/* The best subflow of one kind, and whether any subflow of this kind exists. */
struct choice {
	u64 cost;
	u32 id;
	bool found;
	bool active;
};

static __always_inline void consider(struct choice *choice,
				     struct mptcp_subflow_context *subflow)
{
	struct sock *ssk = bpf_mptcp_subflow_tcp_sock(subflow);
	const struct tcp_sock *tp = (struct tcp_sock *)ssk;
	u64 cost;

	if (!ssk)
		return;
	choice->active = true;
	if (!bpf_sk_stream_memory_free(ssk))
		return;
	cost = (u64)tp->total_retrans << 32 | tp->srtt_us;
	if (choice->found && cost >= choice->cost)
		return;
	choice->cost = cost;
	choice->id = subflow->subflow_id;
	choice->found = true;
}

SEC("struct_ops/fewest_get_send")
int BPF_PROG(fewest_get_send, struct mptcp_sock *msk)
{
	struct choice usual = {}, backup = {}, *choice;
	struct mptcp_subflow_context *subflow;
	struct bpf_iter_mptcp_subflow it;
	int err = -EINVAL;

	bpf_iter_mptcp_subflow_new(&it, (struct sock *)msk);
	while ((subflow = bpf_iter_mptcp_subflow_next(&it))) {
		if (!mptcp_subflow_active(subflow))
			continue;
		if (subflow->backup || subflow->request_bkup)
			consider(&backup, subflow);
		else
			consider(&usual, subflow);
	}
	bpf_iter_mptcp_subflow_destroy(&it);

	choice = usual.active ? &usual : &backup;
	if (!choice->found)
		return err;

	/* A subflow may not leave the loop that found it. */
	bpf_iter_mptcp_subflow_new(&it, (struct sock *)msk);
	while ((subflow = bpf_iter_mptcp_subflow_next(&it))) {
		if (subflow->subflow_id != choice->id)
			continue;
		mptcp_subflow_set_scheduled(subflow, true);
		err = 0;
		break;
	}
	bpf_iter_mptcp_subflow_destroy(&it);
	return err;
}

SEC(".struct_ops")
struct mptcp_sched_ops fewest = {
	.get_send	= (void *)fewest_get_send,
	.name		= "fewest",
};
