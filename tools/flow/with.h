/* SPDX-License-Identifier: MIT */
/* Another program, and what `flow with` tells the library that it loads into it. */
#ifndef FLOW_WITH_H
#define FLOW_WITH_H

#define FLOW_WITH_CONGESTION "FLOW_WITH_CONGESTION"
#define FLOW_WITH_SCHEDULER "FLOW_WITH_SCHEDULER"
#define FLOW_WITH_ANY_ADDRESS "FLOW_WITH_ANY_ADDRESS"
#define FLOW_WITH_LIBRARY "flow-sockopt.so"

struct options;

int with_run(const struct options *opt);

#endif
