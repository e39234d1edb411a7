// SPDX-License-Identifier: GPL-2.0-only
/*
 * wVegas, weighted Vegas (Cao, Xu, Fu, 2012), as a TCP congestion control.
 *
 * Equations, scales and deviations are in coupled_wvegas.h. coupled.c explains how
 * subflows share data, and which count. A path counts from the end of its first
 * round. On a TCP socket wvegas keeps 10 packets in queues.
 *
 * A round ends with the first ACK of data that was sent after the round began. As in
 * Linux's Vegas, rounds are measured in TCP_CA_Open only; in other states, and in
 * rounds of fewer than 3 samples, growth is Reno's. A sample is ack_sample.rtt_us,
 * which Linux takes from the most recently sent of the acked segments, so that
 * delayed ACKs do not increase the mean. The window does not grow in a round in
 * which it did not limit the sender. Unlike in Linux's Vegas, an idle time does not
 * reset base_rtt: a scheduler may often leave a subflow idle.
 */

#include <linux/module.h>

#include "coupled.h"
#include "coupled_wvegas.h"

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
	bool measuring;
};

static void wvegas_begin_round(struct sock *sk)
{
	struct wvegas *w = inet_csk_ca(sk);

	w->round_end = tcp_sk(sk)->snd_nxt;
	w->rtt_sum = 0;
	w->samples = 0;
}

static void wvegas_init(struct sock *sk)
{
	struct wvegas *w = inet_csk_ca(sk);

	memset(w, 0, sizeof(*w));
	coupled_init(sk);
	w->measuring = true;
	wvegas_begin_round(sk);
}

static void wvegas_set_state(struct sock *sk, u8 state)
{
	struct wvegas *w = inet_csk_ca(sk);

	coupled_set_state(sk, state);
	w->measuring = state == TCP_CA_Open;
	if (w->measuring)
		wvegas_begin_round(sk);
}

static void wvegas_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
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

/* Apply the result of a computation to the socket. */
static void wvegas_apply(struct sock *sk, const struct coupled_wvegas *v)
{
	struct wvegas *w = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	w->alpha = v->alpha;
	w->queue_us = v->queue_us;
	if (v->cwnd <= tcp_snd_cwnd(tp) || tcp_is_cwnd_limited(sk))
		tcp_snd_cwnd_set(tp, min(v->cwnd, tp->snd_cwnd_clamp));
	if (v->ssthresh != tp->snd_ssthresh)
		WRITE_ONCE(tp->snd_ssthresh, v->ssthresh);
}

/* Congestion avoidance at the end of a round. */
static void wvegas_avoid(struct sock *sk, struct coupled_wvegas *v)
{
	struct coupled_path paths[COUPLED_MAX_PATHS];
	struct wvegas *w = inet_csk_ca(sk);
	u32 n = coupled_collect(sk, paths);

	paths[0].rtt_us = v->rtt_us;
	w->rate_rtt_us = v->rtt_us;
	coupled_wvegas_round(v, paths, n, 0);
	wvegas_apply(sk, v);
}

static void wvegas_end_round(struct sock *sk, u32 ack, u32 acked)
{
	struct wvegas *w = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct coupled_wvegas v = {
		.cwnd = tcp_snd_cwnd(tp),
		.ssthresh = tp->snd_ssthresh,
		.base_rtt_us = w->base_rtt_us,
		.alpha = w->alpha,
		.queue_us = w->queue_us,
	};
	u32 samples = w->samples;

	if (samples)
		v.rtt_us = div_u64(w->rtt_sum, samples);
	wvegas_begin_round(sk);

	if (samples < WVEGAS_MIN_SAMPLES) {
		tcp_reno_cong_avoid(sk, ack, acked);
	} else if (!tcp_in_slow_start(tp)) {
		wvegas_avoid(sk, &v);
	} else if (coupled_wvegas_slow_start(&v)) {
		w->rate_rtt_us = v.rtt_us;
		coupled_slow_start(sk, acked);
	} else {
		wvegas_apply(sk, &v);
	}
}

static void wvegas_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct wvegas *w = inet_csk_ca(sk);

	if (!w->measuring)
		tcp_reno_cong_avoid(sk, ack, acked);
	else if (after(ack, w->round_end))
		wvegas_end_round(sk, ack, acked);
	else if (tcp_in_slow_start(tcp_sk(sk)))
		coupled_slow_start(sk, acked);
}

static struct tcp_congestion_ops wvegas __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= wvegas_init,
	.release	= coupled_release,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= wvegas_cong_avoid,
	.set_state	= wvegas_set_state,
	.pkts_acked	= wvegas_pkts_acked,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "wvegas",
};

static int __init wvegas_register(void)
{
	BUILD_BUG_ON(sizeof(struct wvegas) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&wvegas);
}
late_initcall(wvegas_register);
