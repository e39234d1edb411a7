/* SPDX-License-Identifier: MIT */
/*
 * sampler: one process reads the sockets and queues of all nodes of a lab at fixed instants.
 *
 * Nodes are network namespaces. For each of them the sampler has a netlink socket. A sample is
 * one request and one receive call for the sockets of a node (sockets.c), and the same for its
 * queues (queues.c). Each becomes a row of JSON (row.c), which is collected in memory (output.c).
 * At longer intervals the algorithms of the sockets are noted (watch.c).
 *
 * In a lab kernel the switches between program and kernel cost (real) time, and reading the
 * clock costs virtual time. So system calls are few and large, and no instant is read from a
 * clock: the sampler sleeps until an instant, which is the time of the sample.
 */
#ifndef SAMPLER_H
#define SAMPLER_H

#include <stdnoreturn.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define EXIT_RUNTIME 1
#define EXIT_USAGE 2

/* Prints a sentence to standard error, and exits. */
noreturn void die(int status, const char *format, ...) __attribute__
	((format(printf, 2, 3)));

/* realloc() that exits on failure. */
void *reallocate(void *memory, unsigned long bytes);

#endif
