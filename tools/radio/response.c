// SPDX-License-Identifier: MIT
/*
 * The reaction of a radio to a decoded frame: it passes the frame to the kernel,
 * and responds a SIFS later with an ACK, a block ack or a CTS.
 */
#include "radio.h"

#include <stdlib.h>

/* Of a request for a block ack: the byte whose highest bits are the TID, and sequence control (9.3.1.8). */
#define BAR_TID 17
#define BAR_TID_SHIFT 4
#define BAR_SEQUENCE_CONTROL 18

static struct reordering *find(struct radio *radio, const struct radio *from, int tid)
{
	for (int i = 0; i < radio->n_reorderings; i++)
		if (radio->reorderings[i].from == from && radio->reorderings[i].session.tid == tid)
			return &radio->reorderings[i];
	return NULL;
}

static struct reordering *add(struct radio *radio, struct radio *from)
{
	int n = radio->n_reorderings++;

	radio->reorderings = realloc(radio->reorderings, (n + 1) * sizeof(*radio->reorderings));
	if (!radio->reorderings)
		die(EXIT_RUNTIME, "out of memory");
	radio->reorderings[n] = (struct reordering){ .from = from };
	return &radio->reorderings[n];
}

static const struct scoreboard *note(struct radio *radio, struct radio *from, const struct frame *frame)
{
	struct reordering *one = find(radio, from, frame->session.tid);

	if (!one)
		one = add(radio, from);
	if (!one->session.window || one->session.id != frame->session.id) {
		one->session = frame->session;
		scoreboard_begin(&one->board, sequence_number(frame));
	}
	scoreboard_receive(&one->board, sequence_number(frame));
	return &one->board;
}

static const struct scoreboard *requested(struct radio *radio, struct radio *from, const struct frame *frame)
{
	struct reordering *one = find(radio, from, frame->data[BAR_TID] >> BAR_TID_SHIFT);

	if (!one)
		return NULL;
	scoreboard_move(&one->board, sequence_at(frame, BAR_SEQUENCE_CONTROL));
	return &one->board;
}

static void respond(struct medium *medium, struct event *event)
{
	static const int bytes[] = { [ACK] = ACK_BYTES, [CTS] = CTS_BYTES, [BLOCK_ACK] = BLOCK_ACK_BYTES };
	struct response *response = container_of(event, struct response, start);
	struct radio *radio = container_of(response, struct radio, response);
	struct transmission *transmission;

	(void)medium;
	if (radio->sending || !radio->mhz)
		return;
	transmission = air_new(radio, response->kind, response->to, response->rate, response->short_preamble,
			       bytes[response->kind]);
	transmission->reserved_ns = response->reserved_ns;
	transmission->board = response->board;
	air_start(transmission);
}

static void prepare(struct radio *radio, const struct transmission *to, enum kind kind)
{
	struct response *response = &radio->response;
	struct medium *medium = radio->medium;

	response->kind = kind;
	response->to = to->from;
	response->rate = response_rate(to->rate, medium->config.basic_rates);
	response->short_preamble = to->short_preamble;
	response->reserved_ns = 0;
	event_schedule(&medium->events, &response->start, medium->now_ns + sifs_ns(radio->mhz));
}

/* A block ack with @board, or an ACK. */
static void prepare_response(struct radio *radio, const struct transmission *to, const struct scoreboard *board)
{
	prepare(radio, to, board ? BLOCK_ACK : ACK);
	if (board)
		radio->response.board = *board;
}

static void prepare_cts(struct radio *radio, const struct transmission *to)
{
	struct response *response = &radio->response;

	prepare(radio, to, CTS);
	response->reserved_ns = to->reserved_ns - response_ns(radio->mhz, response->rate, to->short_preamble,
							      CTS_BYTES);
}

static void received_data(struct radio *radio, const struct transmission *transmission)
{
	struct frame *frame = transmission->frame;
	bool is_mine = transmission->to == radio;
	const struct scoreboard *board = NULL;

	if (is_mine || is_to_group(frame) || radio->config->monitor)
		hwsim_deliver(radio, transmission, frame);
	if (!is_mine || !wants_ack(frame))
		return;
	if (is_block_ack_request(frame)) {
		board = requested(radio, transmission->from, frame);
		if (!board)
			return;
	} else if (frame->session.window) {
		note(radio, transmission->from, frame);
	}
	prepare_response(radio, transmission, board);
}

static void received_aggregate(struct radio *radio, const struct transmission *transmission, uint64_t parts)
{
	const struct aggregate *aggregate = transmission->aggregate;
	const struct scoreboard *board = NULL;
	bool is_mine = transmission->to == radio;

	for (int i = 0; i < aggregate->count; i++) {
		struct frame *frame = aggregate->parts[i].frame;

		if (!(parts & 1ULL << i))
			continue;
		if (is_mine)
			board = note(radio, transmission->from, frame);
		if (is_mine || radio->config->monitor)
			hwsim_deliver(radio, transmission, frame);
	}
	if (is_mine)
		prepare_response(radio, transmission, board);
}

/*
 * A radio has decoded a frame, or some frames of an aggregate: pass them to the
 * kernel, respond, or continue the exchange that waits for this frame.
 */
void response_received(struct radio *radio, struct transmission *transmission, uint64_t parts)
{
	bool is_mine = transmission->to == radio;

	if (transmission->kind == DATA) {
		received_data(radio, transmission);
	} else if (transmission->kind == AGGREGATE) {
		received_aggregate(radio, transmission, parts);
	} else if (is_mine && transmission->kind == RTS) {
		/* Silent if another radio has reserved the channel (10.3.2.7). */
		if (radio->nav_until_ns <= radio->medium->now_ns && !radio->exchange.waiting)
			prepare_cts(radio, transmission);
	} else if (is_mine) {
		exchange_answered(radio, transmission);
	}
}

void response_init(struct radio *radio)
{
	radio->response.start.run = respond;
}
