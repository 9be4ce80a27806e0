/*
 * dice.h - numbers that look random, from a seed. Faults and messages have dice
 * of their own: how fast messages go doesn't change which fault is next.
 */
#ifndef CHAOS_DICE_H
#define CHAOS_DICE_H

#include <stdint.h>

struct dice {
	uint64_t state;
};

/* splitmix64 */
static inline uint64_t dice_next(struct dice *dice)
{
	uint64_t z = dice->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* `first` to `last`, both included. */
static inline int64_t dice_roll(struct dice *dice, int64_t first, int64_t last)
{
	return first +
	       (int64_t)(dice_next(dice) % (uint64_t)(last - first + 1));
}

#endif
