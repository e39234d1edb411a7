// SPDX-License-Identifier: MIT
/*
 * Frames that belong together: [RTS, CTS | CTS to itself,] frame or aggregate,
 * ACK or block ack, each a SIFS after the previous one (10.3.2). Without the
 * response, the frame is sent again at the next rate of its table, until the
 * table ends.
 */
#include "radio.h"

#include <stdlib.h>

/* Flags of a rate, from the kernel's mac80211_hwsim.h. */
#define USE_RTS_CTS 1
#define USE_CTS_PROTECT 2
#define USE_SHORT_PREAMBLE 4
#define USE_MCS 0x08
#define USE_SHORT_GUARD 0x80
/* Of a frame. */
#define HWSIM_TX_CTL_NO_ACK 2
#define GROUP_BIT 1

int table_limit(const struct tx_rate *rates)
{
	int attempts = 0;

	for (int i = 0; i < TX_RATES && rates[i].index >= 0; i++)
		attempts += rates[i].count;
	return attempts;
}

const struct tx_rate *table_next(const struct tx_rate *rates, int attempts)
{
	int i = 0;

	while (i < TX_RATES - 1 && rates[i + 1].index >= 0 && attempts >= rates[i].count)
		attempts -= rates[i++].count;
	return &rates[i];
}

const struct rate *rate_of(int mhz, const struct tx_rate *entry)
{
	if (entry->flags & USE_MCS)
		return rate_of_mcs(entry->index, entry->flags & USE_SHORT_GUARD);
	return rate_at(mhz, entry->index);
}

bool is_to_group(const struct frame *frame)
{
	/* Address 1 follows frame control and duration (9.2.4.3). */
	return frame->data[4] & GROUP_BIT;
}

bool wants_ack(const struct frame *frame)
{
	return !is_to_group(frame) && !(frame->hwsim_flags & HWSIM_TX_CTL_NO_ACK);
}

int64_t response_ns(int mhz, const struct rate *rate, bool short_preamble, int bytes)
{
	return sifs_ns(mhz) + frame_ns(mhz, rate, short_preamble, bytes);
}

static int ack_bytes(const struct contender *contender)
{
	return contender->aggregate.count || is_block_ack_request(contender->head) ? BLOCK_ACK_BYTES : ACK_BYTES;
}

static int64_t ack_after_ns(const struct radio *radio, const struct frame *frame)
{
	const struct exchange *exchange = &radio->exchange;

	if (!wants_ack(frame))
		return 0;
	return response_ns(radio->mhz, response_rate(exchange->rate, radio->medium->config.basic_rates),
			   exchange->short_preamble, ack_bytes(exchange->contender));
}

/* Of the frame, or of the aggregate. */
static int data_bytes(const struct contender *contender)
{
	return contender->aggregate.count ? contender->aggregate.bytes : contender->head->length + FCS_BYTES;
}

/* The time to reserve after a frame's end, for the frames after it (9.2.5). */
static int64_t reserved_ns(const struct radio *radio, enum kind kind, const struct rate *rate, const struct frame *frame)
{
	const struct exchange *exchange = &radio->exchange;
	int64_t ns = ack_after_ns(radio, frame);

	if (kind == DATA || kind == AGGREGATE)
		return ns;
	ns += response_ns(radio->mhz, exchange->rate, exchange->short_preamble, data_bytes(exchange->contender));
	if (kind == RTS)
		ns += response_ns(radio->mhz, rate, exchange->short_preamble, CTS_BYTES);
	return ns;
}

