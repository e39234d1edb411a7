/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _COUPLED_NUM_BPF_H
#define _COUPLED_NUM_BPF_H

/*
 * The arithmetic of coupled_types.h in pieces that the verifier checks separately.
 * The verifier follows all branches of a program, with what it knows of the values,
 * and an equation of these headers in one piece has more branches than its limits
 * allow. It checks a global function once, for any arguments. So the headers of the
 * algorithms, which are included after this one, call such functions under the names
 * of the original functions. A struct coupled_num is passed as one number.
 */

#include "coupled_types.h"

#define __outline	__attribute__((noinline))

union coupled_packed {
	struct coupled_num num;
	u64 word;
};

static __always_inline u64 coupled_pack(struct coupled_num num)
{
	union coupled_packed packed = { .num = num };

	return packed.word;
}

static __always_inline struct coupled_num coupled_unpack(u64 word)
{
	union coupled_packed packed = { .word = word };

	return packed.num;
}

__outline u64 num_mul(u64 a, u64 b)
{
	return coupled_pack(coupled_mul(coupled_unpack(a), coupled_unpack(b)));
}

__outline u64 num_quot(u64 a, u64 b)
{
	return coupled_pack(coupled_quot(coupled_unpack(a), coupled_unpack(b)));
}

__outline u64 num_add(u64 a, u64 b)
{
	return coupled_pack(coupled_add(coupled_unpack(a), coupled_unpack(b)));
}

__outline int num_less(u64 a, u64 b)
{
	return coupled_less(coupled_unpack(a), coupled_unpack(b));
}

__outline u64 num_floor(u64 a, int shift)
{
	return coupled_floor(coupled_unpack(a), shift);
}

#define coupled_mul(a, b)	coupled_unpack(num_mul(coupled_pack(a), coupled_pack(b)))
#define coupled_quot(a, b)	coupled_unpack(num_quot(coupled_pack(a), coupled_pack(b)))
#define coupled_add(a, b)	coupled_unpack(num_add(coupled_pack(a), coupled_pack(b)))
#define coupled_less(a, b)	num_less(coupled_pack(a), coupled_pack(b))
#define coupled_floor(a, shift)	num_floor(coupled_pack(a), shift)

/* As in coupled_types.h, but with the functions above. */
__outline u64 num_rate(const struct coupled_path *path)
{
	return path ? coupled_pack(coupled_rate(path)) : 0;
}

__outline u64 num_gain(const struct coupled_path *path)
{
	return path ? coupled_pack(coupled_gain(path)) : 0;
}

/* Sum over all paths of the connection, in an array of COUPLED_MAX_PATHS. */
struct coupled_all {
	struct coupled_path path[COUPLED_MAX_PATHS];
};

__outline u64 num_total_rate(const struct coupled_all *all, u32 n)
{
	return all ? coupled_pack(coupled_total_rate(all->path, n)) : 0;
}

#define coupled_rate(path)	coupled_unpack(num_rate(path))
#define coupled_gain(path)	coupled_unpack(num_gain(path))
#define coupled_total_rate(paths, n)	\
	coupled_unpack(num_total_rate((const struct coupled_all *)(paths), n))

#endif /* _COUPLED_NUM_BPF_H */
