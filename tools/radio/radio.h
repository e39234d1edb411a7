/* SPDX-License-Identifier: MIT */
/*
 * The medium of simulated radios. It gets each frame that mac80211_hwsim sends. It
 * decides when the radio gets the channel (dcf.c), which frames it exchanges there
 * (exchange.c), also in aggregates (aggregate.c), which radios hear them (air.c) and
 * with which errors (reception.c). It reports received frames, and the result of
 * each sent frame, to the kernel (hwsim.c).
 */
#ifndef RADIO_RADIO_H
#define RADIO_RADIO_H

#include "blockack.h"
#include "config.h"
#include "events.h"
#include "netlink.h"
#include "random.h"
#include "stats.h"
#include "timing.h"

#include <stdio.h>
#include <stdnoreturn.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define EXIT_RUNTIME 1
#define EXIT_USAGE 2

/* Hardware queues of a radio: the access categories VO, VI, BE and BK. */
#define QUEUES 4
#define TX_RATES 4

/* A rate with its number of attempts, as mac80211 specifies it. */
struct tx_rate {
	int8_t index;
	uint8_t count;
	uint16_t flags;
};

/* The sender's block ack session, as the kernel reports it; @window is 0 for a frame without a session. */
struct session {
	uint16_t id;
	uint8_t tid;
	uint8_t window;			/* frames from the first missing frame to the last that may be sent */
	uint8_t factor;			/* an aggregate has fewer than 2^(13 + factor) bytes */
	uint8_t density;		/* frames begin 2^(density - 3) us apart, if it is not 0 */
	uint8_t probe;			/* the frame probes a rate */
};

struct frame {
	struct frame *next;
	uint64_t cookie;
	uint32_t hwsim_flags;
	int mhz;
	int queue;
	struct session session;
	struct tx_rate rates[TX_RATES];
	int attempts;			/* so far */
	int earlier;			/* attempts in aggregates, before it is sent alone */
	bool alone;			/* it is sent alone until it is acknowledged or given up */
	int length;			/* without FCS */
	uint8_t data[];
};

/* The result of a frame's transmission. */
struct outcome {
	const struct tx_rate *rates;	/* the table, and the attempts along it */
	int attempts;
	bool acked;
	bool moves_window;		/* the receiver has to be told that the frame was given up */
	double signal_dbm;		/* of the response */
	int frames;			/* in its aggregate; 0: another frame reports the aggregate */
	int frames_acked;
};

/* Frames of one session that are sent together until there is a response, along one table of rates. */
#define AGGREGATE_FRAMES BLOCK_ACK_WINDOW
struct aggregate {
	int count;			/* 0: none */
	int attempts;
	int bytes;
	struct tx_rate rates[TX_RATES];
	struct part {
		struct frame *frame;
		int start;		/* offsets in bytes: of its delimiter, and of its end */
		int end;
	} parts[AGGREGATE_FRAMES];
};

enum kind {
	DATA,				/* or management, or a request for a block ack */
	ACK,
	CTS,
	RTS,
	AGGREGATE,
	BLOCK_ACK,
	KINDS
};

/* A frame in the air. After its end it is kept while a frame that it may have disturbed is in progress. */
struct transmission {
	struct event end;
	struct transmission *next;
	enum kind kind;
	struct radio *from;
	struct radio *to;		/* NULL: a group, or an address that no radio has */
	struct frame *frame;		/* of DATA, or the first of AGGREGATE; valid until its end */
	const struct aggregate *aggregate;
	struct scoreboard board;	/* of BLOCK_ACK */
	const struct rate *rate;
	bool short_preamble;
	bool ended;
	bool collided;			/* at its receiver */
	int bytes;			/* with FCS */
	int mhz;
	int64_t start_ns;
	int64_t header_ns;		/* when preamble and header are over */
	int64_t end_ns;
	int64_t reserved_ns;		/* time for which it reserves the channel after its end */
	struct heard {
		double mw;
		bool sensed;
	} at[];				/* by radio */
};

/* Channel access of one queue of a radio (10.3.4, 10.22.2). */
struct contender {
	struct event expiry;
	struct radio *radio;
	int queue;
	int aifs;			/* slots after a SIFS */
	int cw_min;
	int cw_max;
	int64_t txop_ns;		/* limit of one access, 0: one exchange of any length */
	int cw;
	int backoff;			/* slots to go from count_from_ns on */
	bool counting;
	int64_t count_from_ns;
	struct frame *head;
	struct frame **tail;
	int length;
	struct aggregate aggregate;
};

/* The exchange of a frame, from its first access to the channel to the next frame's. */
struct exchange {
	struct event step;		/* the next frame, or the timeout of the response */
	struct contender *contender;	/* NULL: none */
	const struct rate *rate;
	bool short_preamble;
	enum kind sent;			/* the last frame */
	bool waiting;			/* for the response to it */
	bool collided;
};

/* The response to a frame that was received. */
struct response {
	struct event start;
	enum kind kind;
	struct radio *to;
	const struct rate *rate;
	bool short_preamble;
	int64_t reserved_ns;
	struct scoreboard board;
};

/* The frames that a radio has received in a session of another radio. */
struct reordering {
	struct radio *from;
	struct session session;
	struct scoreboard board;
};

