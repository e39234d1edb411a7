// SPDX-License-Identifier: MIT
#include "memory.h"
#include "sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOCKSTAT "/proc/net/sockstat"
#define MAX_BYTES 4096
#define TCP "TCP: "
#define MEM " mem "

void memory_open(struct memory *memory)
{
	memory->fd = open(SOCKSTAT, O_RDONLY | O_CLOEXEC);
	memory->peak = -1;
	if (memory->fd < 0)
		die(EXIT_RUNTIME, SOCKSTAT " cannot be opened: %s", strerror(errno));
}

long tcp_pages(const char *sockstat)
{
	const char *line = sockstat;
	const char *mem;

	while (strncmp(line, TCP, strlen(TCP))) {
		line = strchr(line, '\n');
		if (!line)
			return -1;
		line++;
	}
	mem = strstr(line, MEM);
	if (!mem || mem > strchrnul(line, '\n'))
		return -1;
	return strtol(mem + strlen(MEM), NULL, 10);
}

void memory_sample(struct memory *memory)
{
	char text[MAX_BYTES];
	ssize_t bytes = pread(memory->fd, text, sizeof(text) - 1, 0);
	long pages;

	if (bytes < 0)
		die(EXIT_RUNTIME, SOCKSTAT " cannot be read: %s", strerror(errno));
	text[bytes] = '\0';
	pages = tcp_pages(text);
	if (pages > memory->peak)
		memory->peak = pages;
}
