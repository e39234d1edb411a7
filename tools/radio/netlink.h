/* SPDX-License-Identifier: MIT */
/* Generic netlink: messages are collected and sent together. */
#ifndef RADIO_NETLINK_H
#define RADIO_NETLINK_H

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NETLINK_BYTES (1 << 16)
/* Datagrams per read: the kernel sends one per frame, and the frames of an aggregate together. */
#define NETLINK_BATCH 32

struct netlink {
	int fd;
	uint16_t family;
	size_t filled;
	char *out;
	char *in;			/* of one answer */
	char *batch;			/* of NETLINK_BATCH messages */
	int batched;			/* number of messages read, and the next to take */
	int next;
	size_t lengths[NETLINK_BATCH];
};

void netlink_open(struct netlink *netlink, const char *family);

/* Receive the kernel's messages to the multicast @group of a @family. */
void netlink_join(struct netlink *netlink, const char *family, const char *group);

/* Append a message to the messages to send; attributes are then added to it. */
struct nlmsghdr *netlink_begin(struct netlink *netlink, uint16_t type, uint8_t command, uint16_t flags);
void netlink_add(struct netlink *netlink, struct nlmsghdr *message, uint16_t type, const void *data, size_t bytes);
void netlink_add_u32(struct netlink *netlink, struct nlmsghdr *message, uint16_t type, uint32_t value);
void netlink_flush(struct netlink *netlink);

/* Sends a message that was begun with NLM_F_ACK; returns the kernel's error, or 0. */
int netlink_ask(struct netlink *netlink);

/* The next datagram that has arrived, without waiting, and its length; NULL if there is none. */
const void *netlink_next(struct netlink *netlink, size_t *bytes);

/* Whether there are datagrams that were read and not taken yet. */
static inline bool netlink_has_next(const struct netlink *netlink)
{
	return netlink->next < netlink->batched;
}

/* Reads what has arrived without waiting; returns bytes in netlink->in, 0 if there is nothing. */
size_t netlink_read(struct netlink *netlink);

/* The attribute of @type in the attributes at @at, or NULL; its length in *bytes. */
const void *netlink_nested(const void *at, size_t length, uint16_t type, size_t *bytes);

/* The same in a generic netlink message. */
const void *netlink_attribute(const struct nlmsghdr *message, uint16_t type, size_t *bytes);

#endif
