/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers of the lab's packet schedulers.
 *
 * A scheduler is called with the msk lock held: the socket lock, or in softirq the
 * data lock while no process owns the socket. So conn_list, the send queue and all
 * private state are stable. The subflows are not locked, so their fields may change
 * at any time. Code that changes them holds the subflow's lock while it processes an
 * ACK, and calls the scheduler again at the end.
 *
 * Flags, operations and fields that mainline lacks come from kernel/patches: 0004 has
 * MPTCP_SCHED_BOUNDED (a decision grants sched_quota segments) and sched_priv, 0005 has
 * MPTCP_SCHED_COPIES and sched_seq, 0010 has sent(), get_blocked() and penalise().
 */
#ifndef __MPTCP_SCHED_COMMON_H
#define __MPTCP_SCHED_COMMON_H

#include "mib.h"
#include "protocol.h"
#include "sched_v09.h"

/* Limit of one decision; segments * MSS must fit into an int. */
#define MPTCP_SCHED_MAX_SEGS	16384

#define MPTCP_WEIGHT_DEFAULT	1
#define MPTCP_WEIGHT_MAX	255
#define MPTCP_WEIGHTS_MAX	16

/* How usable a subflow is, best first. Schedulers choose within the best class in use. */
enum mptcp_sched_class {
	MPTCP_SCHED_OPEN,
	MPTCP_SCHED_LOSS,		/* TCP_CA_Loss: after a retransmission timeout */
	MPTCP_SCHED_BACKUP,
	MPTCP_SCHED_BACKUP_LOSS,
	MPTCP_SCHED_UNUSABLE,		/* closing, not joined yet, or stale */
};

enum mptcp_sched_class mptcp_sched_class(struct mptcp_subflow_context *subflow);
enum mptcp_sched_class mptcp_sched_best_class(struct mptcp_sock *msk);
bool mptcp_sched_eligible(struct mptcp_subflow_context *subflow,
			  enum mptcp_sched_class class);
u32 mptcp_sched_room(const struct mptcp_subflow_context *subflow);
struct mptcp_subflow_context *
mptcp_sched_lowest_rtt(struct mptcp_sock *msk, enum mptcp_sched_class class,
		       bool with_room);
int mptcp_sched_grant(struct mptcp_subflow_context *subflow, u32 segs);
int mptcp_sched_on_idle(struct mptcp_sock *msk);
void mptcp_sched_clear(struct mptcp_sock *msk);

void mptcp_sched_note(struct mptcp_sock *msk, struct sock *ssk, u64 seq, u32 len);
u32 mptcp_sched_left_edge(struct mptcp_sock *msk, u64 *len);
bool mptcp_sched_sees_no_loss(const struct mptcp_subflow_context *subflow);
void mptcp_sched_order_penalty(struct mptcp_subflow_context *subflow);

u32 mptcp_weights_generation(const struct net *net);
bool mptcp_weights_given(const struct net *net);
u8 mptcp_weight(const struct mptcp_subflow_context *subflow);

static inline const struct tcp_sock *
mptcp_sched_tp(const struct mptcp_subflow_context *subflow)
{
	return tcp_sk(mptcp_subflow_tcp_sock(subflow));
}

/* Smoothed RTT in us; 0 if it is not measured yet, which sorts first. */
static inline u32 mptcp_sched_srtt(const struct mptcp_subflow_context *subflow)
{
	return READ_ONCE(mptcp_sched_tp(subflow)->srtt_us) >> 3;
}

/* Without the subflow's lock, unlike tcp_snd_cwnd(). */
static inline u32 mptcp_sched_cwnd(const struct tcp_sock *tp)
{
	return READ_ONCE(tp->snd_cwnd);
}

/* Segments in flight, approximately. */
static inline u32 mptcp_sched_in_flight(const struct tcp_sock *tp)
{
	/*
	 * A concurrent ACK may change the four counters that this combines. So the
	 * result may be wrong, and even wrap below 0: the window appears to be full,
	 * or to have more room than it has. Segments that are granted in excess wait
	 * in the subflow's queue. The scheduler is called again at the end of the ACK.
	 */
	return data_race(tcp_packets_in_flight(tp));
}

/* TCP_CA_* */
static inline u8 mptcp_sched_ca_state(const struct mptcp_subflow_context *subflow)
{
	const struct sock *ssk = mptcp_subflow_tcp_sock(subflow);

	/* a bit field, to which READ_ONCE() cannot be applied */
	return data_race((u8)inet_csk(ssk)->icsk_ca_state);
}

static inline bool
mptcp_sched_is_backup(const struct mptcp_subflow_context *subflow)
{
	/* received packets change other bits of the same word */
	return data_race(subflow->backup || subflow->request_bkup);
}

/*
 * A subflow is a carrier of a byte if it was given the byte: see sched_runs.c. This is
 * the subflow's bit in a set of carriers; subflows 32 apart share a bit.
 */
static inline u32 mptcp_sched_carrier(const struct mptcp_subflow_context *subflow)
{
	return 1U << (subflow->subflow_id % 32);
}

/*
 * Blocked by the receive window, or by a full send buffer? Otherwise the application
 * can still write.
 */
static inline bool mptcp_sched_has_to_penalise(const struct mptcp_sock *msk)
{
	const struct sock *sk = (const struct sock *)msk;

	return msk->first_pending || sk->sk_wmem_queued >= READ_ONCE(sk->sk_sndbuf);
}

/*
 * May a scheduler hold data back for this subflow? It is called again only at an ACK,
 * so an ACK has to be due.
 */
static inline bool
mptcp_sched_ack_is_due(const struct mptcp_subflow_context *subflow)
{
	return READ_ONCE(mptcp_sched_tp(subflow)->packets_out);
}

/*
 * Linux 6.15 replaced get_subflow() by get_send() and get_retrans(), and removed
 * MPTCP_SUBFLOWS_MAX, which bounded an array in the argument of the former. Of the
 * lab's kernels 6.12 has the define, and 7.2 does not; these schedulers are not built
 * for 6.1.
 */
#ifdef MPTCP_SUBFLOWS_MAX

#define MPTCP_SCHED_GET(send)						\
	.get_subflow = send##_or_retrans

#define MPTCP_SCHED_SPLIT(send)						\
static int send##_or_retrans(struct mptcp_sock *msk,			\
			     struct mptcp_sched_data *data)		\
{									\
	return data->reinject ? mptcp_sched_on_idle(msk) : send(msk);	\
}

#else

#define MPTCP_SCHED_GET(send)						\
	.get_send = send,						\
	.get_retrans = mptcp_sched_on_idle

#define MPTCP_SCHED_SPLIT(send)

#endif

#endif /* __MPTCP_SCHED_COMMON_H */
