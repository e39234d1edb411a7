// SPDX-License-Identifier: MIT
/* The pure parts of tools/radio, by numbers, so that Python can call them. */
#include "blockack.h"
#include "error_rate.h"
#include "propagation.h"
#include "random.h"
#include "timing.h"

#include <stdlib.h>

double test_bit_error_rate(int number, double sinr)
{
	return bit_error_rate(rate_number(number), sinr);
}

double test_bits_success(int number, double sinr, double bits)
{
	return bits_success(rate_number(number), sinr, bits);
}

int64_t test_frame_ns(int mhz, int number, int short_preamble, int bytes)
{
	return frame_ns(mhz, rate_number(number), short_preamble, bytes);
}

int64_t test_bytes_ns(int number, int bytes)
{
	return bytes_ns(rate_number(number), bytes);
}

int test_mcs_number(int mcs, int short_guard)
{
	const struct rate *rate = rate_of_mcs(mcs, short_guard);

	return rate ? rate_to_number(rate) : -1;
}

int test_mcs_index(int mhz, int number)
{
	return rate_index(mhz, rate_number(number));
}

/*
 * A receiver gets the frames of @numbers; a negative number asks it to move to
 * -1 - number. Returns which of the 64 frames from @from on it acknowledges.
 */
uint64_t test_scoreboard(const int *numbers, int count, int from)
{
	struct scoreboard board;
	uint64_t found = 0;

	scoreboard_begin(&board, numbers[0]);
	for (int i = 0; i < count; i++) {
		if (numbers[i] < 0)
			scoreboard_move(&board, -1 - numbers[i]);
		else
			scoreboard_receive(&board, numbers[i]);
	}
	for (int i = 0; i < BLOCK_ACK_WINDOW; i++)
		if (scoreboard_has(&board, (from + i) % SEQUENCE_NUMBERS))
			found |= 1ULL << i;
	return found;
}

int test_response_kbps(int number, unsigned int basic)
{
	return response_rate(rate_number(number), basic)->kbps;
}

int test_kbps(int mhz, int index)
{
	const struct rate *rate = rate_at(mhz, index);

	return rate ? rate->kbps : 0;
}

double test_path_loss_db(int model, double exponent, double reference_db, double metres, int mhz)
{
	struct propagation propagation = { model, exponent, reference_db, 0 };

	return path_loss_db(&propagation, (struct position){ 0 }, (struct position){ metres, 0, 0 }, mhz);
}

double test_shadowing_db(double sigma_db, uint64_t seed, int radio, int other)
{
	struct propagation propagation = { .shadowing_db = sigma_db };

	return shadowing_db(&propagation, seed, radio, other);
}

double test_x_at(const int64_t *at_ns, const double *x_m, int count, int64_t ns)
{
	struct waypoint *waypoints = calloc(count, sizeof(*waypoints));
	double x;

	for (int i = 0; i < count; i++)
		waypoints[i] = (struct waypoint){ at_ns[i], { x_m[i], 0, 0 } };
	x = position_at(waypoints, count, ns).x_m;
	free(waypoints);
	return x;
}

void test_draws(uint64_t seed, uint64_t stream, int max, int *draws, int count)
{
	struct random random;

	random_seed(&random, seed, stream);
	for (int i = 0; i < count; i++)
		draws[i] = random_upto(&random, max);
}
