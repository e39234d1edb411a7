/* SPDX-License-Identifier: MIT */
/* The header that opens every connection. */
#ifndef FLOW_WIRE_H
#define FLOW_WIRE_H

#include "flow.h"

/* Flags of the header. A connection has at most one flag of a mode, which selects the extra part. */
#define WIRE_DOWNLOAD 1
#define WIRE_CHECKSUM 2
#define WIRE_MESSAGES 4
#define WIRE_REQUESTS 8
#define WIRE_EXPONENTIAL 16
#define WIRE_LOG 32

#define WIRE_SIZE 40
#define WIRE_EXTRA_MOST 32
#define WIRE_MOST (WIRE_SIZE + WIRE_EXTRA_MOST)

struct wire {
	const struct mode *mode;
	bool download;
	bool checksum;
	bool exponential;
	bool log;
	__u32 number;		/* the client's number of this connection */
	__u64 bytes;		/* UNLIMITED = by time */
	__u64 duration_ns;	/* 0 = by bytes */
	__u64 seed;
	unsigned char extra[WIRE_EXTRA_MOST];	/* the mode's own */
};

size_t wire_encode(const struct wire *wire, unsigned char out[WIRE_MOST]);
bool wire_decode(struct wire *wire, const unsigned char *in, size_t len, size_t *wanted);
bool wire_has_target(const struct wire *wire);
void wire_put64(unsigned char *out, __u64 value);
__u64 wire_get64(const unsigned char *in);

#endif
