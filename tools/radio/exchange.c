// SPDX-License-Identifier: MIT
/*
 * The frames that belong together: [RTS, CTS | CTS to itself,] frame, ACK, each
 * a SIFS after the one before (10.3.2). Without the response, the frame is sent
 * again at the next rate of its table, until that ends.
 */
#include "radio.h"

#include <stdlib.h>

/* Flags of a rate, from the kernel's mac80211_hwsim.h. */
#define USE_RTS_CTS 1
#define USE_CTS_PROTECT 2
#define USE_SHORT_PREAMBLE 4
/* Of a frame. */
#define HWSIM_TX_CTL_NO_ACK 2
#define GROUP_BIT 1

static int limit(const struct frame *frame)
{
	int attempts = 0;

	for (int i = 0; i < TX_RATES && frame->rates[i].index >= 0; i++)
		attempts += frame->rates[i].count;
	return attempts;
}

static const struct tx_rate *next_rate(const struct frame *frame)
{
	int attempts = frame->attempts;
	int i = 0;

	while (i < TX_RATES - 1 && frame->rates[i + 1].index >= 0 && attempts >= frame->rates[i].count)
		attempts -= frame->rates[i++].count;
	return &frame->rates[i];
}

static bool wants_ack(const struct frame *frame)
{
	/* Address 1 follows frame control and duration (9.2.4.3). */
	return !(frame->data[4] & GROUP_BIT) && !(frame->hwsim_flags & HWSIM_TX_CTL_NO_ACK);
}

static int64_t response_ns(int mhz, const struct rate *rate, bool short_preamble, int bytes)
{
	return sifs_ns(mhz) + frame_ns(mhz, rate, short_preamble, bytes);
}

static int64_t ack_after_ns(const struct radio *radio, const struct frame *frame)
{
	const struct exchange *exchange = &radio->exchange;

	if (!wants_ack(frame))
		return 0;
	return response_ns(radio->mhz, response_rate(exchange->rate, radio->medium->config.basic_rates),
			   exchange->short_preamble, ACK_BYTES);
}

/* What is reserved beyond a frame's end: the frames after it (9.2.5). */
static int64_t reserved_ns(const struct radio *radio, enum kind kind, const struct rate *rate, const struct frame *frame)
{
	const struct exchange *exchange = &radio->exchange;
	int64_t ns = ack_after_ns(radio, frame);

	if (kind == DATA)
		return ns;
	ns += response_ns(radio->mhz, exchange->rate, exchange->short_preamble, frame->length + FCS_BYTES);
	if (kind == RTS)
		ns += response_ns(radio->mhz, rate, exchange->short_preamble, CTS_BYTES);
	return ns;
}

static void send(struct radio *radio, enum kind kind)
{
	static const int control_bytes[] = { [RTS] = RTS_BYTES, [CTS] = CTS_BYTES };
	struct exchange *exchange = &radio->exchange;
	struct frame *frame = exchange->contender->head;
	unsigned int basic = radio->medium->config.basic_rates;
	struct radio *to = medium_owner(radio->medium, frame->data + 4);
	int bytes = kind == DATA ? frame->length + FCS_BYTES : control_bytes[kind];
	const struct rate *rate = exchange->rate;
	struct transmission *transmission;

	if (kind == RTS) {
		radio->stats.rts++;
		rate = response_rate(rate, basic);
	}
	if (kind == CTS) {
		radio->stats.cts_to_self++;
		/* To itself, for those who do not know OFDM: at a rate that they know (10.26.2). */
		rate = response_rate(rate_number(DSSS_RATES - 1), basic);
		to = radio;
	}
	transmission = air_new(radio, kind, to, rate, exchange->short_preamble, bytes);
	transmission->frame = kind == DATA ? frame : NULL;
	transmission->reserved_ns = reserved_ns(radio, kind, rate, frame);
	exchange->sent = kind;
	air_start(transmission);
}

static void finish(struct radio *radio, bool acked, double signal_dbm)
{
	struct exchange *exchange = &radio->exchange;
	struct contender *contender = exchange->contender;
	struct frame *frame = dcf_take(contender);

	exchange->contender = NULL;
	dcf_done(contender);
	hwsim_report(radio, frame, acked, signal_dbm);
	free(frame);
	dcf_resume(radio);
}

static bool off_channel(struct radio *radio, const struct frame *frame)
{
	return frame->mhz != radio->mhz || !rate_at(frame->mhz, frame->rates[0].index);
}

void exchange_start(struct contender *contender)
{
	struct radio *radio = contender->radio;
	struct exchange *exchange = &radio->exchange;
	struct frame *frame = contender->head;
	const struct tx_rate *next;

	exchange->contender = contender;
	exchange->collided = false;
	exchange->waiting = false;
	if (off_channel(radio, frame)) {
		radio->stats.unacked++;
		finish(radio, false, 0);
		return;
	}
	next = next_rate(frame);
	exchange->rate = rate_at(frame->mhz, next->index);
	exchange->short_preamble = next->flags & USE_SHORT_PREAMBLE;
	frame->attempts++;
	if (wants_ack(frame)) {
		radio->stats.attempts++;
		radio->stats.at_rate[exchange->rate - rate_number(0)]++;
	}
	if (next->flags & USE_RTS_CTS)
		send(radio, RTS);
	else if (next->flags & USE_CTS_PROTECT && exchange->rate->modulation == OFDM)
		send(radio, CTS);
	else
		send(radio, DATA);
}

