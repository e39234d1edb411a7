// SPDX-License-Identifier: MIT
/* Frames in the air: they arrive everywhere at once (300 m are 1 us), and only on their channel. */
#include "radio.h"

#include <stdlib.h>
#include <string.h>

/* The origin of times in the configuration. */
static int64_t moving_ns(const struct medium *medium)
{
	return medium->now_ns - medium->moving_since_ns;
}

static struct position place(const struct radio *radio)
{
	const struct radio_config *config = radio->config;

	return position_at(config->waypoints, config->n_waypoints, moving_ns(radio->medium));
}

static double received_mw(const struct radio *from, const struct radio *to, int mhz)
{
	const struct medium *medium = from->medium;
	struct radio_state sender = config_state(from->config, moving_ns(medium));
	double loss_db;

	if (sender.off || config_state(to->config, moving_ns(medium)).off)
		return 0;
	loss_db = path_loss_db(&medium->config.propagation, place(from), place(to), mhz);

	loss_db += medium->extra_loss_db[from->number * medium->n_radios + to->number];
	return mw_of_dbm(sender.power_dbm - loss_db);
}

/* Carrier sense; the energy threshold applies if the radio cannot decode the preamble (16.3.8.5). */
static bool senses(const struct radio *radio, const struct transmission *transmission)
{
	double mw = transmission->at[radio->number].mw;
	bool foreign = radio->config->dsss_only && is_ofdm(transmission->rate);

	if (radio == transmission->from || radio->mhz != transmission->mhz)
		return false;
	return mw >= (foreign ? radio->energy_detect_mw : radio->carrier_sense_mw);
}

static void sense(struct radio *radio, struct transmission *transmission)
{
	if (!senses(radio, transmission))
		return;
	transmission->at[radio->number].sensed = true;
	radio->sensed++;
	dcf_pause(radio);
	radio->eifs_extra_ns = 0;
}

static void unsense(struct radio *radio, struct transmission *transmission)
{
	if (!transmission->at[radio->number].sensed)
		return;
	transmission->at[radio->number].sensed = false;
	radio->sensed--;
	radio->idle_since_ns = radio->medium->now_ns;
}

static bool overlap(const struct transmission *a, const struct transmission *b)
{
	return a->mhz == b->mhz && a->start_ns < b->end_ns && b->start_ns < a->end_ns;
}

/* Free transmissions that have ended and overlap no transmission in progress. */
static void forget(struct medium *medium)
{
	struct transmission **link = &medium->air, *one, *other;

	while ((one = *link)) {
		for (other = medium->air; other; other = other->next)
			if (!other->ended && overlap(one, other))
				break;
		if (!one->ended || other) {
			link = &one->next;
			continue;
		}
		*link = one->next;
		free(one);
	}
}

static bool disturbs(const struct transmission *one, const struct transmission *other)
{
	return other->to && other->to != other->from &&
	       (other->to == one->from || one->at[other->to->number].mw >= other->to->carrier_sense_mw);
}

static void note_collisions(struct transmission *transmission)
{
	struct transmission *other = transmission->from->medium->air;

	for (; other; other = other->next) {
		if (other == transmission || !overlap(other, transmission))
			continue;
		transmission->collided |= disturbs(other, transmission);
		other->collided |= disturbs(transmission, other);
	}
}

/* A radio that hears a frame for another radio learns how long the channel is reserved (10.3.2.4). */
static void reserve(struct radio *radio, const struct transmission *transmission)
{
	int64_t until_ns = transmission->end_ns + transmission->reserved_ns;

	if (transmission->to != radio && until_ns > radio->nav_until_ns)
		radio->nav_until_ns = until_ns;
}

