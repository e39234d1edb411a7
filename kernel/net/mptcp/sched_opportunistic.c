// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opportunistic retransmission and penalisation: C. Raiciu et al., "How Hard Can
 * It Be? Designing and Implementing a Deployable Multipath TCP", NSDI 2012,
 * sections 4.2 and 4.3; mptcp_rcv_buf_optimization() of out-of-tree MPTCP.
 *
 * net.mptcp.scheduler_opportunistic, per network namespace, turns them on for the
 * schedulers "default" and "minrtt": 0 is off (the default), 1 retransmission, 2
 * penalisation, 3 both.
 *
 * When the peer's receive window is full, or the send buffer, and a subflow has
 * room in its congestion window:
 *
 * 1. It retransmits what is not acknowledged, from the first segment on, if that
 *    was sent on slower subflows, and on no other: as many segments as have the
 *    same carriers and fit its window. Each segment once per subflow.
 * 2. A slower subflow that carries the first segment has its congestion window
 *    halved, and ssthresh set to the new window: once per round-trip time of its
 *    own, and only while it sees no loss. When the send buffer is what is full,
 *    only if it has no room at all.
 *
 * Deviation: the paper's sender retransmits one segment and asks again at the
 * next ACK. Mainline's "default", which gives a subflow bursts without regard to
 * its window, then stays below TCP on the better path (docs/schedulers.md).
 *
 * Out-of-tree MPTCP differs: ssthresh is halved, and in slow start left alone; it
 * penalises once per RTT of the faster subflow; and retransmits only if the slower
 * RTT is more than four times as long or that window at most 4 segments: see
 * sched_v09.h.
 */

#include <net/netns/generic.h>
#include "pernet_sysctl.h"
#include "sched_common.h"

#define OPPORTUNISTIC_RETRANS	BIT(0)
#define OPPORTUNISTIC_PENALISE	BIT(1)

static const unsigned int opportunistic_max = OPPORTUNISTIC_RETRANS |
					      OPPORTUNISTIC_PENALISE;

struct opportunistic_pernet {
	u8 mode;
	struct ctl_table_header *header;
};

static unsigned int opportunistic_pernet_id;

static u8 opportunistic_mode(const struct mptcp_sock *msk)
{
	const struct opportunistic_pernet *pernet;

	pernet = net_generic(sock_net((const struct sock *)msk),
			     opportunistic_pernet_id);
	return READ_ONCE(pernet->mode);
}

/* Only such a subflow is penalised. */
bool mptcp_sched_sees_no_loss(const struct mptcp_subflow_context *subflow)
{
	return mptcp_sched_ca_state(subflow) == TCP_CA_Open;
}

/* A delegated action halves the window, which belongs to the subflow's lock. */
void mptcp_sched_order_penalty(struct mptcp_subflow_context *subflow)
{
	local_bh_disable();
	mptcp_subflow_delegate(subflow, MPTCP_DELEGATE_PENALISE);
	local_bh_enable();
}

/*
 * The delegated action, with @ssk locked. How much the penalty is, the scheduler
 * knows.
 */
