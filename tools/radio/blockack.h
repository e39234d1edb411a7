/* SPDX-License-Identifier: MIT */
/* A receiver's record of the frames of a block ack session (10.24.7.3 to 10.24.7.5). */
#ifndef RADIO_BLOCKACK_H
#define RADIO_BLOCKACK_H

#include <stdbool.h>
#include <stdint.h>

#define SEQUENCE_NUMBERS 4096
#define BLOCK_ACK_WINDOW 64

/* Received frames: bit n of @received is the frame @start + n. */
struct scoreboard {
	uint16_t start;
	uint64_t received;
};

/* Distance from @from to @number, modulo the sequence numbers. */
static inline int sequence_distance(uint16_t from, uint16_t number)
{
	return (number - from) & (SEQUENCE_NUMBERS - 1);
}

/* @number is the first received frame of a session. The window includes earlier frames that it may have overtaken. */
void scoreboard_begin(struct scoreboard *board, uint16_t number);

/* The frame @number was received. A frame beyond the window moves the window. */
void scoreboard_receive(struct scoreboard *board, uint16_t number);

/* The sender asks to forget all frames before @number. */
void scoreboard_move(struct scoreboard *board, uint16_t number);

/* Whether a block ack with this scoreboard acknowledges the frame @number. */
bool scoreboard_has(const struct scoreboard *board, uint16_t number);

#endif
