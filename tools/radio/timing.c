// SPDX-License-Identifier: MIT
/* Clauses and tables are those of IEEE Std 802.11-2016. */
#include "timing.h"

#include <stddef.h>

static const struct rate rates[RATES] = {
	{ .kbps = 1000, .modulation = DBPSK },
	{ .kbps = 2000, .modulation = DQPSK },
	{ .kbps = 5500, .modulation = CCK_5_5 },
	{ .kbps = 11000, .modulation = CCK_11 },
	{ .kbps = 6000, .modulation = OFDM, .data_bits = 24, .bits_per_carrier = 1, .code_in = 1 },
	{ .kbps = 9000, .modulation = OFDM, .data_bits = 36, .bits_per_carrier = 1, .code_in = 3 },
	{ .kbps = 12000, .modulation = OFDM, .data_bits = 48, .bits_per_carrier = 2, .code_in = 1 },
	{ .kbps = 18000, .modulation = OFDM, .data_bits = 72, .bits_per_carrier = 2, .code_in = 3 },
	{ .kbps = 24000, .modulation = OFDM, .data_bits = 96, .bits_per_carrier = 4, .code_in = 1 },
	{ .kbps = 36000, .modulation = OFDM, .data_bits = 144, .bits_per_carrier = 4, .code_in = 3 },
	{ .kbps = 48000, .modulation = OFDM, .data_bits = 192, .bits_per_carrier = 6, .code_in = 2 },
	{ .kbps = 54000, .modulation = OFDM, .data_bits = 216, .bits_per_carrier = 6, .code_in = 3 },
};

#define OFDM_6 4
#define OFDM_12 6
#define OFDM_24 8

/* Preamble and header of DSSS, 144 + 48 bits and 72 + 24 us (15.2.2, 16.2.2). */
#define LONG_PREAMBLE_US 192
#define SHORT_PREAMBLE_US 96
/* Preamble and SIGNAL of OFDM, a symbol, SERVICE and tail bits (table 17-5, 17.3.2). */
#define OFDM_HEADER_US 20
#define OFDM_SYMBOL_US 4
#define OFDM_EXTRA_BITS (16 + 6)
/* Silence after OFDM in the 2.4 GHz band, which belongs to the frame (18.3.2.4). */
#define SIGNAL_EXTENSION_US 6
#define SIFS_2_4_GHZ_US 10
#define SIFS_5_GHZ_US 16

static int first_rate(int mhz)
{
	return mhz >= FIRST_MHZ_OF_5_GHZ ? DSSS_RATES : 0;
}

const struct rate *rate_number(int number)
{
	return &rates[number];
}

const struct rate *rate_at(int mhz, int index)
{
	int number = index + first_rate(mhz);

	return index >= 0 && number < RATES ? &rates[number] : NULL;
}

int rate_index(int mhz, const struct rate *rate)
{
	return (int)(rate - rates) - first_rate(mhz);
}

int64_t sifs_ns(int mhz)
{
	return NS_PER_US * (mhz >= FIRST_MHZ_OF_5_GHZ ? SIFS_5_GHZ_US : SIFS_2_4_GHZ_US);
}

int64_t header_ns(const struct rate *rate, bool short_preamble)
{
	if (rate->modulation == OFDM)
		return NS_PER_US * OFDM_HEADER_US;
	/* 1 Mbit/s has no short form (16.2.2.3). */
	return NS_PER_US * (short_preamble && rate->modulation != DBPSK ? SHORT_PREAMBLE_US : LONG_PREAMBLE_US);
}

int64_t frame_ns(int mhz, const struct rate *rate, bool short_preamble, int bytes)
{
	int64_t ns = header_ns(rate, short_preamble);
	int bits = 8 * bytes;

	if (rate->modulation != OFDM) {
		/* Whole microseconds (16.2.3.5). */
		return ns + NS_PER_US * ((1000LL * bits + rate->kbps - 1) / rate->kbps);
	}
	bits += OFDM_EXTRA_BITS;
	ns += NS_PER_US * OFDM_SYMBOL_US * ((bits + rate->data_bits - 1) / rate->data_bits);
	if (mhz < FIRST_MHZ_OF_5_GHZ)
		ns += NS_PER_US * SIGNAL_EXTENSION_US;
	return ns;
}

const struct rate *response_rate(const struct rate *rate, unsigned int basic)
{
	int number = (int)(rate - rates), first = rate->modulation == OFDM ? OFDM_6 : 0;

	for (int i = number; i >= first; i--)
		if (basic & (1U << i))
			return &rates[i];
	if (rate->modulation != OFDM)
		return &rates[number];
	return &rates[number >= OFDM_24 ? OFDM_24 : number >= OFDM_12 ? OFDM_12 : OFDM_6];
}

const struct rate *slowest_response(const struct rate *rate)
{
	return &rates[rate->modulation == OFDM ? OFDM_6 : 0];
}
