/* SPDX-License-Identifier: MIT */
/*
 * flow: one process moves payload over TCP or MPTCP connections and says what the sockets saw.
 *
 * One epoll loop serves all connections. A connection starts with a small header in which the
 * client tells the server what it wants; then payload goes one way, the sender shuts down
 * writing, and the receiver closes once it has everything.
 *
 * The program has to run well in a lab kernel whose clock stands still while anything computes:
 * it always sleeps in epoll, and it makes few, large system calls, because there the switch
 * between user and kernel is what costs (real) time.
 */
#ifndef FLOW_H
#define FLOW_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdnoreturn.h>
#include <sys/socket.h>

#define EXIT_RUNTIME 1
#define EXIT_USAGE 2

#define NS_PER_S 1000000000ULL
#define NS_PER_MS 1000000ULL
#define NS_PER_US 1000ULL

#define ARRAY_SIZE(array) (sizeof(array) / sizeof(*(array)))

#define UNLIMITED (~0ULL)	/* no byte target: the sender stops by time */
#define ADDRESS_TEXT 80		/* "[ipv6%scope]:port" */

/* ---- options.c, help.c ------------------------------------------------------------------ */

enum command { COMMAND_SERVER, COMMAND_CLIENT, COMMAND_PATTERN, COMMAND_SUM, COMMAND_WITH };

struct options {
	enum command command;
	bool server;
	bool mptcp;
	bool download;
	bool checksum;
	const char *connect;
	const char *bind;
	const char *congestion;
	const char *scheduler;
	const char *file;
	const char *output;
	char **program;		/* of COMMAND_WITH, with its arguments */
	__u64 port;
	__u64 connections;	/* server: 0 = serve until a signal */
	__u64 bytes;		/* UNLIMITED = not given */
	__u64 duration_ns;	/* 0 = not given */
	__u64 interval_ns;	/* 0 = final samples only */
	__u64 quantum_ns;	/* 0 = read as data comes */
	__u64 connect_timeout_ns;
	__u64 rcvbuf;		/* 0 = the kernel tunes it */
	__u64 sndbuf;		/* 0 = the kernel tunes it */
	__u64 seed;
};

void options_parse(struct options *opt, int argc, char **argv);
extern const char help_text[];

/* ---- wire.c: the header that opens every connection -------------------------------------- */

#define WIRE_SIZE 40

struct wire {
	bool download;
	bool checksum;
	__u32 number;		/* the client's number of this connection */
	__u64 bytes;		/* UNLIMITED = by time */
	__u64 duration_ns;	/* 0 = by bytes */
	__u64 seed;
};

void wire_encode(const struct wire *wire, unsigned char out[WIRE_SIZE]);
bool wire_decode(struct wire *wire, const unsigned char in[WIRE_SIZE]);

/* ---- payload.c: what is sent, and its checksum ------------------------------------------- */

struct xxh64 {
	__u64 lane[4];
	__u64 total;
	unsigned char held[32];	/* bytes that do not fill a stripe yet */
};

void xxh64_init(struct xxh64 *h);
void xxh64_update(struct xxh64 *h, const void *data, size_t len);
__u64 xxh64_digest(const struct xxh64 *h);
void payload_fill(__u64 seed, __u64 stream, __u64 offset, void *buf, size_t len);

/* with.c */
noreturn void with_run(const struct options *opt);

/* stream.c */
int stream_pattern(const struct options *opt);
int stream_sum(void);

/* ---- connections ------------------------------------------------------------------------- */

struct flow {
	struct options opt;
	FILE *out;
	int epoll;
	int timer;
	int signals;
	int listener;		/* -1 at the client */
	int file;		/* -1 without --file */
	__u64 accepted;
	__u64 finished;
	bool failed;
	struct conn *conns;
	__u64 now_ns;		/* the clock as read since the last wakeup; 0 = not read yet */
	__u64 timer_ns;		/* what the timer is set to; 0 = off */
};

