/* SPDX-License-Identifier: MIT */
/*
 * The instants of samples, in ns from time zero: after 10 ms, then doubling up to the interval,
 * to include short connections; from then on the multiples of the interval.
 */
#ifndef SAMPLER_INSTANTS_H
#define SAMPLER_INSTANTS_H

#include <stdbool.h>
#include <stdint.h>

struct instants {
	int64_t interval_ns;
	int64_t next_ns;
};

/* Without an interval (0) there are no instants: the next one is later than all others. */
void instants_init(struct instants *instants, int64_t interval_ns);

/* Returns whether the next instant has come at @now_ns, and advances by one if it has. */
bool instants_due(struct instants *instants, int64_t now_ns);

#endif