void mptcp_sched_penalise(struct sock *ssk)
{
	const struct mptcp_sched_ops *sched;
	struct tcp_sock *tp = tcp_sk(ssk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 ssthresh = tp->snd_ssthresh;

	sched = READ_ONCE(mptcp_sk(mptcp_subflow_ctx(ssk)->conn)->sched);
	if (!sched || !sched->penalise ||
	    inet_csk(ssk)->icsk_ca_state != TCP_CA_Open)
		return;

	sched->penalise(&cwnd, &ssthresh);
	tcp_snd_cwnd_set(tp, cwnd);
	WRITE_ONCE(tp->snd_ssthresh, ssthresh);
	MPTCP_INC_STATS(sock_net(ssk), MPTCP_MIB_OPPPENALTIES);
}

/*
 * The paper's penalty. If ssthresh stayed above the window, the subflow would be
 * back where it was within a few round trips.
 */
void mptcp_sched_default_penalise(u32 *cwnd, u32 *ssthresh)
{
	*cwnd = max(*cwnd >> 1, 1U);
	*ssthresh = max(*cwnd, 2U);
}

static void opportunistic_penalise(struct mptcp_subflow_context *slow)
{
	u64 now_us = tcp_clock_us();

	if (now_us - slow->sched_penalised_us < mptcp_sched_srtt(slow) ||
	    !mptcp_sched_sees_no_loss(slow))
		return;

	slow->sched_penalised_us = now_us;
	mptcp_sched_order_penalty(slow);
}

void mptcp_sched_default_sent(struct mptcp_sock *msk, struct sock *ssk, u64 seq,
			      u32 len)
{
	if (opportunistic_mode(msk))
		mptcp_sched_note(msk, ssk, seq, len);
	else
		mptcp_sched_forget(msk);
}

/* Segments for the left edge: as many as there are and as the window lets go. */
static u32 opportunistic_quota(const struct mptcp_subflow_context *fast, u64 len)
{
	u32 mss = max(READ_ONCE(mptcp_sched_tp(fast)->mss_cache), 1U);

	return min_t(u64, DIV64_U64_ROUND_UP(len, mss), mptcp_sched_room(fast));
}

struct sock *mptcp_sched_default_blocked(struct mptcp_sock *msk)
{
	u8 mode = opportunistic_mode(msk);
	struct mptcp_subflow_context *subflow, *fast;
	u32 carriers;
	u64 len;

	if (!mode)
		return NULL;
	carriers = mptcp_sched_left_edge(msk, &len);
	fast = mptcp_sched_lowest_rtt(msk, mptcp_sched_best_class(msk), true);
	if (!carriers || !fast)
		return NULL;
	if (!mptcp_sched_has_to_penalise(msk))
		mode &= ~OPPORTUNISTIC_PENALISE;
	if (carriers & mptcp_sched_carrier(fast))
		mode &= ~OPPORTUNISTIC_RETRANS;

	mptcp_for_each_subflow(msk, subflow) {
		if (subflow == fast ||
		    !(carriers & mptcp_sched_carrier(subflow)))
			continue;
		if (mptcp_sched_srtt(subflow) <= mptcp_sched_srtt(fast))
			mode &= ~OPPORTUNISTIC_RETRANS;
		else if (mode & OPPORTUNISTIC_PENALISE)
			opportunistic_penalise(subflow);
	}
	if (!(mode & OPPORTUNISTIC_RETRANS))
		return NULL;
	fast->sched_quota = opportunistic_quota(fast, len);
	return mptcp_subflow_tcp_sock(fast);
}

static int __net_init opportunistic_net_init(struct net *net)
{
	struct opportunistic_pernet *pernet = net_generic(net, opportunistic_pernet_id);
	const struct ctl_table entry = {
		.procname = "scheduler_opportunistic",
		.data = &pernet->mode,
		.maxlen = sizeof(pernet->mode),
		.mode = 0644,
		.proc_handler = proc_dou8vec_minmax,
		.extra1 = SYSCTL_ZERO,
		.extra2 = (void *)&opportunistic_max,
	};

	pernet->header = mptcp_pernet_sysctl_add(net, &entry);
	return pernet->header ? 0 : -ENOMEM;
}

static void __net_exit opportunistic_net_exit(struct net *net)
{
	struct opportunistic_pernet *pernet = net_generic(net, opportunistic_pernet_id);

	mptcp_pernet_sysctl_remove(pernet->header);
}

static struct pernet_operations opportunistic_pernet_ops = {
	.init	= opportunistic_net_init,
	.exit	= opportunistic_net_exit,
	.id	= &opportunistic_pernet_id,
	.size	= sizeof(struct opportunistic_pernet),
};

/* Before the first connection. */
static int __init opportunistic_register(void)
{
	return register_pernet_subsys(&opportunistic_pernet_ops);
}
device_initcall(opportunistic_register);
