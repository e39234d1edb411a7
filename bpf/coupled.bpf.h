/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _COUPLED_BPF_H
#define _COUPLED_BPF_H

/*
 * How coupled congestion controls in eBPF share data between the subflows of a
 * connection, and the code that they have in common: the counterpart of the lab
 * kernel's coupled.c and coupled_window.c, with the same function names.
 *
 * A program may neither lock an MPTCP socket nor follow its list of subflows, as it
 * would read sockets that are being freed. So members share data as in the lab
 * kernel: on each ACK of data a subflow publishes its path, in its own element of a
 * map, and a computation reads the elements of its siblings.
 *
 * The key of an element is the address of the MPTCP socket and a slot, from 0. A
 * subflow takes the first free slot and releases it in release(). It holds a
 * reference on the MPTCP socket until after that, so the address identifies one
 * connection as long as any element has it. There is no shared data that the last
 * member would have to remove.
 *
 * The kernel reuses the memory of a deleted element at once. A reader that still
 * has a pointer to it sees that it is not published, because its owner cleared this
 * before, under the lock. Once it is published again, it has the new owner's msk.
 *
 * Deviations from the lab kernel: a connection has at most COUPLED_SLOTS members;
 * further subflows stay uncoupled and are counted. After a member has left, the next
 * subflow to join takes its place in the order. A subflow that is alone publishes,
 * too, and so counts at once when a second one joins. The settings
 * net.mptcp.coupled_* do not exist: all have their defaults.
 */

#include "coupled_num.bpf.h"

/* Members of a connection; the kernel's path manager creates up to 9 subflows by default. */
#define COUPLED_SLOTS		16

/* Maximum number of subflows with the same congestion control on this machine. */
#define COUPLED_MAX_MEMBERS	65536

/* Limit of the segments that one ACK counts for, so that credit cannot overflow. */
#define COUPLED_MAX_ACKED	16384U

struct coupled_key {
	u64 msk;	/* address of the MPTCP socket */
	u64 slot;
};

/**
 * struct coupled_member - data that a subflow publishes to the others
 * @lock: protects the fields below
 * @counts_until: jiffies until which @path counts
 * @path: the subflow
 * @msk: address of the MPTCP socket
 * @published: @path and @counts_until are set
 */
struct coupled_member {
	struct bpf_spin_lock lock;
	u32 counts_until;
	struct coupled_path path;
	u64 msk;
	u64 published;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, COUPLED_MAX_MEMBERS);
	__type(key, struct coupled_key);
	__type(value, struct coupled_member);
} members SEC(".maps");

/* Number of subflows that got no slot, or for which allocation failed. */
u64 uncoupled;

/**
 * struct coupled_sock - a subflow's place in its connection, or a TCP socket
 * @key: of the subflow's member; msk is 0 on a TCP socket, before init(), and if no
 *	slot was free
 * @credit: fraction of a segment that is not yet added to or taken from cwnd,
 *	between -1 and 1, in 2^-COUPLED_SHIFT
 *
 * The first member of the private data of each congestion control. All zero means a
 * TCP socket.
 */
struct coupled_sock {
	struct coupled_key key;
	s64 credit;
};

/* The paths of a connection that count; the caller's is the first. */
struct coupled_paths {
	struct coupled_path path[COUPLED_MAX_PATHS];
	u32 n;
};

