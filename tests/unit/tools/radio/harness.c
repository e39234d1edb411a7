// SPDX-License-Identifier: MIT
/*
 * The medium without a kernel, for tests: `harness CONFIG SECONDS LOG STATS MODE`.
 *
 * All radios are on one channel. Each but the first sends to the first, which
 * sends to all others in turn, and now and then to the group. As the driver of
 * the lab's kernel does, a radio gives the medium two frames of a category, and
 * the next one when one is reported. What the kernel would be told goes to the
 * log, among the medium's own lines. MODE is b, g, or n: then each pair of radios
 * has a block ack session with as many frames in the medium as its window, and
 * frames that are given up are followed by a request for a block ack.
 */
#include "radio.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MHZ 2437
#define IN_MEDIUM 2
#define MCS 8
#define SHORT_GUARD 0x80
#define SEQUENCE_CONTROL 22
#define BAR_BYTES 20
#define BAR_COOKIE 2000000
#define BEST_EFFORT 2
#define VOICE 0
#define STREAM 1000000
#define BEACON_NS (100 * 1000 * NS_PER_US)

struct sender {
	int to;
	uint64_t cookie;
	uint64_t requests;
	int *next;			/* sequence number, by receiver */
	struct random draws;
};

struct beacon {
	struct event event;
	uint64_t cookie;
};

static struct medium medium;
static struct sender *senders;
static bool is_b, is_n;

void die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	exit(status);
}

void *allocate(size_t bytes)
{
	return calloc(1, bytes);
}

static struct frame *new_frame(const struct radio *from, const uint8_t *to, int length)
{
	struct frame *frame = allocate(sizeof(*frame) + length);

	frame->length = length;
	frame->mhz = MHZ;
	memcpy(frame->data + 4, to, ETH_ALEN);
	memcpy(frame->data + 10, from->config->mac, ETH_ALEN);
	for (int i = 0; i < TX_RATES; i++)
		frame->rates[i].index = -1;
	return frame;
}

/* A table as rate control makes it: fast first, then slower; some with a short preamble, RTS or protection. */
static void choose_rates(struct frame *frame, struct random *draws)
{
	int fastest = is_b ? 3 : 11, slowest = is_b ? 0 : 4;
	int flags = random_upto(draws, 9) ? 0 : 1;

	flags |= !is_b && !flags && !random_upto(draws, 9) ? 2 : 0;
	flags |= random_upto(draws, 3) ? 0 : 4;
	for (int i = 0; i < 3; i++) {
		int index = fastest - random_upto(draws, 2);

		fastest = index > slowest ? index : slowest;
		frame->rates[i] = (struct tx_rate){ fastest, 1 + random_upto(draws, 2), flags };
	}
}

static void put_sequence(struct frame *frame, int at, int number)
{
	frame->data[at] = number << 4;
	frame->data[at + 1] = number >> 4;
}

/* Rates, also with short guard intervals, and some frames that try another; a few senders have a small window. */
static void join_session(struct frame *frame, struct sender *sender, int to)
{
	int fastest = 7 - random_upto(&sender->draws, 1);
	bool probe = !random_upto(&sender->draws, 30);

	frame->session = (struct session){ .id = 100 + to, .tid = 5, .window = to == 1 ? 16 : 64, .factor = 3,
					   .density = 6, .probe = probe };
	for (int i = 0; i < 3; i++)
		frame->rates[i] = (struct tx_rate){ fastest - i, 1 + random_upto(&sender->draws, 2),
						    MCS | (to == 2 ? SHORT_GUARD : 0) };
	if (probe)
		frame->rates[0] = (struct tx_rate){ random_upto(&sender->draws, 7), 1, MCS };
	put_sequence(frame, SEQUENCE_CONTROL, sender->next[to]++ & (SEQUENCE_NUMBERS - 1));
}

static void give_in_session(struct radio *radio, int to)
{
	struct sender *sender = &senders[radio->number];
	struct frame *frame = new_frame(radio, medium.radios[to].config->mac, 30 + random_upto(&sender->draws, 1500));

	join_session(frame, sender, to);
	frame->queue = BEST_EFFORT;
	frame->cookie = ++sender->cookie;
	radio->stats.frames++;
	dcf_add(&radio->contenders[BEST_EFFORT], frame);
}

/* As mac80211 does for a frame that is given up. */
static void request_block_ack(struct radio *radio, const struct frame *of)
{
	struct frame *frame = new_frame(radio, of->data + 4, BAR_BYTES);

	frame->data[0] = 0x84;
	frame->data[17] = of->session.tid << 4;
	put_sequence(frame, 18, (sequence_number(of) + 1) & (SEQUENCE_NUMBERS - 1));
	frame->rates[0] = (struct tx_rate){ 4, 7, 0 };
	frame->queue = BEST_EFFORT;
	frame->cookie = BAR_COOKIE + ++senders[radio->number].requests;
	dcf_add(&radio->contenders[BEST_EFFORT], frame);
}