struct radio {
	struct medium *medium;
	int number;
	const struct radio_config *config;
	double noise_mw;
	double sensitivity_mw;
	double carrier_sense_mw;
	double energy_detect_mw;
	int mhz;			/* of its channel; 0: idle */
	int64_t slot_ns;

	int sensed;			/* transmissions that it senses */
	struct transmission *sending;
	struct transmission *receiving;
	int64_t idle_since_ns;
	int64_t nav_until_ns;
	int64_t eifs_extra_ns;		/* above an AIFS, after a frame with errors (10.3.2.3.7) */

	struct contender contenders[QUEUES];
	struct exchange exchange;
	struct response response;
	struct reordering *reorderings;
	int n_reorderings;
	struct random backoff_draws;
	struct random reception_draws;
	struct radio_stats stats;
};

struct address {
	uint8_t mac[ETH_ALEN];
	struct radio *radio;
};

struct medium {
	struct config config;
	struct event_queue events;
	int64_t started_ns;
	int64_t moving_since_ns;	/* origin of the times of waypoints */
	int64_t now_ns;			/* time of the current event; CLOCK_MONOTONIC */
	struct radio *radios;
	int n_radios;
	struct address *addresses;
	int n_addresses;
	struct transmission *air;
	double *extra_loss_db;		/* shadowing of each pair of radios */
	double capture_ratio;
	struct netlink netlink;
	FILE *log;
};

/* main.c */
/* CLOCK_MONOTONIC. */
int64_t clock_ns(void);

/* Let sleeps of this process end exactly at the requested nanosecond. */
void be_exact(void);

/* `radio watch` with its arguments. */
int watch_main(int argc, char **argv);

noreturn void die(int status, const char *format, ...) __attribute__
	((format(printf, 2, 3)));
void *allocate(size_t bytes);

/* medium.c: radios, and their addresses. */
void medium_init(struct medium *medium);
struct radio *medium_owner(const struct medium *medium, const uint8_t *mac);
void medium_add_address(struct medium *medium, const uint8_t *mac, struct radio *radio);
void medium_delete_address(struct medium *medium, const uint8_t *mac);

/* air.c: transmissions, and the radios that sense them. */
struct transmission *air_new(struct radio *from, enum kind kind, struct radio *to, const struct rate *rate,
			     bool short_preamble, int bytes);
void air_start(struct transmission *transmission);
void air_tune(struct radio *radio, int mhz);

/* reception.c: whether a radio decodes a transmission. */
void reception_begin(struct radio *radio, struct transmission *transmission);
/* *@parts gets a bit for each decoded frame of an aggregate; if @all is false, only up to the first. */
bool reception_succeeds(struct radio *radio, const struct transmission *transmission, bool all, uint64_t *parts);

/* dcf.c: when a queue gets the channel. */
void dcf_init(struct radio *radio);
bool dcf_add(struct contender *contender, struct frame *frame);
struct frame *dcf_take(struct contender *contender);
void dcf_append(struct contender *contender, struct frame *frame);
void dcf_pause(struct radio *radio);
void dcf_resume(struct radio *radio);
void dcf_flush(struct radio *radio);
void dcf_done(struct contender *contender);
void dcf_failed(struct contender *contender);

/* exchange.c: the frames of one access to the channel. */
void exchange_init(struct radio *radio);
void exchange_start(struct contender *contender);
void exchange_sent(struct radio *radio, struct transmission *transmission);
/* A frame that was sent alone, or not sent at all, is done. */
void report_one(struct radio *radio, const struct frame *frame, bool acked, double signal_dbm);
void exchange_answered(struct radio *radio, const struct transmission *transmission);
bool is_to_group(const struct frame *frame);
bool wants_ack(const struct frame *frame);
/* A SIFS and a frame. */
int64_t response_ns(int mhz, const struct rate *rate, bool short_preamble, int bytes);

/* The rate of an entry of a table; NULL: the band has no such rate. */
const struct rate *rate_of(int mhz, const struct tx_rate *entry);
/* Attempts that a table allows, and the entry for the attempt after @attempts. */
int table_limit(const struct tx_rate *rates);
const struct tx_rate *table_next(const struct tx_rate *rates, int attempts);

/* aggregate.c: frames that are sent together. */
/* Form an aggregate of waiting frames; it is empty if the first is to be sent alone. */
void aggregate_form(struct contender *contender);
/* It was acknowledged (@board) or failed (NULL): report frames that are done; requeue the others last. */
void aggregate_resolve(struct contender *contender, const struct scoreboard *board, double signal_dbm);
/* The sequence number in the sequence control at @byte, and the sequence number of a frame of data. */
uint16_t sequence_at(const struct frame *frame, int byte);
uint16_t sequence_number(const struct frame *frame);
bool is_block_ack_request(const struct frame *frame);

/* response.c: the reaction of a receiver to a decoded frame; @parts are the parts of an aggregate. */
void response_init(struct radio *radio);
void response_received(struct radio *radio, struct transmission *transmission, uint64_t parts);

/* hwsim.c: messages to and from the kernel. */
void hwsim_create(struct medium *medium);
void hwsim_register(struct medium *medium);
void hwsim_deliver(struct radio *radio, const struct transmission *transmission, struct frame *frame);
void hwsim_report(struct radio *radio, const struct frame *frame, const struct outcome *outcome);
void hwsim_receive(struct medium *medium);

extern const char help_text[];

#endif
