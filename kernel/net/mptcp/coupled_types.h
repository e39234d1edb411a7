/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _COUPLED_TYPES_H
#define _COUPLED_TYPES_H

/*
 * Data about a path that the coupled congestion controls use, and the arithmetic that
 * they share. The same code compiles into the kernel, into a user-space library
 * (tests), and into eBPF. So its only types of the kernel are u32, s32, u64 and s64;
 * it has no allocation and no floating-point arithmetic, loops have at most
 * COUPLED_MAX_PATHS iterations, and divisions are only of an unsigned 64-bit by an
 * unsigned 32-bit number. Functions that return a struct are always inlined, because
 * eBPF cannot return one otherwise.
 *
 * Quotients of windows and round-trip times span many orders of magnitude: a
 * window of 2^20 segments over 10 us is 10^12 times as fast as one segment over
 * 10 s, and the equations square such rates. A fixed scale that never overflows
 * would truncate slow paths to 0. So values inside a computation are
 * struct coupled_num: a mantissa of 32 bits and an exponent. Every operation
 * truncates once, so its relative error is below 2^-31, and cannot overflow. Sums
 * have positive terms only, so errors do not grow by cancellation. A formula for 8
 * paths takes fewer than 64 operations, so the relative error of each term is below
 * 2^-25.
 *
 * Results that leave a header are fixed-point: see COUPLED_SHIFT.
 */

#ifdef __KERNEL__

#include <linux/bitops.h>
#include <linux/math64.h>
#include <linux/types.h>

#define coupled_div	div_u64
#define coupled_fls	fls64

#else

/* eBPF programs include vmlinux.h and bpf_helpers.h first, which define these. */
#ifndef __bpf__
#include <stdbool.h>
#include <sys/cdefs.h>

typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
#endif

static inline u64 coupled_div(u64 a, u32 b)
{
	return a / b;
}

/* Position of the highest bit that is set, from 1; 0 if no bit is set. */
static inline s32 coupled_fls(u64 v)
{
	s32 bits = 0;

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
	return bits + (s32)v;
}

#endif

/* Maximum number of paths in one computation. */
#define COUPLED_MAX_PATHS	8

/*
 * Increases are in units of 2^-COUPLED_SHIFT segments per acked segment, rounded
 * to nearest. The smallest increase of LIA with windows up to 2^20 segments is
 * about 2^-26, so rounding adds less than 2^-22 to its relative error. No increase
 * exceeds 1.5 segments per acked segment, whatever the input.
 */
#define COUPLED_SHIFT		48
#define COUPLED_ONE		((u64)1 << COUPLED_SHIFT)

/**
 * struct coupled_path - input of the equations: one path of a connection
 * @cwnd: congestion window in segments, ssthresh in recovery; 0 is taken as 1
 * @rtt_us: round-trip time in us; 0 is taken as 1
 * @loss_gap: OLIA only: bytes acked between losses, the larger of the last
 *	complete interval and the present one
 */
struct coupled_path {
	u32 cwnd;
	u32 rtt_us;
	u64 loss_gap;
};

/* The number m * 2^e; m is 0, or has its highest bit set. */
struct coupled_num {
	u32 m;
	s32 e;
};

static __always_inline struct coupled_num coupled_make(u64 m, s32 e)
{
	struct coupled_num n = { 0, 0 };
	s32 shift = coupled_fls(m) - 32;

	if (!m)
		return n;
	n.m = shift > 0 ? m >> shift : m << -shift;
	n.e = e + shift;
	return n;
}

static __always_inline struct coupled_num coupled_int(u64 v)
{
	return coupled_make(v, 0);
}

static __always_inline struct coupled_num coupled_mul(struct coupled_num a, struct coupled_num b)
{
	return coupled_make((u64)a.m * b.m, a.e + b.e);
}

