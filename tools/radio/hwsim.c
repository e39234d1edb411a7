// SPDX-License-Identifier: MIT
/* The messages of mac80211_hwsim, with the numbers of the kernel's mac80211_hwsim.h. */
#include "radio.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum command {
	REGISTER = 1,
	FRAME = 2,
	TX_INFO_FRAME = 3,
	NEW_RADIO = 4,
	ADD_MAC_ADDR = 7,
	DEL_MAC_ADDR = 8,
	/* Of the lab's kernel, kernel/options/wifi. */
	RADIO_CONF = 12,
};

enum attribute {
	ADDR_RECEIVER = 1,
	ADDR_TRANSMITTER = 2,
	ATTR_FRAME = 3,
	FLAGS = 4,
	RX_RATE = 5,
	SIGNAL = 6,
	TX_INFO = 7,
	COOKIE = 8,
	CHANNELS = 9,
	REG_CUSTOM_REG = 12,
	DESTROY_RADIO_ON_CLOSE = 16,
	RADIO_NAME = 17,
	FREQ = 19,
	TX_INFO_FLAGS = 21,
	PERM_ADDR = 22,
	/* Of the lab's kernel. */
	QUEUE = 32,
	QUEUE_PARAMS = 33,
	SLOT = 34,
	AMPDU = 35,
	AMPDU_STATUS = 36,
	RX_RATE_FLAGS = 37,
};

#define HWSIM_TX_STAT_ACK 4
#define HWSIM_TX_STAT_NO_BACK 8
/* Frame control, in the second byte (9.2.4.1). */
#define RETRY_BIT 0x08
#define SHORTEST_FRAME 10

struct wire_rate {
	int8_t index;
	uint8_t count;
};

#define TXOP_UNIT_NS (32 * NS_PER_US)

/* Index and flags of a rate, packed. */
#define WIRE_FLAGS_BYTES 3
/* Flags of 802.11n and 802.11ac rates, which have separate indices. */
#define MCS 0x008
#define GREEN_FIELD 0x010
#define WIDTH_40_MHZ 0x020
#define SHORT_GUARD 0x080
#define VHT_MCS 0x100

/* A struct session without the padding at its end. */
#define WIRE_SESSION_BYTES 7

struct wire_status {
	uint8_t frames;
	uint8_t acked;
};

struct wire_queue {
	uint8_t queue;
	uint8_t aifs;
	uint16_t cw_min;
	uint16_t cw_max;
	uint16_t txop;
};

static void create(struct medium *medium, const struct radio_config *radio)
{
	struct netlink *netlink = &medium->netlink;
	struct nlmsghdr *message = netlink_begin(netlink, netlink->family, NEW_RADIO, NLM_F_ACK);
	int error;

	netlink_add_u32(netlink, message, CHANNELS, 1);
	netlink_add(netlink, message, RADIO_NAME, radio->name, strlen(radio->name));
	netlink_add(netlink, message, PERM_ADDR, radio->mac, ETH_ALEN);
	netlink_add(netlink, message, DESTROY_RADIO_ON_CLOSE, NULL, 0);
	if (medium->config.regulatory_domain >= 0)
		netlink_add_u32(netlink, message, REG_CUSTOM_REG, medium->config.regulatory_domain);
	error = netlink_ask(netlink);
	if (error > 0)
		die(EXIT_RUNTIME, "the radio '%s' cannot be made: %s", radio->name, strerror(error));
}

void hwsim_create(struct medium *medium)
{
	for (int i = 0; i < medium->n_radios; i++)
		create(medium, medium->radios[i].config);
}

void hwsim_register(struct medium *medium)
{
	struct netlink *netlink = &medium->netlink;
	int error;

	netlink_begin(netlink, netlink->family, REGISTER, NLM_F_ACK);
	error = netlink_ask(netlink);
	if (error)
		die(EXIT_RUNTIME, "cannot be the medium of the radios here: %s", strerror(error));
}

void hwsim_deliver(struct radio *radio, const struct transmission *transmission, struct frame *frame)
{
	const struct rate *rate = transmission->rate;
	struct netlink *netlink = &radio->medium->netlink;
	struct nlmsghdr *message = netlink_begin(netlink, netlink->family, FRAME, 0);
	double dbm = dbm_of_mw(transmission->at[radio->number].mw);

	if (frame->attempts > 1)
		frame->data[1] |= RETRY_BIT;
	netlink_add(netlink, message, ADDR_RECEIVER, radio->config->mac, ETH_ALEN);
	netlink_add(netlink, message, ATTR_FRAME, frame->data, frame->length);
	netlink_add_u32(netlink, message, RX_RATE, rate_index(transmission->mhz, rate));
	if (is_ht(rate))
		netlink_add_u32(netlink, message, RX_RATE_FLAGS, MCS | (rate->short_guard ? SHORT_GUARD : 0));
	netlink_add_u32(netlink, message, SIGNAL, (uint32_t)lround(dbm));
	netlink_add_u32(netlink, message, FREQ, transmission->mhz);
	radio->stats.delivered++;
	radio->stats.delivered_bytes += frame->length;
}

