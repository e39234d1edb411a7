// SPDX-License-Identifier: GPL-2.0-only
/*
 * BLEST, blocking estimation: S. Ferlin, O. Alay, O. Mehani, R. Boreli, "BLEST:
 * Blocking Estimation-based MPTCP Scheduler for Heterogeneous Networks", IFIP
 * Networking 2016.
 *
 * The subflow F with the lowest RTT is used as long as it has room. If it has
 * none, a segment on the next best subflow, S, occupies the connection's send window
 * for RTT_S. In that time F could send
 *
 *	X = MSS_F * (CWND_F + (r - 1) / 2) * r	with r = RTT_S / RTT_F
 *
 * since its window grows by one segment per RTT. S is left idle, to wait for F, if
 * this and the data that S has in flight do not fit into the send window |M|:
 *
 *	lambda * X > |M| - MSS_S * (inflight_S + 1)
 *
 * lambda corrects the estimate: once per RTT_S it rises if the send window was
 * found full while F had room, and falls otherwise.
 *
 * Deviations: the paper does not bound lambda; the bounds (1 to 1.3) and steps
 * (+0.04, -0.01) are from the authors' implementation for out-of-tree MPTCP. |M| is
 * the window that the peer grants. The data that S has in flight is counted in
 * bytes, with the bytes in its own queue. The scheduler waits for F only while F has
 * data in flight, and not after a retransmission timeout.
 */

#include "sched_common.h"

#define BLEST_LAMBDA_ONE	1000
#define BLEST_LAMBDA_START	1200
#define BLEST_LAMBDA_MAX	1300
#define BLEST_LAMBDA_UP		40
#define BLEST_LAMBDA_DOWN	10

/* Bounds that keep the products in blest_fast_bytes() below 2^58. */
#define BLEST_RATIO_SHIFT	10
#define BLEST_RATIO_MAX		(1024 << BLEST_RATIO_SHIFT)
#define BLEST_CWND_MAX		(1024 * 1024)

struct blest {
	u64 stamp_us;		/* when lambda was last corrected */
	u32 lambda;		/* in 1/1000 */
	bool blocked;		/* since stamp_us */
};

static struct blest *blest_of(struct mptcp_sock *msk)
{
	BUILD_BUG_ON(sizeof(struct blest) > sizeof(msk->sched_priv));
	return (struct blest *)msk->sched_priv;
}

static void blest_init(struct mptcp_sock *msk)
{
	mptcp_sched_clear(msk);
	blest_of(msk)->lambda = BLEST_LAMBDA_START;
}

static void blest_correct(struct blest *blest, u32 rtt_us)
{
	u64 now_us = tcp_clock_us();

	if (now_us - blest->stamp_us < rtt_us)
		return;

	if (blest->blocked)
		blest->lambda += BLEST_LAMBDA_UP;
	else
		blest->lambda -= BLEST_LAMBDA_DOWN;
	blest->lambda = clamp_t(u32, blest->lambda, BLEST_LAMBDA_ONE,
				BLEST_LAMBDA_MAX);
	blest->blocked = false;
	blest->stamp_us = now_us;
}

/* lambda * X of the head comment, in bytes. */
static u64 blest_fast_bytes(const struct mptcp_subflow_context *fast,
			    u32 slow_rtt_us, u32 lambda)
{
	const struct tcp_sock *tp = mptcp_sched_tp(fast);
	u64 cwnd = min_t(u32, mptcp_sched_cwnd(tp), BLEST_CWND_MAX);
	u64 ratio, segs;

	ratio = div_u64((u64)slow_rtt_us << BLEST_RATIO_SHIFT,
			max(mptcp_sched_srtt(fast), 1U));
	ratio = clamp_t(u64, ratio, 1 << BLEST_RATIO_SHIFT, BLEST_RATIO_MAX);

	segs = (cwnd << BLEST_RATIO_SHIFT) +
	       (ratio - (1 << BLEST_RATIO_SHIFT)) / 2;
	segs = (segs * ratio) >> (2 * BLEST_RATIO_SHIFT);
	return div_u64(segs * READ_ONCE(tp->mss_cache) * lambda,
		       BLEST_LAMBDA_ONE);
}

/* Segments that @slow may send without blocking @fast; 0: wait for @fast. */
static u32 blest_harmless(struct mptcp_sock *msk,
			  const struct mptcp_subflow_context *fast,
			  const struct mptcp_subflow_context *slow)
{
	const struct tcp_sock *tp = mptcp_sched_tp(slow);
	u32 mss = max(READ_ONCE(tp->mss_cache), 1U);
	u64 window, taken;

	window = READ_ONCE(msk->wnd_end) - READ_ONCE(msk->snd_una);
	taken = READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_una);
	taken += blest_fast_bytes(fast, mptcp_sched_srtt(slow),
				  blest_of(msk)->lambda);
	if (taken + mss > window)
		return 0;
	return min_t(u64, div_u64(window - taken, mss), MPTCP_SCHED_MAX_SEGS);
}

static int blest_get_send(struct mptcp_sock *msk)
{
	enum mptcp_sched_class class = mptcp_sched_best_class(msk);
	struct mptcp_subflow_context *fast, *best;
	u32 room;

	best = mptcp_sched_lowest_rtt(msk, class, true);
	if (!best)
		return -EINVAL;

	room = mptcp_sched_room(best);
	fast = mptcp_sched_lowest_rtt(msk, class, false);
	/* NULL if all subflows left this class meanwhile, on another CPU. */
	if (!fast || fast == best) {
		/* Blocked: room and data, but the receive window is full. */
		if (!after64(READ_ONCE(msk->wnd_end), msk->snd_nxt))
			blest_of(msk)->blocked = true;
	} else if (mptcp_sched_ack_is_due(fast)) {
		blest_correct(blest_of(msk), mptcp_sched_srtt(best));
		room = min(room, blest_harmless(msk, fast, best));
	}
	return mptcp_sched_grant(best, room);
}

MPTCP_SCHED_SPLIT(blest_get_send)

static struct mptcp_sched_ops mptcp_sched_blest = {
	MPTCP_SCHED_GET(blest_get_send),
	.init	= blest_init,
	.flags	= MPTCP_SCHED_BOUNDED,
	.name	= "blest",
	.owner	= THIS_MODULE,
};

static int __init blest_register(void)
{
	return mptcp_register_scheduler(&mptcp_sched_blest);
}
late_initcall(blest_register);
