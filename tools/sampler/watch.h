/* SPDX-License-Identifier: MIT */
/* The algorithms that the sockets of one node have used during the run. */
#ifndef SAMPLER_WATCH_H
#define SAMPLER_WATCH_H

#include "sockets.h"

#include <stdio.h>

struct watch {
	void *seen;		/* a tree of sockets, see tsearch(3) */
	int schedulers;		/* file with the kernel's list of schedulers, or -1 */
};

/* Begins a watch of this namespace's sockets. */
void watch_open(struct watch *watch);

/* Notes the algorithms that the sockets in @rows use now. */
void watch_note(struct watch *watch, const struct rows *rows);

/* Prints all sockets in the order of their ends, as an array of JSON. */
void watch_print(const struct watch *watch, FILE *file);

#endif
