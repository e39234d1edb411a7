// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups of subflows for the coupled congestion controls.
 *
 * A congestion control runs under the lock of one subflow, often in softirq. There
 * it may neither walk the connection's list of subflows, which the lock of the
 * MPTCP socket protects, nor rely on the TCP sockets of other subflows (v09.h says
 * what the congestion controls of the out-of-tree kernel read there). So the members
 * of a group share data: on each ACK of data a subflow publishes its window,
 * round-trip time and so on, and a computation copies what all members published.
 *
 * Group: the subflows of a connection that use the same congestion control.
 * Subflows with another one, for example after a setsockopt() that has not changed
 * all of them yet, are not part of it. A group is looked up in a hash table when
 * the congestion control of a subflow is initialised, created if it does not exist,
 * and freed with its last member. It holds a reference on the MPTCP socket, so the
 * address of this socket identifies one connection as long as the group exists,
 * orphaned subflows included.
 *
 * A TCP socket, a subflow before init(), and a subflow for which the allocation
 * failed have no group. They are alone, and then all congestion controls but wVegas
 * behave as Reno. A connection that falls back to TCP has one subflow, which is
 * alone in its group. /proc/net/mptcp_coupled counts the failed allocations: see
 * coupled_sysctl.c.
 *
 * Members that count, which means that computations include them: members with
 * data acked within their last retransmission timeout, and the caller. An idle
 * backup subflow, or a subflow with a dead path, does not slow the others down.
 * After an idle time of this length Linux distrusts the window, too (RFC 2861).
 * With net.mptcp.coupled_count_idle all established subflows count, with the window
 * that they have; with LIA, OLIA and BALIA they count from init() on. RFC 6356 sums
 * over all subflows of a connection.
 *
 * Window of a member in fast recovery: ssthresh. RFC 6356, section 3, requires it,
 * because the window may be inflated there (RFC 5681). In Linux it is not: PRR (RFC
 * 6937) lets cwnd follow the segments in flight, down to 1, so that it no longer
 * reflects the capacity of the path. PRR also moves a window that is reduced for
 * ECN, so ssthresh is used there as well. After a timeout, cwnd is used as it is in
 * slow start.
 *
 * Number of members: not limited, but a computation includes at most
 * COUPLED_MAX_PATHS members that count: the caller, then others in the order in
 * which they joined. A connection that uses more at a time is slightly too
 * aggressive, because the sum lacks the rates of the rest.
 *
 * Locks: the subflow's lock, then bucket, then group; no other lock is taken under
 * these two. BH is off because congestion controls also run in process context. Members reach their
 * group through coupled_sock.group, under the subflow's lock, between init() and
 * release(). So when the last member leaves, no other pointer to the group exists,
 * and RCU is not needed.
 */

#include <linux/hash.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "coupled.h"
#include "group.h"
#include "protocol.h"

#define COUPLED_HASH_BITS	8

static struct coupled_bucket {
	spinlock_t lock;		/* for the list, and for joining and leaving */
	struct hlist_head groups;
} coupled_table[1 << COUPLED_HASH_BITS];

static struct coupled_bucket *coupled_bucket(const struct sock *msk)
{
	return &coupled_table[hash_ptr(msk, COUPLED_HASH_BITS)];
}

/* Find or create the group of a connection and a congestion control; NULL without memory. */
static struct coupled_group *coupled_get(struct coupled_bucket *bucket, struct sock *msk,
					 const struct tcp_congestion_ops *ops)
{
	struct coupled_group *group;

	lockdep_assert_held(&bucket->lock);
	hlist_for_each_entry(group, &bucket->groups, node) {
		if (group->msk == msk && group->ops == ops)
			return group;
	}
	group = kzalloc(sizeof(*group), GFP_ATOMIC | __GFP_NOWARN);
	if (!group)
		return NULL;
	sock_hold(msk);
	group->msk = msk;
	group->ops = ops;
	spin_lock_init(&group->lock);
	INIT_LIST_HEAD(&group->members);
	hlist_add_head(&group->node, &bucket->groups);
	return group;
}

/* container_of() for icsk_ca_priv. */
static const struct sock *coupled_owner(const struct coupled_sock *cs)
{
	const u64 *priv = (const u64 *)cs;

	return &container_of(priv, const struct inet_connection_sock,
			     icsk_ca_priv[0])->icsk_inet.sk;
}

/**
 * coupled_init() - join the group of a subflow's connection
 * @sk: a subflow or a TCP socket, locked
 *
 * Sets struct coupled_sock. The caller sets what follows it in the private data.
 */
void coupled_init(struct sock *sk)
{
	struct coupled_sock *cs = coupled_sk(sk);
	struct coupled_bucket *bucket;
	struct coupled_group *group;
	struct sock *msk;

	memset(cs, 0, sizeof(*cs));
	if (!sk_is_mptcp(sk))
		return;
	msk = mptcp_subflow_ctx(sk)->conn;
	if (!msk)
		return;

	bucket = coupled_bucket(msk);
	spin_lock_bh(&bucket->lock);
	group = coupled_get(bucket, msk, inet_csk(sk)->icsk_ca_ops);
	if (group) {
		spin_lock(&group->lock);
		list_add_tail(&cs->node, &group->members);
		WRITE_ONCE(group->count, group->count + 1);
		spin_unlock(&group->lock);
		cs->group = group;
	} else {
		coupled_count_failure(sock_net(sk));
	}
	spin_unlock_bh(&bucket->lock);
}

/**
 * coupled_release() - leave the group
 * @sk: a socket for which coupled_init() was called, locked or without other users
 */
