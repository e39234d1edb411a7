/* SPDX-License-Identifier: MIT */
/* Run another program, with settings that `flow with` passes to the library it preloads. */
#ifndef FLOW_WITH_H
#define FLOW_WITH_H

#define FLOW_WITH_CONGESTION "FLOW_WITH_CONGESTION"
#define FLOW_WITH_SCHEDULER "FLOW_WITH_SCHEDULER"
#define FLOW_WITH_ANY_ADDRESS "FLOW_WITH_ANY_ADDRESS"
#define FLOW_WITH_LIBRARY "flow-sockopt.so"

struct options;

int with_run(const struct options *opt);

#endif
