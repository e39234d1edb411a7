// SPDX-License-Identifier: MIT
#include "output.h"
#include "sampler.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A few seconds of a lab's samples at 10 ms. */
#define ROOM_BYTES (1 << 18)
/* Of a 64-bit number. */
#define DIGITS 20

#define TEN(tens) \
	{ tens, '0' }, { tens, '1' }, { tens, '2' }, { tens, '3' }, { tens, '4' }, \
	{ tens, '5' }, { tens, '6' }, { tens, '7' }, { tens, '8' }, { tens, '9' }

/* The digits of 0 to 99: a division by 100 gives two digits at a time. */
static const char pairs[100][2] = {
	TEN('0'), TEN('1'), TEN('2'), TEN('3'), TEN('4'), TEN('5'), TEN('6'), TEN('7'), TEN('8'), TEN('9'),
};

void output_init(struct output *output, const char *folder, const char *name)
{
	char *data = reallocate(NULL, ROOM_BYTES);

	*output = (struct output){ folder, name, -1, data, data };
}

char *output_begin(struct output *output, unsigned int bytes)
{
	if (output->data + ROOM_BYTES - output->end < bytes)
		output_flush(output);
	return output->end;
}

void output_end(struct output *output, char *end)
{
	output->end = end;
}

static noreturn void die_of_write(void)
{
	const char *reason = strerror(errno);

	die(EXIT_RUNTIME, "the results folder cannot be written: %c%s", tolower(reason[0]), reason + 1);
}

static int create(const struct output *output)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s/%s", output->folder, output->name) < 0)
		die(EXIT_RUNTIME, "out of memory");
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		die_of_write();
	free(path);
	return fd;
}

void output_flush(struct output *output)
{
	const char *at = output->data;

	if (at < output->end && output->fd < 0)
		output->fd = create(output);
	while (at < output->end) {
		ssize_t written = write(output->fd, at, output->end - at);

		if (written < 0)
			die_of_write();
		at += written;
	}
	output->end = output->data;
}

char *put_number(char *at, uint64_t number)
{
	char digits[DIGITS];
	char *first = digits + DIGITS;

	while (number >= 100) {
		first -= 2;
		memcpy(first, pairs[number % 100], 2);
		number /= 100;
	}
	if (number >= 10) {
		first -= 2;
		memcpy(first, pairs[number], 2);
	} else {
		*--first = '0' + number;
	}
	return put_bytes(at, first, digits + DIGITS - first);
}
