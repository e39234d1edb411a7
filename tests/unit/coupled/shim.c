// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events for congestion controls, in the order in which Linux's tcp_input.c calls
 * them: an ACK of data, a loss with its recovery, a timeout. The rest of TCP, and what
 * PRR does to the window meanwhile, is up to the test.
 */

#include "shim.h"
#include "coupled.h"

#define MAX_CONTROLS	16

int shim_no_memory;
int shim_allocated;
u32 tcp_jiffies32;

static struct tcp_congestion_ops *controls[MAX_CONTROLS];
static u32 control_count;

/* What coupled_sysctl.c has for the network of a socket. */
bool coupled_hystart(const struct net *net)
{
	return net->hystart;
}

bool coupled_count_idle(const struct net *net)
{
	return net->count_idle;
}

u8 coupled_olia_best_rule(const struct net *net)
{
	return net->olia_best;
}

void coupled_count_failure(const struct net *net)
{
	((struct net *)net)->failures++;
}

/* net/ipv4/tcp_cong.c */
u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 cwnd = min(tp->snd_cwnd + acked, tp->snd_ssthresh);

	acked -= cwnd - tp->snd_cwnd;
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	return acked;
}

void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked)
{
	if (tp->snd_cwnd_cnt >= w) {
		tp->snd_cwnd_cnt = 0;
		tcp_snd_cwnd_set(tp, tp->snd_cwnd + 1);
	}
	tp->snd_cwnd_cnt += acked;
	if (tp->snd_cwnd_cnt >= w) {
		u32 delta = tp->snd_cwnd_cnt / w;

		tp->snd_cwnd_cnt -= delta * w;
		tcp_snd_cwnd_set(tp, tp->snd_cwnd + delta);
	}
	tcp_snd_cwnd_set(tp, min(tp->snd_cwnd, tp->snd_cwnd_clamp));
}

void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	(void)ack;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

u32 tcp_reno_ssthresh(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd >> 1, 2U);
}

/* The events never undo a reduction: only the address is needed. */
u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

int tcp_register_congestion_control(struct tcp_congestion_ops *ops)
{
	if (control_count == MAX_CONTROLS)
		return -ENOSPC;
	controls[control_count++] = ops;
	return 0;
}

void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops)
{
	(void)ops;
	control_count--;
}

/* Connections and subflows. */
struct net *event_net(void)
{
	return calloc(1, sizeof(struct net));
}

struct sock *event_connection(struct net *net)
{
	struct sock *conn = calloc(1, sizeof(*conn));

	conn->net = net;
	return conn;
}

/* NULL if there is no such control. conn is NULL for a TCP socket. */
struct tcp_sock *event_subflow(struct net *net, struct sock *conn, const char *control,
			       u32 cwnd, u32 rtt_us)
{
	struct tcp_sock *tp = calloc(1, sizeof(*tp));
	struct sock *sk = (struct sock *)tp;
	u32 i;

	for (i = 0; i < control_count && strcmp(controls[i]->name, control); i++)
		;
	if (i == control_count) {
		free(tp);
		return NULL;
	}
	sk->state = TCP_ESTABLISHED;
	sk->net = net;
	sk->conn = conn;
	inet_csk(sk)->icsk_ca_ops = controls[i];
	inet_csk(sk)->icsk_rto = 200;
	tp->snd_cwnd = cwnd;
	tp->snd_cwnd_clamp = ~0U >> 1;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->srtt_us = rtt_us << 3;
	tp->min_rtt_us = rtt_us;
	tp->snd_nxt = cwnd;
	controls[i]->init(sk);
	return tp;
}

void event_close(struct tcp_sock *tp)
{
	tp->icsk.icsk_ca_ops->release((struct sock *)tp);
	free(tp);
}

