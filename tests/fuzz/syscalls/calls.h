/* SPDX-License-Identifier: MIT */
#ifndef CALLS_H
#define CALLS_H

#include <netinet/in.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include <time.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof(*(array)))
#define PAGE 4096UL
#define WORKERS 4
#define LIFE_CALLS 400
#define LIFE_SECONDS 2
#define ARENAS 6
#define ARENA_PAGES 16
#define MAX_DEPTH 2
#define FOLDER "/tmp/fuzz"

/* What is recorded beside system calls */
enum { TRACE_END = -1, TRACE_SIGNAL = -2, TRACE_FAULT = -3, TRACE_CODE = -4, TRACE_CHILD = -5 };

struct record {
	uint64_t order;
	int32_t pid, number;
	int64_t result;
	uint64_t memory;
};

struct trace {
	uint64_t used, size;
	struct record records[];
};

struct life {
	uint64_t random;
	int depth;
	bool guarded;
	sigjmp_buf environment;
	char *arenas[ARENAS];
	struct timespec times[2];
	struct iovec vectors[3];
	struct sockaddr_in address;
	uint64_t signals;
	long sum;
};

extern struct trace *trace;
extern int worker;
extern const char *self;
/* Each thread has a life. */
extern __thread struct life *me;

/* trace.c */
uint64_t hash(uint64_t digest, const void *data, size_t size);
void note(int number, long result, uint64_t memory);
void map_trace(void);
void report(bool whole);

/* arguments.c */
uint64_t next(void);
uint64_t below(uint64_t bound);
/* Addresses outside the memory of this program, unless it maps something there */
uintptr_t outside(void);
uintptr_t anywhere(void);
int harmless_signal(void);
/* Return an argument of the kind that @letter stands for. */
long argument(char letter);

struct call {
	short number;
	const char *arguments;
};

const struct call *any_call(void);

/* life.c: make @count steps; return six bits that depend on all numbers drawn. */
int live(uint64_t seed, int count, int depth);

#endif
