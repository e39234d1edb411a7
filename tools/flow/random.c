// SPDX-License-Identifier: MIT
/*
 * Times and sizes of traffic. Random numbers are SplitMix64's, so that a seed and a stream give the same numbers
 * everywhere; distributions are sampled by inversion (exponential, Pareto) or by Box and Muller (lognormal).
 */
#include "random.h"

#include <math.h>

#define GOLDEN 0x9e3779b97f4a7c15ULL
#define STREAM 0xd1342543de82ef95ULL

static __u64 next(struct random *random)
{
	__u64 z = random->state += GOLDEN;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* In (0, 1]. */
static double uniform(struct random *random)
{
	return ((next(random) >> 11) + 1) * 0x1p-53;
}

void random_init(struct random *random, __u64 seed, __u64 stream)
{
	random->state = seed * GOLDEN + (stream + 1) * STREAM;
	random->state = next(random);
}

__u64 random_time(struct random *random, __u64 mean_ns, bool exponential)
{
	if (!exponential || !mean_ns)
		return mean_ns;
	return llrint(-log(uniform(random)) * mean_ns) + 1;
}

static double normal(struct random *random)
{
	double radius = sqrt(-2 * log(uniform(random)));

	return radius * cos(2 * M_PI * uniform(random));
}

/* At least one byte. The mean applies to the distribution before sizes are limited. */
__u64 random_size(struct random *random, const struct sizes *sizes)
{
	double mean = sizes->mean, shape = sizes->shape_milli / 1000.0;
	double size = mean;

	switch (sizes->distribution) {
	case SIZES_FIXED:
		return sizes->mean;
	case SIZES_EXPONENTIAL:
		size = -log(uniform(random)) * mean;
		break;
	case SIZES_PARETO:
		size = mean * (shape - 1) / shape * pow(uniform(random), -1 / shape);
		break;
	case SIZES_LOGNORMAL:
		size = exp(log(mean) - shape * shape / 2 + shape * normal(random));
		break;
	}
	if (sizes->largest && size > sizes->largest)
		size = sizes->largest;
	return size < 1 ? 1 : llrint(size);
}
