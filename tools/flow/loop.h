/* SPDX-License-Identifier: MIT */
/* The event loop. */
#ifndef FLOW_LOOP_H
#define FLOW_LOOP_H

#include "flow.h"

__u64 loop_now(struct flow *flow);
void loop_add(struct flow *flow, int fd, __u32 events, void *who);
void loop_watch(struct conn *c, __u32 events);
void loop_read_at(struct conn *c, __u64 at);
void loop_run(struct flow *flow);

#endif
