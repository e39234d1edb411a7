/* SPDX-License-Identifier: MIT */
/*
 * A mode is what connections are for: payload in bulk, messages at their times, requests and
 * responses. Each is one file, mode_NAME.c, that defines `const struct mode mode_NAME` and
 * nothing else that others see. The Makefile makes the table of all from the names of the files.
 *
 * What a mode has no need for is left out (NULL), where nothing else is said.
 */
#ifndef FLOW_MODE_H
#define FLOW_MODE_H

#include "options.h"
#include "wire.h"

struct mode {
	__u32 flag;		/* in the header of its connections, see wire.h; 0 for payload in bulk */
	size_t extra;		/* bytes that it adds to the header */
	size_t own_size;	/* of what c->own points to, made before begin() */
	bool datagrams;		/* its connections may be UDP */

	/* The command line. */
	const char *synopsis;
	const char *help;	/* of its options */
	const char *output;	/* of its events */
	const struct spec *options;
	size_t n_options;
	bool (*chosen)(void);	/* its options were given; NULL = when no other mode's were */
	void (*check)(const struct options *opt, bool chosen);	/* of every client */

	/* The client, as a whole. */
	void (*prepare)(const struct options *opt);	/* before anything is opened */
	void (*start)(struct flow *flow);	/* NULL: all connections at once */
	void (*due)(struct flow *flow);		/* flow->due_at is over */
	bool (*finished)(const struct flow *flow);	/* NULL: after opt->connections */

	/* The header. */
	void (*greet)(struct wire *wire);	/* the client fills in what the mode has to say */
	bool (*accepts)(const struct wire *wire);	/* NULL: any */

	/* A connection, at both ends. Where nothing else is said, this is always there. */
	void (*begin)(struct conn *c);
	void (*event)(struct conn *c, __u32 events);
	void (*received)(struct conn *c, const unsigned char *data, size_t len);	/* may be left out, see oneway.h */
	__u64 (*alarm_at)(const struct conn *c);	/* 0 = never */
	void (*alarm)(struct conn *c);
	void (*flush)(struct conn *c);		/* may be left out: last events before the final sample */
	void (*tell_end)(const struct conn *c);	/* may be left out: its part of the end event */
	void (*release)(struct conn *c);	/* may be left out: what c->own points to */
};

/* Ends with NULL. */
extern const struct mode *const modes[];

#endif
