/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _TEST_V09_KERNEL_H
#define _TEST_V09_KERNEL_H

/*
 * As much of a kernel as net/mptcp/v09*.c need to be compiled for user space, unchanged.
 * driver.py lets every kernel header that they include be this one.
 *
 * Assumptions: sockets are used by one thread. tcp_is_cwnd_limited() is what the event
 * says, because mainline and the out-of-tree kernel decide it differently. The other
 * functions of TCP do here what both do.
 */

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define __init
#define __read_mostly
#define THIS_MODULE		NULL
#define USEC_PER_SEC		1000000L
#define BIT_ULL(n)		(1ULL << (n))
/* Nothing runs beside a test. */
#define data_race(x)		(x)
#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, value)	((x) = (value))
#define BUILD_BUG_ON(wrong)	_Static_assert(!(wrong), #wrong)
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define container_of(p, type, member)	((type *)((char *)(p) - offsetof(type, member)))
#define list_entry		container_of
#define list_for_each_entry(each, head, member)					\
	for (each = list_entry((head)->next, __typeof__(*each), member);	\
	     &each->member != (head);						\
	     each = list_entry(each->member.next, __typeof__(*each), member))
#define late_initcall(function)							\
	__attribute__((constructor)) static void call_##function(void)		\
	{									\
		function();							\
	}

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next, **pprev;
};

/* Taken or not; see spin_lock_bh() in driver.c. */
struct lock {
	bool taken;
};

#define spinlock_t		struct lock

void spin_lock_bh(struct lock *lock);
void spin_unlock_bh(struct lock *lock);

static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

enum { TCP_ESTABLISHED = 1, TCP_CLOSE_WAIT = 8 };

#define TCPF_ESTABLISHED	(1 << TCP_ESTABLISHED)
#define TCPF_CLOSE_WAIT		(1 << TCP_CLOSE_WAIT)
#define TCP_INFINITE_SSTHRESH	0x7fffffff
#define TCP_CONG_NON_RESTRICTED	1
#define ICSK_CA_PRIV_SIZE	104

struct net;
struct module;

struct sock {
	u8 sk_state;
	bool is_mptcp;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

struct tcp_congestion_ops {
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	struct module *owner;
	const char *name;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state;
	u8 icsk_retransmits;
	u32 icsk_rto;
	u64 icsk_ca_priv[ICSK_CA_PRIV_SIZE / sizeof(u64)];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_una;
	u32 snd_nxt;
	u32 srtt_us;
	u32 mss_cache;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	bool is_cwnd_limited;
};

static inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static inline void *inet_csk_ca(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_priv;
}

static inline bool after(u32 a, u32 b)
{
	return (s32)(b - a) < 0;
}

static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp)
{
	return tp->snd_cwnd;
}

static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 cwnd)
{
	tp->snd_cwnd = cwnd;
}

static inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	return tcp_sk(sk)->is_cwnd_limited;
}

u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
u32 tcp_current_ssthresh(const struct sock *sk);
u32 tcp_reno_ssthresh(struct sock *sk);
u32 tcp_reno_undo_cwnd(struct sock *sk);
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);
int tcp_register_congestion_control(struct tcp_congestion_ops *ops);

/* Of MPTCP: protocol.h. Connections of the tests never fall back. */
struct mptcp_subflow_context {
	struct sock *conn;
};

bool sk_is_mptcp(const struct sock *sk);
struct mptcp_subflow_context *mptcp_subflow_ctx(const struct sock *sk);

#define mptcp_sk(sk)			(sk)
#define __mptcp_check_fallback(msk)	((void)(msk), false)

/* What a socket has before its congestion control is initialised; not of the kernel. */
void connect_group(struct sock *sk, bool mptcp);

#endif /* _TEST_V09_KERNEL_H */
