/* SPDX-License-Identifier: MIT */
/* The instants at which connections are to be called next. */
#ifndef FLOW_ALARMS_H
#define FLOW_ALARMS_H

#include <linux/types.h>
#include <stddef.h>

struct conn;

struct alarms {
	struct conn **heap;
	size_t used;
	size_t room;
};

void alarms_set(struct alarms *alarms, struct conn *c, __u64 at);	/* 0 = never */
struct conn *alarms_first(const struct alarms *alarms);	/* NULL if there is none */

#endif
