/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MPTCP_COUPLED_H
#define _MPTCP_COUPLED_H

/*
 * How the coupled congestion controls share data between the subflows of a connection.
 *
 * Subflows of one MPTCP connection that use the same congestion control are a
 * group. Each member publishes the data that the others need, under the group's
 * lock. No member reads the socket of another but for its state; the congestion
 * controls of the out-of-tree kernel read more (v09.h). See coupled.c.
 */

#include <linux/list.h>
#include <net/tcp.h>

#include "coupled_start.h"
#include "coupled_types.h"

struct coupled_group;

/**
 * struct coupled_sock - private data of a socket: its place in a group
 * @node: in the group's list; protected by the group's lock
 * @group: NULL on a TCP socket, before init(), and if allocation failed
 * @path: published to the other members; protected by the group's lock
 * @counts_until: tcp_jiffies32 until which @path counts; protected likewise
 * @published: @path and @counts_until are set; protected likewise
 * @credit: fraction of a segment that is not yet added to or taken from cwnd,
 *	between -1 and 1, in 2^-COUPLED_SHIFT; used by this socket only
 *
 * The first member of the private data of each congestion control. All zero: it has no
 * group. It is a TCP socket, or init() was not called: the handshake may call other
 * operations of a congestion control before.
 */
struct coupled_sock {
	struct list_head node;
	struct coupled_group *group;
	struct coupled_path path;
	u32 counts_until;
	bool published;
	s64 credit;
};

/**
 * struct coupled_window - private data of a congestion control with HyStart++
 * @cs: the subflow's place in its group
 * @start: the subflow's first slow start
 */
struct coupled_window {
	struct coupled_sock cs;
	struct coupled_start start;
};

static inline struct coupled_sock *coupled_sk(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

void coupled_init(struct sock *sk);
void coupled_release(struct sock *sk);

void coupled_state(struct sock *sk, u8 state, u64 loss_gap);
void coupled_set_state(struct sock *sk, u8 state);
void coupled_publish(struct sock *sk, u32 rtt_us, u64 loss_gap);
void coupled_withdraw(struct sock *sk);
u32 coupled_collect(struct sock *sk, struct coupled_path paths[COUPLED_MAX_PATHS]);

void coupled_pkts_acked(struct sock *sk, const struct ack_sample *sample);
bool coupled_count_idle(const struct net *net);
u8 coupled_olia_best_rule(const struct net *net);
void coupled_count_failure(const struct net *net);
bool coupled_hystart(const struct net *net);
u32 coupled_slow_start(struct sock *sk, u32 acked);
void coupled_window_init(struct sock *sk);
void coupled_window_sample(struct sock *sk, const struct ack_sample *sample);
void coupled_window_acked(struct sock *sk, const struct ack_sample *sample);
u32 coupled_first_start(struct sock *sk, u32 acked);
void coupled_grow(struct sock *sk, u32 n, s64 increase, u32 acked);
u32 coupled_reno_ssthresh(struct sock *sk);

/* Smoothed round-trip time in us, at least 1, so that it can be a divisor. */
static inline u32 coupled_srtt_us(const struct sock *sk)
{
	return max(tcp_sk(sk)->srtt_us >> 3, 1U);
}

/* Whether an ACK reports the arrival of new data. */
static inline bool coupled_delivered(const struct ack_sample *sample)
{
	return sample->pkts_acked > 0 || sample->rtt_us >= 0;
}

#endif /* _MPTCP_COUPLED_H */
