// SPDX-License-Identifier: MIT
/*
 * The header, which the client sends first on every connection; big endian:
 *
 *	 0  magic      4 bytes, "FLOW"
 *	 4  version    u32
 *	 8  flags      u32: 1 = download, 2 = checksum, 4 = messages, 8 = requests, 16 = random times, 32 = log
 *	12  number     u32
 *	16  bytes      u64
 *	24  duration   u64, ns
 *	32  seed       u64, of the payload
 *
 * followed by the mode's extra part.
 */
#include "wire.h"
#include "mode.h"

#include <endian.h>
#include <string.h>

#define WIRE_VERSION 1
#define COMMON (WIRE_DOWNLOAD | WIRE_CHECKSUM | WIRE_EXPONENTIAL | WIRE_LOG)

static const char magic[4] = "FLOW";

static void put32(unsigned char *out, __u32 value)
{
	__u32 big = htobe32(value);

	memcpy(out, &big, sizeof(big));
}

void wire_put64(unsigned char *out, __u64 value)
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

__u64 wire_get64(const unsigned char *in)
{
	__u64 big;

	memcpy(&big, in, sizeof(big));
	return be64toh(big);
}

size_t wire_encode(const struct wire *wire, unsigned char out[WIRE_MOST])
{
	__u32 flags = wire->mode->flag;

	if (wire->download)
		flags |= WIRE_DOWNLOAD;
	if (wire->checksum)
		flags |= WIRE_CHECKSUM;
	if (wire->exponential)
		flags |= WIRE_EXPONENTIAL;
	if (wire->log)
		flags |= WIRE_LOG;
	memcpy(out, magic, sizeof(magic));
	put32(out + 4, WIRE_VERSION);
	put32(out + 8, flags);
	put32(out + 12, wire->number);
	wire_put64(out + 16, wire->bytes);
	wire_put64(out + 24, wire->duration_ns);
	wire_put64(out + 32, wire->seed);
	memcpy(out + WIRE_SIZE, wire->extra, wire->mode->extra);
	return WIRE_SIZE + wire->mode->extra;
}

/* Whether either a number of bytes or a duration limits the payload. */
bool wire_has_target(const struct wire *wire)
{
	return (wire->bytes == UNLIMITED) == (wire->duration_ns != 0);
}

static const struct mode *find_mode(__u32 flag)
{
	for (const struct mode *const *mode = modes; *mode; mode++)
		if ((*mode)->flag == flag)
			return *mode;
	return NULL;
}

/* Decode the first @len bytes of a header; @wanted is the length of the whole. False if it is not a header. */
bool wire_decode(struct wire *wire, const unsigned char *in, size_t len, size_t *wanted)
{
	__u32 flags;

	*wanted = WIRE_SIZE;
	if (len < WIRE_SIZE)
		return true;
	flags = get32(in + 8);
	wire->mode = find_mode(flags & ~COMMON);
	if (memcmp(in, magic, sizeof(magic)) || get32(in + 4) != WIRE_VERSION || !wire->mode)
		return false;
	wire->download = flags & WIRE_DOWNLOAD;
	wire->checksum = flags & WIRE_CHECKSUM;
	wire->exponential = flags & WIRE_EXPONENTIAL;
	wire->log = flags & WIRE_LOG;
	wire->number = get32(in + 12);
	wire->bytes = wire_get64(in + 16);
	wire->duration_ns = wire_get64(in + 24);
	wire->seed = wire_get64(in + 32);
	*wanted += wire->mode->extra;
	if (len < *wanted)
		return true;
	memcpy(wire->extra, in + WIRE_SIZE, wire->mode->extra);
	return !wire->mode->accepts || wire->mode->accepts(wire);
}