/* No response: the channel is taken for busy as after a frame with errors, see docs/wifi.md. */
static void fail(struct radio *radio)
{
	struct exchange *exchange = &radio->exchange;
	struct contender *contender = exchange->contender;
	const struct frame *frame = contender->head;

	exchange->waiting = false;
	if (exchange->collided)
		radio->stats.collisions++;
	if (frame->attempts >= limit(frame)) {
		radio->stats.unacked++;
		finish(radio, false, 0);
		return;
	}
	exchange->contender = NULL;
	dcf_failed(contender);
	dcf_resume(radio);
}

static void step(struct medium *medium, struct event *event)
{
	struct exchange *exchange = container_of(event, struct exchange, step);
	struct radio *radio = container_of(exchange, struct radio, exchange);

	(void)medium;
	if (exchange->waiting || !radio->mhz)
		fail(radio);
	else
		send(radio, DATA);
}

static void await(struct radio *radio, int64_t response)
{
	struct medium *medium = radio->medium;

	radio->exchange.waiting = true;
	/* The radio does not count slots until then; it counts from EIFS on, which is later. */
	event_schedule(&medium->events, &radio->exchange.step, medium->now_ns + response + radio->slot_ns);
	radio->eifs_extra_ns = response;
}

static void sent_data(struct radio *radio, const struct transmission *transmission)
{
	if (!wants_ack(transmission->frame)) {
		radio->stats.groups++;
		stats_transmission(radio->medium, transmission, "sent");
		finish(radio, false, 0);
		return;
	}
	stats_transmission(radio->medium, transmission, transmission->collided ? "collided" : "sent");
	await(radio, response_ns(radio->mhz, slowest_response(transmission->rate), false, ACK_BYTES));
}

/* A frame of this radio has ended; another radio may be about to respond. */
void exchange_sent(struct radio *radio, struct transmission *transmission)
{
	struct exchange *exchange = &radio->exchange;
	struct medium *medium = radio->medium;

	if (!exchange->contender || transmission->kind != exchange->sent || transmission->kind == ACK ||
	    (transmission->kind == CTS && transmission->to != radio))
		return;
	exchange->collided |= transmission->collided;
	if (transmission->kind == DATA)
		sent_data(radio, transmission);
	else if (transmission->kind == RTS)
		await(radio, response_ns(radio->mhz, slowest_response(transmission->rate), false, CTS_BYTES));
	else
		event_schedule(&medium->events, &exchange->step, medium->now_ns + sifs_ns(radio->mhz));
}

static void respond(struct medium *medium, struct event *event)
{
	struct response *response = container_of(event, struct response, start);
	struct radio *radio = container_of(response, struct radio, response);
	struct transmission *transmission;

	(void)medium;
	if (radio->sending || !radio->mhz)
		return;
	transmission = air_new(radio, response->kind, response->to, response->rate, response->short_preamble,
			       response->kind == ACK ? ACK_BYTES : CTS_BYTES);
	transmission->reserved_ns = response->reserved_ns;
	air_start(transmission);
}

static void prepare_response(struct radio *radio, const struct transmission *to, enum kind kind)
{
	struct response *response = &radio->response;
	struct medium *medium = radio->medium;
	int64_t sifs = sifs_ns(radio->mhz);

	response->kind = kind;
	response->to = to->from;
	response->rate = response_rate(to->rate, medium->config.basic_rates);
	response->short_preamble = to->short_preamble;
	response->reserved_ns = 0;
	if (kind == CTS)
		response->reserved_ns = to->reserved_ns - response_ns(radio->mhz, response->rate,
								      to->short_preamble, CTS_BYTES);
	event_schedule(&medium->events, &response->start, medium->now_ns + sifs);
}

static void received_response(struct radio *radio, const struct transmission *transmission)
{
	struct exchange *exchange = &radio->exchange;
	struct medium *medium = radio->medium;
	bool is_awaited = exchange->contender && exchange->waiting &&
			  exchange->sent == (transmission->kind == ACK ? DATA : RTS);

	if (!is_awaited)
		return;
	exchange->waiting = false;
	event_cancel(&medium->events, &exchange->step);
	if (transmission->kind == CTS) {
		event_schedule(&medium->events, &exchange->step, medium->now_ns + sifs_ns(radio->mhz));
		return;
	}
	radio->stats.acked++;
	radio->stats.acked_at_rate[exchange->rate - rate_number(0)]++;
	if (exchange->collided) {
		radio->stats.collisions++;
		radio->stats.captured++;
	}
	finish(radio, true, dbm_of_mw(transmission->at[radio->number].mw));
}

/* A radio has decoded a frame: pass it to the kernel, respond, or go on with what it waited for. */
void exchange_received(struct radio *radio, struct transmission *transmission)
{
	bool is_mine = transmission->to == radio;
	const struct frame *frame = transmission->frame;

	if (transmission->kind == DATA) {
		bool is_group = frame->data[4] & GROUP_BIT;

		if (is_mine || is_group || radio->config->monitor)
			hwsim_deliver(radio, transmission, frame->attempts > 1);
		if (is_mine && wants_ack(frame))
			prepare_response(radio, transmission, ACK);
	} else if (is_mine && transmission->kind == RTS) {
		/* Silent if it knows of others (10.3.2.7). */
		if (radio->nav_until_ns <= radio->medium->now_ns && !radio->exchange.waiting)
			prepare_response(radio, transmission, CTS);
	} else if (is_mine) {
		received_response(radio, transmission);
	}
}

void exchange_init(struct radio *radio)
{
	radio->exchange.step.run = step;
	radio->response.start.run = respond;
}
