/* SPDX-License-Identifier: MIT */
/* What a receiver knows of the frames of a block ack session (10.24.7.3 to 10.24.7.5). */
#ifndef RADIO_BLOCKACK_H
#define RADIO_BLOCKACK_H

#include <stdbool.h>
#include <stdint.h>

#define SEQUENCE_NUMBERS 4096
#define BLOCK_ACK_WINDOW 64

/* The frames from @start on, one per bit from the lowest, that were received. */
struct scoreboard {
	uint16_t start;
	uint64_t received;
};

/* How many frames @number comes after @from, around the end of the numbers. */
static inline int sequence_distance(uint16_t from, uint16_t number)
{
	return (number - from) & (SEQUENCE_NUMBERS - 1);
}

/* @number is the first received frame of a session. The window includes earlier frames that it may have overtaken. */
void scoreboard_begin(struct scoreboard *board, uint16_t number);

/* The frame @number was received; one beyond the window moves it. */
void scoreboard_receive(struct scoreboard *board, uint16_t number);

/* The sender asks to forget all before @number. */
void scoreboard_move(struct scoreboard *board, uint16_t number);

/* Whether a block ack that has this acknowledges the frame @number. */
bool scoreboard_has(const struct scoreboard *board, uint16_t number);

#endif
