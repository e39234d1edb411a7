/* SPDX-License-Identifier: MIT */
/*
 * Connections on which payload goes one way: the sender shuts down writing, and the receiver closes once it has
 * everything. A mode sends by itself; this is the rest, in the states CONN_DRAINING and CONN_RECEIVING. A receiver's
 * bytes go to the mode's received(), if it has one.
 */
#ifndef FLOW_ONEWAY_H
#define FLOW_ONEWAY_H

#include "flow.h"

void oneway_stop(struct conn *c);
void oneway_event(struct conn *c);
void oneway_receive(struct conn *c);

#endif