/* No caller divides by zero; if one did, the quotient would be 0. */
static __always_inline struct coupled_num coupled_quot(struct coupled_num a, struct coupled_num b)
{
	if (!b.m)
		return b;
	return coupled_make(coupled_div((u64)a.m << 32, b.m), a.e - b.e - 32);
}

/* Whether a < b. */
static inline bool coupled_less(struct coupled_num a, struct coupled_num b)
{
	if (!a.m || !b.m)
		return !a.m && b.m;
	return a.e != b.e ? a.e < b.e : a.m < b.m;
}

static __always_inline struct coupled_num coupled_add(struct coupled_num a, struct coupled_num b)
{
	struct coupled_num big = coupled_less(a, b) ? b : a;
	struct coupled_num small = coupled_less(a, b) ? a : b;
	u64 sum = (u64)big.m << 31;

	if (small.m && big.e - small.e < 63)
		sum += ((u64)small.m << 31) >> (big.e - small.e);
	return coupled_make(sum, big.e - 31);
}

static __always_inline struct coupled_num coupled_square(struct coupled_num a)
{
	return coupled_mul(a, a);
}

static __always_inline struct coupled_num coupled_min(struct coupled_num a, struct coupled_num b)
{
	return coupled_less(b, a) ? b : a;
}

/* a * 2^shift as an integer, rounded down, at most 2^63 - 1. */
static inline u64 coupled_floor(struct coupled_num a, s32 shift)
{
	s32 e = a.e + shift;

	if (!a.m || e <= -32)
		return 0;
	if (e < 0)
		return a.m >> -e;
	return e > 31 ? ~0ULL >> 1 : (u64)a.m << e;
}

/* An increase, in units of 2^-COUPLED_SHIFT segments, rounded to nearest. */
static inline u64 coupled_fixed(struct coupled_num a)
{
	return (coupled_floor(a, COUPLED_SHIFT + 1) + 1) >> 1;
}

static __always_inline struct coupled_num coupled_cwnd(const struct coupled_path *path)
{
	return coupled_int(path->cwnd ? path->cwnd : 1);
}

static __always_inline struct coupled_num coupled_rtt(const struct coupled_path *path)
{
	return coupled_int(path->rtt_us ? path->rtt_us : 1);
}

/* The rate x = w / rtt of a path, in segments per us. */
static __always_inline struct coupled_num coupled_rate(const struct coupled_path *path)
{
	return coupled_quot(coupled_cwnd(path), coupled_rtt(path));
}

/* w / rtt^2 of a path. */
static __always_inline struct coupled_num coupled_gain(const struct coupled_path *path)
{
	return coupled_quot(coupled_rate(path), coupled_rtt(path));
}

/* The sum of all rates. */
static __always_inline struct coupled_num
coupled_total_rate(const struct coupled_path *paths, u32 n)
{
	struct coupled_num sum = { 0, 0 };
	u32 i;

	for (i = 0; i < COUPLED_MAX_PATHS && i < n; i++)
		sum = coupled_add(sum, coupled_rate(&paths[i]));
	return sum;
}

/*
 * The smallest window that OLIA and BALIA leave to one of n paths, in segments. RFC
 * 5681 has 2. draft-khalili-mptcp-congestion-control and draft-walid-mptcp-
 * congestion-control set the minimum of ssthresh to 1 if a connection has several
 * paths, so that it sends no more than one segment over a congested path. The
 * authors' BALIA does so; their OLIA halves a window to 2 at least, as Reno does,
 * but its epsilon can remove single segments, down to 1. LIA (RFC 6356) and wVegas
 * keep 2.
 */
static inline u32 coupled_min_window(u32 n)
{
	return n > 1 ? 1 : 2;
}

/* Whether an index and a number of paths are valid; if not, increases are 0. */
static inline bool coupled_valid(u32 n, u32 self)
{
	return n <= COUPLED_MAX_PATHS && self < n;
}

#endif /* _COUPLED_TYPES_H */
