/* SPDX-License-Identifier: MIT */
/* Rows of JSON, gathered in memory and appended to a file in large pieces. */
#ifndef SAMPLER_OUTPUT_H
#define SAMPLER_OUTPUT_H

#include <stdint.h>
#include <string.h>

struct output {
	const char *folder;
	const char *name;	/* The file is created with its first row. */
	int fd;
	char *data;
	char *end;		/* of the rows in @data */
};

void output_init(struct output *output, const char *folder, const char *name);

/* Returns where a row of up to @bytes can be put; pass its end to output_end(). */
char *output_begin(struct output *output, unsigned int bytes);
void output_end(struct output *output, char *end);

/* Writes the rows in memory to the file. */
void output_flush(struct output *output);

/* Each puts something at @at, and returns its end. */
char *put_number(char *at, uint64_t number);

static inline char *put_bytes(char *at, const char *text, size_t bytes)
{
	return (char *)memcpy(at, text, bytes) + bytes;
}

static inline char *put_text(char *at, const char *text)
{
	return put_bytes(at, text, strlen(text));
}

#endif
