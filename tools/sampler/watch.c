// SPDX-License-Identifier: MIT
#include "watch.h"
#include "sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Lab kernels only: one line per connection, with its token in hexadecimal and a name. */
#define SCHEDULERS "/proc/net/mptcp_schedulers"
#define READ_BYTES (1 << 16)

struct names {
	char (*names)[NAME_BYTES];
	unsigned int count;
};

struct seen {
	char local[ENDS_BYTES];
	char remote[ENDS_BYTES];
	struct names congestion;
	struct names scheduler;
};

struct scheduler {
	uint32_t token;
	char name[NAME_BYTES];
};

struct schedulers {
	struct scheduler *all;
	unsigned int count;
};

void watch_open(struct watch *watch)
{
	watch->seen = NULL;
	/* The file belongs to the namespace in which it is opened. */
	watch->schedulers = open(SCHEDULERS, O_RDONLY | O_CLOEXEC);
	if (watch->schedulers < 0 && errno != ENOENT)
		die(EXIT_RUNTIME, SCHEDULERS " cannot be opened: %s", strerror(errno));
}

/* Returns the text of the file, which the caller frees. */
static char *read_all(int fd)
{
	size_t room = READ_BYTES, used = 0;
	char *text = reallocate(NULL, room);
	ssize_t count;

	while ((count = pread(fd, text + used, room - used - 1, used)) > 0) {
		used += count;
		if (room - used - 1 < READ_BYTES / 2) {
			room *= 2;
			text = reallocate(text, room);
		}
	}
	if (count < 0)
		die(EXIT_RUNTIME, SCHEDULERS " cannot be read: %s", strerror(errno));
	text[used] = '\0';
	return text;
}

static int compare_tokens(const void *a, const void *b)
{
	uint32_t first = ((const struct scheduler *)a)->token;
	uint32_t second = ((const struct scheduler *)b)->token;

	return (first > second) - (first < second);
}

static struct schedulers read_schedulers(int fd)
{
	struct schedulers found = { 0 };
	char *text, *line, *rest;

	if (fd < 0)
		return found;
	text = read_all(fd);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct scheduler one;

		if (sscanf(line, "%x %31s", &one.token, one.name) != 2)
			continue;
		found.all = reallocate(found.all, (found.count + 1) * sizeof(one));
		found.all[found.count++] = one;
	}
	free(text);
	if (found.count)
		qsort(found.all, found.count, sizeof(*found.all), compare_tokens);
	return found;
}

static const char *scheduler_of(const struct schedulers *schedulers, const struct row *row)
{
	struct scheduler key = { .token = row->subflow[TOKEN] };
	const struct scheduler *found;

	if (!row->has[TOKEN] || !schedulers->count)
		return "";
	found = bsearch(&key, schedulers->all, schedulers->count, sizeof(key), compare_tokens);
	return found ? found->name : "";
}

static int compare_ends(const void *a, const void *b)
{
	const struct seen *first = a, *second = b;
	int order = strcmp(first->local, second->local);

	return order ? order : strcmp(first->remote, second->remote);
}

static struct seen *seen_of(struct watch *watch, const struct row *row)
{
	struct seen *one = reallocate(NULL, sizeof(*one));
	struct seen **known;

	memset(one, 0, sizeof(*one));
	memcpy(one->local, row->local, sizeof(one->local));
	memcpy(one->remote, row->remote, sizeof(one->remote));
	known = tsearch(one, &watch->seen, compare_ends);
	if (!known)
		die(EXIT_RUNTIME, "out of memory");
	if (*known != one)
		free(one);
	return *known;
}

/* Adds a name, unless it is known. Names stay in the order in which they were seen. */
static void note(struct names *names, const char *name)
{
	if (!*name)
		return;
	for (unsigned int i = 0; i < names->count; i++)
		if (!strcmp(names->names[i], name))
			return;
	names->names = reallocate(names->names, (names->count + 1) * sizeof(*names->names));
	strcpy(names->names[names->count++], name);
}

void watch_note(struct watch *watch, const struct rows *rows)
{
	struct schedulers schedulers = read_schedulers(watch->schedulers);

	for (unsigned int i = 0; i < rows->count; i++) {
		struct seen *seen = seen_of(watch, &rows->rows[i]);

		note(&seen->congestion, rows->rows[i].congestion);
		note(&seen->scheduler, scheduler_of(&schedulers, &rows->rows[i]));
	}
	free(schedulers.all);
}

static void print_names(const struct names *names, const char *key, FILE *file)
{
	/* A control character takes six characters in JSON. */
	char text[6 * NAME_BYTES];

	fprintf(file, "\"%s\": [", key);
	for (unsigned int i = 0; i < names->count; i++) {
		*put_name(text, names->names[i]) = '\0';
		fprintf(file, "%s%s", i ? ", " : "", text);
	}
	fputc(']', file);
}

struct printing {
	FILE *file;
	const char *separator;
};

static void print_one(const void *node, VISIT visit, void *context)
{
	const struct seen *seen = *(const struct seen *const *)node;
	struct printing *printing = context;

	if (visit != postorder && visit != leaf)
		return;
	fprintf(printing->file, "%s{\"local\": \"%s\", \"remote\": \"%s\", ", printing->separator, seen->local,
		seen->remote);
	print_names(&seen->congestion, "congestion", printing->file);
	fputs(", ", printing->file);
	print_names(&seen->scheduler, "scheduler", printing->file);
	fputc('}', printing->file);
	printing->separator = ", ";
}

void watch_print(const struct watch *watch, FILE *file)
{
	struct printing printing = { file, "" };

	fputc('[', file);
	twalk_r(watch->seen, print_one, &printing);
	fputc(']', file);
}
