/* SPDX-License-Identifier: MIT */
/* The payload, and its checksum. */
#ifndef FLOW_PAYLOAD_H
#define FLOW_PAYLOAD_H

#include "flow.h"

struct xxh64 {
	__u64 lane[4];
	__u64 total;
	unsigned char held[32];	/* bytes of an incomplete stripe */
};

void xxh64_init(struct xxh64 *h);
void xxh64_update(struct xxh64 *h, const void *data, size_t len);
__u64 xxh64_digest(const struct xxh64 *h);
void payload_fill(__u64 seed, __u64 stream, __u64 offset, void *buf, size_t len);

#endif
