/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _BPF_KERNEL_H
#define _BPF_KERNEL_H

/*
 * The part of the kernel's declarations that the programs here use, instead of a
 * vmlinux.h of several megabytes. The loader looks up every field by its name in the
 * type information (BTF) of the running kernel and corrects its offset (CO-RE), so one
 * object fits many kernels; the order of fields and the gaps between them have no
 * meaning here. A kernel that lacks a field is refused. The numbers of helpers and of
 * map types are part of the kernel's stable interface (linux/bpf.h).
 */

/* Selects the kernel's variant of the lab kernel's headers of the algorithms. */
#define __KERNEL__

typedef unsigned char u8;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
typedef _Bool bool;

#define true		1
#define false		0
#define NULL		((void *)0)

#define __always_inline	inline __attribute__((always_inline))
#define SEC(name)	__attribute__((section(name), used))

#define min(a, b)	((a) < (b) ? (a) : (b))
#define max(a, b)	((a) > (b) ? (a) : (b))

/*
 * OPERATION() defines an operation of a congestion control; its context holds the
 * arguments. REGISTERED marks the struct that registers the operations. In a test that
 * replays events, they are plain functions, and replay.h defines the socket and the
 * kernel's functions.
 */
#ifdef REPLAY
#define OPERATION(type, name)	static __always_inline type name(u64 *ctx)
#define REGISTERED		static const __attribute__((unused))
#else
#define OPERATION(type, name)	SEC("struct_ops/" #name) type name(u64 *ctx)
#define REGISTERED		SEC(".struct_ops")
#endif

/* Macros of map definitions, in libbpf's format. */
#define __uint(name, value)	int (*name)[value]
#define __type(name, value)	typeof(value) *name

#define BPF_MAP_TYPE_HASH	1
#define BPF_F_NO_PREALLOC	1
#define BPF_NOEXIST		1

struct bpf_spin_lock {
	u32 val;
};

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value,
					 u64 flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static long (*const bpf_spin_lock)(struct bpf_spin_lock *lock) = (void *)93;
static long (*const bpf_spin_unlock)(struct bpf_spin_lock *lock) = (void *)94;

#ifdef REPLAY
#include "replay.h"
#else

static long (*const bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static u64 (*const bpf_jiffies64)(void) = (void *)118;

/* The kernel's structs. The loader finds fields by name. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
};

struct inet_connection_sock {
	void *icsk_ulp_data;
	u32 icsk_rto;
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[13];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 snd_nxt;
	u32 srtt_us;
	u32 max_packets_out;
	u64 bytes_acked;
	u8 is_cwnd_limited : 1;
	bool is_mptcp;
};

struct mptcp_subflow_context {
	void *conn;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
};

#pragma clang attribute pop

#endif /* REPLAY */

/* The struct that a congestion control registers; libbpf matches fields by name, too. */
struct tcp_congestion_ops {
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 state);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 flags;
	char name[16];
};

#define TCP_CONG_NON_RESTRICTED	1

enum {
	TCP_CA_Open,
	TCP_CA_Disorder,
	TCP_CA_CWR,
	TCP_CA_Recovery,
	TCP_CA_Loss,
};

#ifndef REPLAY

/* The kernel's own functions. */
#define __ksym	__attribute__((section(".ksyms")))

extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked) __ksym;

/*
 * The value of a bit field. Its position differs between kernels, so the loader fills in
 * its offset, size and shifts.
 */
enum { BIT_FIELD_BYTE, BIT_FIELD_BYTES, BIT_FIELD_LEFT = 4, BIT_FIELD_RIGHT };

#define bit_field(s, field) ({							\
	const void *_at = (const void *)(s) +					\
		__builtin_preserve_field_info((s)->field, BIT_FIELD_BYTE);	\
	u64 _value;								\
										\
	switch (__builtin_preserve_field_info((s)->field, BIT_FIELD_BYTES)) {	\
	case 1:									\
		_value = *(const u8 *)_at;					\
		break;								\
	case 2:									\
		_value = *(const unsigned short *)_at;				\
		break;								\
	case 4:									\
		_value = *(const u32 *)_at;					\
		break;								\
	default:								\
		_value = *(const u64 *)_at;					\
		break;								\
	}									\
	_value <<= __builtin_preserve_field_info((s)->field, BIT_FIELD_LEFT);	\
	_value >> __builtin_preserve_field_info((s)->field, BIT_FIELD_RIGHT);	\
})

#endif /* REPLAY */

static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

static __always_inline void *inet_csk_ca(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_priv;
}

static __always_inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* As in the kernel's net/tcp.h. */
static __always_inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (bit_field(tp, is_cwnd_limited))
		return true;
	return tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* Whether sequence number a is after b. */
static __always_inline bool after(u32 a, u32 b)
{
	return (s32)(b - a) < 0;
}

static __always_inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

/*
 * Position of the highest bit that is set, from 1; 0 if no bit is set. The verifier
 * checks a global function once, separately, and assumes that it can return any number.
 * Otherwise it would follow 65 possible results through each computation, which would
 * exceed its limits.
 */
__attribute__((noinline)) int fls64(u64 v)
{
	int bits = 0;

	if (v >> 32) {
		v >>= 32;
		bits += 32;
	}
	if (v >> 16) {
		v >>= 16;
		bits += 16;
	}
	if (v >> 8) {
		v >>= 8;
		bits += 8;
	}
	if (v >> 4) {
		v >>= 4;
		bits += 4;
	}
	if (v >> 2) {
		v >>= 2;
		bits += 2;
	}
	if (v >> 1) {
		v >>= 1;
		bits += 1;
	}
	return bits + (int)v;
}

#endif /* _BPF_KERNEL_H */
