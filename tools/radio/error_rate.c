// SPDX-License-Identifier: MIT
/*
 * DSSS and CCK: noise is white over the receiver's 20 MHz; a chip of 1/11 us
 * collects 11 MHz of it, so that Ec/N0 is 20/11 of the ratio of powers.
 *  1 Mbit/s  DBPSK with 11 chips a bit, 0.5 exp(-Eb/N0);
 *  2 Mbit/s  DQPSK with 11 chips a symbol, by the approximation of Ferrari and
 *            Corazza, "Tight bounds and accurate approximations for DQPSK
 *            transmission bit error rate", Electronics Letters 40(20), 2004;
 *  5.5 and 11 Mbit/s  CCK as block code: union bound over the distances of its
 *            16 and 256 words, as in IEEE Std 802.15.2-2003.
 *
 * OFDM: uncoded bit errors of BPSK, QPSK and square QAM with Gray labels
 * (Proakis, "Digital Communications"); then the union bound over the weights of
 * the convolutional code (133, 171) with hard decisions and the Chernoff bound
 * of each, as in Miller, "Validation of 802.11a/UWB coexistence simulation",
 * NIST 2003. Weights: Frenger, Orten and Ottosson, "Convolutional codes with
 * optimum distance spectrum", IEEE Communications Letters 3(11), 1999, and
 * Haccoun and Begin, "High-rate punctured convolutional codes for Viterbi and
 * sequential decoding", IEEE Transactions on Communications 37(11), 1989.
 */
#include "error_rate.h"

#include <math.h>

#define BANDWIDTH_MHZ 20.0
#define CHIPS_MHZ 11.0
#define CHIPS_PER_SYMBOL 11
/* Of the 64 carriers in 20 MHz, 52 are sent, with HT 56; a fifth of a symbol of 4 us is its guard interval. */
#define OFDM_GAIN (64.0 / 52.0)
#define HT_GAIN (64.0 / 56.0)

struct words {
	int at_distance;	/* number of words at this distance from a word */
	double distance;	/* over Ec/N0, under the root of Q() */
};

static const struct words cck_5_5[] = { { 14, 8 }, { 1, 16 }, { 0 } };
static const struct words cck_11[] = {
	{ 24, 4 }, { 16, 6 }, { 174, 8 }, { 16, 10 }, { 24, 12 }, { 1, 16 }, { 0 }
};

/* Wrong information bits over all paths at a distance of the code, from its free distance on. */
struct spectrum {
	int free_distance;
	int step;
	double bits[10];
};

static const struct spectrum spectra[] = {
	[1] = { 10, 2, { 36, 211, 1404, 11633, 77433, 502690, 3322763, 21292910, 134365911 } },
	[2] = { 6, 1, { 3, 70, 285, 1276, 6160, 27128, 117019, 498860, 2103891, 8784123 } },
	[3] = { 5, 1, { 42, 201, 1492, 10469, 62935, 379644, 2253373, 13073811, 75152755, 428005675 } },
	[5] = { 4, 1, { 92, 528, 8694, 79453, 792114, 7375573, 67884974, 610875423, 5427275376, 47664215639 } },
};

static double q_function(double x)
{
	return 0.5 * erfc(x * M_SQRT1_2);
}

static double dbpsk(double snr)
{
	return 0.5 * exp(-snr);
}

static double dqpsk(double snr_per_bit)
{
	double scale = (M_SQRT2 + 1) / sqrt(8 * M_PI * M_SQRT2);

	if (snr_per_bit <= 0)
		return 0.5;
	return fmin(0.5, scale / sqrt(snr_per_bit) * exp(-(2 - M_SQRT2) * snr_per_bit));
}

static double cck(const struct words *words, int bits, double chip_snr)
{
	double wrong_symbol = 0;

	for (; words->at_distance; words++)
		wrong_symbol += words->at_distance * q_function(sqrt(words->distance * chip_snr));
	/* Half of the wrong words differ in a given bit. */
	return fmin(0.5, wrong_symbol * (1 << (bits - 1)) / ((1 << bits) - 1));
}

/* Bits of one carrier, with @snr of the carrier. */
static double uncoded(int bits_per_carrier, double snr)
{
	switch (bits_per_carrier) {
	case 1:
		return q_function(sqrt(2 * snr));
	case 2:
		return q_function(sqrt(snr));
	case 4:
		return 0.75 * q_function(sqrt(snr / 5));
	default:
		return 7.0 / 12 * q_function(sqrt(snr / 21));
	}
}

static double coded(int code_in, double wrong_bit)
{
	const struct spectrum *spectrum = &spectra[code_in];
	double chernoff = sqrt(4 * wrong_bit * (1 - wrong_bit));
	double wrong = 0;

	for (int i = 0; i < 10; i++)
		wrong += spectrum->bits[i] * pow(chernoff, spectrum->free_distance + i * spectrum->step);
	return fmin(0.5, wrong / (2 * code_in));
}

double bit_error_rate(const struct rate *rate, double sinr)
{
	double chip_snr = sinr * BANDWIDTH_MHZ / CHIPS_MHZ;

	switch (rate->modulation) {
	case DBPSK:
		return dbpsk(CHIPS_PER_SYMBOL * chip_snr);
	case DQPSK:
		return dqpsk(CHIPS_PER_SYMBOL * chip_snr / 2);
	case CCK_5_5:
		return cck(cck_5_5, 4, chip_snr);
	case CCK_11:
		return cck(cck_11, 8, chip_snr);
	default:
		return coded(rate->code_in,
			     uncoded(rate->bits_per_carrier, sinr * (is_ht(rate) ? HT_GAIN : OFDM_GAIN)));
	}
}

/* Consecutive MPDUs of an aggregate have the same ratio, so the last result is cached. */
double bits_success(const struct rate *rate, double sinr, double bits)
{
	static const struct rate *last_rate;
	static double last_sinr, log_success;

	if (rate != last_rate || sinr != last_sinr) {
		last_rate = rate;
		last_sinr = sinr;
		log_success = log1p(-bit_error_rate(rate, sinr));
	}
	return exp(bits * log_success);
}