static void give(struct radio *radio, int queue)
{
	struct sender *sender = &senders[radio->number];
	struct frame *frame;

	if (radio->number == 0)
		sender->to = 1 + sender->to % (medium.n_radios - 1);
	frame = new_frame(radio, medium.radios[sender->to].config->mac,
			  30 + random_upto(&sender->draws, queue == VOICE ? 200 : 1500));
	choose_rates(frame, &sender->draws);
	frame->queue = queue;
	frame->cookie = ++sender->cookie;
	radio->stats.frames++;
	dcf_add(&radio->contenders[queue], frame);
}

void hwsim_deliver(struct radio *radio, const struct transmission *transmission, struct frame *frame)
{
	fprintf(medium.log, "> %s %llu from %s, %d bytes%s", radio->config->name,
		(unsigned long long)frame->cookie, transmission->from->config->name,
		frame->length, frame->attempts > 1 ? ", again" : "");
	if (frame->session.window)
		fprintf(medium.log, ", number %d", sequence_number(frame));
	else if (is_block_ack_request(frame))
		fprintf(medium.log, ", request %d", sequence_at(frame, 18));
	fputc('\n', medium.log);
	radio->stats.delivered++;
}

static void write_session(const struct frame *frame, const struct outcome *outcome)
{
	const struct radio *to = medium_owner(&medium, frame->data + 4);

	fprintf(medium.log, "= %s %d", to->config->name, sequence_number(frame));
	if (outcome->frames)
		fprintf(medium.log, " %d of %d", outcome->frames_acked, outcome->frames);
	fputs(outcome->moves_window ? " moves\n" : "\n", medium.log);
}

void hwsim_report(struct radio *radio, const struct frame *frame, const struct outcome *outcome)
{
	fprintf(medium.log, "< %s %llu %s after %d at %ld dBm\n", radio->config->name,
		(unsigned long long)frame->cookie, outcome->acked ? "acked" : "not acked", frame->attempts,
		lround(outcome->signal_dbm));
	if (!frame->session.window) {
		if (!(frame->data[4] & 1) && !is_block_ack_request(frame))
			give(radio, frame->queue);
		return;
	}
	write_session(frame, outcome);
	if (outcome->moves_window)
		request_block_ack(radio, frame);
	give_in_session(radio, medium_owner(&medium, frame->data + 4)->number);
}

static void send_beacon(struct medium *unused, struct event *event)
{
	struct beacon *beacon = container_of(event, struct beacon, event);
	static const uint8_t all[ETH_ALEN] = { 255, 255, 255, 255, 255, 255 };
	struct radio *radio = &medium.radios[0];
	struct frame *frame = new_frame(radio, all, 100);

	(void)unused;
	frame->rates[0] = (struct tx_rate){ is_b ? 0 : 4, 1, 0 };
	frame->cookie = 1000000 + ++beacon->cookie;
	dcf_add(&radio->contenders[VOICE], frame);
	event_schedule(&medium.events, event, medium.now_ns + BEACON_NS);
}

static void begin(struct radio *radio)
{
	struct sender *sender = &senders[radio->number];

	random_seed(&sender->draws, medium.config.seed, STREAM + radio->number);
	radio->slot_ns = is_b ? LONG_SLOT_NS : SHORT_SLOT_NS;
	air_tune(radio, MHZ);
	sender->next = allocate(medium.n_radios * sizeof(*sender->next));
	for (int to = 0; is_n && to < medium.n_radios; to++)
		for (int i = 0; i < BLOCK_ACK_WINDOW && !radio->number != !to; i++)
			give_in_session(radio, to);
	for (int i = 0; i < IN_MEDIUM && !is_n; i++)
		give(radio, BEST_EFFORT);
	if (radio->number % 2)
		give(radio, VOICE);
}

int main(int argc, char **argv)
{
	struct beacon beacon = { .event = { .run = send_beacon } };
	struct event *event;
	int64_t end_ns;

	if (argc != 6)
		die(EXIT_USAGE, "harness CONFIG SECONDS LOG STATS MODE\n");
	medium.config = (struct config){
		.seed = 1,
		.propagation = { .model = LOG_DISTANCE, .exponent = 3, .reference_loss_db = 46.7 },
		.capture_db = 5,
		.basic_rates = 3,
		.defaults = { .power_dbm = 16, .noise_dbm = -94, .sensitivity_dbm = -95,
			      .carrier_sense_dbm = NAN, .energy_detect_dbm = -62 },
	};
	config_read(&medium.config, argv[1]);
	end_ns = llround(atof(argv[2]) * NS_PER_S);
	medium.log = fopen(argv[3], "w");
	is_b = argv[5][0] == 'b';
	is_n = argv[5][0] == 'n';
	medium_init(&medium);
	senders = allocate(medium.n_radios * sizeof(*senders));
	for (int i = 0; i < medium.n_radios; i++)
		begin(&medium.radios[i]);
	send_beacon(&medium, &beacon.event);
	while ((event = event_first(&medium.events)) && event->at_ns <= end_ns) {
		medium.now_ns = event->at_ns;
		event_cancel(&medium.events, event);
		event->run(&medium, event);
	}
	medium.now_ns = end_ns;
	stats_write(&medium, argv[4]);
	return fclose(medium.log) ? EXIT_RUNTIME : EXIT_SUCCESS;
}
