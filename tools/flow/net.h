/* SPDX-License-Identifier: MIT */
/* Sockets: create them, set them up, and format their addresses. */
#ifndef FLOW_NET_H
#define FLOW_NET_H

#include "flow.h"

#include <sys/socket.h>

#define ADDRESS_TEXT 80		/* "[ipv6%scope]:port" */

/* The sender of a datagram, and the local address to which it was sent. */
struct net_datagram {
	struct sockaddr_storage peer;
	struct sockaddr_storage local;
	socklen_t len;
};

void net_check(const struct options *opt);
int net_listen(const struct options *opt);
int net_connect(const struct options *opt);
void net_accepted(const struct options *opt, int fd);
ssize_t net_receive(int fd, void *buf, size_t len, struct net_datagram *from);
int net_answer(const struct options *opt, const struct net_datagram *from);
void net_at_once(int fd);
bool net_is_mptcp(int fd);
void net_congestion(int fd, char *name, socklen_t len);
void net_scheduler(int fd, char *name, socklen_t len);
void net_format(const struct sockaddr_storage *ss, char out[ADDRESS_TEXT]);

#endif