static void send(struct radio *radio, enum kind kind)
{
	static const int control_bytes[] = { [RTS] = RTS_BYTES, [CTS] = CTS_BYTES };
	struct exchange *exchange = &radio->exchange;
	struct contender *contender = exchange->contender;
	struct frame *frame = contender->head;
	unsigned int basic = radio->medium->config.basic_rates;
	struct radio *to = medium_owner(radio->medium, frame->data + 4);
	bool is_data = kind == DATA || kind == AGGREGATE;
	int bytes = is_data ? data_bytes(contender) : control_bytes[kind];
	const struct rate *rate = exchange->rate;
	struct transmission *transmission;

	if (kind == RTS) {
		radio->stats.rts++;
		rate = response_rate(rate, basic);
	}
	if (kind == CTS) {
		radio->stats.cts_to_self++;
		/* To itself, for stations without OFDM: at a rate that they can decode (10.26.2). */
		rate = response_rate(rate_number(DSSS_RATES - 1), basic);
		to = radio;
	}
	transmission = air_new(radio, kind, to, rate, exchange->short_preamble, bytes);
	transmission->frame = is_data ? frame : NULL;
	transmission->aggregate = kind == AGGREGATE ? &contender->aggregate : NULL;
	if (kind == AGGREGATE)
		stats_aggregate(radio, contender->aggregate.count);
	transmission->reserved_ns = reserved_ns(radio, kind, rate, frame);
	exchange->sent = kind;
	air_start(transmission);
}

void report_one(struct radio *radio, const struct frame *frame, bool acked, double signal_dbm)
{
	bool only_one = frame->session.window && frame->alone;
	struct outcome outcome = {
		.rates = frame->rates,
		.attempts = frame->attempts - frame->earlier,
		.acked = acked,
		.moves_window = only_one && !acked,
		.signal_dbm = signal_dbm,
		.frames = only_one,
		.frames_acked = acked,
	};

	hwsim_report(radio, frame, &outcome);
}

static enum kind data_kind(const struct contender *contender)
{
	return contender->aggregate.count ? AGGREGATE : DATA;
}

static void finish(struct radio *radio, bool acked, double signal_dbm)
{
	struct exchange *exchange = &radio->exchange;
	struct contender *contender = exchange->contender;
	struct frame *frame = dcf_take(contender);

	exchange->contender = NULL;
	dcf_done(contender);
	report_one(radio, frame, acked, signal_dbm);
	free(frame);
	dcf_resume(radio);
}

/* The block ack of an aggregate arrived, or all attempts of its table failed (NULL). */
static void finish_aggregate(struct radio *radio, const struct scoreboard *board, double signal_dbm)
{
	struct exchange *exchange = &radio->exchange;
	struct contender *contender = exchange->contender;

	exchange->contender = NULL;
	dcf_done(contender);
	aggregate_resolve(contender, board, signal_dbm);
	dcf_resume(radio);
}

static bool off_channel(struct radio *radio, const struct frame *frame)
{
	return frame->mhz != radio->mhz || !rate_of(frame->mhz, &frame->rates[0]);
}

/* The table entry for the next attempt. This counts the attempt. */
static const struct tx_rate *count_attempt(struct contender *contender)
{
	struct aggregate *aggregate = &contender->aggregate;
	struct frame *frame = contender->head;

	aggregate_form(contender);
	for (int i = 0; i < aggregate->count; i++)
		aggregate->parts[i].frame->attempts++;
	if (aggregate->count)
		return table_next(aggregate->rates, aggregate->attempts++);
	if (!frame->alone) {
		frame->alone = true;
		frame->earlier = frame->attempts;
	}
	return table_next(frame->rates, frame->attempts++ - frame->earlier);
}

/* mac80211 has an RTS threshold, but leaves its use at HT rates to the radio. */
static bool is_long(const struct contender *contender)
{
	const struct radio *radio = contender->radio;
	int from = radio->medium->config.rts_from_bytes;

	return from && is_ht(radio->exchange.rate) && wants_ack(contender->head) && data_bytes(contender) >= from;
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
		contender->aggregate.count = 0;
		radio->stats.unacked++;
		finish(radio, false, 0);
		return;
	}
	next = count_attempt(contender);
	exchange->rate = rate_of(frame->mhz, next);
	exchange->short_preamble = next->flags & USE_SHORT_PREAMBLE;
	if (wants_ack(frame)) {
		int frames = contender->aggregate.count ? contender->aggregate.count : 1;

		radio->stats.attempts++;
		radio->stats.at_rate[rate_to_number(exchange->rate)] += frames;
	}
	if (next->flags & USE_RTS_CTS || is_long(contender))
		send(radio, RTS);
	else if (next->flags & USE_CTS_PROTECT && is_ofdm(exchange->rate))
		send(radio, CTS);
	else
		send(radio, data_kind(contender));
}

