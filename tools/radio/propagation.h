/* SPDX-License-Identifier: MIT */
/* Where radios are, and how much of a signal is lost between two places. */
#ifndef RADIO_PROPAGATION_H
#define RADIO_PROPAGATION_H

#include <stdint.h>

struct position {
	double x_m;
	double y_m;
	double z_m;
};

/* A radio is at @where at @at_ns after the start, and moves straight between two of these. */
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
	double shadowing_db;		/* standard deviation of what a link has in addition */
};

struct position position_at(const struct waypoint *waypoints, int count, int64_t at_ns);

double path_loss_db(const struct propagation *propagation, struct position a, struct position b, int mhz);

/* The part of a link's loss that its surroundings add: normal, the same in both directions, constant. */
double shadowing_db(const struct propagation *propagation, uint64_t seed, int radio, int other);

double mw_of_dbm(double dbm);
double dbm_of_mw(double mw);

#endif
