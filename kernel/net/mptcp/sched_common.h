/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the packet schedulers of the lab share.
 *
 * A scheduler is asked with the msk owned: under its socket lock, or in softirq
 * under its data lock while no process owns it. So conn_list, the send queue and
 * all private state are stable. The subflows are not locked; what is read of
 * them may be about to change. Whoever changes it holds the subflow's lock while
 * it processes an ACK, and asks the scheduler again at the end of that.
 */
#ifndef __MPTCP_SCHED_COMMON_H
#define __MPTCP_SCHED_COMMON_H

#include "mib.h"
#include "protocol.h"
#include "sched_v09.h"

/* Keeps segments * MSS within an int, and a decision within reason. */
#define MPTCP_SCHED_MAX_SEGS	16384

#define MPTCP_WEIGHT_DEFAULT	1
#define MPTCP_WEIGHT_MAX	255
#define MPTCP_WEIGHTS_MAX	16

/* How usable a subflow is. A scheduler only looks at those of the best class. */
enum mptcp_sched_class {
	MPTCP_SCHED_OPEN,
	MPTCP_SCHED_LOSS,		/* after a retransmission timeout */
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

/* Smoothed RTT in us; 0 is "not measured", and sorts first. */
static inline u32 mptcp_sched_srtt(const struct mptcp_subflow_context *subflow)
{
	return READ_ONCE(mptcp_sched_tp(subflow)->srtt_us) >> 3;
}

/* tcp_snd_cwnd() is for whoever has the subflow locked. */
static inline u32 mptcp_sched_cwnd(const struct tcp_sock *tp)
{
	return READ_ONCE(tp->snd_cwnd);
}

/* Segments in flight, more or less. */
static inline u32 mptcp_sched_in_flight(const struct tcp_sock *tp)
{
	/*
	 * An ACK may be changing the four counters of which this is the sum, so that
	 * it may be wrong, even below 0, which is a large number: the window seems
	 * full, or to have more room than it has. What is granted then waits in the
	 * subflow's own queue, and at the end of that ACK the scheduler is asked again.
	 */
	return data_race(tcp_packets_in_flight(tp));
}

/* TCP_CA_* */
static inline u8 mptcp_sched_ca_state(const struct mptcp_subflow_context *subflow)
{
	const struct sock *ssk = mptcp_subflow_tcp_sock(subflow);

	/* a bit field, which READ_ONCE() does not take */
	return data_race((u8)inet_csk(ssk)->icsk_ca_state);
}

static inline bool
mptcp_sched_is_backup(const struct mptcp_subflow_context *subflow)
{
	/* what comes in on the subflow changes other bits of the same word */
	return data_race(subflow->backup || subflow->request_bkup);
}

/* The bit of a subflow in a set of carriers. The 33rd has that of the first. */
static inline u32 mptcp_sched_carrier(const struct mptcp_subflow_context *subflow)
{
	return 1U << (subflow->subflow_id % 32);
}

/*
 * The connection is blocked: by the peer's window? Or, with nothing to be sent,
 * by a send buffer without any room? Else the application is about to fill it.
 */
static inline bool mptcp_sched_has_to_penalise(const struct mptcp_sock *msk)
{
	const struct sock *sk = (const struct sock *)msk;

	return msk->first_pending || sk->sk_wmem_queued >= READ_ONCE(sk->sk_sndbuf);
}

/*
 * May a scheduler hold data back for this subflow? Only an ACK makes it ask
 * again, so one has to be due.
 */
static inline bool
mptcp_sched_ack_is_due(const struct mptcp_subflow_context *subflow)
{
	return READ_ONCE(mptcp_sched_tp(subflow)->packets_out);
}

/*
 * 6.15 made two functions of get_subflow(). This define, which bounded an array in
 * its argument, went with it.
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
