/* SPDX-License-Identifier: MIT */
/* Statistics per radio: counters, printed as JSON, and a log of all frames. */
#ifndef RADIO_STATS_H
#define RADIO_STATS_H

#include "blockack.h"
#include "timing.h"

#include <stdint.h>

struct radio;
struct transmission;
struct medium;

struct peer_stats {
	uint64_t frames;		/* decoded from this radio */
	double rssi_dbm_sum;
	double rssi_dbm_last;
};

struct radio_stats {
	uint64_t frames;		/* taken from the kernel */
	uint64_t acked;
	uint64_t unacked;		/* given up after all attempts, or off the channel */
	uint64_t groups;		/* broadcast and multicast, sent once */
	uint64_t overflows;		/* refused, because the queue was full */
	uint64_t attempts;		/* of frames to one receiver, including attempts that ended at an RTS */
	uint64_t collisions;		/* attempts during which the receiver heard another frame */
	uint64_t captured;		/* collisions that the frame survived */
	uint64_t internal_collisions;	/* two queues of this radio in the same slot */
	uint64_t rts;
	uint64_t cts_to_self;
	uint64_t aggregates;		/* sent, repetitions included */
	uint64_t aggregated;		/* frames in aggregates */
	uint64_t block_acks;		/* received */
	uint64_t by_frames[BLOCK_ACK_WINDOW + 1];	/* aggregates by their number of frames */
	uint64_t attempts_by_limit[64];	/* frames by the number of attempts that the kernel allowed */
	uint64_t at_rate[RATES];	/* attempts; an aggregate counts once for each of its frames */
	uint64_t acked_at_rate[RATES];
	uint64_t decoded;
	uint64_t errors;		/* frames that it began to receive and did not decode */
	uint64_t delivered;		/* to the kernel */
	uint64_t delivered_bytes;
	int64_t airtime_ns;		/* of all sent frames, responses included */
	int queued_max;			/* frames of one queue in the medium */
	struct peer_stats *peers;	/* by radio */
};

void stats_aggregate(struct radio *radio, int frames);
void stats_transmission(struct medium *medium, const struct transmission *transmission, const char *outcome);
void stats_write(const struct medium *medium, const char *path);

#endif
