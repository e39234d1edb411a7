/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MPTCP_V09_H
#define _MPTCP_V09_H

/*
 * Code that the congestion controls lia_v09, olia_v09, balia_v09 and wvegas_v09 share.
 *
 * They behave as lia, olia, balia and wvegas of the out-of-tree MPTCP kernel (its trunk
 * between 0.94 and 0.95), call by call: the same sequence of acknowledgements,
 * round-trip times, losses and events gives the same windows and slow start thresholds.
 * tests/unit/coupled_v09 compares these files with recordings of that kernel's code. The
 * TCP that calls them is mainline's, with its fast recovery, loss detection and pacing.
 *
 * The originals read the live sockets of all subflows of their connection. Here the
 * subflows are the members of a group (coupled.c), and they are read under its lock:
 * a member leaves the group under this lock before its socket is freed.
 */

#include "coupled.h"
#include "group.h"

/**
 * struct v09_path - a subflow as the congestion controls of its siblings see it
 * @cs: its place in the group; NULL before the first call of v09_next()
 * @sk: its socket, which the group's lock allows to read; only private data that this
 *	lock protects is written (v09_olia.c)
 * @cwnd: congestion window, segments
 * @srtt: smoothed round-trip time, 1/8 us, not 0
 *
 * The schedulers have another struct v09_path, in sched_v09.h.
 */
struct v09_path {
	struct coupled_sock *cs;
	struct sock *sk;
	u32 cwnd;
	u32 srtt;
};

/* False for a TCP socket, and if the connection fell back to TCP in the handshake. */
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
