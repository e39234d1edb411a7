// SPDX-License-Identifier: GPL-2.0-only
/*
 * The arithmetic of the schedulers of out-of-tree MPTCP 0.9x as a shared library
 * for Python's ctypes. What asks it for one subflow after the other is here as in
 * sched_v09.c.
 */

#include "sched_v09.h"

struct verdict {
	bool retransmit;
	bool penalty;
};

bool test_has_room(const struct v09_path *path)
{
	return v09_has_room(path);
}

int test_lambda(int lambda, bool blocked)
{
	return v09_blest_lambda(lambda, blocked);
}

u32 test_linger(const struct v09_path *slow)
{
	return v09_blest_linger_8(slow);
}

u32 test_fast_bytes(const struct v09_path *fast, u32 time_8, int lambda)
{
	return v09_blest_fast_bytes(fast, time_8, lambda);
}

bool test_blocks(const struct v09_path *fast, const struct v09_path *slow, u32 len, u32 window,
		 int lambda)
{
	return v09_blest_blocks(fast, slow, len, window, lambda);
}

bool test_ecf_waits(const struct v09_path *fast, const struct v09_path *slow, u32 backlog,
		    u32 *waiting)
{
	return v09_ecf_waits(fast, slow, backlog, waiting);
}

/* The first path is the one with room; bit i of @carriers is for path i. */
struct verdict test_blocked(struct v09_path *paths, u32 n, u32 carriers, u32 lossless, bool may_penalise)
{
	struct verdict verdict = {};
	bool asked = false, done = carriers & 1;
	u32 i;

	for (i = 1; i < n; i++) {
		if (!(carriers & (1U << i)))
			continue;
		if (may_penalise && !asked &&
		    v09_deserves_penalty(&paths[0], &paths[i], lossless & (1U << i))) {
			v09_halve(&paths[i].cwnd, &paths[i].ssthresh);
			verdict.penalty = true;
		}
		asked = true;
		if (!done && !v09_ask_retransmit(&paths[0], &paths[i], &verdict.retransmit))
			done = true;
	}
	return verdict;
}
