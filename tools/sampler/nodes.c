// SPDX-License-Identifier: MIT
#include "nodes.h"
#include "sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAMESPACES "/run/netns"
#define MAX_WORDS 6
#define SPACE "\n "

/* Moves this process to the namespace in @path; its sockets then belong there. */
static void enter(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(EXIT_RUNTIME, "the namespace %s cannot be entered: %s", path, strerror(errno));
	close(fd);
}

static void enter_node(const char *name)
{
	char *path;

	if (asprintf(&path, NAMESPACES "/%s", name) < 0)
		die(EXIT_RUNTIME, "out of memory");
	enter(path);
	free(path);
}

static const char *copy(const char *name)
{
	return strcpy(reallocate(NULL, strlen(name) + 1), name);
}

static struct host *host_of(struct nodes *nodes, const char *name)
{
	struct host *host;

	for (unsigned int i = 0; i < nodes->n_hosts; i++)
		if (!strcmp(nodes->hosts[i].name, name))
			return &nodes->hosts[i];
	nodes->hosts = reallocate(nodes->hosts, (nodes->n_hosts + 1) * sizeof(*host));
	host = &nodes->hosts[nodes->n_hosts++];
	*host = (struct host){ .name = copy(name), .diag = sockets_open() };
	return host;
}

static struct queues *queues_of(struct nodes *nodes, const char *name)
{
	struct queues *queues;

	for (unsigned int i = 0; i < nodes->n_queues; i++)
		if (!strcmp(nodes->queues[i].node, name))
			return &nodes->queues[i];
	nodes->queues = reallocate(nodes->queues, (nodes->n_queues + 1) * sizeof(*queues));
	queues = &nodes->queues[nodes->n_queues++];
	*queues = (struct queues){ .node = copy(name) };
	return queues;
}

static void add_sockets(struct nodes *nodes, char **words)
{
	host_of(nodes, words[0])->sampled = true;
	nodes->any_sampled = true;
}

static void add_watch(struct nodes *nodes, char **words)
{
	struct host *host = host_of(nodes, words[0]);

	watch_open(&host->watch);
	host->watched = true;
	nodes->any_watched = true;
}

static void add_queue(struct nodes *nodes, char **words)
{
	char *place;

	if (asprintf(&place, "\"node\": \"%s\", \"device\": \"%s\", \"link\": \"%s\", \"direction\": \"%s\"",
		     words[0], words[1], words[3], words[4]) < 0)
		die(EXIT_RUNTIME, "out of memory");
	queues_add(queues_of(nodes, words[0]), words[1], strtoul(words[2], NULL, 10), place);
	nodes->any_sampled = true;
}

static const struct {
	const char *word;
	int others;
	void (*add)(struct nodes *nodes, char **words);
} statements[] = {
	{ "sockets", 1, add_sockets },
	{ "watch", 1, add_watch },
	{ "queue", 5, add_queue },
};

static void read_line(struct nodes *nodes, char *line)
{
	char *words[MAX_WORDS + 1];
	int count = 0;
	char *rest;

	for (char *word = strtok_r(line, SPACE, &rest); word && count <= MAX_WORDS; word = strtok_r(NULL, SPACE, &rest))
		words[count++] = word;
	for (unsigned int i = 0; i < ARRAY_SIZE(statements); i++) {
		if (!count || strcmp(words[0], statements[i].word) || count != 1 + statements[i].others)
			continue;
		enter_node(words[1]);
		statements[i].add(nodes, words + 1);
		return;
	}
	die(EXIT_USAGE, "a line is not a statement; see sampler --help");
}

void nodes_read(struct nodes *nodes, FILE *file, const char *folder)
{
	int outside = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	char *line = NULL;
	size_t room = 0;

	memory_open(&nodes->memory);
	output_init(&nodes->socket_rows, folder, "sockets.jsonl");
	output_init(&nodes->queue_rows, folder, "queues.jsonl");
	while (getline(&line, &room, file) >= 0)
		read_line(nodes, line);
	free(line);
	if (outside < 0 || setns(outside, CLONE_NEWNET))
		die(EXIT_RUNTIME, "the namespace cannot be entered again: %s", strerror(errno));
	close(outside);
}

static void sample_host(struct nodes *nodes, struct host *host, int64_t time_ns, bool sampled, bool watched)
{
	if (!sampled && !watched)
		return;
	sockets_read(host->diag, &host->rows);
	if (sampled)
		sockets_put(&nodes->socket_rows, &host->rows, host->name, time_ns);
	if (watched)
		watch_note(&host->watch, &host->rows);
}

void nodes_sample(struct nodes *nodes, int64_t time_ns, bool sampled, bool watched)
{
	if (sampled)
		memory_sample(&nodes->memory);
	for (unsigned int i = 0; i < nodes->n_hosts; i++) {
		struct host *host = &nodes->hosts[i];

		sample_host(nodes, host, time_ns, sampled && host->sampled, watched && host->watched);
	}
	for (unsigned int i = 0; sampled && i < nodes->n_queues; i++)
		queues_sample(&nodes->queues[i], &nodes->queue_rows, time_ns);
}

void nodes_finish(struct nodes *nodes, FILE *file)
{
	const char *separator = "";

	output_flush(&nodes->socket_rows);
	output_flush(&nodes->queue_rows);
	if (nodes->memory.peak < 0)
		fputs("{\"tcp_pages_peak\": null, \"watched\": {", file);
	else
		fprintf(file, "{\"tcp_pages_peak\": %ld, \"watched\": {", nodes->memory.peak);
	for (unsigned int i = 0; i < nodes->n_hosts; i++) {
		if (!nodes->hosts[i].watched)
			continue;
		fprintf(file, "%s\"%s\": ", separator, nodes->hosts[i].name);
		watch_print(&nodes->hosts[i].watch, file);
		separator = ", ";
	}
	fputs("}}\n", file);
}
