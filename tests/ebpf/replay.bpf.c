// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replays a trace of events through the operations of one eBPF congestion control, as
 * the kernel's JIT has compiled them. Each run of the program executes the next event
 * and leaves the windows in it. Events call the operations in the order of Linux's
 * tcp_input.c, as shim.c does with the lab kernel's files. CONTROL is the source.
 */

#include CONTROL

#define BPF_MAP_TYPE_ARRAY	2
#define MAX_EVENTS		8192
#define MAX_SOCKETS		4
#define SEGMENT_BYTES		1000
#define CONNECTION		((void *)4096)

enum { START, ACK, LOSS, RECOVERED, TIMEOUT, TIMEOUT_OVER, CLOSE };

struct event {
	u32 kind;
	u32 socket;
	u32 acked;	/* of START the window */
	u32 rtt_us;
	u32 now;	/* jiffies */
	u32 cwnd;	/* this and the following: results */
	u32 ssthresh;
	u32 done;
	s64 credit;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_EVENTS);
	__type(key, u32);
	__type(value, struct event);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_SOCKETS);
	__type(key, u32);
	__type(value, struct tcp_sock);
} sockets SEC(".maps");

u32 next_event;

static __always_inline void enter(struct tcp_sock *tp, u32 state)
{
	u64 ctx[] = { (u64)tp, state };

	set_state(ctx);
	tp->inet_conn.icsk_ca_state = state;
}

static __always_inline void begin(struct tcp_sock *tp, const struct event *event)
{
	u64 ctx[] = { (u64)tp };

	tp->inet_conn.icsk_ulp_data = CONNECTION;
	tp->inet_conn.icsk_rto = 200;
	tp->is_mptcp = 1;
	tp->is_cwnd_limited = 1;
	tp->snd_cwnd = event->acked;
	tp->snd_cwnd_clamp = ~0U >> 1;
	tp->snd_ssthresh = 0x7fffffff;
	tp->srtt_us = event->rtt_us << 3;
	tp->snd_nxt = event->acked;
	init(ctx);
}

static __always_inline void ack(struct tcp_sock *tp, const struct event *event)
{
	struct ack_sample sample = { .pkts_acked = event->acked, .rtt_us = event->rtt_us };
	u32 state = tp->inet_conn.icsk_ca_state;
	u64 acked[] = { (u64)tp, (u64)&sample };
	u64 ctx[3];

	tp->snd_una += event->acked;
	tp->snd_nxt = tp->snd_una + tp->snd_cwnd;
	tp->srtt_us = event->rtt_us << 3;
	tp->bytes_acked += (u64)SEGMENT_BYTES * event->acked;
	pkts_acked(acked);
	if (state == TCP_CA_Recovery || state == TCP_CA_CWR)
		return;
	ctx[0] = (u64)tp;
	ctx[1] = tp->snd_una;
	ctx[2] = event->acked;
	cong_avoid(ctx);
}

static __always_inline void cut(struct tcp_sock *tp)
{
	u64 ctx[] = { (u64)tp };

	tp->snd_ssthresh = ssthresh(ctx);
	tp->snd_cwnd_cnt = 0;
}

static __always_inline void end(struct tcp_sock *tp)
{
	u64 ctx[] = { (u64)tp };

	release(ctx);
}

static __always_inline void execute(struct tcp_sock *tp, const struct event *event)
{
	switch (event->kind) {
	case START:
		begin(tp, event);
		break;
	case ACK:
		ack(tp, event);
		break;
	case LOSS:
		cut(tp);
		enter(tp, TCP_CA_Recovery);
		break;
	case RECOVERED:
		tp->snd_cwnd = tp->snd_ssthresh;
		enter(tp, TCP_CA_Open);
		break;
	case TIMEOUT:
		cut(tp);
		tp->snd_cwnd = 1;
		enter(tp, TCP_CA_Loss);
		break;
	case TIMEOUT_OVER:
		enter(tp, TCP_CA_Open);
		break;
	case CLOSE:
		end(tp);
		break;
	}
}

SEC("tc") int replay(void *skb)
{
	u32 number = next_event++;
	struct event *event = bpf_map_lookup_elem(&events, &number);
	struct tcp_sock *tp;

	(void)skb;
	if (!event)
		return 0;
	replay_now = event->now;
	tp = bpf_map_lookup_elem(&sockets, &event->socket);
	if (!tp)
		return 0;
	execute(tp, event);
	event->cwnd = tp->snd_cwnd;
	event->ssthresh = tp->snd_ssthresh;
	event->credit = ((struct coupled_sock *)tp->inet_conn.icsk_ca_priv)->credit;
	event->done = 1;
	return 0;
}
