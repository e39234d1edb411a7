// SPDX-License-Identifier: MIT
/*
 * Decoding of overlapping frames. A receiver follows the first preamble that it
 * detects; a stronger frame takes over while the first preamble lasts (capture).
 * Other frames are noise while they overlap.
 */
#include "error_rate.h"
#include "radio.h"

/*
 * Bits of the PHY header whose errors lose the frame: SFD and header of DSSS
 * (16.2.3), SIGNAL of OFDM (17.3.4), and of HT both SIGNAL fields (19.3.9).
 */
#define DSSS_HEADER_BITS 64
#define OFDM_HEADER_BITS 24
#define HT_HEADER_BITS (24 + 48)
#define BITS_PER_BYTE 8

/* If two frames begin at one instant, and neither is much stronger, one is chosen at random. */
static bool prefers(struct radio *radio, const struct transmission *later, const struct transmission *first)
{
	double ratio = later->at[radio->number].mw / first->at[radio->number].mw;
	double capture = radio->medium->capture_ratio;

	if (ratio >= capture)
		return true;
	return later->start_ns == first->start_ns && ratio * capture > 1 && random_uniform(&radio->reception_draws) < 0.5;
}

void reception_begin(struct radio *radio, struct transmission *transmission)
{
	struct transmission *first = radio->receiving;
	double mw = transmission->at[radio->number].mw;

	if (radio->sending || radio->mhz != transmission->mhz || mw < radio->sensitivity_mw)
		return;
	if (radio->config->dsss_only && is_ofdm(transmission->rate))
		return;
	if (!first) {
		radio->receiving = transmission;
	} else if (transmission->start_ns < first->header_ns && prefers(radio, transmission, first)) {
		radio->stats.errors++;
		radio->receiving = transmission;
	}
}

/* Power of noise and all other frames at @ns; *until_ns becomes the next instant at which it changes. */
static double disturbance(const struct radio *radio, const struct transmission *wanted, int64_t ns, int64_t *until_ns)
{
	const struct transmission *one = radio->medium->air;
	double mw = radio->noise_mw;

	for (; one; one = one->next) {
		if (one == wanted || one->mhz != wanted->mhz || one->end_ns <= ns)
			continue;
		if (one->start_ns > ns) {
			*until_ns = one->start_ns < *until_ns ? one->start_ns : *until_ns;
			continue;
		}
		mw += one->at[radio->number].mw;
		*until_ns = one->end_ns < *until_ns ? one->end_ns : *until_ns;
	}
	return mw;
}

/* Probability that @bits, spread evenly over the time between two instants, are decoded. */
static double part_success(const struct radio *radio, const struct transmission *transmission,
			   const struct rate *rate, int64_t from_ns, int64_t to_ns, double bits)
{
	double mw = transmission->at[radio->number].mw, success = 1;
	double whole_ns = to_ns - from_ns;

	while (from_ns < to_ns && success > 0) {
		int64_t until_ns = to_ns;
		double sinr = mw / disturbance(radio, transmission, from_ns, &until_ns);

		success *= bits_success(rate, sinr, bits * (until_ns - from_ns) / whole_ns);
		from_ns = until_ns;
	}
	return success;
}

/* The rate of the PHY header: the slowest of its class, or 2 Mbit/s behind a short preamble (16.2.2.3). */
static const struct rate *header_rate(const struct transmission *transmission)
{
	bool is_short = transmission->short_preamble && transmission->rate->modulation != DBPSK;

	if (is_ofdm(transmission->rate))
		return slowest_response(transmission->rate);
	return rate_number(is_short ? 1 : 0);
}

static double header_success(const struct radio *radio, const struct transmission *transmission)
{
	const struct rate *rate = transmission->rate;
	int bits = is_ht(rate) ? HT_HEADER_BITS : is_ofdm(rate) ? OFDM_HEADER_BITS : DSSS_HEADER_BITS;

	return part_success(radio, transmission, header_rate(transmission), transmission->start_ns,
			    transmission->header_ns, bits);
}

/* Each frame of an aggregate has its own errors, in its part of the time. */
static bool aggregate_succeeds(struct radio *radio, const struct transmission *transmission, bool all, uint64_t *parts)
{
	const struct aggregate *aggregate = transmission->aggregate;
	const struct rate *rate = transmission->rate;

	if (random_uniform(&radio->reception_draws) >= header_success(radio, transmission))
		return false;
	for (int i = 0; i < aggregate->count && (all || !*parts); i++) {
		const struct part *part = &aggregate->parts[i];
		double success = part_success(radio, transmission, rate,
					      transmission->header_ns + bytes_ns(rate, part->start),
					      transmission->header_ns + bytes_ns(rate, part->end),
					      BITS_PER_BYTE * (part->end - part->start));

		if (random_uniform(&radio->reception_draws) < success)
			*parts |= 1ULL << i;
	}
	return *parts;
}

bool reception_succeeds(struct radio *radio, const struct transmission *transmission, bool all, uint64_t *parts)
{
	double success;

	*parts = 0;
	if (transmission->kind == AGGREGATE)
		return aggregate_succeeds(radio, transmission, all, parts);
	success = header_success(radio, transmission);
	success *= part_success(radio, transmission, transmission->rate, transmission->header_ns,
				transmission->end_ns, BITS_PER_BYTE * transmission->bytes);
	return random_uniform(&radio->reception_draws) < success;
}