static void end_reception(struct radio *radio, struct transmission *transmission)
{
	struct peer_stats *peer = &radio->stats.peers[transmission->from->number];
	bool all = transmission->to == radio || radio->config->monitor;
	const struct rate *slowest;
	uint64_t parts;

	radio->receiving = NULL;
	dcf_pause(radio);
	if (reception_succeeds(radio, transmission, all, &parts)) {
		radio->eifs_extra_ns = 0;
		radio->stats.decoded++;
		peer->frames++;
		peer->rssi_dbm_last = dbm_of_mw(transmission->at[radio->number].mw);
		peer->rssi_dbm_sum += peer->rssi_dbm_last;
		reserve(radio, transmission);
		response_received(radio, transmission, parts);
		return;
	}
	radio->stats.errors++;
	slowest = slowest_response(transmission->rate);
	radio->eifs_extra_ns = sifs_ns(transmission->mhz) + frame_ns(transmission->mhz, slowest, false, ACK_BYTES);
}

static void air_end(struct medium *medium, struct event *event)
{
	struct transmission *transmission = container_of(event, struct transmission, end);
	struct radio *from = transmission->from;

	transmission->ended = true;
	for (int i = 0; i < medium->n_radios; i++)
		unsense(&medium->radios[i], transmission);
	for (int i = 0; i < medium->n_radios; i++)
		if (medium->radios[i].receiving == transmission)
			end_reception(&medium->radios[i], transmission);
	from->sending = NULL;
	from->idle_since_ns = medium->now_ns;
	exchange_sent(from, transmission);
	for (int i = 0; i < medium->n_radios; i++)
		dcf_resume(&medium->radios[i]);
	transmission->frame = NULL;
	transmission->aggregate = NULL;
	forget(medium);
}

struct transmission *air_new(struct radio *from, enum kind kind, struct radio *to, const struct rate *rate,
			     bool short_preamble, int bytes)
{
	const struct medium *medium = from->medium;
	struct transmission *transmission;

	transmission = allocate(sizeof(*transmission) + medium->n_radios * sizeof(transmission->at[0]));
	transmission->end.run = air_end;
	transmission->kind = kind;
	transmission->from = from;
	transmission->to = to;
	transmission->rate = rate;
	transmission->short_preamble = short_preamble;
	transmission->bytes = bytes;
	transmission->mhz = from->mhz;
	transmission->start_ns = medium->now_ns;
	transmission->header_ns = medium->now_ns + header_ns(rate, short_preamble);
	transmission->end_ns = medium->now_ns + frame_ns(from->mhz, rate, short_preamble, bytes);
	return transmission;
}

/* A radio that sends receives nothing. */
void air_start(struct transmission *transmission)
{
	struct radio *from = transmission->from;
	struct medium *medium = from->medium;

	from->sending = transmission;
	from->receiving = NULL;
	from->eifs_extra_ns = 0;
	from->stats.airtime_ns += transmission->end_ns - transmission->start_ns;
	dcf_pause(from);
	transmission->next = medium->air;
	medium->air = transmission;
	for (int i = 0; i < medium->n_radios; i++) {
		struct radio *radio = &medium->radios[i];

		if (radio == from)
			continue;
		transmission->at[i].mw = received_mw(from, radio, transmission->mhz);
		sense(radio, transmission);
		reception_begin(radio, transmission);
	}
	note_collisions(transmission);
	event_schedule(&medium->events, &transmission->end, transmission->end_ns);
}

/* After a change of channel the radio senses the transmissions there, but has missed their preambles. */
void air_tune(struct radio *radio, int mhz)
{
	struct medium *medium = radio->medium;
	struct transmission *one;

	if (radio->mhz == mhz)
		return;
	dcf_pause(radio);
	for (one = medium->air; one; one = one->next)
		unsense(radio, one);
	radio->receiving = NULL;
	radio->nav_until_ns = 0;
	radio->eifs_extra_ns = 0;
	radio->mhz = mhz;
	if (mhz >= FIRST_MHZ_OF_5_GHZ)
		radio->slot_ns = SHORT_SLOT_NS;
	radio->idle_since_ns = medium->now_ns;
	for (one = medium->air; one; one = one->next)
		if (!one->ended)
			sense(radio, one);
	if (!mhz)
		dcf_flush(radio);
	dcf_resume(radio);
}
