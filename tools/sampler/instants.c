// SPDX-License-Identifier: MIT
#include "instants.h"

#define FIRST_NS 10000000
#define NEVER_NS (1LL << 62)

void instants_init(struct instants *instants, int64_t interval_ns)
{
	instants->interval_ns = interval_ns ? interval_ns : NEVER_NS;
	instants->next_ns = instants->interval_ns < FIRST_NS ? instants->interval_ns : FIRST_NS;
	if (!interval_ns)
		instants->next_ns = NEVER_NS;
}

bool instants_due(struct instants *instants, int64_t now_ns)
{
	int64_t due_ns = instants->next_ns;
	int64_t later_ns;

	if (now_ns < due_ns)
		return false;
	later_ns = due_ns + (due_ns < instants->interval_ns ? due_ns : instants->interval_ns);
	if (later_ns >= instants->interval_ns)
		later_ns -= later_ns % instants->interval_ns;
	instants->next_ns = later_ns;
	return true;
}
