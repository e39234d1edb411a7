// SPDX-License-Identifier: GPL-2.0-only
/*
 * The arithmetic of the coupled congestion controls as a shared library for
 * Python's ctypes, compiled with the undefined behaviour sanitiser. Instead of
 * the sanitiser's own run time, which would end the test process, the handlers
 * here count what it finds.
 */

#include "coupled_balia.h"
#include "coupled_lia.h"
#include "coupled_olia.h"
#include "coupled_start.h"
#include "coupled_wvegas.h"

unsigned int undefined_count;

#define COUNT2(name)						\
	void __ubsan_handle_##name(void *data, void *a)		\
	{							\
		(void)data;					\
		(void)a;					\
		undefined_count++;				\
	}

#define COUNT3(name)						\
	void __ubsan_handle_##name(void *data, void *a, void *b)	\
	{							\
		(void)data;					\
		(void)a;					\
		(void)b;					\
		undefined_count++;				\
	}

COUNT3(add_overflow)
COUNT3(sub_overflow)
COUNT3(mul_overflow)
COUNT2(negate_overflow)
COUNT3(divrem_overflow)
COUNT3(shift_out_of_bounds)
COUNT2(out_of_bounds)
COUNT2(load_invalid_value)
COUNT3(pointer_overflow)
COUNT2(type_mismatch_v1)

/* A deliberate fault, so that a test can see that faults are counted. */
s32 test_shift(s32 value, s32 by)
{
	return value << by;
}

struct coupled_num test_int(u64 v)
{
	return coupled_int(v);
}

struct coupled_num test_mul(struct coupled_num a, struct coupled_num b)
{
	return coupled_mul(a, b);
}

struct coupled_num test_quot(struct coupled_num a, struct coupled_num b)
{
	return coupled_quot(a, b);
}

struct coupled_num test_add(struct coupled_num a, struct coupled_num b)
{
	return coupled_add(a, b);
}

bool test_less(struct coupled_num a, struct coupled_num b)
{
	return coupled_less(a, b);
}

u64 test_floor(struct coupled_num a, s32 shift)
{
	return coupled_floor(a, shift);
}

s32 test_fls(u64 v)
{
	return coupled_fls(v);
}

s64 test_lia(const struct coupled_path *paths, u32 n, u32 self)
{
	return coupled_lia_increase(paths, n, self);
}

s64 test_olia(const struct coupled_path *paths, u32 n, u32 self)
{
	return coupled_olia_increase(paths, n, self, COUPLED_OLIA_KERNEL);
}

s64 test_olia_draft(const struct coupled_path *paths, u32 n, u32 self)
{
	return coupled_olia_increase(paths, n, self, COUPLED_OLIA_DRAFT);
}

u32 test_olia_best(const struct coupled_path *paths, u32 n)
{
	return coupled_olia_best(paths, n, COUPLED_OLIA_KERNEL);
}

u32 test_olia_draft_best(const struct coupled_path *paths, u32 n)
{
	return coupled_olia_best(paths, n, COUPLED_OLIA_DRAFT);
}

u32 test_olia_largest(const struct coupled_path *paths, u32 n, u32 slack)
{
	return coupled_olia_largest(paths, n, slack);
}

struct coupled_olia_eps test_olia_eps(u32 best, u32 largest, u32 n, u32 self)
{
	return coupled_olia_shift(best, largest, n, self);
}

s64 test_balia(const struct coupled_path *paths, u32 n, u32 self)
{
	return coupled_balia_increase(paths, n, self);
}

u32 test_balia_ssthresh(const struct coupled_path *paths, u32 n, u32 self)
{
	return coupled_balia_ssthresh(paths, n, self);
}

u64 test_wvegas_diff(const struct coupled_wvegas *v)
{
	return coupled_wvegas_diff(v);
}

u32 test_wvegas_alpha(const struct coupled_path *paths, u32 n, u32 self)
{
	return coupled_wvegas_alpha(paths, n, self);
}

bool test_wvegas_slow_start(struct coupled_wvegas *v)
{
	return coupled_wvegas_slow_start(v);
}

void test_wvegas_round(struct coupled_wvegas *v, const struct coupled_path *paths, u32 n, u32 self)
{
	coupled_wvegas_round(v, paths, n, self);
}

bool test_start_round(struct coupled_start *s)
{
	return coupled_start_round(s);
}

bool test_start_sample(struct coupled_start *s, u32 rtt_us, u32 min_us)
{
	return coupled_start_sample(s, rtt_us, min_us);
}
