/* SPDX-License-Identifier: MIT */
/* The queues of one node's bottlenecks: the data of `tc -s qdisc` for some of its disciplines. */
#ifndef SAMPLER_QUEUES_H
#define SAMPLER_QUEUES_H

#include "output.h"

#include <linux/rtnetlink.h>

/* Few enough that their answers do not overrun the socket's buffer. */
#define QUEUES_AT_ONCE 16

struct queue {
	int ifindex;
	uint32_t handle;	/* the major number of the discipline */
	char *place;		/* the columns of its position, as JSON without braces */
};

struct queues {
	const char *node;
	int fd;
	struct queue *queues;
	unsigned int count;
};

/* Adds a queue of this namespace, the node's: the discipline @handle of @device. */
void queues_add(struct queues *queues, const char *device, uint32_t handle, char *place);

/* Appends the bytes and packets that wait in each queue, and the packets that it dropped so far. */
void queues_sample(struct queues *queues, struct output *output, int64_t time_ns);

/* Puts the row of a queue at @at as a line of JSON, and returns its end. NULL: the answer has no counters. */
char *queue_put(char *at, const struct nlmsghdr *answer, const char *place, int64_t time_ns);

#endif
