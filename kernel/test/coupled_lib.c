// SPDX-License-Identifier: GPL-2.0-only
/*
 * The arithmetic of the coupled congestion controls as a shared object, for tests
 * in user space:
 *
 *	gcc -shared -fPIC -O2 -Wall -Wextra -Werror -I kernel/net/mptcp \
 *		kernel/test/coupled_lib.c -o coupled.so
 *
 * Each function is that of the header without the prefix "test_". The structures
 * are those of the headers: struct coupled_path is { u32 cwnd, u32 rtt_us, u64
 * loss_gap }, struct coupled_wvegas is six u32.
 */

#include "coupled_balia.h"
#include "coupled_lia.h"
#include "coupled_olia.h"
#include "coupled_wvegas.h"

int test_shift(void)
{
	return COUPLED_SHIFT;
}

s64 test_coupled_lia_increase(const struct coupled_path *paths, u32 n, u32 self)
{
	return coupled_lia_increase(paths, n, self);
}

s64 test_coupled_lia_v09_increase(const struct coupled_path *paths, u32 n, u32 self)
{
	return coupled_lia_v09_increase(paths, n, self);
}

s64 test_coupled_olia_increase(const struct coupled_path *paths, u32 n, u32 self)
{
	return coupled_olia_increase(paths, n, self);
}

s64 test_coupled_olia_v09_increase(const struct coupled_path *paths, u32 n, u32 self)
{
	return coupled_olia_v09_increase(paths, n, self);
}

s64 test_coupled_balia_increase(const struct coupled_path *paths, u32 n, u32 self)
{
	return coupled_balia_increase(paths, n, self);
}

u32 test_coupled_balia_ssthresh(const struct coupled_path *paths, u32 n, u32 self)
{
	return coupled_balia_ssthresh(paths, n, self);
}

u32 test_coupled_balia_v09_decrease(const struct coupled_path *paths, u32 n, u32 self)
{
	return coupled_balia_v09_decrease(paths, n, self);
}

u32 test_coupled_wvegas_alpha(const struct coupled_path *paths, u32 n, u32 self)
{
	return coupled_wvegas_alpha(paths, n, self);
}

u32 test_coupled_wvegas_v09_alpha(const struct coupled_path *paths, u32 n, u32 self)
{
	return coupled_wvegas_v09_alpha(paths, n, self);
}

u32 test_coupled_olia_best(const struct coupled_path *paths, u32 n)
{
	return coupled_olia_best(paths, n);
}

u32 test_coupled_olia_v09_best(const struct coupled_path *paths, u32 n)
{
	return coupled_olia_v09_best(paths, n);
}

u32 test_coupled_olia_largest(const struct coupled_path *paths, u32 n, u32 slack)
{
	return coupled_olia_largest(paths, n, slack);
}

u64 test_coupled_wvegas_diff(const struct coupled_wvegas *v)
{
	return coupled_wvegas_diff(v);
}

bool test_coupled_wvegas_slow_start(struct coupled_wvegas *v)
{
	return coupled_wvegas_slow_start(v);
}

void test_coupled_wvegas_round(struct coupled_wvegas *v, const struct coupled_path *paths, u32 n,
			       u32 self)
{
	coupled_wvegas_round(v, paths, n, self);
}

void test_coupled_wvegas_v09_round(struct coupled_wvegas *v,
				   const struct coupled_path *paths, u32 n, u32 self)
{
	coupled_wvegas_v09_round(v, paths, n, self);
}