/* No response: the channel counts as busy, as after a frame with errors: see docs/wifi.md. */
static void fail(struct radio *radio)
{
	struct exchange *exchange = &radio->exchange;
	struct contender *contender = exchange->contender;
	const struct aggregate *aggregate = &contender->aggregate;
	const struct frame *frame = contender->head;

	exchange->waiting = false;
	if (exchange->collided)
		radio->stats.collisions++;
	if (aggregate->count && aggregate->attempts >= table_limit(aggregate->rates)) {
		finish_aggregate(radio, NULL, 0);
		return;
	}
	if (!aggregate->count && frame->attempts >= table_limit(frame->rates)) {
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
		send(radio, data_kind(exchange->contender));
}

/* @slowest: duration of the response that other radios assume; @response may be longer, for a block ack. */
static void await(struct radio *radio, int64_t slowest, int64_t response)
{
	struct medium *medium = radio->medium;
	int64_t longer = slowest > response ? slowest : response;

	radio->exchange.waiting = true;
	/* The radio does not count slots before that: it counts after EIFS, which ends later. */
	event_schedule(&medium->events, &radio->exchange.step, medium->now_ns + longer + radio->slot_ns);
	radio->eifs_extra_ns = slowest;
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
	await(radio, response_ns(radio->mhz, slowest_response(transmission->rate), false, ACK_BYTES),
	      ack_after_ns(radio, transmission->frame));
}

/* A frame of this radio has ended; another radio may be about to respond. */
void exchange_sent(struct radio *radio, struct transmission *transmission)
{
	struct exchange *exchange = &radio->exchange;
	struct medium *medium = radio->medium;

	if (!exchange->contender || transmission->kind != exchange->sent ||
	    (transmission->kind == CTS && transmission->to != radio))
		return;
	exchange->collided |= transmission->collided;
	if (transmission->kind == DATA || transmission->kind == AGGREGATE)
		sent_data(radio, transmission);
	else if (transmission->kind == RTS)
		await(radio, response_ns(radio->mhz, slowest_response(transmission->rate), false, CTS_BYTES), 0);
	else
		event_schedule(&medium->events, &exchange->step, medium->now_ns + sifs_ns(radio->mhz));
}

static bool answers(const struct exchange *exchange, enum kind response)
{
	switch (response) {
	case CTS:
		return exchange->sent == RTS;
	case ACK:
		return exchange->sent == DATA;
	default:
		return exchange->sent == AGGREGATE ||
		       (exchange->sent == DATA && is_block_ack_request(exchange->contender->head));
	}
}

void exchange_answered(struct radio *radio, const struct transmission *transmission)
{
	struct exchange *exchange = &radio->exchange;
	struct medium *medium = radio->medium;
	double dbm = dbm_of_mw(transmission->at[radio->number].mw);

	if (!exchange->contender || !exchange->waiting || !answers(exchange, transmission->kind))
		return;
	exchange->waiting = false;
	event_cancel(&medium->events, &exchange->step);
	if (transmission->kind == CTS) {
		event_schedule(&medium->events, &exchange->step, medium->now_ns + sifs_ns(radio->mhz));
		return;
	}
	if (exchange->collided) {
		radio->stats.collisions++;
		radio->stats.captured++;
	}
	if (transmission->kind == BLOCK_ACK)
		radio->stats.block_acks++;
	if (exchange->sent == AGGREGATE) {
		finish_aggregate(radio, &transmission->board, dbm);
		return;
	}
	radio->stats.acked++;
	radio->stats.acked_at_rate[rate_to_number(exchange->rate)]++;
	finish(radio, true, dbm);
}

void exchange_init(struct radio *radio)
{
	radio->exchange.step.run = step;
}