static __always_inline struct coupled_sock *coupled_sk(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* The MPTCP socket of a subflow, 0 on a TCP socket. Only its address is used. */
static __always_inline u64 coupled_msk(const struct sock *sk)
{
	const struct mptcp_subflow_context *subflow = inet_csk(sk)->icsk_ulp_data;
	u64 msk = 0;

	if (tcp_sk(sk)->is_mptcp && subflow)
		bpf_probe_read_kernel(&msk, sizeof(msk), &subflow->conn);
	return msk;
}

/* Join the members of the subflow's connection. */
static __always_inline void coupled_init(struct sock *sk)
{
	struct coupled_sock *cs = coupled_sk(sk);
	struct coupled_member fresh = {};
	struct coupled_key key = { .msk = coupled_msk(sk) };
	u32 slot;

	cs->key.msk = 0;
	cs->credit = 0;
	if (!key.msk)
		return;
	fresh.msk = key.msk;
	for (slot = 0; slot < COUPLED_SLOTS; slot++) {
		key.slot = slot;
		if (bpf_map_update_elem(&members, &key, &fresh, BPF_NOEXIST))
			continue;
		cs->key.msk = key.msk;
		cs->key.slot = slot;
		return;
	}
	__sync_fetch_and_add(&uncoupled, 1);
}

/* The subflow's own element; NULL if it has none. */
static __always_inline struct coupled_member *coupled_own(const struct sock *sk)
{
	const struct coupled_sock *cs = coupled_sk(sk);
	struct coupled_key key = { .msk = cs->key.msk, .slot = cs->key.slot };

	return key.msk ? bpf_map_lookup_elem(&members, &key) : NULL;
}

/* Leave the members of the connection. */
static __always_inline void coupled_release(struct sock *sk)
{
	struct coupled_sock *cs = coupled_sk(sk);
	struct coupled_key key = { .msk = cs->key.msk, .slot = cs->key.slot };
	struct coupled_member *own = coupled_own(sk);

	if (!own)
		return;
	bpf_spin_lock(&own->lock);
	own->published = 0;
	bpf_spin_unlock(&own->lock);
	bpf_map_delete_elem(&members, &key);
	cs->key.msk = 0;
}

/* Smoothed round-trip time in us, at least 1, so that it can be a divisor. */
static __always_inline u32 coupled_srtt_us(const struct sock *sk)
{
	u32 srtt_us = tcp_sk(sk)->srtt_us >> 3;

	return max(srtt_us, 1U);
}

/* Whether an ACK reports the arrival of new data. */
static __always_inline bool coupled_delivered(const struct ack_sample *sample)
{
	return sample->pkts_acked > 0 || sample->rtt_us >= 0;
}

/* The window that represents a subflow in a TCP_CA_* state: ssthresh in recovery and CWR. */
static __always_inline u32 coupled_window_in(const struct sock *sk, u32 state)
{
	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		return tcp_sk(sk)->snd_ssthresh;
	return tcp_sk(sk)->snd_cwnd;
}

static __always_inline u32 coupled_window_now(const struct sock *sk)
{
	return coupled_window_in(sk, bit_field(inet_csk(sk), icsk_ca_state));
}

/* Update the published path when the state changes, but not counts_until. */
static __always_inline void coupled_state(struct sock *sk, u32 state, u64 loss_gap)
{
	struct coupled_member *own = coupled_own(sk);
	u32 cwnd = coupled_window_in(sk, state);

	if (!own)
		return;
	bpf_spin_lock(&own->lock);
	own->path.cwnd = cwnd;
	own->path.loss_gap = loss_gap;
	bpf_spin_unlock(&own->lock);
}

/* Publish a path on which data was acked; it counts from now on. */
static __always_inline void coupled_publish(struct sock *sk, u32 rtt_us, u64 loss_gap)
{
	struct coupled_member *own = coupled_own(sk);
	struct coupled_path path = {
		.cwnd = coupled_window_now(sk),
		.rtt_us = rtt_us,
		.loss_gap = loss_gap,
	};
	u32 until = (u32)bpf_jiffies64() + inet_csk(sk)->icsk_rto;

	if (!own)
		return;
	bpf_spin_lock(&own->lock);
	own->path = path;
	own->counts_until = until;
	own->published = 1;
	bpf_spin_unlock(&own->lock);
}

/* Copy a member's path, if it counts. Expiry is sticky, because jiffies wrap. */
static __always_inline bool coupled_read(struct coupled_member *member, u64 msk, u32 now,
					 struct coupled_path *path)
{
	bool counts;

	bpf_spin_lock(&member->lock);
	if (member->msk == msk && (s32)(member->counts_until - now) < 0)
		member->published = 0;
	counts = member->published && member->msk == msk;
	*path = member->path;
	bpf_spin_unlock(&member->lock);
	return counts;
}

/*
 * Append the paths of a connection's members that count, except for slot @own. This and
 * the computations are global functions, which the verifier checks separately. Inlined
 * into their callers they would exceed its limits.
 */
__outline int coupled_siblings(struct coupled_paths *all, u64 msk, u64 own)
{
	struct coupled_key key = { .msk = msk };
	u32 now = bpf_jiffies64(), slot;

	if (!all)
		return 0;
	for (slot = 0; slot < COUPLED_SLOTS; slot++) {
		struct coupled_member *member;
		u32 n = all->n;

		if (n >= COUPLED_MAX_PATHS)
			break;
		if (slot == own)
			continue;
		key.slot = slot;
		member = bpf_map_lookup_elem(&members, &key);
		if (member && coupled_read(member, msk, now, &all->path[n]))
			all->n = n + 1;
	}
	return 0;
}

/* Copy the paths that count, as input of a computation; the subflow's own is the first. */
static __always_inline void coupled_collect(struct sock *sk, struct coupled_paths *all)
{
	const struct coupled_sock *cs = coupled_sk(sk);

	all->path[0].cwnd = coupled_window_now(sk);
	all->path[0].rtt_us = coupled_srtt_us(sk);
	all->n = 1;
	if (cs->key.msk)
		coupled_siblings(all, cs->key.msk, cs->key.slot);
}

/*
 * Reno's slow start, if cwnd is below ssthresh. Return the acked segments that are left
 * for congestion avoidance; also 0 if the sender was not limited by its window.
 */
static __always_inline u32 coupled_slow_start(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return 0;
	return tcp_in_slow_start(tp) ? tcp_slow_start(tp, acked) : acked;
}

/* Add whole segments of credit to cwnd. */
static __always_inline void coupled_spend(struct sock *sk, u32 segments)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_cwnd = min(tp->snd_cwnd + segments, tp->snd_cwnd_clamp);
}

