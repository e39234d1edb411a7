// SPDX-License-Identifier: GPL-2.0-only
/*
 * wvegas_v09: wVegas (Cao, Xu, Fu, 2012) as the out-of-tree MPTCP kernel had it. See v09.h.
 *
 * At the end of a round of 3 samples or more, with the window w, the mean round-trip time
 * rtt of the round and the smallest known round-trip time, base, where 1 us is added to
 * each sample:
 *
 *	diff = w (rtt - base) / rtt, truncated to whole packets
 *	in slow start: w += acked segments, or, if diff > 1, w = min(w, w base / rtt + 1)
 *	else:
 *	if diff >= alpha, renew the rate 65536 w / rtt, truncated, and alpha = 10 rate / (sum
 *	of rates), truncated, at least 2
 *	w -= 1 if diff > alpha, w += 1 if diff < alpha
 *	w = w base / (2 rtt) if rtt - base is at least twice its smallest value since this was
 *	done last, 0 being twice 0
 *	w >= 2; ssthresh = max(ssthresh, 3/4 w)
 *
 * A division of the window does not change ssthresh, so the window is in slow start then.
 * ssthresh is lowered to the window only when w -= 1, and when slow start ends.
 *
 * A change to the state Open restarts measuring, with alpha 2 and no rate; in other states
 * growth is Reno's. A restart after an idle time does the same and also resets base; a
 * timeout resets the rate. A sibling adds to the sum if it can send and has a sample in its
 * current round. On a TCP socket, alpha becomes 10.
 */

#include <linux/module.h>

#include "v09.h"

/* Packets in queues: target of a connection; minimum and first alpha; end of slow start. */
#define WVEGAS_V09_TOTAL	10
#define WVEGAS_V09_ALPHA	2U
#define WVEGAS_V09_GAMMA	1

/* A mean of fewer samples than this is not used. */
#define WVEGAS_V09_SAMPLES	3

/* Rates and weights are in units of 2^-16. */
#define WVEGAS_V09_SHIFT	16

#define WVEGAS_V09_NO_RTT_US	0x7fffffffU

/**
 * struct wvegas_v09 - private data of a subflow
 * @cs: its place in its group
 * @round_end: snd_nxt when the round began
 * @base_us: smallest round-trip time known, us
 * @sampled_us: sum of this round's samples, us; read by siblings
 * @alpha: packets that should be in queues
 * @queue_us: smallest queueing delay since the window was last divided; 0: none yet
 * @samples: number of samples of this round
 * @measuring: rounds are measured: the state is Open
 * @rate: segments per us, 2^-16; read by siblings; 0: not known
 * @weight: share of the connection's rate, 2^-16
 */
struct wvegas_v09 {
	struct coupled_sock cs;
	u32 round_end;
	u32 base_us;
	u32 sampled_us;
	u32 alpha;
	u32 queue_us;
	u16 samples;
	bool measuring;
	u64 rate;
	u64 weight;
};

static void wvegas_v09_begin_round(struct sock *sk)
{
	struct wvegas_v09 *w = inet_csk_ca(sk);

	w->round_end = tcp_sk(sk)->snd_nxt;
	w->samples = 0;
	WRITE_ONCE(w->sampled_us, 0);
}

static void wvegas_v09_begin(struct sock *sk)
{
	struct wvegas_v09 *w = inet_csk_ca(sk);

	wvegas_v09_begin_round(sk);
	w->measuring = true;
	w->alpha = WVEGAS_V09_ALPHA;
	w->queue_us = 0;
	w->weight = 1 << WVEGAS_V09_SHIFT;
	WRITE_ONCE(w->rate, 0);
}

static void wvegas_v09_init(struct sock *sk)
{
	struct wvegas_v09 *w = inet_csk_ca(sk);

	w->base_us = WVEGAS_V09_NO_RTT_US;
	wvegas_v09_begin(sk);
	v09_init(sk);
}

static void wvegas_v09_set_state(struct sock *sk, u8 state)
{
	struct wvegas_v09 *w = inet_csk_ca(sk);

	if (state == TCP_CA_Open)
		wvegas_v09_begin(sk);
	else
		w->measuring = false;
}

static void wvegas_v09_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct wvegas_v09 *w = inet_csk_ca(sk);

	if (event == CA_EVENT_CWND_RESTART) {
		w->base_us = WVEGAS_V09_NO_RTT_US;
		wvegas_v09_begin(sk);
	} else if (event == CA_EVENT_LOSS) {
		WRITE_ONCE(w->rate, 0);
	}
}

static void wvegas_v09_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct wvegas_v09 *w = inet_csk_ca(sk);
	u32 rtt_us;

	if (sample->rtt_us < 0)
		return;
	rtt_us = (u32)sample->rtt_us + 1;
	w->base_us = min(w->base_us, rtt_us);
	w->samples++;
	WRITE_ONCE(w->sampled_us, w->sampled_us + rtt_us);
}

