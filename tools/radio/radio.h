/* SPDX-License-Identifier: MIT */
/*
 * The medium of simulated radios. It gets each frame that mac80211_hwsim sends,
 * decides when the radio gets the channel (dcf.c), what it exchanges there
 * (exchange.c), also many frames at once (aggregate.c), who hears it (air.c) and
 * with how many errors (reception.c), and reports to the kernel what was received
 * and what became of each frame (hwsim.c).
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

/* A rate with its number of attempts, as mac80211 wants it. */
struct tx_rate {
	int8_t index;
	uint8_t count;
	uint16_t flags;
};

/* Of a block ack session of the sender, as the kernel says; @window is 0 for a frame that is in none. */
struct session {
	uint16_t id;
	uint8_t tid;
	uint8_t window;			/* frames from the first that is missing to the last that may be sent */
	uint8_t factor;			/* an aggregate has less than 2^(13 + factor) bytes */
	uint8_t density;		/* frames begin 2^(density - 3) us apart, if it is not 0 */
	uint8_t probe;			/* it tries a rate */
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
	int earlier;			/* of these, in aggregates, before it is sent alone */
	bool alone;			/* it is sent alone until it is acknowledged or given up */
	int length;			/* without FCS */
	uint8_t data[];
};

/* What became of a frame. */
struct outcome {
	const struct tx_rate *rates;	/* the table, and the attempts along it */
	int attempts;
	bool acked;
	bool moves_window;		/* the receiver has to be told that it will not come */
	double signal_dbm;		/* of the response */
	int frames;			/* of its aggregate, 0: another one reports that */
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
		int start;		/* in bytes: of its delimiter, and its end */
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

/* A frame in the air. It is kept after its end as long as another frame goes on that it may have disturbed. */
struct transmission {
	struct event end;
	struct transmission *next;
	enum kind kind;
	struct radio *from;
	struct radio *to;		/* NULL: a group, or an address that no radio has */
	struct frame *frame;		/* of DATA, and the first one of AGGREGATE, until its end */
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
	int64_t reserved_ns;		/* how long after the end it reserves the channel */
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

/* What a radio does with a frame, from its first access to the channel to the next. */
struct exchange {
	struct event step;		/* the next frame, or that no response came */
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

/* What a radio has received in a session of another. */
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
	int64_t moving_since_ns;	/* positions move as the configuration says from here on */
	int64_t now_ns;			/* of the event that runs; CLOCK_MONOTONIC */
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

/* Let sleeps of this process end at the nanosecond that it asks for. */
void be_exact(void);

/* `radio watch` with its arguments. */
int watch_main(int argc, char **argv);

noreturn void die(int status, const char *format, ...) __attribute__
	((format(printf, 2, 3)));
void *allocate(size_t bytes);

/* medium.c: radios, and who has which address. */
void medium_init(struct medium *medium);
struct radio *medium_owner(const struct medium *medium, const uint8_t *mac);
void medium_add_address(struct medium *medium, const uint8_t *mac, struct radio *radio);
void medium_delete_address(struct medium *medium, const uint8_t *mac);

/* air.c: what is in the air, who senses it. */
struct transmission *air_new(struct radio *from, enum kind kind, struct radio *to, const struct rate *rate,
			     bool short_preamble, int bytes);
void air_start(struct transmission *transmission);
void air_tune(struct radio *radio, int mhz);

/* reception.c: who decodes it. */
void reception_begin(struct radio *radio, struct transmission *transmission);
/* *@parts gets a bit for each frame of an aggregate that is decoded; if @all is false, not beyond the first. */
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
/* A frame that was sent alone, or not at all, is over. */
void report_one(struct radio *radio, const struct frame *frame, bool acked, double signal_dbm);
void exchange_answered(struct radio *radio, const struct transmission *transmission);
bool is_to_group(const struct frame *frame);
bool wants_ack(const struct frame *frame);
/* A SIFS and a frame. */
int64_t response_ns(int mhz, const struct rate *rate, bool short_preamble, int bytes);

/* The rate of an entry of a table; NULL: the band has no such rate. */
const struct rate *rate_of(int mhz, const struct tx_rate *entry);
/* Attempts that a table allows, and the entry for the one after @attempts. */
int table_limit(const struct tx_rate *rates);
const struct tx_rate *table_next(const struct tx_rate *rates, int attempts);

/* aggregate.c: frames that are sent together. */
/* Form one of the frames that wait; there is none if the first is to be sent alone. */
void aggregate_form(struct contender *contender);
/* It was acknowledged (@board), or is given up (NULL): report what is over, and put the rest behind other frames. */
void aggregate_resolve(struct contender *contender, const struct scoreboard *board, double signal_dbm);
/* The sequence number in the sequence control at @byte, and the sequence number of a frame of data. */
uint16_t sequence_at(const struct frame *frame, int byte);
uint16_t sequence_number(const struct frame *frame);
bool is_block_ack_request(const struct frame *frame);

/* response.c: what a receiver does with what it has decoded; @parts are the parts of an aggregate. */
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
