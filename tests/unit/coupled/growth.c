// SPDX-License-Identifier: GPL-2.0-only
/*
 * What coupled_window.c does with an increase: whole segments become window, the rest
 * waits as credit. The functions are cut out of that file by library.py, into
 * growth.inc; this is as much of a kernel as they need.
 */

#include <stddef.h>

#include "coupled_types.h"

#define min(a, b)		((a) < (b) ? (a) : (b))
#define WRITE_ONCE(x, value)	((x) = (value))

struct sock {
	s64 credit;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 snd_cwnd_clamp;
};

#define tcp_sock		sock
#define coupled_sock		sock
#define tcp_sk(sk)		(sk)
#define coupled_sk(sk)		(sk)
#define tcp_snd_cwnd(tp)	((tp)->snd_cwnd)

static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 cwnd)
{
	tp->snd_cwnd = cwnd;
}

/* Reno's, of a path that is alone: not what is tested here. */
static inline void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 window, u32 acked)
{
	(void)tp;
	(void)window;
	(void)acked;
}

#include "growth.inc"

unsigned int test_max_acked(void)
{
	return COUPLED_MAX_ACKED;
}

void test_grow(struct sock *sk, s64 increase, u32 acked)
{
	coupled_grow(sk, 2, increase, acked);
}
