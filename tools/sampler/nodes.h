/* SPDX-License-Identifier: MIT */
/* The objects that are sampled: nodes with their netlink sockets, and the files for the rows. */
#ifndef SAMPLER_NODES_H
#define SAMPLER_NODES_H

#include "memory.h"
#include "queues.h"
#include "watch.h"

#include <stdio.h>

/* A node whose sockets are of interest. */
struct host {
	const char *name;
	bool sampled;		/* its sockets are recorded */
	bool watched;		/* the algorithms of its sockets are noted */
	int diag;
	struct rows rows;
	struct watch watch;
};

struct nodes {
	struct host *hosts;
	unsigned int n_hosts;
	struct queues *queues;	/* one for each node with queues */
	unsigned int n_queues;
	bool any_sampled;	/* sockets or queues */
	bool any_watched;
	struct memory memory;
	struct output socket_rows;
	struct output queue_rows;
};

/*
 * Reads a description, one statement per line:
 *
 *	sockets NODE				record its sockets
 *	watch NODE				note the algorithms of its sockets
 *	queue NODE DEVICE HANDLE LINK DIRECTION	record a queue
 *
 * Rows of an instant are in the order in which nodes first appear, for sockets and for queues.
 * Names must not need escaping in JSON.
 */
void nodes_read(struct nodes *nodes, FILE *file, const char *folder);

/* Records what is sampled if @sampled, and notes algorithms if @watched. */
void nodes_sample(struct nodes *nodes, int64_t time_ns, bool sampled, bool watched);

/* Writes the rest of the rows to the files, and prints the noted algorithms as a JSON object. */
void nodes_finish(struct nodes *nodes, FILE *file);

#endif
