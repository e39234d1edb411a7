// SPDX-License-Identifier: MIT
/*
 * The payload of connections with a checksum, and the checksum.
 *
 * Payload: word i of a stream is SplitMix64's output i (Steele, Lea, Flood 2014), little endian,
 * so any part can be computed without the parts before it. No part repeats, so a receiver that
 * got pieces twice or in the wrong order computes another checksum.
 *
 * Checksum: XXH64 (Collet; the specification is doc/xxhash_spec.md of xxHash) with seed 0.
 */
#include "payload.h"

#include <endian.h>
#include <string.h>

#define GOLDEN 0x9e3779b97f4a7c15ULL

#define PRIME1 0x9e3779b185ebca87ULL
#define PRIME2 0xc2b2ae3d27d4eb4fULL
#define PRIME3 0x165667b19e3779f9ULL
#define PRIME4 0x85ebca77c2b2ae63ULL
#define PRIME5 0x27d4eb2f165667c5ULL

static __u64 mix(__u64 z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* offset and len are multiples of 8. */
void payload_fill(__u64 seed, __u64 stream, __u64 offset, void *buf, size_t len)
{
	__u64 state = mix(seed + mix(stream + GOLDEN)) + offset / 8 * GOLDEN;
	__u64 *word = buf;

	for (size_t i = 0; i < len / 8; i++) {
		state += GOLDEN;
		word[i] = htole64(mix(state));
	}
}

static __u64 rotate(__u64 x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static __u64 read64(const unsigned char *p)
{
	__u64 v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static __u64 read32(const unsigned char *p)
{
	__u32 v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static __u64 round64(__u64 lane, __u64 input)
{
	return rotate(lane + input * PRIME2, 31) * PRIME1;
}

static void stripe(struct xxh64 *h, const unsigned char *p)
{
	for (int i = 0; i < 4; i++)
		h->lane[i] = round64(h->lane[i], read64(p + 8 * i));
}

void xxh64_init(struct xxh64 *h)
{
	*h = (struct xxh64){ .lane = { PRIME1 + PRIME2, PRIME2, 0, -PRIME1 } };
}

void xxh64_update(struct xxh64 *h, const void *data, size_t len)
{
	const unsigned char *p = data;
	size_t used = h->total % sizeof(h->held);

	h->total += len;
	if (used + len < sizeof(h->held)) {
		memcpy(h->held + used, p, len);
		return;
	}
	if (used) {
		size_t fill = sizeof(h->held) - used;

		memcpy(h->held + used, p, fill);
		stripe(h, h->held);
		p += fill;
		len -= fill;
	}
	for (; len >= sizeof(h->held); p += sizeof(h->held), len -= sizeof(h->held))
		stripe(h, p);
	memcpy(h->held, p, len);
}

static __u64 converge(const struct xxh64 *h)
{
	static const int turns[4] = { 1, 7, 12, 18 };
	__u64 acc = 0;

	if (h->total < sizeof(h->held))
		return PRIME5;
	for (int i = 0; i < 4; i++)
		acc += rotate(h->lane[i], turns[i]);
	for (int i = 0; i < 4; i++)
		acc = (acc ^ round64(0, h->lane[i])) * PRIME1 + PRIME4;
	return acc;
}

__u64 xxh64_digest(const struct xxh64 *h)
{
	__u64 acc = converge(h) + h->total;
	const unsigned char *p = h->held;
	size_t left = h->total % sizeof(h->held);

	for (; left >= 8; p += 8, left -= 8)
		acc = rotate(acc ^ round64(0, read64(p)), 27) * PRIME1 + PRIME4;
	if (left >= 4) {
		acc = rotate(acc ^ (read32(p) * PRIME1), 23) * PRIME2 + PRIME3;
		p += 4;
		left -= 4;
	}
	for (; left; p++, left--)
		acc = rotate(acc ^ (*p * PRIME5), 11) * PRIME1;
	acc = (acc ^ (acc >> 33)) * PRIME2;
	acc = (acc ^ (acc >> 29)) * PRIME3;
	return acc ^ (acc >> 32);
}
