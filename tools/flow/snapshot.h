/* SPDX-License-Identifier: MIT */
/* The state of a socket, as the kernel reports it. */
#ifndef FLOW_SNAPSHOT_H
#define FLOW_SNAPSHOT_H

#include "flow.h"

#define SUBFLOWS_MAX 256	/* the kernel counts subflows in 8 bits */

struct field {
	const char *name;
	unsigned short offset;
	unsigned short size;
};

struct snapshot {
	bool fallback;		/* MPTCP was requested, but the connection is TCP */
	const void *mptcp;	/* MPTCP_INFO, NULL if there is none */
	size_t mptcp_len;
	unsigned int subflows;
	const unsigned char *tcp;	/* subflows times tcp_len bytes of TCP_INFO */
	size_t tcp_len;
	const unsigned char *addrs;	/* as tcp, for addresses; NULL = the socket's own */
	size_t addrs_stride;
	const unsigned char *ids;	/* as tcp, for the kernel's subflow numbers; NULL = unknown */
	size_t ids_stride;
};

void snapshot_take(const struct conn *c, struct snapshot *snap);
extern const struct field tcp_fields[];
extern const struct field mptcp_fields[];

#endif
