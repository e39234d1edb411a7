// SPDX-License-Identifier: GPL-2.0-only
/*
 * wVegas, weighted Vegas (Cao, Xu, Fu, 2012), for stock kernels: the counterpart of the
 * lab kernel's mptcp_wvegas.c, where rounds and samples are explained. Equations,
 * scales and deviations are in coupled_wvegas.h. coupled.bpf.h explains how subflows
 * share data. On a TCP socket it keeps 10 packets in queues.
 */

#include "kernel.h"
#include "coupled.bpf.h"
#include "coupled_wvegas.h"

char _license[] SEC("license") = "GPL";

/* A mean of fewer samples than this is not used. */
#define WVEGAS_MIN_SAMPLES	3

struct wvegas {
	struct coupled_sock cs;
	u64 rtt_sum;		/* of this round's samples, us */
	u32 samples;
	u32 round_end;		/* snd_nxt when the round began */
	u32 base_rtt_us;	/* smallest so far; 0: none yet */
	u32 rate_rtt_us;	/* mean of the round whose rate is published; 0: none */
	u32 alpha;		/* see struct coupled_wvegas */
	u32 queue_us;		/* likewise */
	u64 measuring;
};

/* A subflow and the paths of its connection. */
struct wvegas_round {
	struct coupled_wvegas v;
	struct coupled_paths all;
};

/* Slow start at the end of a round. Return whether it goes on. */
__outline int wvegas_slow_start(struct coupled_wvegas *v)
{
	return v ? coupled_wvegas_slow_start(v) : 0;
}

/* Congestion avoidance at the end of a round. */
__outline int wvegas_round(struct wvegas_round *r)
{
	if (r)
		coupled_wvegas_round(&r->v, r->all.path, r->all.n, 0);
	return 0;
}

static __always_inline void wvegas_begin_round(struct sock *sk)
{
	struct wvegas *w = inet_csk_ca(sk);

	w->round_end = tcp_sk(sk)->snd_nxt;
	w->rtt_sum = 0;
	w->samples = 0;
}

/* Apply the result of a computation to the socket. */
static __always_inline void wvegas_apply(struct sock *sk, const struct coupled_wvegas *v)
{
	struct wvegas *w = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	w->alpha = v->alpha;
	w->queue_us = v->queue_us;
	if (v->cwnd <= tp->snd_cwnd || tcp_is_cwnd_limited(sk))
		tp->snd_cwnd = min(v->cwnd, tp->snd_cwnd_clamp);
	if (v->ssthresh != tp->snd_ssthresh)
		tp->snd_ssthresh = v->ssthresh;
}

static __always_inline void wvegas_avoid(struct sock *sk, struct wvegas_round *r)
{
	struct wvegas *w = inet_csk_ca(sk);

	coupled_collect(sk, &r->all);
	r->all.path[0].rtt_us = r->v.rtt_us;
	w->rate_rtt_us = r->v.rtt_us;
	wvegas_round(r);
	wvegas_apply(sk, &r->v);
}

static __always_inline void wvegas_end_round(struct sock *sk, u32 ack, u32 acked)
{
	struct wvegas *w = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct wvegas_round r = {
		.v.cwnd = tp->snd_cwnd,
		.v.ssthresh = tp->snd_ssthresh,
		.v.base_rtt_us = w->base_rtt_us,
		.v.alpha = w->alpha,
		.v.queue_us = w->queue_us,
	};
	u32 samples = w->samples;

	if (samples)
		r.v.rtt_us = w->rtt_sum / samples;
	wvegas_begin_round(sk);

	if (samples < WVEGAS_MIN_SAMPLES) {
		tcp_reno_cong_avoid(sk, ack, acked);
	} else if (!tcp_in_slow_start(tp)) {
		wvegas_avoid(sk, &r);
	} else if (wvegas_slow_start(&r.v)) {
		w->rate_rtt_us = r.v.rtt_us;
		coupled_slow_start(sk, acked);
	} else {
		wvegas_apply(sk, &r.v);
	}
}

OPERATION(void, init)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct wvegas *w = inet_csk_ca(sk);

	w->base_rtt_us = 0;
	w->rate_rtt_us = 0;
	w->alpha = 0;
	w->queue_us = 0;
	w->measuring = true;
	coupled_init(sk);
	wvegas_begin_round(sk);
}

OPERATION(void, release)
{
	coupled_release((struct sock *)ctx[0]);
}

OPERATION(void, set_state)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct wvegas *w = inet_csk_ca(sk);
	u32 state = (u8)ctx[1];

	coupled_state(sk, state, 0);
	w->measuring = state == TCP_CA_Open;
	if (state == TCP_CA_Open)
		wvegas_begin_round(sk);
}

OPERATION(void, pkts_acked)
{
	const struct ack_sample *sample = (const struct ack_sample *)ctx[1];
	struct sock *sk = (struct sock *)ctx[0];
	struct wvegas *w = inet_csk_ca(sk);

	if (sample->rtt_us >= 0) {
		u32 rtt_us = max(sample->rtt_us, 1);

		if (!w->base_rtt_us || rtt_us < w->base_rtt_us)
			w->base_rtt_us = rtt_us;
		w->rtt_sum += rtt_us;
		w->samples++;
	}
	if (w->rate_rtt_us && coupled_delivered(sample))
		coupled_publish(sk, w->rate_rtt_us, 0);
}

OPERATION(void, cong_avoid)
{
	struct sock *sk = (struct sock *)ctx[0];
	const struct wvegas *w = inet_csk_ca(sk);
	u32 ack = ctx[1], acked = ctx[2];

	if (!w->measuring)
		tcp_reno_cong_avoid(sk, ack, acked);
	else if (after(ack, w->round_end))
		wvegas_end_round(sk, ack, acked);
	else if (tcp_in_slow_start(tcp_sk(sk)))
		coupled_slow_start(sk, acked);
}

OPERATION(u32, ssthresh)
{
	return tcp_reno_ssthresh((struct sock *)ctx[0]);
}

OPERATION(u32, undo_cwnd)
{
	return tcp_reno_undo_cwnd((struct sock *)ctx[0]);
}

REGISTERED struct tcp_congestion_ops wvegas = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= (void *)init,
	.release	= (void *)release,
	.ssthresh	= (void *)ssthresh,
	.cong_avoid	= (void *)cong_avoid,
	.set_state	= (void *)set_state,
	.pkts_acked	= (void *)pkts_acked,
	.undo_cwnd	= (void *)undo_cwnd,
	.name		= "wvegas",
};
