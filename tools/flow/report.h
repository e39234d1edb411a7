/* SPDX-License-Identifier: MIT */
/* Events as lines of JSON. No string in them needs escaping. */
#ifndef FLOW_REPORT_H
#define FLOW_REPORT_H

#include "flow.h"

void report_start(const struct conn *c);
void report_sample(struct conn *c, bool final);
void report_end(const struct conn *c, const char *error);

/* For the events of modes. */
void report_open(const struct conn *c, const char *event, __u64 t_ns);
void report_number(const struct conn *c, const char *name, __u64 value);
void report_close(const struct conn *c);

#endif
