// SPDX-License-Identifier: MIT
#include "blockack.h"

/* Sequence numbers this far ahead are taken to be behind (10.24.7.3). */
#define HALF (SEQUENCE_NUMBERS / 2)

void scoreboard_begin(struct scoreboard *board, uint16_t number)
{
	board->start = (number - BLOCK_ACK_WINDOW + 1) & (SEQUENCE_NUMBERS - 1);
	board->received = 0;
}

void scoreboard_move(struct scoreboard *board, uint16_t number)
{
	int distance = sequence_distance(board->start, number);

	if (distance >= HALF)
		return;
	board->received = distance < BLOCK_ACK_WINDOW ? board->received >> distance : 0;
	board->start = number & (SEQUENCE_NUMBERS - 1);
}

void scoreboard_receive(struct scoreboard *board, uint16_t number)
{
	int distance = sequence_distance(board->start, number);

	if (distance >= HALF)
		return;
	if (distance >= BLOCK_ACK_WINDOW)
		scoreboard_move(board, board->start + distance - BLOCK_ACK_WINDOW + 1);
	board->received |= 1ULL << sequence_distance(board->start, number);
}

bool scoreboard_has(const struct scoreboard *board, uint16_t number)
{
	int distance = sequence_distance(board->start, number);

	return distance < BLOCK_ACK_WINDOW && board->received & 1ULL << distance;
}
