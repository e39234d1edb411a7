// SPDX-License-Identifier: MIT
/*
 * `radio watch`: what a node's radios hear and count, as the kernel reports it without
 * special rights (nl80211), and which stations associate. One JSON object per line. It needs
 * neither the medium nor a simulated radio.
 */
#include "radio.h"

#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define DEVICES 16

/* Numbers of include/uapi/linux/nl80211.h. */
enum nl80211 {
	CMD_GET_INTERFACE = 5,
	CMD_GET_STATION = 17,
	CMD_NEW_STATION = 19,
	CMD_DEL_STATION = 20,
	CMD_CONNECT = 46,
	CMD_ROAM = 47,
	CMD_DISCONNECT = 48,
	NL_IFINDEX = 3,
	NL_IFTYPE = 5,
	NL_MAC = 6,
	NL_STA_INFO = 21,
	NL_REASON_CODE = 54,
	NL_STATUS_CODE = 72,
	STA_SIGNAL = 7,
	STA_TX_BITRATE = 8,
	STA_RX_PACKETS = 9,
	STA_TX_PACKETS = 10,
	STA_TX_RETRIES = 11,
	STA_TX_FAILED = 12,
	STA_RX_BITRATE = 14,
	STA_RX_BYTES64 = 23,
	STA_TX_BYTES64 = 24,
	RATE_MCS = 2,
	RATE_SHORT_GUARD = 4,
	RATE_BITRATE32 = 5,
	IFTYPE_AP = 3,
};

/* Bit rates are in units of 100 kbit/s. */
#define KBPS_PER_UNIT 100

struct device {
	const char *name;
	uint32_t index;
	bool is_access_point;
};

struct watch {
	struct netlink questions;
	struct netlink news;
	int64_t every_ns;
	struct device devices[DEVICES];
	int n_devices;
};

static uint64_t number(const void *value, size_t bytes)
{
	uint64_t result = 0;

	/* Little-endian, as all machines of the lab. */
	if (value && bytes <= sizeof(result))
		memcpy(&result, value, bytes);
	return result;
}

static const struct device *device_of(const struct watch *watch, const struct nlmsghdr *message)
{
	size_t bytes;
	const void *value = netlink_attribute(message, NL_IFINDEX, &bytes);
	uint32_t index = value ? number(value, bytes) : 0;

	for (int i = 0; i < watch->n_devices; i++)
		if (watch->devices[i].index == index)
			return &watch->devices[i];
	return NULL;
}

