// SPDX-License-Identifier: MIT
/*
 * A dump begins when it is requested: the kernel puts the first packet of answers into the
 * socket's buffer before send() returns, and each further packet when the previous one is
 * received. So one recvmmsg() gets all of them, up to its number of packets.
 */
#include "netlink.h"
#include "sampler.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The kernel makes packets as large as the buffers that it has seen, up to this size. */
#define PACKET_BYTES 32768
#define PACKETS 8

static unsigned char packets[PACKETS][PACKET_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
static struct iovec places[PACKETS];
static struct mmsghdr headers[PACKETS];

int netlink_open(int protocol)
{
	const struct sockaddr_nl any = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

	/*
	 * Without bind(), the kernel chooses an address at the first sample. It may draw random
	 * numbers for that, which would change the random numbers of the connections.
	 */
	if (fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof(any)))
		die(EXIT_RUNTIME, "no socket of netlink: %s", strerror(errno));
	return fd;
}

static void check_error(const struct nlmsghdr *answer, const char *subject)
{
	const struct nlmsgerr *error = NLMSG_DATA(answer);

	if (answer->nlmsg_type == NLMSG_ERROR && error->error)
		die(EXIT_RUNTIME, "%s cannot be read: %s", subject, strerror(-error->error));
}

/* Returns whether @take is satisfied. */
static bool take_packet(const unsigned char *packet, size_t bytes, const char *subject,
			bool (*take)(void *context, const struct nlmsghdr *answer), void *context)
{
	const struct nlmsghdr *answer = (const struct nlmsghdr *)packet;
	int left = (int)bytes;

	for (; NLMSG_OK(answer, left); answer = NLMSG_NEXT(answer, left)) {
		check_error(answer, subject);
		if (take(context, answer))
			return true;
	}
	return false;
}

static int receive(int fd, const char *subject)
{
	int count;

	for (int i = 0; i < PACKETS; i++) {
		places[i] = (struct iovec){ packets[i], PACKET_BYTES };
		headers[i].msg_hdr = (struct msghdr){ .msg_iov = &places[i], .msg_iovlen = 1 };
	}
	count = recvmmsg(fd, headers, PACKETS, MSG_WAITFORONE, NULL);
	if (count < 0)
		die(EXIT_RUNTIME, "%s cannot be read: %s", subject, strerror(errno));
	return count;
}

void netlink_ask(int fd, const void *requests, size_t bytes, const char *subject,
		 bool (*take)(void *context, const struct nlmsghdr *answer), void *context)
{
	if (send(fd, requests, bytes, 0) < 0)
		die(EXIT_RUNTIME, "%s cannot be requested: %s", subject, strerror(errno));
	for (;;) {
		int count = receive(fd, subject);

		for (int i = 0; i < count; i++) {
			if (headers[i].msg_hdr.msg_flags & MSG_TRUNC)
				die(EXIT_RUNTIME, "%s cannot be read: a packet is too long", subject);
			if (take_packet(packets[i], headers[i].msg_len, subject, take, context))
				return;
		}
	}
}

int netlink_attribute(struct value *rest, struct value *value)
{
	struct nlattr attribute;
	size_t padded;

	if (rest->bytes < sizeof(attribute))
		return -1;
	memcpy(&attribute, rest->data, sizeof(attribute));
	if (attribute.nla_len < sizeof(attribute) || attribute.nla_len > rest->bytes)
		return -1;
	value->data = rest->data + sizeof(attribute);
	value->bytes = attribute.nla_len - sizeof(attribute);
	padded = NLA_ALIGN(attribute.nla_len);
	padded = padded < rest->bytes ? padded : rest->bytes;
	rest->data += padded;
	rest->bytes -= padded;
	return attribute.nla_type & NLA_TYPE_MASK;
}

struct value netlink_attributes(const struct nlmsghdr *message, size_t header)
{
	const unsigned char *data = NLMSG_DATA(message);
	size_t bytes = message->nlmsg_len - NLMSG_HDRLEN;

	if (bytes < header)
		return (struct value){ data, 0 };
	return (struct value){ data + header, bytes - header };
}

uint64_t netlink_number(struct value value)
{
	uint64_t number = 0;

	memcpy(&number, value.data, value.bytes < sizeof(number) ? value.bytes : sizeof(number));
	return number;
}
