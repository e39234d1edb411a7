/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _REPLAY_H
#define _REPLAY_H

/*
 * The socket and the kernel's functions for programs that replay events: plain memory
 * in place of a kernel's socket, so that a test decides all that happens to it. The
 * functions are copies of net/ipv4/tcp_cong.c, which shim.c defines.
 */

struct sock {
	char nothing;
};

struct inet_connection_sock {
	void *icsk_ulp_data;
	u32 icsk_rto;
	u32 icsk_ca_state;
	u64 icsk_ca_priv[13];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 snd_nxt;
	u32 snd_una;
	u32 srtt_us;
	u32 max_packets_out;
	u64 bytes_acked;
	u32 is_cwnd_limited;
	u32 is_mptcp;
};

struct mptcp_subflow_context {
	u64 conn;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
};

/* The clock of the events, in jiffies. */
u64 replay_now;

#define bpf_jiffies64()	replay_now

/* The context's address stands for the connection, so nothing is read. */
#define bpf_probe_read_kernel(to, size, from)	((void)(size), *(to) = (u64)(from))

#define bit_field(s, field)	((s)->field)

static inline u32 tcp_reno_ssthresh(struct sock *sk)
{
	u32 half = ((struct tcp_sock *)sk)->snd_cwnd >> 1;

	return max(half, 2U);
}

static inline u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

static inline u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 cwnd = min(tp->snd_cwnd + acked, tp->snd_ssthresh);

	acked -= cwnd - tp->snd_cwnd;
	tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
	return acked;
}

static inline void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked)
{
	if (tp->snd_cwnd_cnt >= w) {
		tp->snd_cwnd_cnt = 0;
		tp->snd_cwnd++;
	}
	tp->snd_cwnd_cnt += acked;
	if (tp->snd_cwnd_cnt >= w) {
		u32 delta = tp->snd_cwnd_cnt / w;

		tp->snd_cwnd_cnt -= delta * w;
		tp->snd_cwnd += delta;
	}
	tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_cwnd_clamp);
}

static inline void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	(void)ack;
	if (tp->snd_cwnd < tp->snd_ssthresh)
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

#endif /* _REPLAY_H */
