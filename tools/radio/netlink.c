// SPDX-License-Identifier: MIT
#include "radio.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Enough for the messages before this program runs: at most one aggregate per station. */
#define RECEIVE_BUFFER_BYTES (64 << 20)
/* A message has at most one frame, of less than 4 KiB. */
#define MESSAGE_BYTES (1 << 13)

static void open_socket(struct netlink *netlink)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	int bytes = RECEIVE_BUFFER_BYTES;

	netlink->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (netlink->fd < 0 || bind(netlink->fd, (struct sockaddr *)&address, sizeof(address)))
		die(EXIT_RUNTIME, "netlink: %s", strerror(errno));
	if (setsockopt(netlink->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		die(EXIT_RUNTIME, "only root can be the medium of radios: %s", strerror(errno));
}

struct nlmsghdr *netlink_begin(struct netlink *netlink, uint16_t type, uint8_t command, uint16_t flags)
{
	struct nlmsghdr *message;
	struct genlmsghdr *generic;

	if (netlink->filled > NETLINK_BYTES - MESSAGE_BYTES)
		netlink_flush(netlink);
	message = (struct nlmsghdr *)(netlink->out + netlink->filled);
	memset(message, 0, NLMSG_HDRLEN + GENL_HDRLEN);
	message->nlmsg_type = type;
	message->nlmsg_flags = NLM_F_REQUEST | flags;
	message->nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN;
	generic = NLMSG_DATA(message);
	generic->cmd = command;
	generic->version = 1;
	netlink->filled += message->nlmsg_len;
	return message;
}

void netlink_add(struct netlink *netlink, struct nlmsghdr *message, uint16_t type, const void *data, size_t bytes)
{
	struct nlattr *attribute = (struct nlattr *)((char *)message + message->nlmsg_len);
	size_t padded = NLA_HDRLEN + NLA_ALIGN(bytes);

	memset(attribute, 0, padded);
	attribute->nla_type = type;
	attribute->nla_len = NLA_HDRLEN + bytes;
	if (bytes)
		memcpy((char *)attribute + NLA_HDRLEN, data, bytes);
	message->nlmsg_len += padded;
	netlink->filled += padded;
}

void netlink_add_u32(struct netlink *netlink, struct nlmsghdr *message, uint16_t type, uint32_t value)
{
	netlink_add(netlink, message, type, &value, sizeof(value));
}

void netlink_flush(struct netlink *netlink)
{
	if (!netlink->filled)
		return;
	if (send(netlink->fd, netlink->out, netlink->filled, 0) < 0)
		die(EXIT_RUNTIME, "netlink: %s", strerror(errno));
	netlink->filled = 0;
}

static size_t receive(struct netlink *netlink, int flags)
{
	ssize_t bytes;

	do {
		bytes = recv(netlink->fd, netlink->in, NETLINK_BYTES, flags);
	} while (bytes < 0 && errno == EINTR);
	if (bytes < 0 && errno == EAGAIN)
		return 0;
	if (bytes < 0)
		die(EXIT_RUNTIME, "netlink: %s", strerror(errno));
	return bytes;
}

size_t netlink_read(struct netlink *netlink)
{
	return receive(netlink, MSG_DONTWAIT);
}

static void read_batch(struct netlink *netlink)
{
	struct mmsghdr messages[NETLINK_BATCH] = { 0 };
	struct iovec places[NETLINK_BATCH];
	int count;

	for (int i = 0; i < NETLINK_BATCH; i++) {
		places[i] = (struct iovec){ netlink->batch + i * MESSAGE_BYTES, MESSAGE_BYTES };
		messages[i].msg_hdr.msg_iov = &places[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	do {
		count = recvmmsg(netlink->fd, messages, NETLINK_BATCH, MSG_DONTWAIT, NULL);
	} while (count < 0 && errno == EINTR);
	if (count < 0 && errno != EAGAIN)
		die(EXIT_RUNTIME, "netlink: %s", strerror(errno));
	netlink->batched = count > 0 ? count : 0;
	netlink->next = 0;
	for (int i = 0; i < netlink->batched; i++)
		netlink->lengths[i] = messages[i].msg_len;
}

const void *netlink_next(struct netlink *netlink, size_t *bytes)
{
	if (!netlink_has_next(netlink))
		read_batch(netlink);
	if (!netlink_has_next(netlink))
		return NULL;
	*bytes = netlink->lengths[netlink->next];
	return netlink->batch + netlink->next++ * MESSAGE_BYTES;
}

int netlink_ask(struct netlink *netlink)
{
	netlink_flush(netlink);
	for (;;) {
		int bytes = receive(netlink, 0);
		struct nlmsghdr *message = (struct nlmsghdr *)netlink->in;

		for (; NLMSG_OK(message, bytes); message = NLMSG_NEXT(message, bytes))
			if (message->nlmsg_type == NLMSG_ERROR)
				return -((struct nlmsgerr *)NLMSG_DATA(message))->error;
	}
}

const void *netlink_nested(const void *at, size_t length, uint16_t type, size_t *bytes)
{
	const char *next = at, *end = next + length;

	while (next + NLA_HDRLEN <= end) {
		const struct nlattr *attribute = (const struct nlattr *)next;

		if (attribute->nla_len < NLA_HDRLEN || next + attribute->nla_len > end)
			break;
		if ((attribute->nla_type & NLA_TYPE_MASK) == type) {
			*bytes = attribute->nla_len - NLA_HDRLEN;
			return next + NLA_HDRLEN;
		}
		next += NLA_ALIGN(attribute->nla_len);
	}
	return NULL;
}

const void *netlink_attribute(const struct nlmsghdr *message, uint16_t type, size_t *bytes)
{
	size_t headers = NLMSG_HDRLEN + GENL_HDRLEN;

	if (message->nlmsg_len < headers)
		return NULL;
	return netlink_nested((const char *)message + headers, message->nlmsg_len - headers, type, bytes);
}

/* The kernel's description of a family. */
static const struct nlmsghdr *ask_for_family(struct netlink *netlink, const char *family)
{
	struct nlmsghdr *message = netlink_begin(netlink, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);

	netlink_add(netlink, message, CTRL_ATTR_FAMILY_NAME, family, strlen(family) + 1);
	netlink_flush(netlink);
	receive(netlink, 0);
	message = (struct nlmsghdr *)netlink->in;
	if (message->nlmsg_type != GENL_ID_CTRL)
		die(EXIT_RUNTIME, "this kernel has no %s", family);
	return message;
}

static void find_family(struct netlink *netlink, const char *family)
{
	size_t bytes;
	const void *value = netlink_attribute(ask_for_family(netlink, family), CTRL_ATTR_FAMILY_ID, &bytes);

	if (!value)
		die(EXIT_RUNTIME, "this kernel has no %s", family);
	memcpy(&netlink->family, value, sizeof(netlink->family));
}

void netlink_join(struct netlink *netlink, const char *family, const char *group)
{
	size_t length, bytes, named;
	const char *groups = netlink_attribute(ask_for_family(netlink, family), CTRL_ATTR_MCAST_GROUPS, &length);
	const void *one, *name, *id;

	/* The groups are numbered from 1. */
	for (uint16_t i = 1; groups && (one = netlink_nested(groups, length, i, &bytes)); i++) {
		name = netlink_nested(one, bytes, CTRL_ATTR_MCAST_GRP_NAME, &named);
		id = netlink_nested(one, bytes, CTRL_ATTR_MCAST_GRP_ID, &named);
		if (!name || !id || strcmp(name, group))
			continue;
		if (setsockopt(netlink->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, id, sizeof(uint32_t)))
			die(EXIT_RUNTIME, "netlink: %s", strerror(errno));
		return;
	}
	die(EXIT_RUNTIME, "%s has no group %s", family, group);
}

void netlink_open(struct netlink *netlink, const char *family)
{
	netlink->out = allocate(NETLINK_BYTES);
	netlink->in = allocate(NETLINK_BYTES);
	netlink->batch = allocate(NETLINK_BATCH * MESSAGE_BYTES);
	open_socket(netlink);
	find_family(netlink, family);
}
