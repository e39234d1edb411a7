// SPDX-License-Identifier: MIT
/* What was called, and with which result: a file per worker, which all of its processes share. */
#include "calls.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct trace *trace;
/* The number of records of all workers */
static uint64_t *order;

uint64_t hash(uint64_t digest, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < size; i++)
		digest = (digest ^ bytes[i]) * 0x100000001b3ULL;
	return digest;
}

void note(int number, long result, uint64_t memory)
{
	uint64_t i = __atomic_fetch_add(&trace->used, 1, __ATOMIC_RELAXED);

	if (i < trace->size)
		trace->records[i] = (struct record){ __atomic_fetch_add(order, 1, __ATOMIC_RELAXED),
						syscall(SYS_gettid), number, result, memory };
}

static void *map_file(const char *file)
{
	char name[64];
	struct stat about;
	void *result;
	int fd;

	snprintf(name, sizeof(name), FOLDER "/%s", file);
	fd = open(name, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &about))
		_exit(90);
	result = mmap(NULL, about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (result == MAP_FAILED)
		_exit(91);
	close(fd);
	return result;
}

void map_trace(void)
{
	char name[32];

	snprintf(name, sizeof(name), "trace-%d", worker);
	trace = map_file(name);
	if (!order)
		order = map_file("order");
}

void report(bool whole)
{
	for (worker = 0; worker < WORKERS; worker++) {
		uint64_t ends = 0, killed = 0, count;

		map_trace();
		count = trace->used < trace->size ? trace->used : trace->size;
		for (uint64_t i = 0; i < count; i++) {
			const struct record *r = &trace->records[i];

			ends += r->number == TRACE_END;
			killed += r->number == TRACE_END && r->result;
			if (whole)
				printf("%08llu %d %d %d %lld %016llx\n", (unsigned long long)r->order, worker, r->pid,
				       r->number, (long long)r->result, (unsigned long long)r->memory);
		}
		printf("worker %d: %llu records, %llu lives, %llu of them cut short, digest %016llx\n", worker,
		       (unsigned long long)count, (unsigned long long)ends, (unsigned long long)killed,
		       (unsigned long long)hash(3, trace->records, count * sizeof(struct record)));
	}
}
