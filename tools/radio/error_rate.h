/* SPDX-License-Identifier: MIT */
/* Bit errors of a receiver, from its signal to noise ratio. */
#ifndef RADIO_ERROR_RATE_H
#define RADIO_ERROR_RATE_H

#include "timing.h"

/*
 * Probability that a bit at @rate is decoded wrongly. @sinr is the ratio of the
 * signal's power to the power of noise and interference in 20 MHz.
 */
double bit_error_rate(const struct rate *rate, double sinr);

/* Probability that @bits bits at @rate are all decoded correctly. */
double bits_success(const struct rate *rate, double sinr, double bits);

#endif
