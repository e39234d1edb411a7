/* SPDX-License-Identifier: MIT */
/* A connection, from its creation to its last event. */
#ifndef FLOW_CONN_H
#define FLOW_CONN_H

#include "mode.h"
#include "net.h"
#include "payload.h"
#include "wire.h"

enum conn_state {
	CONN_CONNECTING,	/* client: waiting for the handshake */
	CONN_HEADER,		/* server: waiting for the client's header */
	CONN_SENDING,		/* payload in one direction, see oneway.h */
	CONN_DRAINING,		/* sender: all is written, waiting for the receiver to close */
	CONN_RECEIVING,
	CONN_TALKING,		/* payload in both directions */
	CONN_DONE,		/* to be freed by the loop */
};

struct conn {
	struct conn *next;
	struct flow *flow;
	enum conn_state state;
	int fd;
	__u64 number;
	bool started;		/* the start event is written */
	bool sender;
	bool checksum;
	bool mptcp;		/* type of the socket, not of the request */
	bool udp;
	struct wire wire;
	void *own;		/* the mode's private data; NULL before begin() */
	unsigned char header[WIRE_MOST];
	size_t header_len;
	int error;		/* errno of the failure; 0 = none */
	char local[ADDRESS_TEXT];
	char remote[ADDRESS_TEXT];
	/* Instants of CLOCK_MONOTONIC, in ns; 0 = none. */
	__u64 connect_at;	/* connect() was called */
	__u64 greet_at;		/* the header is retransmitted, on UDP */
	__u64 start_at;		/* connected, or accepted */
	__u64 sample_at;	/* next periodic sample */
	__u64 read_at;		/* a receiver with a quantum reads next */
	__u64 alarm_at;		/* conn_alarm() is called next */
	struct conn *next_due;	/* list of connections whose alarms are due now */
	size_t alarm_place;	/* in the heap of alarms; 0 = not in it */
	__u64 first_at;		/* first payload read, or sending began */
	__u64 last_at;		/* last payload read, or writing was shut down */
	__u64 pause_ns;		/* a receiver's longest time without data since the last sample */
	__u64 pause_at;		/* when the current pause began */
	__u64 bytes;		/* payload bytes so far */
	__u64 reported;		/* bytes that interval events have reported so far */
	struct xxh64 hash;
};

void conn_connect(struct flow *flow, __u64 number);
void conn_connect_all(struct flow *flow);
void conn_accept(struct flow *flow);
void conn_event(struct conn *c, __u32 events);
void conn_alarm(struct conn *c);
void conn_set_alarm(struct conn *c);	/* after any change of its instant */
void conn_fail(struct conn *c, int error);
void conn_closed(struct conn *c);
void conn_finish(struct conn *c, const char *error);

#endif
