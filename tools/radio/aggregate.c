// SPDX-License-Identifier: MIT
/*
 * Aggregates of 802.11n (A-MPDU, 9.7): frames of one block ack session in one
 * transmission, each behind a delimiter. An aggregate begins at the first rate
 * of its table. Without a block ack it is repeated along the table; with a block
 * ack, the frames that were not acknowledged go into a later aggregate, until
 * they have had as many attempts as their own table allows.
 */
#include "radio.h"

#include <stdlib.h>
#include <string.h>

#define DELIMITER_BYTES 4
/* Linux drivers limit aggregates to this duration at all rates of their table. */
#define LONGEST_NS (4000 * NS_PER_US)
#define FACTOR_SHIFT 13
#define SEQUENCE_CONTROL 22
#define FRAGMENT_BITS 4
#define BAR_FRAME_CONTROL 0x84
#define BAR_BYTES 20

uint16_t sequence_at(const struct frame *frame, int byte)
{
	return (frame->data[byte] | frame->data[byte + 1] << 8) >> FRAGMENT_BITS;
}

uint16_t sequence_number(const struct frame *frame)
{
	return sequence_at(frame, SEQUENCE_CONTROL);
}

bool is_block_ack_request(const struct frame *frame)
{
	return frame->data[0] == BAR_FRAME_CONTROL && frame->length >= BAR_BYTES;
}

static bool same_session(const struct frame *one, const struct frame *other)
{
	return one->session.window && one->session.id == other->session.id && other->session.window;
}

static bool same_rate(const struct tx_rate *one, const struct tx_rate *other)
{
	return one->index == other->index && one->flags == other->flags;
}

/* The slowest rate of a table; NULL if the table has a rate that cannot send aggregates. */
static const struct rate *slowest(const struct frame *frame)
{
	const struct rate *rate = NULL;

	for (int i = 0; i < TX_RATES && frame->rates[i].index >= 0; i++) {
		const struct rate *one = rate_of(frame->mhz, &frame->rates[i]);

		if (!one || !is_ht(one))
			return NULL;
		if (!rate || one->data_bits < rate->data_bits)
			rate = one;
	}
	return rate;
}

/* The latest frame that does not probe a rate, and so has the current rates of rate control. */
static const struct frame *newest(const struct frame *head)
{
	const struct frame *found = NULL, *frame;

	for (frame = head; frame; frame = frame->next)
		if (same_session(frame, head) && !frame->session.probe && slowest(frame))
			found = frame;
	if (found || !slowest(head))
		return found;
	return head;
}

/* The maximum duration of an aggregate that leaves time for the response. */
static int64_t longest_ns(const struct contender *contender, const struct rate *rate)
{
	const struct radio *radio = contender->radio;
	const struct rate *response = response_rate(rate, radio->medium->config.basic_rates);
	int64_t left_ns = contender->txop_ns - sifs_ns(radio->mhz) -
			  frame_ns(radio->mhz, response, false, BLOCK_ACK_BYTES);

	return contender->txop_ns && left_ns < LONGEST_NS ? left_ns : LONGEST_NS;
}

/* The minimum number of bytes from the start of a frame to the start of the next (9.7.3). */
static int spacing_bytes(const struct frame *frame, const struct rate *fastest)
{
	int64_t ns = frame->session.density ? (NS_PER_US << frame->session.density) >> 3 : 0;

	return (int)((ns * fastest->kbps / 1000 + 8 * 1000 - 1) / (8 * 1000));
}

static int next_start(const struct aggregate *aggregate, int spacing)
{
	const struct part *last = &aggregate->parts[aggregate->count - 1];
	int start;

	if (!aggregate->count)
		return 0;
	start = last->end > last->start + spacing ? last->end : last->start + spacing;
	return (start + DELIMITER_BYTES - 1) & -DELIMITER_BYTES;
}

