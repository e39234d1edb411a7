/* SPDX-License-Identifier: MIT */
/* The two ends of a transfer by another program. */
#ifndef FLOW_STREAM_H
#define FLOW_STREAM_H

#include "flow.h"

int stream_pattern(const struct options *opt);
int stream_sum(const struct options *opt);

#endif
