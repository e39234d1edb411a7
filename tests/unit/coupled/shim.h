/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SHIM_H
#define _SHIM_H

/*
 * As much of the kernel as the files of the coupled congestion controls need, so that
 * tests can drive the controls themselves by events: see shim.c. All headers that
 * those files include are this one (library.py makes them so).
 *
 * Locks check that they are taken and left in pairs; memory runs out on request;
 * nothing runs at the same time as anything else.
 */

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "coupled_types.h"

typedef unsigned char u8;
typedef unsigned short u16;

#define __init
#define __net_init
#define __read_mostly
#define THIS_MODULE		NULL
#define TCP_CONG_NON_RESTRICTED	1
#define GFP_ATOMIC		0
#define __GFP_NOWARN		0

#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, value)	((x) = (value))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define BUILD_BUG_ON(x)		_Static_assert(!(x), #x)
#define sizeof_field(t, f)	sizeof(((t *)0)->f)
#define container_of(p, t, f)	((t *)((char *)(p) - offsetof(t, f)))
#define div_u64(a, b)		((a) / (b))
#define subsys_initcall(fn)	__attribute__((constructor)) static void fn##_at_start(void) { fn(); }
#define late_initcall(fn)	__attribute__((constructor(1000))) static void fn##_at_start(void) { fn(); }

/* Lists. */
struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

#define INIT_HLIST_HEAD(h)	((h)->first = NULL)

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline void list_add_tail(struct list_head *node, struct list_head *head)
{
	node->next = head;
	node->prev = head->prev;
	head->prev->next = node;
	head->prev = node;
}

static inline void list_del(struct list_head *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
}

static inline void hlist_add_head(struct hlist_node *node, struct hlist_head *head)
{
	node->next = head->first;
	if (node->next)
		node->next->pprev = &node->next;
	head->first = node;
	node->pprev = &head->first;
}

static inline void hlist_del(struct hlist_node *node)
{
	*node->pprev = node->next;
	if (node->next)
		node->next->pprev = node->pprev;
}

#define list_for_each_entry(at, head, f)				\
	for (at = container_of((head)->next, __typeof__(*at), f);	\
	     &at->f != (head); at = container_of(at->f.next, __typeof__(*at), f))

#define hlist_entry_or_null(n, t, f)	((n) ? container_of(n, t, f) : NULL)
#define hlist_for_each_entry(at, head, f)				\
	for (at = hlist_entry_or_null((head)->first, __typeof__(*at), f); at;	\
	     at = hlist_entry_or_null(at->f.next, __typeof__(*at), f))

#define hash_ptr(p, bits)	(((unsigned long)(p) >> 4) & ((1UL << (bits)) - 1))

/* Locks. */
struct shim_lock {
	int held;
};

#define spinlock_t		struct shim_lock

static inline void spin_lock_init(spinlock_t *lock)
{
	lock->held = 0;
}

static inline void spin_lock(spinlock_t *lock)
{
	if (lock->held++)
		abort();
}

static inline void spin_unlock(spinlock_t *lock)
{
	if (--lock->held)
		abort();
}

#define spin_lock_bh		spin_lock
#define spin_unlock_bh		spin_unlock
#define lockdep_assert_held(l)	((l)->held == 1 ? (void)0 : abort())

/* Memory. */
extern int shim_no_memory;
extern int shim_allocated;

static inline void *kzalloc(size_t size, int flags)
{
	(void)flags;
	if (shim_no_memory)
		return NULL;
	shim_allocated++;
	return calloc(1, size);
}

static inline void kfree(void *p)
{
	shim_allocated--;
	free(p);
}

/* Sockets. */
enum { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };

#define TCPF_CA_CWR		(1 << TCP_CA_CWR)
#define TCPF_CA_Recovery	(1 << TCP_CA_Recovery)
#define TCP_ESTABLISHED		1
#define TCP_FIN_WAIT1		4
#define TCP_CLOSE_WAIT		8
#define TCPF_ESTABLISHED	(1 << TCP_ESTABLISHED)
#define TCPF_CLOSE_WAIT		(1 << TCP_CLOSE_WAIT)
#define TCP_INFINITE_SSTHRESH	0x7fffffff

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
};

struct net {
	u8 hystart, olia_best, count_idle;
	u32 failures;
};

struct sock {
	int state;
	int refs;
	struct net *net;
	struct sock *conn;	/* the MPTCP socket of a subflow */
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
	void (*set_state)(struct sock *sk, u8 state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	void *owner;
	const char *name;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	const struct tcp_congestion_ops *icsk_ca_ops;
	u32 icsk_rto;
	u8 icsk_ca_state;
	u64 icsk_ca_priv[104 / sizeof(u64)];
};

#define ICSK_CA_PRIV_SIZE	sizeof_field(struct inet_connection_sock, icsk_ca_priv)

struct tcp_sock {
	struct inet_connection_sock icsk;
	u32 snd_cwnd, snd_cwnd_cnt, snd_cwnd_clamp, snd_ssthresh;
	u32 snd_nxt, snd_una, srtt_us, min_rtt_us;
	u64 bytes_acked;
};

extern u32 tcp_jiffies32;

#define tcp_sk(sk)		((struct tcp_sock *)(sk))
#define inet_csk(sk)		((struct inet_connection_sock *)(sk))
#define sock_net(sk)		((sk)->net)
#define sk_is_mptcp(sk)		((sk)->conn != NULL)
#define mptcp_subflow_ctx(sk)	(sk)
#define sock_hold(sk)		((sk)->refs++)
#define sock_put(sk)		((sk)->refs--)
#define inet_sk_state_load(sk)	((sk)->state)
#define before(a, b)		((s32)((a) - (b)) < 0)
#define after(a, b)		before(b, a)
#define tcp_min_rtt(tp)		((tp)->min_rtt_us)
#define tcp_in_slow_start(tp)	((tp)->snd_cwnd < (tp)->snd_ssthresh)

static inline void *inet_csk_ca(const struct sock *sk)
{
	return (void *)inet_csk(sk)->icsk_ca_priv;
}

static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp)
{
	return tp->snd_cwnd;
}

/* The kernel warns of a window of 0, too. */
static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 cwnd)
{
	if ((s32)cwnd <= 0)
		abort();
	tp->snd_cwnd = cwnd;
}

/* The window is always what limits a sender here. */
static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	(void)sk;
	return true;
}

u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked);
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);
u32 tcp_reno_ssthresh(struct sock *sk);
u32 tcp_reno_undo_cwnd(struct sock *sk);
int tcp_register_congestion_control(struct tcp_congestion_ops *ops);
void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops);

#endif /* _SHIM_H */