void aggregate_form(struct contender *contender)
{
	struct aggregate *aggregate = &contender->aggregate;
	struct frame *head = contender->head, *frame;
	const struct frame *model;
	const struct rate *rate;
	int spacing, max_bytes;

	if (aggregate->count || !head->session.window || head->alone)
		return;
	model = newest(head);
	if (!model || (head->session.probe && !same_rate(&head->rates[0], &model->rates[0])))
		return;
	rate = slowest(model);
	spacing = spacing_bytes(head, rate_of(model->mhz, &model->rates[0]));
	max_bytes = (1 << (FACTOR_SHIFT + head->session.factor)) - 1;
	for (frame = head; frame && aggregate->count < AGGREGATE_FRAMES; frame = frame->next) {
		int start = next_start(aggregate, spacing);
		int end = start + DELIMITER_BYTES + frame->length + FCS_BYTES;

		if (!same_session(frame, head) || frame->attempts >= table_limit(frame->rates) ||
		    (frame->session.probe && !same_rate(&frame->rates[0], &model->rates[0])))
			continue;
		if (sequence_distance(sequence_number(head), sequence_number(frame)) >= head->session.window ||
		    end > max_bytes || frame_ns(frame->mhz, rate, false, end) > longest_ns(contender, rate))
			break;
		aggregate->parts[aggregate->count++] = (struct part){ frame, start, end };
		aggregate->bytes = end;
	}
	memcpy(aggregate->rates, model->rates, sizeof(aggregate->rates));
	aggregate->attempts = 0;
	if (aggregate->count < 2)
		aggregate->count = 0;
}

static bool is_acked(const struct frame *frame, const struct scoreboard *board)
{
	return board && frame->attempts && scoreboard_has(board, sequence_number(frame));
}

/*
 * A frame is given up only after all frames before it are acknowledged or given up,
 * because the receiver forgets these when it is told. Without a block ack, the first
 * frame is given up.
 */
static bool is_given_up(const struct aggregate *aggregate, const struct frame *frame, const struct scoreboard *board)
{
	return frame->attempts >= table_limit(frame->rates) || (!board && frame == aggregate->parts[0].frame);
}

/* Moves the frames of the aggregate's session from the queue to the lists @over and @left. */
static void sort_frames(struct contender *contender, const struct scoreboard *board, struct frame **over,
			struct frame **left)
{
	const struct aggregate *aggregate = &contender->aggregate;
	struct frame *head = contender->head, *frame, *next;
	struct frame *const *first_left = left;

	contender->head = NULL;
	contender->tail = &contender->head;
	contender->length = 0;
	for (frame = head; frame; frame = next) {
		next = frame->next;
		if (!same_session(frame, head)) {
			dcf_append(contender, frame);
			continue;
		}
		frame->next = NULL;
		if (is_acked(frame, board) || (!*first_left && is_given_up(aggregate, frame, board))) {
			*over = frame;
			over = &frame->next;
		} else {
			*left = frame;
			left = &frame->next;
		}
	}
}

static int count_acked(const struct aggregate *aggregate, const struct scoreboard *board)
{
	int acked = 0;

	for (int i = 0; i < aggregate->count; i++)
		acked += is_acked(aggregate->parts[i].frame, board);
	return acked;
}

void aggregate_resolve(struct contender *contender, const struct scoreboard *board, double signal_dbm)
{
	struct aggregate *aggregate = &contender->aggregate;
	struct frame *over = NULL, *left = NULL, *frame, *next;
	struct radio *radio = contender->radio;
	struct outcome outcome = {
		.rates = aggregate->rates,
		.attempts = aggregate->attempts,
		.signal_dbm = signal_dbm,
		.frames = aggregate->count,
		.frames_acked = count_acked(aggregate, board),
	};

	if (board)
		radio->stats.acked_at_rate[rate_to_number(radio->exchange.rate)] += outcome.frames_acked;
	sort_frames(contender, board, &over, &left);
	aggregate->count = 0;
	for (frame = left; frame; frame = next) {
		next = frame->next;
		dcf_append(contender, frame);
	}
	for (frame = over; frame; frame = next) {
		next = frame->next;
		outcome.acked = is_acked(frame, board);
		outcome.moves_window = !outcome.acked && (!next || is_acked(next, board));
		radio->stats.acked += outcome.acked;
		radio->stats.unacked += !outcome.acked;
		hwsim_report(radio, frame, &outcome);
		outcome.frames = 0;
		free(frame);
	}
}
