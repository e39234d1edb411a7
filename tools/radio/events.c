// SPDX-License-Identifier: MIT
/* A binary heap, so that many radios with many timers are cheap. */
#include "events.h"
#include "radio.h"

#include <stdlib.h>

static bool before(const struct event *a, const struct event *b)
{
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns;
	return a->order < b->order;
}

static void put(struct event_queue *queue, int place, struct event *event)
{
	queue->heap[place] = event;
	event->place = place;
}

static void rise(struct event_queue *queue, struct event *event)
{
	int place = event->place;

	while (place > 1 && before(event, queue->heap[place / 2])) {
		put(queue, place, queue->heap[place / 2]);
		place /= 2;
	}
	put(queue, place, event);
}

static void sink(struct event_queue *queue, struct event *event)
{
	int place = event->place;

	for (;;) {
		int child = 2 * place;

		if (child > queue->count)
			break;
		if (child < queue->count && before(queue->heap[child + 1], queue->heap[child]))
			child++;
		if (!before(queue->heap[child], event))
			break;
		put(queue, place, queue->heap[child]);
		place = child;
	}
	put(queue, place, event);
}

void event_cancel(struct event_queue *queue, struct event *event)
{
	int place = event->place;
	struct event *last;

	if (!place)
		return;
	event->place = 0;
	last = queue->heap[queue->count--];
	if (last == event)
		return;
	put(queue, place, last);
	rise(queue, last);
	sink(queue, last);
}

void event_schedule(struct event_queue *queue, struct event *event, int64_t at_ns)
{
	event_cancel(queue, event);
	if (queue->count + 1 >= queue->room) {
		queue->room = queue->room ? 2 * queue->room : 64;
		queue->heap = realloc(queue->heap, queue->room * sizeof(*queue->heap));
		if (!queue->heap)
			die(EXIT_RUNTIME, "out of memory");
	}
	event->at_ns = at_ns;
	event->order = queue->scheduled++;
	put(queue, ++queue->count, event);
	rise(queue, event);
}
