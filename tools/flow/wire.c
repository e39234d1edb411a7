// SPDX-License-Identifier: MIT
/*
 * The header that the client sends first on every connection; big endian:
 *
 *	 0  magic      4 bytes, "FLOW"
 *	 4  version    u32
 *	 8  flags      u32: 1 = download, 2 = checksum
 *	12  number     u32
 *	16  bytes      u64
 *	24  duration   u64, ns
 *	32  seed       u64, of the payload
 */
#include "flow.h"

#include <endian.h>
#include <string.h>

#define WIRE_VERSION 1
#define WIRE_DOWNLOAD 1
#define WIRE_CHECKSUM 2

static const char magic[4] = "FLOW";

static void put32(unsigned char *out, __u32 value)
{
	__u32 big = htobe32(value);

	memcpy(out, &big, sizeof(big));
}

static void put64(unsigned char *out, __u64 value)
{
	__u64 big = htobe64(value);

	memcpy(out, &big, sizeof(big));
}

static __u32 get32(const unsigned char *in)
{
	__u32 big;

	memcpy(&big, in, sizeof(big));
	return be32toh(big);
}

static __u64 get64(const unsigned char *in)
{
	__u64 big;

	memcpy(&big, in, sizeof(big));
	return be64toh(big);
}

void wire_encode(const struct wire *wire, unsigned char out[WIRE_SIZE])
{
	__u32 flags = 0;

	if (wire->download)
		flags |= WIRE_DOWNLOAD;
	if (wire->checksum)
		flags |= WIRE_CHECKSUM;
	memcpy(out, magic, sizeof(magic));
	put32(out + 4, WIRE_VERSION);
	put32(out + 8, flags);
	put32(out + 12, wire->number);
	put64(out + 16, wire->bytes);
	put64(out + 24, wire->duration_ns);
	put64(out + 32, wire->seed);
}

bool wire_decode(struct wire *wire, const unsigned char in[WIRE_SIZE])
{
	__u32 flags = get32(in + 8);

	if (memcmp(in, magic, sizeof(magic)) || get32(in + 4) != WIRE_VERSION ||
	    (flags & ~(WIRE_DOWNLOAD | WIRE_CHECKSUM)))
		return false;
	wire->download = flags & WIRE_DOWNLOAD;
	wire->checksum = flags & WIRE_CHECKSUM;
	wire->number = get32(in + 12);
	wire->bytes = get64(in + 16);
	wire->duration_ns = get64(in + 24);
	wire->seed = get64(in + 32);
	return (wire->bytes == UNLIMITED) == (wire->duration_ns != 0);
}
