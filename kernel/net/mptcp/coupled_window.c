// SPDX-License-Identifier: GPL-2.0-only
/*
 * Growth and reduction of a subflow's window under the coupled congestion controls:
 * slow start, the first one with HyStart++, and conversion of the fractions that the
 * equations give into whole segments.
 */

#include "coupled.h"

/* Limit of the segments that one ACK counts for, so that credit cannot overflow. */
#define COUPLED_MAX_ACKED	16384U

/**
 * coupled_slow_start() - Reno's slow start, if cwnd is below ssthresh
 * @sk: the socket, locked
 * @acked: segments that were acked
 *
 * Return: acked segments that are left for congestion avoidance; also 0 if the
 * sender was not limited by its window.
 */
u32 coupled_slow_start(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return 0;
	return tcp_in_slow_start(tp) ? tcp_slow_start(tp, acked) : acked;
}

/* Never on a TCP socket, which uses Reno only. */
static bool coupled_in_first_start(const struct sock *sk)
{
	return coupled_sk(sk)->group &&
	       tcp_sk(sk)->snd_ssthresh >= TCP_INFINITE_SSTHRESH &&
	       coupled_hystart(sock_net(sk));
}

/* init() of congestion controls whose private data begins with a struct coupled_window. */
void coupled_window_init(struct sock *sk)
{
	struct coupled_window *window = inet_csk_ca(sk);

	memset(&window->start, 0, sizeof(window->start));
	window->start.round_end = tcp_sk(sk)->snd_nxt;
	coupled_init(sk);
	if (coupled_count_idle(sock_net(sk)) && tcp_sk(sk)->srtt_us)
		coupled_publish(sk, coupled_srtt_us(sk), 0);
}

/**
 * coupled_window_sample() - update the rounds and samples of HyStart++
 * @sk: a subflow or a TCP socket, locked
 * @sample: the argument of pkts_acked()
 */
void coupled_window_sample(struct sock *sk, const struct ack_sample *sample)
{
	struct coupled_window *window = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool ends = false;

	if (!coupled_in_first_start(sk))
		return;
	if (!before(tp->snd_una, window->start.round_end)) {
		window->start.round_end = tp->snd_nxt;
		ends = coupled_start_round(&window->start);
	}
	if (sample->rtt_us >= 0 &&
	    coupled_start_sample(&window->start, sample->rtt_us, tcp_min_rtt(tp)))
		ends = true;
	if (ends)
		WRITE_ONCE(tp->snd_ssthresh, tcp_snd_cwnd(tp));
}

/* pkts_acked() of congestion controls with HyStart++ that need nothing else. */
void coupled_window_acked(struct sock *sk, const struct ack_sample *sample)
{
	coupled_window_sample(sk, sample);
	coupled_pkts_acked(sk, sample);
}

/**
 * coupled_first_start() - slow start; the first one with HyStart++ if it is enabled
 * @sk: a subflow or a TCP socket, locked
 * @acked: segments that were acked
 *
 * Return: as coupled_slow_start().
 */
u32 coupled_first_start(struct sock *sk, u32 acked)
{
	const struct coupled_window *window = inet_csk_ca(sk);

	if (!coupled_in_first_start(sk))
		return coupled_slow_start(sk, acked);
	acked = min(acked, COUPLED_START_MAX_ACKED);
	if (!window->start.rounds)
		return coupled_slow_start(sk, acked);
	if (tcp_is_cwnd_limited(sk))
		tcp_cong_avoid_ai(tcp_sk(sk), COUPLED_START_SLOWER, acked);
	return 0;
}

/* Add whole segments of credit to cwnd. */
static void coupled_spend(struct sock *sk, u32 segments)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp) + segments, tp->snd_cwnd_clamp));
}

/*
 * Take whole segments from cwnd. Only OLIA does this, down to 1 segment, as its
 * authors' code does. ssthresh follows, as slow start would begin again below it.
 */
static void coupled_repay(struct sock *sk, u32 segments)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	cwnd = cwnd > segments ? cwnd - segments : 1;
	tcp_snd_cwnd_set(tp, cwnd);
	if (tp->snd_ssthresh > cwnd)
		WRITE_ONCE(tp->snd_ssthresh, cwnd);
}

/**
 * coupled_grow() - congestion avoidance
 * @sk: the socket, locked
 * @n: number of paths; a single path grows as in Reno
 * @increase: per acked segment, in 2^-COUPLED_SHIFT segments; may be negative
 * @acked: segments that were acked
 */
void coupled_grow(struct sock *sk, u32 n, s64 increase, u32 acked)
{
	struct coupled_sock *cs = coupled_sk(sk);

	if (n == 1) {
		tcp_cong_avoid_ai(tcp_sk(sk), tcp_snd_cwnd(tcp_sk(sk)), acked);
		return;
	}
	cs->credit += increase * min(acked, COUPLED_MAX_ACKED);
	if (cs->credit >= (s64)COUPLED_ONE) {
		coupled_spend(sk, cs->credit >> COUPLED_SHIFT);
		cs->credit &= COUPLED_ONE - 1;
	} else if (cs->credit <= -(s64)COUPLED_ONE) {
		coupled_repay(sk, -cs->credit >> COUPLED_SHIFT);
		cs->credit = -(-cs->credit & (s64)(COUPLED_ONE - 1));
	}
}

/* Reno's ssthresh: half the window, at least 2 segments. Also reset the credit. */
u32 coupled_reno_ssthresh(struct sock *sk)
{
	coupled_sk(sk)->credit = 0;
	return tcp_reno_ssthresh(sk);
}
