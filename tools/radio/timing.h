/* SPDX-License-Identifier: MIT */
/* Rates of 802.11b, 802.11g, 802.11a and 802.11n, and the duration of frames. */
#ifndef RADIO_TIMING_H
#define RADIO_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_US 1000LL
#define NS_PER_S 1000000000LL

/* The 5 GHz band: frequencies from here on. */
#define FIRST_MHZ_OF_5_GHZ 5000

enum modulation {
	DBPSK,			/* 1 Mbit/s, clause 15 */
	DQPSK,			/* 2 Mbit/s, clause 15 */
	CCK_5_5,		/* clause 16 */
	CCK_11,
	OFDM,			/* clause 17, in the 2.4 GHz band clause 18 */
	HT_OFDM,		/* clause 19: 20 MHz, one stream */
};

struct rate {
	int kbps;
	enum modulation modulation;
	int data_bits;		/* of an OFDM symbol (N_DBPS, table 17-4) */
	int bits_per_carrier;	/* of OFDM: 1 BPSK, 2 QPSK, 4 16-QAM, 6 64-QAM */
	int code_in;		/* of OFDM: the code's rate is code_in / (code_in + 1) */
	int reference;		/* of HT: number of the non-HT reference rate (table 10-8) */
	bool short_guard;	/* of HT: guard intervals of 400 ns */
};

/* First rates without HT, then the MCSs of one stream, then these with short guard intervals. */
#define DSSS_RATES 4
#define LEGACY_RATES 12
#define MCS_RATES 8
#define RATES (LEGACY_RATES + 2 * MCS_RATES)
const struct rate *rate_number(int number);
int rate_to_number(const struct rate *rate);

/* Rates are numbered as in mac80211_hwsim: 12 in the 2.4 GHz band, without the first four in the 5 GHz band. */
const struct rate *rate_at(int mhz, int index);
/* NULL: there is no such MCS. */
const struct rate *rate_of_mcs(int mcs, bool short_guard);
/* The index in the band, or the MCS. */
int rate_index(int mhz, const struct rate *rate);

static inline bool is_ofdm(const struct rate *rate)
{
	return rate->modulation >= OFDM;
}

static inline bool is_ht(const struct rate *rate)
{
	return rate->modulation == HT_OFDM;
}

/* The slots of DSSS and of OFDM; mac80211 can allow the second in the 2.4 GHz band (tables 15-5, 17-21 and 18-5). */
#define LONG_SLOT_NS (20 * NS_PER_US)
#define SHORT_SLOT_NS (9 * NS_PER_US)

/* Short interframe space (tables 15-5, 17-21 and 18-5). */
int64_t sifs_ns(int mhz);

/* From the start of a frame to its PHY header's end, and to its end. @bytes are of the whole frame, with the FCS. */
int64_t header_ns(const struct rate *rate, bool short_preamble);
int64_t frame_ns(int mhz, const struct rate *rate, bool short_preamble, int bytes);

/* From the end of a frame's header to the end of the byte before @bytes, at a rate of HT. */
int64_t bytes_ns(const struct rate *rate, int bytes);

/* Frames of control, in bytes with the FCS (9.3.1). */
#define ACK_BYTES 14
#define BLOCK_ACK_BYTES 32
#define CTS_BYTES 14
#define RTS_BYTES 20
#define FCS_BYTES 4

/*
 * The rate of the response to a frame at @rate: the highest basic rate that is
 * not faster and of the same class, else the highest mandatory rate (10.7.6.5.2).
 * @basic has a bit for the number of each basic rate.
 */
const struct rate *response_rate(const struct rate *rate, unsigned int basic);

/* The slowest mandatory rate of an ACK to a frame at @rate, which EIFS assumes (10.3.2.3.7). */
const struct rate *slowest_response(const struct rate *rate);

#endif
