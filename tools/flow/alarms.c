// SPDX-License-Identifier: MIT
/*
 * The alarms of all connections as a binary heap, so that a wakeup for one of a thousand
 * connections does not visit the others. At the same instant the older connection comes first.
 */
#include "alarms.h"
#include "conn.h"

#include <stdlib.h>

/* heap[0] is not used, so the parent of place i is i / 2 and its children are 2 i and 2 i + 1. */
static bool is_sooner(const struct conn *one, const struct conn *other)
{
	if (one->alarm_at != other->alarm_at)
		return one->alarm_at < other->alarm_at;
	return one->number < other->number;
}

static void put(struct alarms *alarms, struct conn *c, size_t place)
{
	alarms->heap[place] = c;
	c->alarm_place = place;
}

static void sift(struct alarms *alarms, struct conn *c, size_t place)
{
	size_t below;

	for (; place > 1 && is_sooner(c, alarms->heap[place / 2]); place /= 2)
		put(alarms, alarms->heap[place / 2], place);
	for (; (below = 2 * place) <= alarms->used; place = below) {
		if (below < alarms->used && is_sooner(alarms->heap[below + 1], alarms->heap[below]))
			below++;
		if (!is_sooner(alarms->heap[below], c))
			break;
		put(alarms, alarms->heap[below], place);
	}
	put(alarms, c, place);
}

static void take_out(struct alarms *alarms, struct conn *c)
{
	size_t place = c->alarm_place;
	struct conn *last = alarms->heap[alarms->used--];

	c->alarm_place = 0;
	if (last != c)
		sift(alarms, last, place);
}

void alarms_set(struct alarms *alarms, struct conn *c, __u64 at)
{
	if (at == c->alarm_at)
		return;
	c->alarm_at = at;
	if (!at) {
		take_out(alarms, c);
		return;
	}
	if (!c->alarm_place) {
		if (alarms->used + 1 >= alarms->room) {
			alarms->room = alarms->room ? 2 * alarms->room : 64;
			alarms->heap = realloc(alarms->heap, alarms->room * sizeof(struct conn *));
			if (!alarms->heap)
				die(EXIT_RUNTIME, "no memory for another connection");
		}
		c->alarm_place = ++alarms->used;
	}
	sift(alarms, c, c->alarm_place);
}

struct conn *alarms_first(const struct alarms *alarms)
{
	return alarms->used ? alarms->heap[1] : NULL;
}