enum conn_state {
	CONN_CONNECTING,	/* client: waiting for the handshake */
	CONN_HEADER,		/* server: waiting for the client's header */
	CONN_SENDING,
	CONN_DRAINING,		/* sender: all is written, waiting for the receiver to close */
	CONN_RECEIVING,
	CONN_DONE,		/* to be freed by the loop */
};

struct conn {
	struct conn *next;
	struct flow *flow;
	enum conn_state state;
	int fd;
	__u64 number;
	bool started;		/* the start event is out */
	bool sender;
	bool checksum;
	bool mptcp;		/* what the socket is, not what was asked for */
	struct wire wire;
	unsigned char header[WIRE_SIZE];
	size_t header_len;
	char local[ADDRESS_TEXT];
	char remote[ADDRESS_TEXT];
	/* Instants of CLOCK_MONOTONIC, in ns; 0 = none. */
	__u64 connect_at;	/* connect() was called */
	__u64 start_at;		/* connected, or accepted */
	__u64 stop_at;		/* a sender by time stops */
	__u64 sample_at;	/* next periodic sample */
	__u64 read_at;		/* a receiver with a quantum reads next */
	__u64 first_at;		/* first payload read, or sending began */
	__u64 last_at;		/* last payload read, or writing was shut down */
	__u64 bytes;		/* payload bytes so far */
	__u64 reported;		/* of these, in interval events so far */
	struct xxh64 hash;
	unsigned char *chunk;	/* sender of a stream that is not constant */
	size_t chunk_len;
	size_t chunk_sent;
};

/* main.c */
noreturn void die(int status, const char *format, ...) __attribute__
	((format(printf, 2, 3)));

/* loop.c */
__u64 loop_now(struct flow *flow);
void loop_add(struct flow *flow, int fd, __u32 events, void *who);
void loop_watch(struct conn *c, __u32 events);
void loop_run(struct flow *flow);

/* conn.c */
void conn_connect(struct flow *flow, __u64 number);
void conn_accept(struct flow *flow);
void conn_event(struct conn *c, __u32 events);
void conn_alarm(struct conn *c);
__u64 conn_alarm_at(const struct conn *c);
void conn_fail(struct conn *c, int error);
void conn_finish(struct conn *c, const char *error);

/* transfer.c */
void transfer_begin(struct conn *c);
void transfer_send(struct conn *c, __u32 events);
void transfer_stop(struct conn *c);
void transfer_drain(struct conn *c);
void transfer_receive(struct conn *c);

/* net.c */
void net_check(const struct options *opt);
int net_listen(const struct options *opt);
int net_connect(const struct options *opt);
void net_accepted(const struct options *opt, int fd);
bool net_is_mptcp(int fd);
void net_congestion(int fd, char *name, socklen_t len);
void net_scheduler(int fd, char *name, socklen_t len);
void net_format(const struct sockaddr_storage *ss, char out[ADDRESS_TEXT]);

/* report.c */
void report_start(const struct conn *c);
void report_sample(struct conn *c, bool final);
void report_end(const struct conn *c, const char *error);

/* ---- snapshot.c: what the kernel says about a socket -------------------------------------- */

#define SUBFLOWS_MAX 256	/* the kernel counts subflows in 8 bits */

struct field {
	const char *name;
	unsigned short offset;
	unsigned short size;
};

struct snapshot {
	bool fallback;		/* asked for MPTCP, got TCP */
	const void *mptcp;	/* MPTCP_INFO, NULL if there is none */
	size_t mptcp_len;
	unsigned int subflows;
	const unsigned char *tcp;	/* subflows times tcp_len bytes of TCP_INFO */
	size_t tcp_len;
	const unsigned char *addrs;	/* the same for addresses; NULL = the socket's own */
	size_t addrs_stride;
	const unsigned char *ids;	/* the same for kernel's subflow numbers; NULL = unknown */
	size_t ids_stride;
};

void snapshot_take(const struct conn *c, struct snapshot *snap);
extern const struct field tcp_fields[];
extern const struct field mptcp_fields[];

#endif
