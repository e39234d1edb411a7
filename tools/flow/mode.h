/* SPDX-License-Identifier: MIT */
/*
 * A mode defines the application protocol of connections: payload in bulk, messages at fixed
 * times, or requests and responses. Each is one file, mode_NAME.c, that defines
 * `const struct mode mode_NAME` and exports nothing else. The Makefile creates the table of
 * all modes from the file names.
 *
 * Members that a mode does not need are NULL, where the comments allow it.
 */
#ifndef FLOW_MODE_H
#define FLOW_MODE_H

#include "options.h"
#include "wire.h"

struct mode {
	__u32 flag;		/* in the header of its connections, see wire.h; 0: payload in bulk */
	size_t extra;		/* bytes that it adds to the header */
	size_t own_size;	/* size of *c->own, which is allocated before begin() */
	bool datagrams;		/* its connections may be UDP */

	/* The command line. */
	const char *synopsis;
	const char *help;	/* of its options */
	const char *output;	/* of its events */
	const struct spec *options;
	size_t n_options;
	bool (*chosen)(void);	/* were its options given? NULL: the default mode */
	void (*check)(const struct options *opt, bool chosen);	/* called in every client */

	/* The client process. */
	void (*prepare)(const struct options *opt);	/* before anything is opened */
	void (*start)(struct flow *flow);	/* NULL: all connections at once */
	void (*due)(struct flow *flow);		/* flow->due_at has passed */
	bool (*finished)(const struct flow *flow);	/* NULL: after opt->connections */

	/* The header. */
	void (*greet)(struct wire *wire);	/* the client fills in the mode's part */
	bool (*accepts)(const struct wire *wire);	/* NULL: any */

	/* A connection, at both ends. A member is required unless its comment says that it is optional. */
	void (*begin)(struct conn *c);
	void (*event)(struct conn *c, __u32 events);
	void (*received)(struct conn *c, const unsigned char *data, size_t len);	/* optional, see oneway.h */
	__u64 (*alarm_at)(const struct conn *c);	/* 0 = never */
	void (*alarm)(struct conn *c);
	void (*flush)(struct conn *c);		/* optional: last events before the final sample */
	void (*tell_end)(const struct conn *c);	/* optional: its part of the end event */
	void (*release)(struct conn *c);	/* optional: free what *c->own refers to */
};

/* Terminated by NULL. */
extern const struct mode *const modes[];

#endif
