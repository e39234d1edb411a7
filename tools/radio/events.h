/* SPDX-License-Identifier: MIT */
/* A queue of events in virtual time. Events are embedded in the structs that use them. */
#ifndef RADIO_EVENTS_H
#define RADIO_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define container_of(member_pointer, type, member) \
	((type *)((char *)(member_pointer) - offsetof(type, member)))

struct medium;

struct event {
	int64_t at_ns;
	uint64_t order;		/* order of scheduling, for events of the same instant */
	int place;		/* in the heap; 0 if not scheduled */
	void (*run)(struct medium *medium, struct event *event);
};

struct event_queue {
	struct event **heap;	/* from 1 on */
	int count;
	int room;
	uint64_t scheduled;
};

/* Schedules an event, or moves an event that is already scheduled. */
void event_schedule(struct event_queue *queue, struct event *event, int64_t at_ns);
void event_cancel(struct event_queue *queue, struct event *event);

static inline bool event_pending(const struct event *event)
{
	return event->place;
}

/* The earliest event, or NULL. */
static inline struct event *event_first(const struct event_queue *queue)
{
	return queue->count ? queue->heap[1] : NULL;
}

#endif
