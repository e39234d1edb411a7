// SPDX-License-Identifier: MIT
/*
 * The distributed coordination function, once per queue (10.3.4, 10.22.2).
 *
 * After each frame a queue draws a number of slots and counts down while the
 * channel is idle; it may send at 0. Two radios that decide to send in the same
 * slot cannot hear each other, so both send: a collision.
 */
#include "radio.h"

#include <stdlib.h>

/* Defaults until mac80211 reports its values: aCWmin of OFDM, aCWmax (table 17-21), AIFSN of DIFS. */
#define CW_MIN 15
#define CW_MAX 1023
#define DIFS_SLOTS 2
/* Frames of one queue: two from the kernel, plus beacons, group frames, and frames of stations' sessions. */
#define QUEUE_FRAMES 256

static int64_t expiry_ns(const struct contender *contender)
{
	return contender->count_from_ns + contender->backoff * contender->radio->slot_ns;
}

static void draw(struct contender *contender)
{
	contender->backoff = random_upto(&contender->radio->backoff_draws, contender->cw);
}

/* Subtract the slots that have passed from the backoff. */
static void stop_counting(struct contender *contender)
{
	const struct radio *radio = contender->radio;
	int64_t slots = (radio->medium->now_ns - contender->count_from_ns) / radio->slot_ns;

	if (slots > 0)
		contender->backoff = slots < contender->backoff ? contender->backoff - slots : 0;
	contender->counting = false;
	event_cancel(&contender->radio->medium->events, &contender->expiry);
}

/* The channel became busy. A radio that sends within this slot does not notice. */
void dcf_pause(struct radio *radio)
{
	int64_t now_ns = radio->medium->now_ns;

	for (int i = 0; i < QUEUES; i++) {
		struct contender *contender = &radio->contenders[i];

		if (!contender->counting)
			continue;
		if (event_pending(&contender->expiry) && expiry_ns(contender) - now_ns < radio->slot_ns)
			continue;
		stop_counting(contender);
	}
}

static bool is_free(const struct radio *radio)
{
	return !radio->sensed && !radio->sending && !radio->exchange.contender && radio->mhz;
}

static int64_t aifs_ns(const struct contender *contender)
{
	const struct radio *radio = contender->radio;

	return sifs_ns(radio->mhz) + contender->aifs * radio->slot_ns;
}

static void schedule(struct contender *contender)
{
	struct medium *medium = contender->radio->medium;
	int64_t at_ns = expiry_ns(contender);

	event_schedule(&medium->events, &contender->expiry, at_ns > medium->now_ns ? at_ns : medium->now_ns);
}

/* Continue the countdown if the channel is idle; it starts an interframe space after the channel was busy. */
void dcf_resume(struct radio *radio)
{
	int64_t idle_ns = radio->idle_since_ns > radio->nav_until_ns ? radio->idle_since_ns : radio->nav_until_ns;

	if (!is_free(radio))
		return;
	for (int i = 0; i < QUEUES; i++) {
		struct contender *contender = &radio->contenders[i];

		if (contender->counting)
			continue;
		contender->counting = true;
		contender->count_from_ns = idle_ns + radio->eifs_extra_ns + aifs_ns(contender);
		if (contender->head)
			schedule(contender);
	}
}

/* Another queue of the radio sends first: treated as a collision, but nothing was sent (10.22.2.4). */
static void lose(struct contender *contender)
{
	contender->radio->stats.internal_collisions++;
	stop_counting(contender);
	dcf_failed(contender);
}

static void expire(struct medium *medium, struct event *event)
{
	struct contender *contender = container_of(event, struct contender, expiry);
	struct radio *radio = contender->radio;

	if (radio->exchange.contender || radio->sending) {
		lose(contender);
		return;
	}
	for (int i = 0; i < contender->queue; i++) {
		struct contender *other = &radio->contenders[i];

		if (event_pending(&other->expiry) && other->expiry.at_ns == medium->now_ns) {
			lose(contender);
			return;
		}
	}
	contender->counting = false;
	contender->backoff = 0;
	exchange_start(contender);
}

/* Send at once if the channel has been idle for an interframe space, else after a draw (10.3.4.2). */
static void arrive(struct contender *contender)
{
	struct radio *radio = contender->radio;

	if (contender->counting) {
		schedule(contender);
		return;
	}
	if (radio->exchange.contender != contender && contender->backoff == 0)
		draw(contender);
}

void dcf_append(struct contender *contender, struct frame *frame)
{
	frame->next = NULL;
	*contender->tail = frame;
	contender->tail = &frame->next;
	contender->length++;
}

/* Returns false if the queue is full. */
bool dcf_add(struct contender *contender, struct frame *frame)
{
	struct radio_stats *stats = &contender->radio->stats;

	if (contender->length >= QUEUE_FRAMES && !frame->session.window)
		return false;
	dcf_append(contender, frame);
	if (contender->length > stats->queued_max)
		stats->queued_max = contender->length;
	if (contender->length == 1)
		arrive(contender);
	return true;
}

struct frame *dcf_take(struct contender *contender)
{
	struct frame *frame = contender->head;

	contender->head = frame->next;
	if (!contender->head)
		contender->tail = &contender->head;
	contender->length--;
	return frame;
}

/* The radio is switched off: waiting frames are lost. A frame in the air ends with its exchange. */
void dcf_flush(struct radio *radio)
{
	for (int i = 0; i < QUEUES; i++) {
		struct contender *contender = &radio->contenders[i];

		if (radio->exchange.contender == contender)
			continue;
		if (contender->counting)
			stop_counting(contender);
		contender->aggregate.count = 0;
		while (contender->head) {
			struct frame *frame = dcf_take(contender);

			radio->stats.unacked++;
			report_one(radio, frame, false, 0);
			free(frame);
		}
	}
}

/* The frame was sent or given up: the next draw uses the smallest window (10.3.3). */
void dcf_done(struct contender *contender)
{
	contender->cw = contender->cw_min;
	draw(contender);
}

void dcf_failed(struct contender *contender)
{
	int cw = 2 * contender->cw + 1;

	contender->cw = cw < contender->cw_max ? cw : contender->cw_max;
	draw(contender);
}

void dcf_init(struct radio *radio)
{
	for (int i = 0; i < QUEUES; i++) {
		struct contender *contender = &radio->contenders[i];

		contender->radio = radio;
		contender->queue = i;
		contender->aifs = DIFS_SLOTS;
		contender->cw_min = CW_MIN;
		contender->cw = CW_MIN;
		contender->cw_max = CW_MAX;
		contender->tail = &contender->head;
		contender->expiry.run = expire;
	}
}