static void event_acked(struct tcp_sock *tp, u32 acked, u32 rtt_us)
{
	const struct ack_sample sample = { .pkts_acked = acked, .rtt_us = rtt_us };
	struct sock *sk = (struct sock *)tp;

	tp->snd_una += acked;
	tp->snd_nxt = tp->snd_una + tp->snd_cwnd;
	tp->srtt_us = rtt_us << 3;
	tp->min_rtt_us = min(tp->min_rtt_us, rtt_us);
	tp->bytes_acked += 1000ULL * acked;
	tp->icsk.icsk_ca_ops->pkts_acked(sk, &sample);
}

/* tcp_clean_rtx_queue(), tcp_cong_control() */
void event_ack(struct tcp_sock *tp, u32 acked, u32 rtt_us)
{
	u8 state = tp->icsk.icsk_ca_state;

	event_acked(tp, acked, rtt_us);
	if (state != TCP_CA_Recovery && state != TCP_CA_CWR)
		tp->icsk.icsk_ca_ops->cong_avoid((struct sock *)tp, tp->snd_una, acked);
}

static void event_state(struct tcp_sock *tp, u8 state)
{
	if (tp->icsk.icsk_ca_ops->set_state)
		tp->icsk.icsk_ca_ops->set_state((struct sock *)tp, state);
	tp->icsk.icsk_ca_state = state;
}

static void event_of(struct tcp_sock *tp, enum tcp_ca_event event)
{
	if (tp->icsk.icsk_ca_ops->cwnd_event)
		tp->icsk.icsk_ca_ops->cwnd_event((struct sock *)tp, event);
}

/* tcp_enter_recovery(), or tcp_enter_cwr() */
void event_loss(struct tcp_sock *tp, bool ecn)
{
	tp->snd_cwnd_cnt = 0;
	tp->snd_ssthresh = tp->icsk.icsk_ca_ops->ssthresh((struct sock *)tp);
	event_state(tp, ecn ? TCP_CA_CWR : TCP_CA_Recovery);
}

/* tcp_end_cwnd_reduction(), tcp_try_keep_open() */
void event_recovered(struct tcp_sock *tp)
{
	tcp_snd_cwnd_set(tp, tp->snd_ssthresh);
	event_of(tp, CA_EVENT_COMPLETE_CWR);
	event_state(tp, TCP_CA_Open);
}

/* tcp_enter_loss() */
void event_timeout(struct tcp_sock *tp)
{
	tp->snd_ssthresh = tp->icsk.icsk_ca_ops->ssthresh((struct sock *)tp);
	event_of(tp, CA_EVENT_LOSS);
	tcp_snd_cwnd_set(tp, 1);
	tp->snd_cwnd_cnt = 0;
	event_state(tp, TCP_CA_Loss);
}

/* The last ACK of what was lost: tcp_try_undo_loss() found nothing to undo. */
void event_timeout_over(struct tcp_sock *tp)
{
	event_state(tp, TCP_CA_Open);
}

/* What tests read and set. */
void event_clock(u32 jiffies)
{
	tcp_jiffies32 = jiffies;
}

void event_memory(bool there)
{
	shim_no_memory = !there;
}

int event_allocated(void)
{
	return shim_allocated;
}

void event_set(struct net *net, u8 hystart, u8 olia_best, u8 count_idle)
{
	net->hystart = hystart;
	net->olia_best = olia_best;
	net->count_idle = count_idle;
}

u32 event_failures(const struct net *net)
{
	return net->failures;
}

void event_socket_state(struct tcp_sock *tp, int state)
{
	((struct sock *)tp)->state = state;
}

void event_set_window(struct tcp_sock *tp, u32 cwnd, u32 ssthresh)
{
	tcp_snd_cwnd_set(tp, cwnd);
	tp->snd_ssthresh = ssthresh;
}

u32 event_cwnd(const struct tcp_sock *tp)
{
	return tp->snd_cwnd;
}

u32 event_ssthresh(const struct tcp_sock *tp)
{
	return tp->snd_ssthresh;
}

bool event_coupled(struct tcp_sock *tp)
{
	return coupled_sk((struct sock *)tp)->group;
}

/* What does not fill a segment yet, in 2^-COUPLED_SHIFT. */
s64 event_credit(struct tcp_sock *tp)
{
	return coupled_sk((struct sock *)tp)->credit;
}
