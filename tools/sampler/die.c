// SPDX-License-Identifier: MIT
#include "sampler.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

void *reallocate(void *memory, unsigned long bytes)
{
	memory = realloc(memory, bytes);
	if (!memory)
		die(EXIT_RUNTIME, "out of memory");
	return memory;
}
