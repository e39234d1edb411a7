// SPDX-License-Identifier: MIT
/*
 * One statement per line: a word, its arguments, then pairs of key and value. '#'
 * begins a comment. See help.c for the statements.
 */
#include "config.h"
#include "radio.h"
#include "timing.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RTS_BYTES 65535
#define WORDS 32
#define SPACE " \t\r\n"

struct line {
	const char *path;
	int number;
	char *words[WORDS];
	int count;
	int at;
};

static noreturn void wrong(const struct line *line, const char *format, ...) __attribute__
	((format(printf, 2, 3)));

static noreturn void wrong(const struct line *line, const char *format, ...)
{
	char message[256];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	die(EXIT_USAGE, "%s:%d: %s", line->path, line->number, message);
}

static const char *next_word(struct line *line, const char *what)
{
	if (line->at == line->count)
		wrong(line, "%s is missing after '%s'", what, line->words[line->at - 1]);
	return line->words[line->at++];
}

static double read_number(struct line *line, const char *what)
{
	const char *word = next_word(line, what);
	char *end;
	double value = strtod(word, &end);

	if (*end || end == word || !isfinite(value))
		wrong(line, "'%s' is not a number: %s is expected", word, what);
	return value;
}

static struct position position(struct line *line)
{
	struct position where = { read_number(line, "x in metres"), read_number(line, "y in metres"), 0 };
	char *end;

	if (line->at < line->count) {
		where.z_m = strtod(line->words[line->at], &end);
		line->at += !*end;
		where.z_m = *end ? 0 : where.z_m;
	}
	return where;
}

static void add_waypoint(struct line *line, struct radio_config *radio, double at_s, struct position where)
{
	int64_t at_ns = llround(at_s * NS_PER_S);
	int n = radio->n_waypoints;

	if (at_s < 0 || (n && at_ns <= radio->waypoints[n - 1].at_ns))
		wrong(line, "the positions of '%s' are not in the order of time", radio->name);
	radio->waypoints = realloc(radio->waypoints, (n + 1) * sizeof(*radio->waypoints));
	if (!radio->waypoints)
		die(EXIT_RUNTIME, "out of memory");
	radio->waypoints[radio->n_waypoints++] = (struct waypoint){ at_ns, where };
}

/* The keys of `radio` and of `default`. */
static bool radio_key(struct line *line, struct radio_config *radio, const char *key)
{
	const struct {
		const char *key;
		double *value;
	} keys[] = {
		{ "power-dbm", &radio->power_dbm },
		{ "noise-dbm", &radio->noise_dbm },
		{ "sensitivity-dbm", &radio->sensitivity_dbm },
		{ "carrier-sense-dbm", &radio->carrier_sense_dbm },
		{ "energy-detect-dbm", &radio->energy_detect_dbm },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcmp(key, keys[i].key))
			continue;
		*keys[i].value = read_number(line, key);
		return true;
	}
	if (!strcmp(key, "dsss-only"))
		radio->dsss_only = true;
	else if (!strcmp(key, "monitor"))
		radio->monitor = true;
	else
		return false;
	return true;
}

static void mac_address(struct line *line, uint8_t *mac)
{
	const char *word = next_word(line, "a MAC address");
	unsigned int byte[ETH_ALEN];
	int end = 0;

	if (sscanf(word, "%2x:%2x:%2x:%2x:%2x:%2x%n", &byte[0], &byte[1], &byte[2], &byte[3], &byte[4], &byte[5],
		   &end) != ETH_ALEN || word[end])
		wrong(line, "'%s' is not a MAC address", word);
	if (byte[0] & 1)
		wrong(line, "'%s' is an address of a group", word);
	for (int i = 0; i < ETH_ALEN; i++)
		mac[i] = byte[i];
}

static struct radio_config *named(struct line *line, struct config *config)
{
	const char *name = next_word(line, "a radio's name");
	int i = config_radio(config, name);

	if (i < 0)
		wrong(line, "there is no radio '%s' above", name);
	return &config->radios[i];
}

static void set_default(struct line *line, struct config *config)
{
	while (line->at < line->count) {
		const char *key = next_word(line, "a key");

		if (!radio_key(line, &config->defaults, key))
			wrong(line, "'%s' is not a key of radios", key);
	}
}

static void add_radio(struct line *line, struct config *config)
{
	const char *name = next_word(line, "a name");
	struct radio_config *radio;

	if (strlen(name) > NAME_LENGTH)
		wrong(line, "the name '%s' is longer than %d characters", name, NAME_LENGTH);
	if (config_radio(config, name) >= 0)
		wrong(line, "the radio '%s' is there already", name);
	config->radios = realloc(config->radios, (config->n_radios + 1) * sizeof(*config->radios));
	if (!config->radios)
		die(EXIT_RUNTIME, "out of memory");
	radio = &config->radios[config->n_radios];
	*radio = config->defaults;
	snprintf(radio->name, sizeof(radio->name), "%s", name);
	mac_address(line, radio->mac);
	for (int i = 0; i < config->n_radios; i++)
		if (!memcmp(config->radios[i].mac, radio->mac, ETH_ALEN))
			wrong(line, "'%s' has this MAC address too", config->radios[i].name);
	config->n_radios++;
	while (line->at < line->count) {
		const char *key = next_word(line, "a key");

		if (!strcmp(key, "at"))
			add_waypoint(line, radio, 0, position(line));
		else if (!radio_key(line, radio, key))
			wrong(line, "'%s' is not a key of radios", key);
	}
	if (!radio->n_waypoints)
		wrong(line, "the radio '%s' has no position: write 'at X Y'", name);
}

static void move(struct line *line, struct config *config)
{
	struct radio_config *radio = named(line, config);
	double at_s = read_number(line, "a time in seconds");

	add_waypoint(line, radio, at_s, position(line));
}

