/* SPDX-License-Identifier: MIT */
/* Seeded random numbers, one independent stream per purpose. */
#ifndef RADIO_RANDOM_H
#define RADIO_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state;
};

/* The stream number @stream of @seed. */
void random_seed(struct random *random, uint64_t seed, uint64_t stream);

/* Uniform in [0, 1), with 53 bits. */
double random_uniform(struct random *random);

/* Uniform in 0 .. @max, both included. */
int random_upto(struct random *random, int max);

/* Normal, with mean 0 and standard deviation 1. */
double random_normal(struct random *random);

#endif