static void begin_line(int64_t at_ns, const struct device *device, const struct nlmsghdr *message)
{
	size_t bytes;
	const uint8_t *mac = netlink_attribute(message, NL_MAC, &bytes);

	printf("{\"at_ns\":%lld,\"device\":\"%s\"", (long long)at_ns, device->name);
	if (mac && bytes == ETH_ALEN)
		printf(",\"station\":\"%02x:%02x:%02x:%02x:%02x:%02x\"", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

/* The rate of one @direction, "tx" or "rx". An 802.11n rate also has its MCS and its guard interval. */
static void print_rate(const char *direction, const void *info, size_t length, uint16_t type)
{
	size_t bytes, value_bytes;
	const void *rate = netlink_nested(info, length, type, &bytes);
	const void *value;

	if (!rate)
		return;
	value = netlink_nested(rate, bytes, RATE_BITRATE32, &value_bytes);
	if (value)
		printf(",\"%s_kbps\":%llu", direction,
		       (unsigned long long)(number(value, value_bytes) * KBPS_PER_UNIT));
	value = netlink_nested(rate, bytes, RATE_MCS, &value_bytes);
	if (!value)
		return;
	printf(",\"%s_mcs\":%llu", direction, (unsigned long long)number(value, value_bytes));
	if (netlink_nested(rate, bytes, RATE_SHORT_GUARD, &value_bytes))
		printf(",\"%s_short_guard\":true", direction);
}

static void print_station(const struct watch *watch, const struct nlmsghdr *message, int64_t at_ns)
{
	static const struct {
		const char *name;
		uint16_t type;
	} counters[] = {
		{ "rx_bytes", STA_RX_BYTES64 },
		{ "tx_bytes", STA_TX_BYTES64 },
		{ "rx_packets", STA_RX_PACKETS },
		{ "tx_packets", STA_TX_PACKETS },
		{ "tx_retries", STA_TX_RETRIES },
		{ "tx_failed", STA_TX_FAILED },
	};
	const struct device *device = device_of(watch, message);
	size_t length, bytes;
	const void *info = netlink_attribute(message, NL_STA_INFO, &length);
	const void *value;

	if (!device || !info)
		return;
	begin_line(at_ns, device, message);
	value = netlink_nested(info, length, STA_SIGNAL, &bytes);
	/* The kernel reports 0 until it has heard a frame. */
	if (value && *(const int8_t *)value)
		printf(",\"signal_dbm\":%d", *(const int8_t *)value);
	for (unsigned int i = 0; i < ARRAY_SIZE(counters); i++) {
		value = netlink_nested(info, length, counters[i].type, &bytes);
		if (value)
			printf(",\"%s\":%llu", counters[i].name, (unsigned long long)number(value, bytes));
	}
	print_rate("tx", info, length, STA_TX_BITRATE);
	print_rate("rx", info, length, STA_RX_BITRATE);
	puts("}");
}

/* Reads the answer to a dump until its end; false if the device is gone. */
static bool read_dump(struct watch *watch, int64_t at_ns)
{
	struct netlink *netlink = &watch->questions;

	for (;;) {
		ssize_t got = recv(netlink->fd, netlink->in, NETLINK_BYTES, 0);
		struct nlmsghdr *message = (struct nlmsghdr *)netlink->in;
		int bytes = got;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			die(EXIT_RUNTIME, "netlink: %s", strerror(errno));
		for (; NLMSG_OK(message, bytes); message = NLMSG_NEXT(message, bytes)) {
			if (message->nlmsg_type == NLMSG_DONE)
				return true;
			if (message->nlmsg_type == NLMSG_ERROR)
				return ((struct nlmsgerr *)NLMSG_DATA(message))->error != -ENODEV;
			if (message->nlmsg_type == netlink->family)
				print_station(watch, message, at_ns);
		}
	}
}

static void sample(struct watch *watch, int64_t at_ns)
{
	for (int i = 0; i < watch->n_devices; i++) {
		struct netlink *netlink = &watch->questions;
		struct nlmsghdr *message = netlink_begin(netlink, netlink->family, CMD_GET_STATION, NLM_F_DUMP);

		netlink_add_u32(netlink, message, NL_IFINDEX, watch->devices[i].index);
		netlink_flush(netlink);
		if (!read_dump(watch, at_ns))
			die(EXIT_RUNTIME, "the radio of '%s' is gone: its medium has ended", watch->devices[i].name);
	}
}

/*
 * The kernel reports new stations on both sides. On a station's side this means that it
 * begins to authenticate; other messages report whether it succeeds.
 */
static const char *event_of(const struct device *device, uint8_t command)
{
	switch (command) {
	case CMD_NEW_STATION:
		return device->is_access_point ? "associated" : NULL;
	case CMD_DEL_STATION:
		return device->is_access_point ? "disassociated" : NULL;
	case CMD_CONNECT:
		return "associated";
	case CMD_DISCONNECT:
		return "disassociated";
	case CMD_ROAM:
		return "roamed";
	}
	return NULL;
}

static void read_news(struct watch *watch)
{
	int bytes = netlink_read(&watch->news);
	struct nlmsghdr *message = (struct nlmsghdr *)watch->news.in;

	for (; NLMSG_OK(message, bytes); message = NLMSG_NEXT(message, bytes)) {
		const struct genlmsghdr *generic = NLMSG_DATA(message);
		const struct device *device =
			message->nlmsg_type == watch->news.family ? device_of(watch, message) : NULL;
		const char *event = device ? event_of(device, generic->cmd) : NULL;
		size_t length;
		const void *code = netlink_attribute(message, NL_STATUS_CODE, &length);

		/* A failed attempt to associate is a connection with a status. */
		if (!event || (generic->cmd == CMD_CONNECT && code && number(code, length)))
			continue;
		begin_line(clock_ns(), device, message);
		code = netlink_attribute(message, NL_REASON_CODE, &length);
		printf(",\"event\":\"%s\"", event);
		if (code)
			printf(",\"reason\":%llu", (unsigned long long)number(code, length));
		puts("}");
	}
}

static bool is_access_point(struct netlink *netlink, uint32_t index)
{
	struct nlmsghdr *message = netlink_begin(netlink, netlink->family, CMD_GET_INTERFACE, 0);
	const void *value;
	size_t bytes;

	netlink_add_u32(netlink, message, NL_IFINDEX, index);
	netlink_flush(netlink);
	if (recv(netlink->fd, netlink->in, NETLINK_BYTES, 0) < 0)
		die(EXIT_RUNTIME, "netlink: %s", strerror(errno));
	value = netlink_attribute((struct nlmsghdr *)netlink->in, NL_IFTYPE, &bytes);
	return value && number(value, bytes) == IFTYPE_AP;
}

static void add_device(struct watch *watch, const char *name)
{
	struct device device = { .name = name, .index = if_nametoindex(name) };

	if (!device.index)
		die(EXIT_RUNTIME, "there is no device '%s'", name);
	device.is_access_point = is_access_point(&watch->questions, device.index);
	watch->devices[watch->n_devices++] = device;
}

static void watch_devices(struct watch *watch)
{
	struct pollfd polled = { .fd = watch->news.fd, .events = POLLIN };
	int64_t next_ns = (clock_ns() / watch->every_ns + 1) * watch->every_ns;

	for (;;) {
		int64_t left_ns = next_ns - clock_ns();
		struct timespec timeout = { 0 };

		if (left_ns > 0)
			timeout = (struct timespec){ left_ns / NS_PER_S, left_ns % NS_PER_S };
		if (ppoll(&polled, 1, &timeout, NULL) < 0 && errno != EINTR)
			die(EXIT_RUNTIME, "ppoll: %s", strerror(errno));
		if (polled.revents & POLLIN)
			read_news(watch);
		if (clock_ns() >= next_ns) {
			sample(watch, next_ns);
			next_ns = (clock_ns() / watch->every_ns + 1) * watch->every_ns;
		}
		fflush(stdout);
	}
}

int watch_main(int argc, char **argv)
{
	static const struct option options[] = { { "every", required_argument, NULL, 'e' }, { 0 } };
	struct watch watch = { .every_ns = NS_PER_S / 10 };
	int option;
	char *end;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option != 'e')
			exit(EXIT_USAGE);
		watch.every_ns = strtod(optarg, &end) * NS_PER_S;
		if (*end || watch.every_ns <= 0)
			die(EXIT_USAGE, "'%s' is not a time in seconds", optarg);
	}
	if (optind == argc || argc - optind > DEVICES)
		die(EXIT_USAGE, "name from 1 to %d devices; see radio --help", DEVICES);
	netlink_open(&watch.questions, "nl80211");
	netlink_open(&watch.news, "nl80211");
	netlink_join(&watch.news, "nl80211", "mlme");
	for (; optind < argc; optind++)
		add_device(&watch, argv[optind]);
	be_exact();
	watch_devices(&watch);
	return EXIT_SUCCESS;
}
