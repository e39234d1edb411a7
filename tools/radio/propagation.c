// SPDX-License-Identifier: MIT
/*
 * Free space: Friis, "A note on a simple transmission formula", 1946.
 * Log-distance and log-normal shadowing: Rappaport, "Wireless Communications",
 * 2nd edition, section 4.9.
 */
#include "propagation.h"
#include "random.h"

#include <math.h>

#define SPEED_OF_LIGHT_M_PER_S 299792458.0
#define HZ_PER_MHZ 1e6
/* The models are not valid at smaller distances. */
#define NEAREST_M 1.0
/* First random number stream of links, above the streams of radios. */
#define LINK_STREAMS (1ULL << 32)

struct position position_at(const struct waypoint *waypoints, int count, int64_t at_ns)
{
	const struct waypoint *from, *to;
	double part;
	int i = 0;

	while (i < count && waypoints[i].at_ns <= at_ns)
		i++;
	if (i == 0)
		return waypoints[0].where;
	if (i == count)
		return waypoints[count - 1].where;
	from = &waypoints[i - 1];
	to = &waypoints[i];
	part = (double)(at_ns - from->at_ns) / (double)(to->at_ns - from->at_ns);
	return (struct position){
		from->where.x_m + part * (to->where.x_m - from->where.x_m),
		from->where.y_m + part * (to->where.y_m - from->where.y_m),
		from->where.z_m + part * (to->where.z_m - from->where.z_m),
	};
}

static double distance_m(struct position a, struct position b)
{
	double x = a.x_m - b.x_m, y = a.y_m - b.y_m, z = a.z_m - b.z_m;

	return fmax(NEAREST_M, sqrt(x * x + y * y + z * z));
}

double path_loss_db(const struct propagation *propagation, struct position a, struct position b, int mhz)
{
	double d_m = distance_m(a, b);

	if (propagation->model == FREE_SPACE)
		return 20 * log10(4 * M_PI * d_m * mhz * HZ_PER_MHZ / SPEED_OF_LIGHT_M_PER_S);
	return propagation->reference_loss_db + 10 * propagation->exponent * log10(d_m);
}

double shadowing_db(const struct propagation *propagation, uint64_t seed, int radio, int other)
{
	uint64_t low = radio < other ? radio : other, high = radio < other ? other : radio;
	struct random random;

	if (propagation->shadowing_db == 0)
		return 0;
	random_seed(&random, seed, LINK_STREAMS + (high << 16) + low);
	return propagation->shadowing_db * random_normal(&random);
}

double mw_of_dbm(double dbm)
{
	return pow(10, dbm / 10);
}

double dbm_of_mw(double mw)
{
	return 10 * log10(mw);
}
