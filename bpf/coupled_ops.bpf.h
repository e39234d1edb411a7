/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _COUPLED_OPS_BPF_H
#define _COUPLED_OPS_BPF_H

/*
 * Operations of congestion controls that need only windows and smoothed round-trip
 * times, and declarations that all programs need. The context of an operation holds
 * its arguments.
 */

#include "coupled.bpf.h"

/* The kernel allows the functions used here only in programs with this licence. */
char _license[] SEC("license") = "GPL";

OPERATION(void, init)
{
	coupled_init((struct sock *)ctx[0]);
}

OPERATION(void, release)
{
	coupled_release((struct sock *)ctx[0]);
}

OPERATION(void, set_state)
{
	coupled_state((struct sock *)ctx[0], (u8)ctx[1], 0);
}

OPERATION(void, pkts_acked)
{
	struct sock *sk = (struct sock *)ctx[0];

	if (coupled_delivered((const struct ack_sample *)ctx[1]))
		coupled_publish(sk, coupled_srtt_us(sk), 0);
}

OPERATION(u32, undo_cwnd)
{
	return tcp_reno_undo_cwnd((struct sock *)ctx[0]);
}

#endif /* _COUPLED_OPS_BPF_H */
