// SPDX-License-Identifier: MIT
/*
 * SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014). Its period of 2^64 is longer than any run.
 */
#include "random.h"

#include <math.h>

#define GOLDEN_GAMMA 0x9e3779b97f4a7c15ULL

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static uint64_t next(struct random *random)
{
	random->state += GOLDEN_GAMMA;
	return mix(random->state);
}

void random_seed(struct random *random, uint64_t seed, uint64_t stream)
{
	random->state = mix(mix(seed + GOLDEN_GAMMA) ^ (stream * GOLDEN_GAMMA));
}

double random_uniform(struct random *random)
{
	return (next(random) >> 11) * 0x1p-53;
}

int random_upto(struct random *random, int max)
{
	return (int)(random_uniform(random) * (max + 1));
}

/* Box and Muller, 1958. */
double random_normal(struct random *random)
{
	double radius = sqrt(-2 * log(1 - random_uniform(random)));

	return radius * cos(2 * M_PI * random_uniform(random));
}