void coupled_release(struct sock *sk)
{
	struct coupled_sock *cs = coupled_sk(sk);
	struct coupled_group *group = cs->group;
	struct coupled_bucket *bucket;
	bool last;

	if (!group)
		return;
	bucket = coupled_bucket(group->msk);
	spin_lock_bh(&bucket->lock);
	spin_lock(&group->lock);
	list_del(&cs->node);
	WRITE_ONCE(group->count, group->count - 1);
	last = !group->count;
	spin_unlock(&group->lock);
	if (last)
		hlist_del(&group->node);
	spin_unlock_bh(&bucket->lock);

	cs->group = NULL;
	if (last) {
		sock_put(group->msk);
		kfree(group);
	}
}

/* A socket that is alone has nothing to collect. */
static bool coupled_alone(const struct coupled_sock *cs)
{
	return !cs->group || READ_ONCE(cs->group->count) < 2;
}

/* The window that represents a subflow in a TCP_CA_* state: ssthresh in recovery and CWR. */
static u32 coupled_window_in(const struct sock *sk, u8 state)
{
	if ((TCPF_CA_CWR | TCPF_CA_Recovery) & (1 << state))
		return tcp_sk(sk)->snd_ssthresh;
	return tcp_snd_cwnd(tcp_sk(sk));
}

/**
 * coupled_state() - update the published path when the TCP_CA_* state changes
 * @sk: the subflow, locked
 * @state: TCP_CA_* state that it is about to enter
 * @loss_gap: see struct coupled_path
 *
 * A loss reduces the window between two ACKs of data. Nothing was acked, so the time
 * until which the path counts does not change.
 */
void coupled_state(struct sock *sk, u8 state, u64 loss_gap)
{
	struct coupled_sock *cs = coupled_sk(sk);

	if (!cs->group)
		return;
	spin_lock_bh(&cs->group->lock);
	cs->path.cwnd = coupled_window_in(sk, state);
	cs->path.loss_gap = loss_gap;
	spin_unlock_bh(&cs->group->lock);
}

/* set_state() of congestion controls that need only windows and round-trip times. */
void coupled_set_state(struct sock *sk, u8 state)
{
	coupled_state(sk, state, 0);
}

/**
 * coupled_publish() - publish a path to the other members; it counts from now on
 * @sk: the subflow, locked, on which data was acked
 * @rtt_us: its round-trip time in us
 * @loss_gap: see struct coupled_path
 */
void coupled_publish(struct sock *sk, u32 rtt_us, u64 loss_gap)
{
	struct coupled_sock *cs = coupled_sk(sk);

	/* While alone nobody reads the path; with count_idle a later member may. */
	if (!cs->group || (coupled_alone(cs) && !coupled_count_idle(sock_net(sk))))
		return;
	spin_lock_bh(&cs->group->lock);
	cs->path.cwnd = coupled_window_in(sk, inet_csk(sk)->icsk_ca_state);
	cs->path.rtt_us = rtt_us;
	cs->path.loss_gap = loss_gap;
	cs->counts_until = tcp_jiffies32 + inet_csk(sk)->icsk_rto;
	cs->published = true;
	spin_unlock_bh(&cs->group->lock);
}

/**
 * coupled_withdraw() - exclude a path from computations until it is published again
 * @sk: the subflow, locked
 */
void coupled_withdraw(struct sock *sk)
{
	struct coupled_sock *cs = coupled_sk(sk);

	if (!cs->group)
		return;
	spin_lock_bh(&cs->group->lock);
	cs->published = false;
	spin_unlock_bh(&cs->group->lock);
}

/* Called with the group's lock held. Expiry is sticky, because jiffies wrap. */
static bool coupled_counts(struct coupled_sock *cs, bool idle)
{
	int established = TCPF_ESTABLISHED | TCPF_CLOSE_WAIT;

	/* A member leaves the group under this lock, so its socket exists. */
	if (idle)
		return cs->published &&
		       (1 << inet_sk_state_load(coupled_owner(cs)) & established);
	if ((s32)(cs->counts_until - tcp_jiffies32) < 0)
		cs->published = false;
	return cs->published;
}

/**
 * coupled_collect() - copy the paths that count, as input of a computation
 * @sk: the calling subflow or TCP socket, locked
 * @paths: output; the first is the path of @sk, as it is now
 *
 * Return: number of paths, at least 1.
 */
u32 coupled_collect(struct sock *sk, struct coupled_path paths[COUPLED_MAX_PATHS])
{
	const struct coupled_sock *cs = coupled_sk(sk);
	bool idle = coupled_count_idle(sock_net(sk));
	struct coupled_sock *other;
	u32 n = 1;

	paths[0] = (struct coupled_path) {
		.cwnd = coupled_window_in(sk, inet_csk(sk)->icsk_ca_state),
		.rtt_us = coupled_srtt_us(sk),
	};
	if (coupled_alone(cs))
		return n;

	spin_lock_bh(&cs->group->lock);
	list_for_each_entry(other, &cs->group->members, node) {
		if (other == cs || !coupled_counts(other, idle))
			continue;
		paths[n++] = other->path;
		if (n == COUPLED_MAX_PATHS)
			break;
	}
	spin_unlock_bh(&cs->group->lock);
	return n;
}

/* pkts_acked() of congestion controls that need only windows and smoothed round-trip times. */
void coupled_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	if (coupled_delivered(sample))
		coupled_publish(sk, coupled_srtt_us(sk), 0);
}

static int __init coupled_table_init(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(coupled_table); i++) {
		spin_lock_init(&coupled_table[i].lock);
		INIT_HLIST_HEAD(&coupled_table[i].groups);
	}
	return 0;
}
subsys_initcall(coupled_table_init);
