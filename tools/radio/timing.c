// SPDX-License-Identifier: MIT
/* Clauses and tables refer to IEEE Std 802.11-2016. */
#include "timing.h"

#include <stddef.h>

/* Numbers of rates of OFDM. */
enum {
	OFDM_6 = DSSS_RATES,
	OFDM_9,
	OFDM_12,
	OFDM_18,
	OFDM_24,
	OFDM_36,
	OFDM_48,
	OFDM_54,
};

#define HT_RATE(rate, guard, bits, carrier, code, like) \
	{ .kbps = (rate), .modulation = HT_OFDM, .data_bits = (bits), .bits_per_carrier = (carrier), \
	  .code_in = (code), .reference = (like), .short_guard = (guard) }

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
	/* Table 19-27. */
	HT_RATE(6500, false, 26, 1, 1, OFDM_6),
	HT_RATE(13000, false, 52, 2, 1, OFDM_12),
	HT_RATE(19500, false, 78, 2, 3, OFDM_18),
	HT_RATE(26000, false, 104, 4, 1, OFDM_24),
	HT_RATE(39000, false, 156, 4, 3, OFDM_36),
	HT_RATE(52000, false, 208, 6, 2, OFDM_48),
	HT_RATE(58500, false, 234, 6, 3, OFDM_54),
	HT_RATE(65000, false, 260, 6, 5, OFDM_54),
	HT_RATE(7222, true, 26, 1, 1, OFDM_6),
	HT_RATE(14444, true, 52, 2, 1, OFDM_12),
	HT_RATE(21667, true, 78, 2, 3, OFDM_18),
	HT_RATE(28889, true, 104, 4, 1, OFDM_24),
	HT_RATE(43333, true, 156, 4, 3, OFDM_36),
	HT_RATE(57778, true, 208, 6, 2, OFDM_48),
	HT_RATE(65000, true, 234, 6, 3, OFDM_54),
	HT_RATE(72222, true, 260, 6, 5, OFDM_54),
};

/* Preamble and header of DSSS, 144 + 48 bits and 72 + 24 us (15.2.2, 16.2.2). */
#define LONG_PREAMBLE_US 192
#define SHORT_PREAMBLE_US 96
/* Preamble and SIGNAL of OFDM, a symbol, SERVICE and tail bits (table 17-5, 17.3.2). */
#define OFDM_HEADER_US 20
#define OFDM_SYMBOL_US 4
#define SERVICE_BITS 16
#define OFDM_EXTRA_BITS (SERVICE_BITS + 6)
/* Preamble of HT in the mixed format, up to its one long training field (19.3.9). */
#define HT_HEADER_US 36
#define SHORT_GUARD_SYMBOL_NS 3600
/* Signal extension: silence after OFDM in the 2.4 GHz band, part of the frame (18.3.2.4). */
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

	return index >= 0 && number < LEGACY_RATES ? &rates[number] : NULL;
}

const struct rate *rate_of_mcs(int mcs, bool short_guard)
{
	if (mcs < 0 || mcs >= MCS_RATES)
		return NULL;
	return &rates[LEGACY_RATES + (short_guard ? MCS_RATES : 0) + mcs];
}

int rate_to_number(const struct rate *rate)
{
	return (int)(rate - rates);
}

int rate_index(int mhz, const struct rate *rate)
{
	if (is_ht(rate))
		return (rate_to_number(rate) - LEGACY_RATES) % MCS_RATES;
	return rate_to_number(rate) - first_rate(mhz);
}

int64_t sifs_ns(int mhz)
{
	return NS_PER_US * (mhz >= FIRST_MHZ_OF_5_GHZ ? SIFS_5_GHZ_US : SIFS_2_4_GHZ_US);
}

int64_t header_ns(const struct rate *rate, bool short_preamble)
{
	if (is_ofdm(rate))
		return NS_PER_US * (is_ht(rate) ? HT_HEADER_US : OFDM_HEADER_US);
	/* 1 Mbit/s has no short form (16.2.2.3). */
	return NS_PER_US * (short_preamble && rate->modulation != DBPSK ? SHORT_PREAMBLE_US : LONG_PREAMBLE_US);
}

int64_t frame_ns(int mhz, const struct rate *rate, bool short_preamble, int bytes)
{
	int64_t ns = header_ns(rate, short_preamble);
	int bits = 8 * bytes, symbols;

	if (!is_ofdm(rate)) {
		/* Whole microseconds (16.2.3.5). */
		return ns + NS_PER_US * ((1000LL * bits + rate->kbps - 1) / rate->kbps);
	}
	bits += OFDM_EXTRA_BITS;
	symbols = (bits + rate->data_bits - 1) / rate->data_bits;
	/* Also with short guard intervals, rounded up to a long symbol (equation 19-90). */
	if (rate->short_guard)
		symbols = (9 * symbols + 9) / 10;
	ns += NS_PER_US * OFDM_SYMBOL_US * symbols;
	if (mhz < FIRST_MHZ_OF_5_GHZ)
		ns += NS_PER_US * SIGNAL_EXTENSION_US;
	return ns;
}

int64_t bytes_ns(const struct rate *rate, int bytes)
{
	int64_t symbol_ns = rate->short_guard ? SHORT_GUARD_SYMBOL_NS : NS_PER_US * OFDM_SYMBOL_US;

	return (SERVICE_BITS + 8LL * bytes) * symbol_ns / rate->data_bits;
}

const struct rate *response_rate(const struct rate *rate, unsigned int basic)
{
	int number = is_ht(rate) ? rate->reference : rate_to_number(rate), first = is_ofdm(rate) ? OFDM_6 : 0;

	for (int i = number; i >= first; i--)
		if (basic & (1U << i))
			return &rates[i];
	if (!is_ofdm(rate))
		return &rates[number];
	return &rates[number >= OFDM_24 ? OFDM_24 : number >= OFDM_12 ? OFDM_12 : OFDM_6];
}

const struct rate *slowest_response(const struct rate *rate)
{
	return &rates[is_ofdm(rate) ? OFDM_6 : 0];
}
