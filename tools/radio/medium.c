// SPDX-License-Identifier: MIT
#include "radio.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Random number streams of radio n: n * STREAMS to n * STREAMS + STREAMS - 1. */
#define STREAMS 2

static void radio_init(struct medium *medium, struct radio *radio, int number)
{
	const struct radio_config *config = &medium->config.radios[number];
	double carrier_sense_dbm = config->carrier_sense_dbm;

	radio->medium = medium;
	radio->number = number;
	radio->config = config;
	if (isnan(carrier_sense_dbm))
		carrier_sense_dbm = config->sensitivity_dbm;
	radio->noise_mw = mw_of_dbm(config->noise_dbm);
	radio->sensitivity_mw = mw_of_dbm(config->sensitivity_dbm);
	radio->carrier_sense_mw = mw_of_dbm(carrier_sense_dbm);
	radio->energy_detect_mw = mw_of_dbm(config->energy_detect_dbm);
	radio->slot_ns = LONG_SLOT_NS;
	radio->stats.peers = allocate(medium->n_radios * sizeof(*radio->stats.peers));
	random_seed(&radio->backoff_draws, medium->config.seed, number * STREAMS);
	random_seed(&radio->reception_draws, medium->config.seed, number * STREAMS + 1);
	medium_add_address(medium, config->mac, radio);
	dcf_init(radio);
	exchange_init(radio);
	response_init(radio);
}

void medium_init(struct medium *medium)
{
	const struct config *config = &medium->config;
	int n = config->n_radios;

	medium->n_radios = n;
	medium->radios = allocate(n * sizeof(*medium->radios));
	medium->extra_loss_db = allocate(n * n * sizeof(*medium->extra_loss_db));
	medium->capture_ratio = mw_of_dbm(config->capture_db);
	for (int i = 0; i < n; i++)
		radio_init(medium, &medium->radios[i], i);
	for (int i = 0; i < n * n; i++)
		medium->extra_loss_db[i] = shadowing_db(&config->propagation, config->seed, i / n, i % n);
}

static struct address *find(const struct medium *medium, const uint8_t *mac)
{
	for (int i = 0; i < medium->n_addresses; i++)
		if (!memcmp(medium->addresses[i].mac, mac, ETH_ALEN))
			return &medium->addresses[i];
	return NULL;
}

struct radio *medium_owner(const struct medium *medium, const uint8_t *mac)
{
	const struct address *address = find(medium, mac);

	return address ? address->radio : NULL;
}

void medium_add_address(struct medium *medium, const uint8_t *mac, struct radio *radio)
{
	struct address *address = find(medium, mac);

	if (!address) {
		medium->addresses = realloc(medium->addresses,
					    (medium->n_addresses + 1) * sizeof(*medium->addresses));
		if (!medium->addresses)
			die(EXIT_RUNTIME, "out of memory");
		address = &medium->addresses[medium->n_addresses++];
		memcpy(address->mac, mac, ETH_ALEN);
	}
	address->radio = radio;
}

/* The original address of a radio identifies it in messages, so it is not deleted. */
void medium_delete_address(struct medium *medium, const uint8_t *mac)
{
	struct address *address = find(medium, mac);

	if (address && memcmp(address->radio->config->mac, mac, ETH_ALEN))
		*address = medium->addresses[--medium->n_addresses];
}
