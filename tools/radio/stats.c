// SPDX-License-Identifier: MIT
#include "radio.h"

#include <errno.h>
#include <string.h>

static const char *const kinds[KINDS] = {
	[DATA] = "frame", [ACK] = "ack", [CTS] = "cts", [RTS] = "rts", [AGGREGATE] = "ampdu", [BLOCK_ACK] = "ba",
};

void stats_aggregate(struct radio *radio, int frames)
{
	radio->stats.aggregates++;
	radio->stats.aggregated += frames;
	radio->stats.by_frames[frames]++;
}

/* Time since the start in us, sender, receiver, kind, Mbit/s, bytes, RSSI at the receiver in dBm, outcome. */
void stats_transmission(struct medium *medium, const struct transmission *transmission, const char *outcome)
{
	const struct radio *to = transmission->to;

	if (!medium->log)
		return;
	fprintf(medium->log, "%.3f %s %s %s %g %d ", (transmission->start_ns - medium->started_ns) / 1e3,
		transmission->from->config->name, to ? to->config->name : "*", kinds[transmission->kind],
		transmission->rate->kbps / 1e3, transmission->bytes);
	if (to && to != transmission->from)
		fprintf(medium->log, "%.1f %s\n", dbm_of_mw(transmission->at[to->number].mw), outcome);
	else
		fprintf(medium->log, "- %s\n", outcome);
}

/* Mbit/s, or the MCS of HT. */
static const char *rate_name(int number)
{
	const struct rate *rate = rate_number(number);
	static char name[16];

	if (is_ht(rate))
		snprintf(name, sizeof(name), "mcs%d%s", rate_index(0, rate), rate->short_guard ? "-sgi" : "");
	else
		snprintf(name, sizeof(name), "%g", rate->kbps / 1e3);
	return name;
}

static void write_rates(FILE *out, const struct radio_stats *stats)
{
	const char *comma = "";

	fputs("\"rates\":{", out);
	for (int i = 0; i < RATES; i++) {
		if (!stats->at_rate[i])
			continue;
		fprintf(out, "%s\"%s\":{\"attempts\":%llu,\"acked\":%llu}", comma, rate_name(i),
			(unsigned long long)stats->at_rate[i], (unsigned long long)stats->acked_at_rate[i]);
		comma = ",";
	}
	fputs("},", out);
}

/* The counts that are not 0, by their index. */
static void write_counts(FILE *out, const char *name, const uint64_t *counts, int n)
{
	const char *comma = "";

	fprintf(out, "\"%s\":{", name);
	for (int i = 0; i < n; i++) {
		if (!counts[i])
			continue;
		fprintf(out, "%s\"%d\":%llu", comma, i, (unsigned long long)counts[i]);
		comma = ",";
	}
	fputs("},", out);
}

static void write_peers(FILE *out, const struct medium *medium, const struct radio_stats *stats)
{
	const char *comma = "";

	fputs("\"heard\":{", out);
	for (int i = 0; i < medium->n_radios; i++) {
		const struct peer_stats *peer = &stats->peers[i];

		if (!peer->frames)
			continue;
		fprintf(out, "%s\"%s\":{\"frames\":%llu,\"rssi_dbm\":%.2f,\"last_rssi_dbm\":%.2f}", comma,
			medium->radios[i].config->name, (unsigned long long)peer->frames,
			peer->rssi_dbm_sum / peer->frames, peer->rssi_dbm_last);
		comma = ",";
	}
	fputs("}", out);
}

static void write_radio(FILE *out, const struct medium *medium, const struct radio *radio)
{
	const struct radio_stats *stats = &radio->stats;
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{ "frames", stats->frames },
		{ "acked", stats->acked },
		{ "unacked", stats->unacked },
		{ "groups", stats->groups },
		{ "overflows", stats->overflows },
		{ "attempts", stats->attempts },
		{ "collisions", stats->collisions },
		{ "captured", stats->captured },
		{ "internal_collisions", stats->internal_collisions },
		{ "rts", stats->rts },
		{ "cts_to_self", stats->cts_to_self },
		{ "aggregates", stats->aggregates },
		{ "aggregated_mpdus", stats->aggregated },
		{ "block_acks", stats->block_acks },
		{ "decoded", stats->decoded },
		{ "errors", stats->errors },
		{ "delivered", stats->delivered },
		{ "delivered_bytes", stats->delivered_bytes },
		{ "airtime_ns", stats->airtime_ns },
		{ "queued_max", stats->queued_max },
		{ "mhz", radio->mhz },
		{ "slot_ns", radio->slot_ns },
	};

	fprintf(out, "\"%s\":{", radio->config->name);
	for (unsigned int i = 0; i < ARRAY_SIZE(counters); i++)
		fprintf(out, "\"%s\":%llu,", counters[i].name, (unsigned long long)counters[i].value);
	fputs("\"queues\":[", out);
	for (int i = 0; i < QUEUES; i++)
		fprintf(out, "%s{\"aifs\":%d,\"cw_min\":%d,\"cw_max\":%d}", i ? "," : "", radio->contenders[i].aifs,
			radio->contenders[i].cw_min, radio->contenders[i].cw_max);
	fputs("],", out);
	write_rates(out, stats);
	write_counts(out, "frames_by_allowed_attempts", stats->attempts_by_limit, ARRAY_SIZE(stats->attempts_by_limit));
	write_counts(out, "mpdus_by_aggregate", stats->by_frames, ARRAY_SIZE(stats->by_frames));
	write_peers(out, medium, stats);
	fputs("}", out);
}

/* Replaces the file atomically, so that a reader sees either the new or the old one. */
void stats_write(const struct medium *medium, const char *path)
{
	char temporary[4096];
	FILE *out;

	snprintf(temporary, sizeof(temporary), "%s.new", path);
	out = fopen(temporary, "we");
	if (!out)
		die(EXIT_RUNTIME, "'%s' cannot be written: %s", temporary, strerror(errno));
	fprintf(out, "{\"elapsed_ns\":%lld,\"radios\":{", (long long)(medium->now_ns - medium->started_ns));
	for (int i = 0; i < medium->n_radios; i++) {
		fputs(i ? "," : "", out);
		write_radio(out, medium, &medium->radios[i]);
	}
	fputs("}}\n", out);
	if (ferror(out) || fclose(out) || rename(temporary, path))
		die(EXIT_RUNTIME, "'%s' cannot be written: %s", path, strerror(errno));
}
