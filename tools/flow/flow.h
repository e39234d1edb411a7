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

enum sizes { SIZES_FIXED, SIZES_EXPONENTIAL, SIZES_PARETO, SIZES_LOGNORMAL };

struct options {
	enum command command;
	bool server;
	bool mptcp;
	bool udp;
	bool download;
	bool checksum;
	const char *connect;
	const char *bind;
	const char *congestion;
	const char *scheduler;
	const char *file;
	const char *output;
	bool any_address;	/* of COMMAND_WITH */
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
	/* A client that sends messages at their times (pace.c). */
	__u64 message;		/* bytes of each; 0 = no messages */
	__u64 gap_ns;
	__u64 on_ns;		/* 0 = always on */
	__u64 off_ns;
	bool exponential;	/* times are random with these means: on, off, thinking, arrivals */
	bool log;		/* a receiver tells every message */
	/* A client that asks and is answered (ask.c). */
	bool ask;
	__u64 requests;		/* of each connection; 0 = until the time is over */
	__u64 request_bytes;
	__u64 response_bytes;	/* the mean, if sizes are random */
	__u64 largest;		/* responses are cut to this; 0 = as drawn */
	__u64 shape_milli;	/* of Pareto and lognormal, in thousandths */
	enum sizes sizes;
	__u64 think_ns;
	__u64 arrival_ns;	/* a new connection that often, with one request each; 0 = all at once */
};

void options_parse(struct options *opt, int argc, char **argv);
extern const char help_text[];

/* ---- wire.c: the header that opens every connection -------------------------------------- */

#define WIRE_SIZE 40
#define WIRE_PACE_SIZE 32	/* more, for messages */
#define WIRE_MOST (WIRE_SIZE + WIRE_PACE_SIZE)

struct wire {
	bool download;
	bool checksum;
	bool paced;
	bool ask;
	bool exponential;
	bool log;
	__u32 number;		/* the client's number of this connection */
	__u64 bytes;		/* UNLIMITED = by time */
	__u64 duration_ns;	/* 0 = by bytes */
	__u64 seed;
	/* Only with paced. */
	__u64 message;
	__u64 gap_ns;
	__u64 on_ns;
	__u64 off_ns;
};

size_t wire_encode(const struct wire *wire, unsigned char out[WIRE_MOST]);
bool wire_decode(struct wire *wire, const unsigned char *in, size_t len, size_t *wanted);
void wire_put64(unsigned char *out, __u64 value);
__u64 wire_get64(const unsigned char *in);

/* ---- random.c: times and sizes that depend on the seed only ------------------------------ */

struct random {
	__u64 state;
};

void random_init(struct random *random, __u64 seed, __u64 stream);
__u64 random_time(struct random *random, __u64 mean_ns, bool exponential);
__u64 random_size(struct random *random, const struct options *opt);

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
	struct random random;	/* of arrivals and sizes */
	__u64 arrival_at;	/* the next connection is made; 0 = none */
	__u64 arrivals_end;
	__u64 arrived;
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
	CONN_ASKING,		/* client of ask.c */
	CONN_ANSWERING,		/* server of ask.c */
	CONN_DONE,		/* to be freed by the loop */
};

#define PACKETS_MAX 250		/* messages in one event */
#define MESSAGE_HEAD 16		/* number and time of a message */

/* Messages at their times: sequence number and intended instant stand in front of each. */
struct pace {
	__u64 next_at;		/* intended instant of the next message */
	__u64 on_end;		/* the source falls silent */
	__u64 end_at;		/* no message from here on */
	__u64 count;		/* messages sent in full, or received */
	size_t done;		/* bytes of the current one that are sent */
	bool blocked;		/* the kernel takes no more for now */
	struct random random;
	unsigned char *message;
	unsigned char head[MESSAGE_HEAD];
	__u64 logged;		/* messages in the arrays below */
	__u64 seq[PACKETS_MAX];
	__u64 sent_at[PACKETS_MAX];
	__s64 delay[PACKETS_MAX];
	/* Of all messages. */
	__u64 delay_sum;
	__u64 delay_max;
};

/* Requests and responses: how much of the current ones is still to come. */
struct ask {
	struct random random;
	__u64 left_out;		/* bytes to send */
	__u64 left_in;		/* bytes to receive */
	__u64 request;
	__u64 response;
	__u64 asked_at;		/* the current request began; 0 = thinking */
	__u64 first_at;		/* the first byte of its response */
	__u64 next_at;		/* the next request begins; 0 = now is not the time */
	__u64 stop_at;
	__u64 count;
	size_t head_len;
	unsigned char head[MESSAGE_HEAD];
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
	bool udp;
	struct wire wire;
	struct pace *pace;
	struct ask *ask;
	unsigned char header[WIRE_MOST];
	size_t header_len;
	char local[ADDRESS_TEXT];
	char remote[ADDRESS_TEXT];
	/* Instants of CLOCK_MONOTONIC, in ns; 0 = none. */
	__u64 connect_at;	/* connect() was called */
	__u64 greet_at;		/* the header is sent again, on UDP */
	__u64 start_at;		/* connected, or accepted */
	__u64 stop_at;		/* a sender by time stops */
	__u64 sample_at;	/* next periodic sample */
	__u64 read_at;		/* a receiver with a quantum reads next */
	__u64 first_at;		/* first payload read, or sending began */
	__u64 last_at;		/* last payload read, or writing was shut down */
	__u64 pause_ns;		/* a receiver's longest time without data since the last sample */
	__u64 pause_at;		/* when that began */
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

/* pace.c */
void pace_begin(struct conn *c);
void pace_send(struct conn *c);
void pace_received(struct conn *c, const unsigned char *data, size_t len);
__u64 pace_alarm_at(const struct conn *c);

/* ask.c */
void ask_begin(struct conn *c);
void ask_event(struct conn *c);
void ask_alarm(struct conn *c);
__u64 ask_alarm_at(const struct conn *c);
void ask_arrivals(struct flow *flow);

/* Who sent a datagram, and to which address of ours. */
struct net_datagram {
	struct sockaddr_storage peer;
	struct sockaddr_storage local;
	socklen_t len;
};

/* net.c */
void net_check(const struct options *opt);
int net_listen(const struct options *opt);
int net_connect(const struct options *opt);
void net_accepted(const struct options *opt, int fd);
ssize_t net_receive(int fd, void *buf, size_t len, struct net_datagram *from);
int net_answer(const struct options *opt, const struct net_datagram *from);
void net_at_once(int fd);
bool net_is_mptcp(int fd);
void net_congestion(int fd, char *name, socklen_t len);
void net_scheduler(int fd, char *name, socklen_t len);
void net_format(const struct sockaddr_storage *ss, char out[ADDRESS_TEXT]);

/* report.c */
void report_start(const struct conn *c);
void report_sample(struct conn *c, bool final);
void report_end(const struct conn *c, const char *error);
void report_packets(struct conn *c);
void report_request(const struct conn *c, __u64 now);

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
