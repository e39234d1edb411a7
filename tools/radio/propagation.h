/* SPDX-License-Identifier: MIT */
/* Positions of radios, and path loss between two positions. */
#ifndef RADIO_PROPAGATION_H
#define RADIO_PROPAGATION_H

#include <stdint.h>

struct position {
	double x_m;
	double y_m;
	double z_m;
};

/* A radio is at @where @at_ns after the start, and moves in a straight line between waypoints. */
struct waypoint {
	int64_t at_ns;
	struct position where;
};

enum path_loss {
	LOG_DISTANCE,
	FREE_SPACE,
};

struct propagation {
	enum path_loss model;
	double exponent;
	double reference_loss_db;	/* at one metre */
	double shadowing_db;		/* standard deviation of a link's additional loss */
};

struct position position_at(const struct waypoint *waypoints, int count, int64_t at_ns);

double path_loss_db(const struct propagation *propagation, struct position a, struct position b, int mhz);

/* A link's additional loss by its surroundings: normally distributed, symmetric, constant. */
double shadowing_db(const struct propagation *propagation, uint64_t seed, int radio, int other);

double mw_of_dbm(double dbm);
double dbm_of_mw(double mw);

#endif
