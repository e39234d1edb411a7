/* SPDX-License-Identifier: MIT */
/* Netlink: requests, and their answers with as few system calls as possible. */
#ifndef SAMPLER_NETLINK_H
#define SAMPLER_NETLINK_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An attribute's value. */
struct value {
	const unsigned char *data;
	size_t bytes;
};

/* A socket of this namespace. */
int netlink_open(int protocol);

/*
 * Sends @requests, one or several, and passes the answers to @take, one by one, until it returns
 * true. An error in an answer ends the program, with a message that names @subject.
 */
void netlink_ask(int fd, const void *requests, size_t bytes, const char *subject,
		 bool (*take)(void *context, const struct nlmsghdr *answer), void *context);

/*
 * Takes the first attribute of @rest: returns its type, without flags, and its value in *@value.
 * Returns -1 if there is none.
 */
int netlink_attribute(struct value *rest, struct value *value);

/* The attributes of @message behind a header of @header bytes. */
struct value netlink_attributes(const struct nlmsghdr *message, size_t header);

/* The number of 1 to 8 bytes in an attribute. */
uint64_t netlink_number(struct value value);

#endif
