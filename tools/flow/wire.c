// SPDX-License-Identifier: MIT
/*
 * The header that the client sends first on every connection; big endian:
 *
 *	 0  magic      4 bytes, "FLOW"
 *	 4  version    u32
 *	 8  flags      u32: 1 = download, 2 = checksum, 4 = messages, 8 = requests, 16 = random times, 32 = log
 *	12  number     u32
 *	16  bytes      u64
 *	24  duration   u64, ns
 *	32  seed       u64, of the payload
 *
 * and with messages
 *
 *	40  message    u64, bytes of each
 *	48  gap        u64, ns from one to the next
 *	56  on         u64, ns that the source sends; 0 = always
 *	64  off        u64, ns that it is silent
 */
#include "flow.h"

#include <endian.h>
#include <string.h>

#define WIRE_VERSION 1
#define WIRE_DOWNLOAD 1
#define WIRE_CHECKSUM 2
#define WIRE_PACED 4
#define WIRE_ASK 8
#define WIRE_EXPONENTIAL 16
#define WIRE_LOG 32
#define WIRE_KNOWN 63
#define MESSAGE_MOST (1 << 20)

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
	__u32 flags = 0;

	if (wire->download)
		flags |= WIRE_DOWNLOAD;
	if (wire->checksum)
		flags |= WIRE_CHECKSUM;
	if (wire->paced)
		flags |= WIRE_PACED;
	if (wire->ask)
		flags |= WIRE_ASK;
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
	if (!wire->paced)
		return WIRE_SIZE;
	wire_put64(out + 40, wire->message);
	wire_put64(out + 48, wire->gap_ns);
	wire_put64(out + 56, wire->on_ns);
	wire_put64(out + 64, wire->off_ns);
	return WIRE_MOST;
}

static bool decode_pace(struct wire *wire, const unsigned char *in)
{
	wire->message = wire_get64(in + 40);
	wire->gap_ns = wire_get64(in + 48);
	wire->on_ns = wire_get64(in + 56);
	wire->off_ns = wire_get64(in + 64);
	return wire->message >= MESSAGE_HEAD && wire->message <= MESSAGE_MOST && wire->gap_ns;
}

/* With len bytes of it there; wanted is how many there have to be in all. False if it is no header. */
bool wire_decode(struct wire *wire, const unsigned char *in, size_t len, size_t *wanted)
{
	__u32 flags;

	*wanted = WIRE_SIZE;
	if (len < WIRE_SIZE)
		return true;
	flags = get32(in + 8);
	if (memcmp(in, magic, sizeof(magic)) || get32(in + 4) != WIRE_VERSION || (flags & ~WIRE_KNOWN))
		return false;
	wire->download = flags & WIRE_DOWNLOAD;
	wire->checksum = flags & WIRE_CHECKSUM;
	wire->paced = flags & WIRE_PACED;
	wire->ask = flags & WIRE_ASK;
	wire->exponential = flags & WIRE_EXPONENTIAL;
	wire->log = flags & WIRE_LOG;
	wire->number = get32(in + 12);
	wire->bytes = wire_get64(in + 16);
	wire->duration_ns = wire_get64(in + 24);
	wire->seed = wire_get64(in + 32);
	if (!wire->ask && (wire->bytes == UNLIMITED) != (wire->duration_ns != 0))
		return false;
	if (!wire->paced)
		return true;
	*wanted = WIRE_MOST;
	return len < WIRE_MOST || (wire->duration_ns && decode_pace(wire, in));
}
