/* SPDX-License-Identifier: MIT */
/*
 * Connections with payload in one direction: the sender shuts down writing, and the receiver closes once it has all
 * data. A mode implements the sending; this is the rest, in the states CONN_DRAINING and CONN_RECEIVING. The receiver's
 * bytes are passed to the mode's received(), if it has one.
 */
#ifndef FLOW_ONEWAY_H
#define FLOW_ONEWAY_H

#include "flow.h"

void oneway_stop(struct conn *c);
void oneway_event(struct conn *c);
void oneway_receive(struct conn *c);

#endif
