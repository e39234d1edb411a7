/* SPDX-License-Identifier: MIT */
/*
 * The medium of simulated radios. It gets each frame that mac80211_hwsim sends,
 * decides when the radio gets the channel (dcf.c), what it exchanges there
 * (exchange.c), who hears it (air.c) and with how many errors (reception.c), and
 * reports to the kernel what was received and what became of each frame (hwsim.c).
 */
#ifndef RADIO_RADIO_H
#define RADIO_RADIO_H

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

struct frame {
	struct frame *next;
	uint64_t cookie;
	uint32_t hwsim_flags;
	int mhz;
	int queue;
	struct tx_rate rates[TX_RATES];
	int attempts;			/* so far */
	int length;			/* without FCS */
	uint8_t data[];
};

enum kind {
	DATA,				/* or management */
	ACK,
	CTS,
	RTS,
};

/* A frame in the air. It is kept after its end as long as it can have disturbed one that goes on. */
struct transmission {
	struct event end;
	struct transmission *next;
	enum kind kind;
	struct radio *from;
	struct radio *to;		/* NULL: a group, or an address that no radio has */
	struct frame *frame;		/* of DATA, until its end */
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
	int cw;
	int backoff;			/* slots to go from count_from_ns on */
	bool counting;
	int64_t count_from_ns;
	struct frame *head;
	struct frame **tail;
	int length;
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
bool reception_succeeds(struct radio *radio, const struct transmission *transmission);

/* dcf.c: when a queue gets the channel. */
void dcf_init(struct radio *radio);
bool dcf_add(struct contender *contender, struct frame *frame);
struct frame *dcf_take(struct contender *contender);
void dcf_pause(struct radio *radio);
void dcf_resume(struct radio *radio);
void dcf_flush(struct radio *radio);
void dcf_done(struct contender *contender);
void dcf_failed(struct contender *contender);

/* exchange.c: the frames of one access to the channel. */
void exchange_init(struct radio *radio);
void exchange_start(struct contender *contender);
void exchange_sent(struct radio *radio, struct transmission *transmission);
void exchange_received(struct radio *radio, struct transmission *transmission);

/* hwsim.c: messages to and from the kernel. */
void hwsim_create(struct medium *medium);
void hwsim_register(struct medium *medium);
void hwsim_deliver(struct radio *radio, const struct transmission *transmission, bool retry);
void hwsim_report(struct radio *radio, const struct frame *frame, bool acked, double signal_dbm);
void hwsim_receive(struct medium *medium);

extern const char help_text[];

#endif
