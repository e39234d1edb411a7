// SPDX-License-Identifier: MIT
/* The parts of tools/sampler, so that Python can call them. */
#include "instants.h"
#include "memory.h"
#include "queues.h"
#include "watch.h"

#include <stdio.h>
#include <stdlib.h>

/* Samples sockets through @fd @count times, at 0, 1, ... ns. */
void test_sockets(int fd, const char *folder, const char *node, int count)
{
	struct rows rows = { 0 };
	struct output output;

	output_init(&output, folder, "sockets.jsonl");
	for (int i = 0; i < count; i++) {
		sockets_read(fd, &rows);
		sockets_put(&output, &rows, node, i);
	}
	output_flush(&output);
	free(output.data);
	free(rows.rows);
}

/* Samples @count queues through @fd at @time_ns; they have the interfaces and handles 1, 2, ... */
void test_queues(int fd, const char *folder, char **places, int count, int64_t time_ns)
{
	struct queue *queues = calloc(count, sizeof(*queues));
	struct queues all = { "node", fd, queues, count };
	struct output output;

	for (int i = 0; i < count; i++)
		queues[i] = (struct queue){ i + 1, i + 1, places[i] };
	output_init(&output, folder, "queues.jsonl");
	queues_sample(&all, &output, time_ns);
	output_flush(&output);
	free(output.data);
	free(queues);
}

/* Notes the algorithms of the sockets behind @fd @count times, each with the next of the files @schedulers. */
void test_watch(int fd, const int *schedulers, int count, const char *path)
{
	FILE *file = fopen(path, "we");
	struct watch watch = { 0 };
	struct rows rows = { 0 };

	for (int i = 0; i < count; i++) {
		watch.schedulers = schedulers[i];
		sockets_read(fd, &rows);
		watch_note(&watch, &rows);
	}
	watch_print(&watch, file);
	fclose(file);
	free(rows.rows);
}

/* Writes the first @count instants to @found. */
void test_instants(int64_t interval_ns, int64_t *found, int count)
{
	struct instants instants;

	instants_init(&instants, interval_ns);
	for (int i = 0; i < count; i++) {
		found[i] = instants.next_ns;
		instants_due(&instants, instants.next_ns);
	}
}

int test_due(int64_t interval_ns, int64_t now_ns)
{
	struct instants instants;

	instants_init(&instants, interval_ns);
	return instants_due(&instants, now_ns);
}

/* Puts @number into @text, with a zero byte. */
void test_number(char *text, uint64_t number)
{
	*put_number(text, number) = '\0';
}

long test_tcp_pages(const char *sockstat)
{
	return tcp_pages(sockstat);
}
