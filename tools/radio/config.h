/* SPDX-License-Identifier: MIT */
/* The configuration of the medium: radios, their positions, and signal propagation. */
#ifndef RADIO_CONFIG_H
#define RADIO_CONFIG_H

#include "propagation.h"

#include <stdbool.h>
#include <stdint.h>

#define ETH_ALEN 6
#define NAME_LENGTH 31

/* Settings that change during the run: the power, and whether the radio is present. */
struct radio_state {
	int64_t at_ns;
	double power_dbm;
	bool off;
};

struct radio_config {
	char name[NAME_LENGTH + 1];
	uint8_t mac[ETH_ALEN];
	double power_dbm;
	double noise_dbm;		/* of the receiver, in 20 MHz */
	double sensitivity_dbm;		/* weakest signal whose preamble it detects */
	double carrier_sense_dbm;	/* weakest signal that makes it defer; NaN: the sensitivity */
	double energy_detect_dbm;	/* as carrier_sense_dbm, for signals that it cannot decode */
	bool dsss_only;			/* 802.11b: it neither decodes nor recognizes OFDM */
	bool monitor;			/* the kernel gets every frame that it decodes */
	struct waypoint *waypoints;
	int n_waypoints;
	struct radio_state *changes;
	int n_changes;
};

struct config {
	uint64_t seed;
	struct propagation propagation;
	double capture_db;
	int rts_from_bytes;		/* HT frames and aggregates of at least this length use RTS; 0: none */
	unsigned int basic_rates;	/* see response_rate() */
	int regulatory_domain;		/* index of mac80211_hwsim's own domains; -1: world */
	struct radio_config defaults;
	struct radio_config *radios;
	int n_radios;
};

/* Reads the file; a mistake ends the program with one sentence. */
void config_read(struct config *config, const char *path);
struct radio_state config_state(const struct radio_config *radio, int64_t at_ns);
int config_radio(const struct config *config, const char *name);

#endif