/* The sum of the rates of a connection's subflows. */
static u64 wvegas_v09_total(struct coupled_group *group)
{
	struct coupled_sock *cs;
	u64 total = 0;

	list_for_each_entry(cs, &group->members, node) {
		const struct sock *sibling = v09_sibling(cs);
		const struct wvegas_v09 *w = inet_csk_ca(sibling);

		if (v09_can_send(sibling) && READ_ONCE(w->sampled_us))
			total += READ_ONCE(w->rate);
	}
	return total;
}

static void wvegas_v09_renew_alpha(struct sock *sk, u32 rtt_us)
{
	struct wvegas_v09 *w = inet_csk_ca(sk);
	struct coupled_group *group;
	u64 total;

	WRITE_ONCE(w->rate, div_u64((u64)tcp_snd_cwnd(tcp_sk(sk)) << WVEGAS_V09_SHIFT, rtt_us));
	group = v09_lock(sk);
	if (group) {
		total = wvegas_v09_total(group);
		v09_unlock(group);
		if (total && w->rate)
			w->weight = div64_u64(w->rate << WVEGAS_V09_SHIFT, total);
	}
	w->alpha = max((u32)(w->weight * WVEGAS_V09_TOTAL >> WVEGAS_V09_SHIFT), WVEGAS_V09_ALPHA);
}

static void wvegas_v09_lower_ssthresh(struct tcp_sock *tp, u32 cwnd)
{
	if (tp->snd_ssthresh > cwnd)
		WRITE_ONCE(tp->snd_ssthresh, cwnd);
}

/* Congestion avoidance at the end of a round. Return the new window. */
static u32 wvegas_v09_avoid(struct sock *sk, u32 rtt_us, u32 diff)
{
	struct wvegas_v09 *w = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	u32 queue_us = rtt_us - w->base_us, factor;

	if (diff >= w->alpha)
		wvegas_v09_renew_alpha(sk, rtt_us);
	if (diff < w->alpha)
		cwnd++;
	if (diff > w->alpha)
		wvegas_v09_lower_ssthresh(tcp_sk(sk), --cwnd);

	if (!w->queue_us || queue_us < w->queue_us)
		w->queue_us = queue_us;
	if (queue_us < 2 * w->queue_us)
		return cwnd;
	w->queue_us = 0;
	factor = div_u64((u64)w->base_us << WVEGAS_V09_SHIFT, 2 * rtt_us);
	return (u64)cwnd * factor >> WVEGAS_V09_SHIFT;
}

static void wvegas_v09_end_round(struct sock *sk, u32 acked)
{
	struct wvegas_v09 *w = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp), rtt_us, diff;

	/* The mean may be 0 after the sum overflowed; that kernel divides by it then. */
	rtt_us = max(w->sampled_us / w->samples, 1U);
	diff = div_u64((u64)cwnd * (rtt_us - w->base_us), rtt_us);
	if (!tcp_in_slow_start(tp)) {
		cwnd = wvegas_v09_avoid(sk, rtt_us, diff);
	} else if (diff > WVEGAS_V09_GAMMA) {
		cwnd = min(cwnd, (u32)div_u64((u64)cwnd * w->base_us, rtt_us) + 1);
		wvegas_v09_lower_ssthresh(tp, cwnd);
	} else {
		tcp_slow_start(tp, acked);
		cwnd = tcp_snd_cwnd(tp);
	}
	tcp_snd_cwnd_set(tp, cwnd < 2 ? 2 : min(cwnd, tp->snd_cwnd_clamp));
	WRITE_ONCE(tp->snd_ssthresh, tcp_current_ssthresh(sk));
}

static void wvegas_v09_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct wvegas_v09 *w = inet_csk_ca(sk);

	if (!w->measuring) {
		tcp_reno_cong_avoid(sk, ack, acked);
	} else if (after(ack, w->round_end)) {
		if (w->samples < WVEGAS_V09_SAMPLES)
			tcp_reno_cong_avoid(sk, ack, acked);
		else
			wvegas_v09_end_round(sk, acked);
		wvegas_v09_begin_round(sk);
	} else if (tcp_in_slow_start(tcp_sk(sk))) {
		tcp_slow_start(tcp_sk(sk), acked);
	}
}

static struct tcp_congestion_ops wvegas_v09 __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= wvegas_v09_init,
	.release	= coupled_release,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= wvegas_v09_cong_avoid,
	.cwnd_event	= wvegas_v09_cwnd_event,
	.set_state	= wvegas_v09_set_state,
	.pkts_acked	= wvegas_v09_pkts_acked,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "wvegas_v09",
};

static int __init wvegas_v09_register(void)
{
	BUILD_BUG_ON(sizeof(struct wvegas_v09) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&wvegas_v09);
}
late_initcall(wvegas_v09_register);