/* Take whole segments from cwnd, down to 1. ssthresh follows, to avoid slow start. */
static __always_inline void coupled_repay(struct sock *sk, u32 segments)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tp->snd_cwnd;

	cwnd = cwnd > segments ? cwnd - segments : 1;
	tp->snd_cwnd = cwnd;
	if (tp->snd_ssthresh > cwnd)
		tp->snd_ssthresh = cwnd;
}

/* Congestion avoidance; a single path grows as in Reno. */
static __always_inline void coupled_grow(struct sock *sk, u32 n, s64 increase, u32 acked)
{
	struct coupled_sock *cs = coupled_sk(sk);
	s64 credit;

	if (n == 1) {
		tcp_cong_avoid_ai(tcp_sk(sk), tcp_sk(sk)->snd_cwnd, acked);
		return;
	}
	credit = cs->credit + increase * min(acked, COUPLED_MAX_ACKED);
	if (credit >= (s64)COUPLED_ONE) {
		coupled_spend(sk, credit >> COUPLED_SHIFT);
		credit &= COUPLED_ONE - 1;
	} else if (credit <= -(s64)COUPLED_ONE) {
		coupled_repay(sk, -credit >> COUPLED_SHIFT);
		credit = -(-credit & (s64)(COUPLED_ONE - 1));
	}
	cs->credit = credit;
}

/* Reno's ssthresh: half the window, at least 2 segments. Also reset the credit. */
static __always_inline u32 coupled_reno_ssthresh(struct sock *sk)
{
	coupled_sk(sk)->credit = 0;
	return tcp_reno_ssthresh(sk);
}

#endif /* _COUPLED_BPF_H */