/* The attempts at each rate: as many as the kernel allows, and the rest at the last rate. */
static void count_attempts(const struct outcome *outcome, struct wire_rate *rates)
{
	int attempts = outcome->attempts;

	for (int i = 0; i < TX_RATES; i++) {
		const struct tx_rate *rate = &outcome->rates[i];
		bool is_last = i == TX_RATES - 1 || outcome->rates[i + 1].index < 0;
		int made = attempts < rate->count || is_last ? attempts : rate->count;

		rates[i].index = attempts > 0 ? rate->index : -1;
		rates[i].count = attempts > 0 ? made : 0;
		attempts -= made;
	}
}

/* Reports the result of an aggregate with one of its frames. */
static void add_status(struct netlink *netlink, struct nlmsghdr *message, const struct outcome *outcome)
{
	struct wire_status status = { outcome->frames, outcome->frames_acked };
	uint8_t flags[TX_RATES][WIRE_FLAGS_BYTES];

	for (int i = 0; i < TX_RATES; i++) {
		flags[i][0] = outcome->rates[i].index;
		memcpy(&flags[i][1], &outcome->rates[i].flags, sizeof(outcome->rates[i].flags));
	}
	netlink_add(netlink, message, TX_INFO_FLAGS, flags, sizeof(flags));
	netlink_add(netlink, message, AMPDU_STATUS, &status, sizeof(status));
}

void hwsim_report(struct radio *radio, const struct frame *frame, const struct outcome *outcome)
{
	uint32_t flags = frame->hwsim_flags | (outcome->acked ? HWSIM_TX_STAT_ACK : 0) |
			 (outcome->moves_window ? HWSIM_TX_STAT_NO_BACK : 0);
	struct netlink *netlink = &radio->medium->netlink;
	struct nlmsghdr *message = netlink_begin(netlink, netlink->family, TX_INFO_FRAME, 0);
	struct wire_rate rates[TX_RATES];

	count_attempts(outcome, rates);
	netlink_add(netlink, message, ADDR_TRANSMITTER, radio->config->mac, ETH_ALEN);
	netlink_add_u32(netlink, message, FLAGS, flags);
	netlink_add_u32(netlink, message, SIGNAL, (uint32_t)lround(outcome->signal_dbm));
	netlink_add(netlink, message, TX_INFO, rates, sizeof(rates));
	netlink_add(netlink, message, COOKIE, &frame->cookie, sizeof(frame->cookie));
	if (outcome->frames)
		add_status(netlink, message, outcome);
}

static bool get(const struct nlmsghdr *message, enum attribute type, void *value, size_t wanted)
{
	size_t bytes;
	const void *data = netlink_attribute(message, type, &bytes);

	if (!data || bytes != wanted)
		return false;
	memcpy(value, data, wanted);
	return true;
}

static struct radio *sender(const struct medium *medium, const struct nlmsghdr *message)
{
	uint8_t mac[ETH_ALEN];

	return get(message, ADDR_TRANSMITTER, mac, sizeof(mac)) ? medium_owner(medium, mac) : NULL;
}

static void set_rates(struct frame *frame, const struct wire_rate *rates, const uint8_t (*flags)[WIRE_FLAGS_BYTES])
{
	for (int i = 0; i < TX_RATES; i++) {
		frame->rates[i] = (struct tx_rate){ rates[i].index, rates[i].count, 0 };
		memcpy(&frame->rates[i].flags, &flags[i][1], sizeof(frame->rates[i].flags));
	}
}

static struct frame *new_frame(const struct nlmsghdr *message)
{
	struct wire_rate rates[TX_RATES];
	uint8_t flags[TX_RATES][WIRE_FLAGS_BYTES];
	uint32_t mhz, queue;
	const void *data;
	struct frame *frame;
	size_t bytes;