/* A change at an instant, relative to the previous state. */
static struct radio_state *add_change(struct line *line, struct config *config)
{
	struct radio_config *radio = named(line, config);
	int64_t at_ns = llround(read_number(line, "a time in seconds") * NS_PER_S);
	int n = radio->n_changes;
	struct radio_state state = config_state(radio, INT64_MAX);

	if (at_ns < 0 || (n && at_ns < radio->changes[n - 1].at_ns))
		wrong(line, "the changes of '%s' are not in the order of time", radio->name);
	state.at_ns = at_ns;
	radio->changes = realloc(radio->changes, (n + 1) * sizeof(*radio->changes));
	if (!radio->changes)
		die(EXIT_RUNTIME, "out of memory");
	radio->changes[n] = state;
	radio->n_changes++;
	return &radio->changes[n];
}

static void change_power(struct line *line, struct config *config)
{
	struct radio_state *state = add_change(line, config);

	state->power_dbm = read_number(line, "a power in dBm");
}

static void switch_off(struct line *line, struct config *config)
{
	add_change(line, config)->off = true;
}

static void switch_on(struct line *line, struct config *config)
{
	add_change(line, config)->off = false;
}

static void path_loss(struct line *line, struct config *config)
{
	const char *model = next_word(line, "a model");

	if (!strcmp(model, "free-space")) {
		config->propagation.model = FREE_SPACE;
	} else if (!strcmp(model, "log-distance")) {
		config->propagation.model = LOG_DISTANCE;
		config->propagation.exponent = read_number(line, "the exponent");
		config->propagation.reference_loss_db = read_number(line, "the loss at 1 m in dB");
	} else {
		wrong(line, "'%s' is not a model: free-space and log-distance are", model);
	}
}

static void shadowing(struct line *line, struct config *config)
{
	config->propagation.shadowing_db = read_number(line, "a standard deviation in dB");
	if (config->propagation.shadowing_db < 0)
		wrong(line, "a standard deviation is not negative");
}

static void capture(struct line *line, struct config *config)
{
	config->capture_db = read_number(line, "a ratio in dB");
}

static void rts(struct line *line, struct config *config)
{
	double bytes = read_number(line, "a length in bytes");

	if (bytes < 0 || bytes > MAX_RTS_BYTES || bytes != (int)bytes)
		wrong(line, "%g is not a length in bytes up to %d", bytes, MAX_RTS_BYTES);
	config->rts_from_bytes = (int)bytes + 1;
}

static void basic_rates(struct line *line, struct config *config)
{
	config->basic_rates = 0;
	while (line->at < line->count) {
		double mbps = read_number(line, "a rate in Mbit/s");
		int i = 0;

		while (i < LEGACY_RATES && rate_number(i)->kbps != mbps * 1000)
			i++;
		if (i == LEGACY_RATES)
			wrong(line, "%g Mbit/s is not a rate of 802.11b or g", mbps);
		config->basic_rates |= 1U << i;
	}
}

static void read_seed(struct line *line, struct config *config)
{
	const char *word = next_word(line, "a number");
	char *end;

	errno = 0;
	config->seed = strtoull(word, &end, 10);
	if (*end || *word == '-' || errno)
		wrong(line, "'%s' is not a seed", word);
}

static void domain(struct line *line, struct config *config)
{
	config->regulatory_domain = (int)read_number(line, "a number of mac80211_hwsim's domains");
}

static const struct {
	const char *word;
	void (*read)(struct line *line, struct config *config);
} statements[] = {
	{ "radio", add_radio },
	{ "move", move },
	{ "power", change_power },
	{ "off", switch_off },
	{ "on", switch_on },
	{ "default", set_default },
	{ "path-loss", path_loss },
	{ "shadowing-db", shadowing },
	{ "capture-db", capture },
	{ "rts-bytes", rts },
	{ "basic-rates", basic_rates },
	{ "regulatory-domain", domain },
	{ "seed", read_seed },
	{ 0 }
};

static void read_line(struct config *config, struct line *line, char *text)
{
	char *rest, *word;

	text[strcspn(text, "#")] = '\0';
	line->count = 0;
	for (word = strtok_r(text, SPACE, &rest); word; word = strtok_r(NULL, SPACE, &rest)) {
		if (line->count == WORDS)
			wrong(line, "the line has more than %d words", WORDS);
		line->words[line->count++] = word;
	}
	if (!line->count)
		return;
	line->at = 1;
	for (int i = 0; statements[i].word; i++) {
		if (strcmp(line->words[0], statements[i].word))
			continue;
		statements[i].read(line, config);
		if (line->at < line->count)
			wrong(line, "'%s' is one word too many", line->words[line->at]);
		return;
	}
	wrong(line, "'%s' is not a statement", line->words[0]);
}

struct radio_state config_state(const struct radio_config *radio, int64_t at_ns)
{
	struct radio_state state = { 0, radio->power_dbm, false };

	for (int i = 0; i < radio->n_changes && radio->changes[i].at_ns <= at_ns; i++)
		state = radio->changes[i];
	return state;
}

int config_radio(const struct config *config, const char *name)
{
	for (int i = 0; i < config->n_radios; i++)
		if (!strcmp(config->radios[i].name, name))
			return i;
	return -1;
}

void config_read(struct config *config, const char *path)
{
	struct line line = { .path = path };
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;

	if (!file)
		die(EXIT_USAGE, "'%s' cannot be read: %s", path, strerror(errno));
	while (getline(&text, &room, file) >= 0) {
		line.number++;
		read_line(config, &line, text);
	}
	free(text);
	fclose(file);
	if (!config->n_radios)
		die(EXIT_USAGE, "'%s' has no radio", path);
}
