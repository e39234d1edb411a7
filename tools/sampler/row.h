/* SPDX-License-Identifier: MIT */
/* One socket as the kernel's socket diagnosis reports it, and its row of JSON. */
#ifndef SAMPLER_ROW_H
#define SAMPLER_ROW_H

#include "netlink.h"

#include <linux/tcp.h>
#include <stdbool.h>
#include <stdint.h>

/* "[", an IPv6 address, "]:", a port, and the zero byte. */
#define ENDS_BYTES 56
/* More than the maximum length of an algorithm's name (TCP_CA_NAME_MAX, MPTCP_SCHED_NAME_MAX). */
#define NAME_BYTES 32
/* More than the maximum length of a row without the node's name. */
#define ROW_BYTES 2048

/* The attributes of a subflow that are recorded. */
enum subflow_field {
	TOKEN,
	FLAGS,
	ID_REMOTE,
	ID_LOCAL,
	SUBFLOW_FIELDS
};

struct row {
	char local[ENDS_BYTES];
	char remote[ENDS_BYTES];
	unsigned int number;			/* in the order of the kernel's answers */
	uint8_t family;
	uint8_t state;
	bool mptcp;
	char congestion[NAME_BYTES];		/* empty: not reported */
	bool has[SUBFLOW_FIELDS];
	uint64_t subflow[SUBFLOW_FIELDS];
	size_t info_bytes;			/* part of @info that the kernel has filled in */
	struct tcp_info info;
};

/* Reads a message of struct inet_diag_msg. Returns false if it is too short. */
bool row_read(struct row *row, const struct nlmsghdr *message);

/* Puts the row of @node at @at as a line of JSON, and returns its end. */
char *row_put(char *at, const struct row *row, const char *node, int64_t time_ns);

/* Compares rows by their ends; ties are broken by family and number. */
int row_compare(const void *a, const void *b);

/* Puts a name from the kernel as a JSON string. */
char *put_name(char *at, const char *name);

#endif
