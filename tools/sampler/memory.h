/* SPDX-License-Identifier: MIT */
/* The memory of all TCP sockets of the machine, in pages. Netlink does not report it. */
#ifndef SAMPLER_MEMORY_H
#define SAMPLER_MEMORY_H

struct memory {
	int fd;
	long peak;		/* -1: not known */
};

void memory_open(struct memory *memory);

/* Updates the peak with the memory in use now. */
void memory_sample(struct memory *memory);

/* Returns `mem` of the line `TCP:` of /proc/net/sockstat; -1 without one. */
long tcp_pages(const char *sockstat);

#endif
