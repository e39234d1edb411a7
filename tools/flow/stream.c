// SPDX-License-Identifier: MIT
/*
 * The two ends of a transfer by another program: `flow pattern | nc ...` and `nc ... | flow sum`.
 *
 * A file of any size is generated and summed on the fly, so that it is never stored, and no
 * part of it repeats.
 */
#include "stream.h"
#include "options.h"
#include "payload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE 65536	/* capacity of a pipe */

static void report(const struct xxh64 *hash)
{
	fprintf(stderr, "{\"event\":\"stream\",\"bytes\":%llu,\"checksum\":\"%016llx\"}\n",
		hash->total, xxh64_digest(hash));
}

static void write_all(const unsigned char *data, size_t len)
{
	while (len) {
		ssize_t n = write(STDOUT_FILENO, data, len);

		if (n < 0 && errno != EINTR)
			die(EXIT_RUNTIME, "pattern: %s", strerror(errno));
		if (n > 0) {
			data += n;
			len -= n;
		}
	}
}

int stream_pattern(const struct options *opt)
{
	static unsigned char piece[PIECE];
	struct xxh64 hash;

	xxh64_init(&hash);
	for (__u64 done = 0; done < opt->bytes;) {
		size_t len = opt->bytes - done < PIECE ? opt->bytes - done : PIECE;

		payload_fill(opt->seed, 0, done, piece, PIECE);
		xxh64_update(&hash, piece, len);
		write_all(piece, len);
		done += len;
	}
	report(&hash);
	return EXIT_SUCCESS;
}

int stream_sum(const struct options *opt)
{
	static unsigned char piece[PIECE];
	struct xxh64 hash;
	ssize_t n;

	(void)opt;
	xxh64_init(&hash);
	while ((n = read(STDIN_FILENO, piece, sizeof(piece)))) {
		if (n < 0 && errno != EINTR)
			die(EXIT_RUNTIME, "sum: %s", strerror(errno));
		if (n > 0)
			xxh64_update(&hash, piece, n);
	}
	report(&hash);
	return EXIT_SUCCESS;
}
