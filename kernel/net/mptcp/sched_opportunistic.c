// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opportunistic retransmission and penalisation: C. Raiciu et al., "How Hard Can
 * It Be? Designing and Implementing a Deployable Multipath TCP", NSDI 2012,
 * sections 4.2 and 4.3; mptcp_rcv_buf_optimization() of out-of-tree MPTCP.
 *
 * net.mptcp.scheduler_opportunistic, per network namespace, enables them for the
 * schedulers "default" and "minrtt": 0, the default: neither; 1: retransmission; 2:
 * penalisation; 3: both.
 *
 * When the peer's receive window is full, or an application waits for space in the
 * send buffer, and a subflow has room in its congestion window:
 *
 * 1. Of the subflows with room, the fastest retransmits unacknowledged data, from
 *    the first segment on, if only slower subflows carry this segment. It
 *    retransmits all following segments with the same carriers that fit its window.
 *    A subflow retransmits each segment once.
 * 2. Each slower subflow that carries the first segment gets its congestion window
 *    halved, and ssthresh set to the new window: at most once per its own round-trip
 *    time, and only in TCP_CA_Open. In the second case this happens
 *    only if sk_wmem_queued has reached sk_sndbuf.
 *
 * Deviation: the paper's sender retransmits one segment, and decides again at the
 * next ACK. With this, mainline's "default", which gives bursts to a subflow without
 * regard to its window, stays below TCP on the better path (docs/schedulers.md).
 *
 * Differences of out-of-tree MPTCP: it halves ssthresh, but not in slow start; it
 * penalises once per RTT of the faster subflow; and it retransmits only if the slower
 * subflow's RTT is more than four times as long or its window at most 4 segments: see
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

/* Only a subflow in TCP_CA_Open is penalised. */
bool mptcp_sched_sees_no_loss(const struct mptcp_subflow_context *subflow)
{
	return mptcp_sched_ca_state(subflow) == TCP_CA_Open;
}

/* A delegated action reduces the window, because this requires the subflow's lock. */
void mptcp_sched_order_penalty(struct mptcp_subflow_context *subflow)
{
	local_bh_disable();
	mptcp_subflow_delegate(subflow, MPTCP_DELEGATE_PENALISE);
	local_bh_enable();
}

/* The delegated action, with @ssk locked. The scheduler decides the amount. */
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
 * The paper's penalty. With ssthresh above the window, the subflow would return to its
 * old window within a few round trips.
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

/* Segments to retransmit of @len bytes: as many as the congestion window allows. */
static u32 opportunistic_quota(const struct mptcp_subflow_context *fast, u64 len)
{
	u32 mss = max(READ_ONCE(mptcp_sched_tp(fast)->mss_cache), 1U);

	return min_t(u64, DIV64_U64_ROUND_UP(len, mss), mptcp_sched_room(fast));
}

/*
 * get_blocked(): penalise the slower carriers of the first unacknowledged segment, and
 * return the subflow to retransmit on, or NULL. mode is first the value of the sysctl,
 * and then the set of actions that are still possible: checks clear its flags.
 */
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

/* Before the first connection is possible. */
static int __init opportunistic_register(void)
{
	return register_pernet_subsys(&opportunistic_pernet_ops);
}
device_initcall(opportunistic_register);