	data = netlink_attribute(message, ATTR_FRAME, &bytes);
	if (!data || bytes < SHORTEST_FRAME || !get(message, FREQ, &mhz, sizeof(mhz)) ||
	    !get(message, TX_INFO, rates, sizeof(rates)) || !get(message, TX_INFO_FLAGS, flags, sizeof(flags)))
		return NULL;
	if (!get(message, QUEUE, &queue, sizeof(queue)))
		die(EXIT_RUNTIME, "the radios of this kernel do not push back: use 7.2-wifi");
	frame = allocate(sizeof(*frame) + bytes);
	memcpy(frame->data, data, bytes);
	frame->length = bytes;
	frame->mhz = mhz;
	frame->queue = queue < QUEUES ? queue : 0;
	set_rates(frame, rates, flags);
	get(message, FLAGS, &frame->hwsim_flags, sizeof(frame->hwsim_flags));
	get(message, COOKIE, &frame->cookie, sizeof(frame->cookie));
	get(message, AMPDU, &frame->session, WIRE_SESSION_BYTES);
	return frame;
}

/* Without this, such a rate would be mistaken for the rate of 20 MHz and one stream with the same number. */
static void refuse_later_rates(const struct radio *radio, const struct frame *frame)
{
	for (int i = 0; i < TX_RATES && frame->rates[i].index >= 0; i++) {
		const struct tx_rate *rate = &frame->rates[i];

		if (rate->flags & (VHT_MCS | WIDTH_40_MHZ | GREEN_FIELD) ||
		    (rate->flags & MCS && !rate_of_mcs(rate->index, false)))
			die(EXIT_RUNTIME,
			    "'%s' sends at a rate that the medium does not have, beyond 802.11n with 20 MHz and one stream: leave ieee80211ac and HT40 out of hostapd's configuration",
			    radio->config->name);
	}
}

static void take_frame(struct medium *medium, const struct nlmsghdr *message)
{
	struct radio *radio = sender(medium, message);
	struct frame *frame = radio ? new_frame(message) : NULL;
	unsigned int attempts = 0;

	if (!frame)
		return;
	refuse_later_rates(radio, frame);
	for (int i = 0; i < TX_RATES && frame->rates[i].index >= 0; i++)
		attempts += frame->rates[i].count;
	if (attempts < ARRAY_SIZE(radio->stats.attempts_by_limit))
		radio->stats.attempts_by_limit[attempts]++;
	radio->stats.frames++;
	if (dcf_add(&radio->contenders[frame->queue], frame))
		return;
	radio->stats.overflows++;
	report_one(radio, frame, false, 0);
	free(frame);
}

static void configure(struct medium *medium, const struct nlmsghdr *message)
{
	struct radio *radio = sender(medium, message);
	struct wire_queue queue;
	uint32_t value;

	if (!radio)
		return;
	if (get(message, FREQ, &value, sizeof(value)))
		air_tune(radio, value);
	if (get(message, SLOT, &value, sizeof(value))) {
		dcf_pause(radio);
		radio->slot_ns = value * NS_PER_US;
		dcf_resume(radio);
	}
	if (get(message, QUEUE_PARAMS, &queue, sizeof(queue)) && queue.queue < QUEUES) {
		struct contender *contender = &radio->contenders[queue.queue];

		contender->aifs = queue.aifs;
		contender->cw_min = queue.cw_min;
		contender->cw_max = queue.cw_max;
		contender->cw = queue.cw_min;
		contender->txop_ns = queue.txop * TXOP_UNIT_NS;
	}
}

static void change_address(struct medium *medium, const struct nlmsghdr *message, bool add)
{
	struct radio *radio = sender(medium, message);
	uint8_t mac[ETH_ALEN];

	if (!radio || !get(message, ADDR_RECEIVER, mac, sizeof(mac)))
		return;
	if (add)
		medium_add_address(medium, mac, radio);
	else
		medium_delete_address(medium, mac);
}

static void handle(struct medium *medium, const struct nlmsghdr *message)
{
	const struct genlmsghdr *generic = NLMSG_DATA(message);

	if (message->nlmsg_type != medium->netlink.family)
		return;
	switch (generic->cmd) {
	case FRAME:
		take_frame(medium, message);
		break;
	case RADIO_CONF:
		configure(medium, message);
		break;
	case ADD_MAC_ADDR:
	case DEL_MAC_ADDR:
		change_address(medium, message, generic->cmd == ADD_MAC_ADDR);
		break;
	}
}

void hwsim_receive(struct medium *medium)
{
	size_t length = 0;
	const struct nlmsghdr *message = netlink_next(&medium->netlink, &length);
	int bytes = length;

	for (; NLMSG_OK(message, bytes); message = NLMSG_NEXT(message, bytes))
		handle(medium, message);
}
