/* SPDX-License-Identifier: MIT */
/* The established TCP sockets of one node: the data of `ss -ti`. */
#ifndef SAMPLER_SOCKETS_H
#define SAMPLER_SOCKETS_H

#include "output.h"
#include "row.h"

struct rows {
	struct row *rows;
	unsigned int count;
	unsigned int room;
};

/* Opens the diagnosis of this namespace's sockets. */
int sockets_open(void);

/* Reads all sockets into @rows, in the order of their ends. */
void sockets_read(int fd, struct rows *rows);

/* Appends the rows of @node to @output. */
void sockets_put(struct output *output, const struct rows *rows, const char *node, int64_t time_ns);

#endif
