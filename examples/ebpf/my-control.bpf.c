// SPDX-License-Identifier: GPL-2.0-only
/*
 * A congestion control of your own: Reno that keeps the queue short.
 *
 * While the smoothed round-trip time is more than TARGET_US above the shortest one,
 * the window does not grow, and slow start ends. Everything else is Reno's.
 */

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define TARGET_US	5000
/* srtt_us is in eighths of a microsecond. */
#define SRTT_SHIFT	3

char _license[] SEC("license") = "GPL";

extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

SEC("struct_ops/calm_cong_avoid")
void BPF_PROG(calm_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u32 shortest_us = tp->rtt_min.s[0].v;

	if ((tp->srtt_us >> SRTT_SHIFT) <= shortest_us + TARGET_US)
		tcp_reno_cong_avoid(sk, ack, acked);
	else if (tp->snd_cwnd < tp->snd_ssthresh)
		tp->snd_ssthresh = tp->snd_cwnd;
}

SEC("struct_ops/calm_ssthresh")
u32 BPF_PROG(calm_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops/calm_undo_cwnd")
u32 BPF_PROG(calm_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops calm = {
	.ssthresh	= (void *)calm_ssthresh,
	.cong_avoid	= (void *)calm_cong_avoid,
	.undo_cwnd	= (void *)calm_undo_cwnd,
	.name		= "calm",
};
