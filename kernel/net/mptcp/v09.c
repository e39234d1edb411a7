// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code that the congestion controls of the out-of-tree MPTCP kernel share: access to
 * the other subflows, and the way in which LIA and BALIA count ACKs.
 */

#include "protocol.h"
#include "v09.h"

/**
 * v09_init() - join the group of a subflow's connection
 * @sk: a subflow or a TCP socket, locked
 *
 * Sets struct coupled_sock, as coupled_init() does.
 *
 * In the out-of-tree kernel, a connection whose peer does not answer with MPTCP is already
 * TCP when its congestion control is initialised. Here its socket is still a subflow.
 */
void v09_init(struct sock *sk)
{
	struct sock *msk = sk_is_mptcp(sk) ? mptcp_subflow_ctx(sk)->conn : NULL;

	if (msk && __mptcp_check_fallback(mptcp_sk(msk)))
		memset(coupled_sk(sk), 0, sizeof(*coupled_sk(sk)));
	else
		coupled_init(sk);
}

/* Lock and return the group of a subflow; NULL if it has none. */
struct coupled_group *v09_lock(const struct sock *sk)
{
	struct coupled_group *group = coupled_sk(sk)->group;

	if (group)
		spin_lock_bh(&group->lock);
	return group;
}

void v09_unlock(struct coupled_group *group)
{
	spin_unlock_bh(&group->lock);
}

/* container_of() for icsk_ca_priv. */
struct sock *v09_sibling(struct coupled_sock *cs)
{
	return &container_of((void *)cs, struct inet_connection_sock, icsk_ca_priv)->icsk_inet.sk;
}

/* Whether a subflow is in a state in which it may send data. */
bool v09_can_send(const struct sock *sk)
{
	return (1 << READ_ONCE(sk->sk_state)) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT);
}

/**
 * v09_next() - iterate over the subflows that count, latest to join first
 * @group: their group, locked
 * @path: input, the previous subflow, all zero at first; output, the next
 *
 * A subflow counts if it can send and has a round-trip time, even if it is idle or a
 * backup.
 *
 * Return: false if there is no further subflow.
 */
bool v09_next(struct coupled_group *group, struct v09_path *path)
{
	struct list_head *node = path->cs ? path->cs->node.prev : group->members.prev;

	for (; node != &group->members; node = node->prev) {
		path->cs = list_entry(node, struct coupled_sock, node);
		path->sk = v09_sibling(path->cs);
		path->cwnd = READ_ONCE(tcp_sk(path->sk)->snd_cwnd);
		path->srtt = READ_ONCE(tcp_sk(path->sk)->srtt_us);
		if (path->srtt && v09_can_send(path->sk))
			return true;
	}
	return false;
}

/**
 * v09_count_ack() - congestion avoidance of LIA and BALIA: one segment per @acks + 1 ACKs
 * @sk: the subflow, locked
 * @acks: number of ACKs to count; the ACK that finds it reached is not counted itself
 *
 * Each ACK counts once, whatever number of segments it acknowledges.
 *
 * Return: whether the window has grown.
 */
bool v09_count_ack(struct sock *sk, u32 acks)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tp->snd_cwnd_cnt < acks) {
		tp->snd_cwnd_cnt++;
		return false;
	}
	tp->snd_cwnd_cnt = 0;
	if (tcp_snd_cwnd(tp) >= tp->snd_cwnd_clamp)
		return false;
	tcp_snd_cwnd_set(tp, tcp_snd_cwnd(tp) + 1);
	return true;
}
