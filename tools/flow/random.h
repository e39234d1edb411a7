/* SPDX-License-Identifier: MIT */
/* Random times and sizes, which depend only on the seed. */
#ifndef FLOW_RANDOM_H
#define FLOW_RANDOM_H

#include "flow.h"

struct random {
	__u64 state;
};

enum distribution { SIZES_FIXED, SIZES_EXPONENTIAL, SIZES_PARETO, SIZES_LOGNORMAL };

struct sizes {
	unsigned int distribution;
	__u64 mean;
	__u64 largest;		/* upper limit of sizes; 0 = none */
	__u64 shape_milli;	/* of Pareto and lognormal, in thousandths */
};

void random_init(struct random *random, __u64 seed, __u64 stream);
__u64 random_time(struct random *random, __u64 mean_ns, bool exponential);
__u64 random_size(struct random *random, const struct sizes *sizes);

#endif
