// SPDX-License-Identifier: MIT
/*
 * Wakes QEMU's main thread every 20 us: it then looks at the CPU at all moments, as on a
 * machine whose scheduler interrupts QEMU anywhere.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#define LONGEST_NS 20000

int ppoll(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *signals)
{
	static int (*real)(struct pollfd *files, nfds_t count, const struct timespec *timeout,
			   const sigset_t *signals);
	const struct timespec longest = { .tv_nsec = LONGEST_NS };

	if (!real)
		real = dlsym(RTLD_NEXT, "ppoll");
	if (!timeout || timeout->tv_sec || timeout->tv_nsec > LONGEST_NS)
		timeout = &longest;
	return real(files, count, timeout, signals);
}
