/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MPTCP_V09_H
#define _MPTCP_V09_H

/*
 * What the congestion controls lia_v09, olia_v09, balia_v09 and wvegas_v09 share.
 *
 * They behave as lia, olia, balia and wvegas of the out-of-tree MPTCP kernel did (its
 * trunk between 0.94 and 0.95), call by call: the same sequence of acknowledgements,
 * round-trip times, losses and events gives the same windows and slow start
 * thresholds. tests/unit/coupled_v09 compares these files with what was recorded from
 * that kernel's. The TCP that calls them is mainline's, and so are its fast recovery,
 * its loss detection and its pacing.
 *
 * Those controls read the live sockets of all subflows of their connection. Here the
 * subflows are the members of a group (coupled.c), and they are read under its lock:
 * a member leaves the group under that lock before its socket is freed.
 */

#include "coupled.h"
#include "group.h"

/**
 * struct v09_path - a subflow as its siblings see it
 * @cs: its place in the group; NULL before the first call of v09_next()
 * @sk: its socket, on which the group's lock gives no right but to read fields
 * @cwnd: congestion window, segments
 * @srtt: smoothed round-trip time, 1/8 us, not 0
 */
struct v09_path {
	struct coupled_sock *cs;
	struct sock *sk;
	u32 cwnd;
	u32 srtt;
};

/* Not on a TCP socket, nor on one whose connection became TCP in the handshake. */
static inline bool v09_is_mptcp(const struct sock *sk)
{
	return coupled_sk(sk)->group;
}

void v09_init(struct sock *sk);
struct coupled_group *v09_lock(const struct sock *sk);
void v09_unlock(struct coupled_group *group);
struct sock *v09_sibling(struct coupled_sock *cs);
bool v09_can_send(const struct sock *sk);
bool v09_next(struct coupled_group *group, struct v09_path *path);
bool v09_count_ack(struct sock *sk, u32 acks);

#endif /* _MPTCP_V09_H */
