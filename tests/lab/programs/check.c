// SPDX-License-Identifier: MIT
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures;

static void print_line(const char *word, const char *format, va_list args)
{
	fputs(word, stdout);
	vprintf(format, args);
	putchar('\n');
	/* Before anything is forked, or crashes. */
	fflush(stdout);
}

void check(bool good, const char *format, ...)
{
	va_list args;

	failures += !good;
	va_start(args, format);
	print_line(good ? "ok      " : "FAILED  ", format, args);
	va_end(args);
}

void note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line("        ", format, args);
	va_end(args);
}

void stop(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line("STOPPED ", format, args);
	va_end(args);
	_exit(2);
}

int finish(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	note("virtual time: %lld.%09ld s", (long long)now.tv_sec, now.tv_nsec);
	return failures ? 1 : 0;
}

int status_of(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

int end_of(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			stop("waitpid: %s", strerror(errno));
	return status_of(status);
}

int run_child(void (*child)(void))
{
	pid_t pid = fork();

	if (pid < 0)
		stop("fork: %s", strerror(errno));
	if (!pid) {
		child();
		_exit(failures ? 1 : 0);
	}
	return end_of(pid);
}

/* xorshift64* */
uint64_t random_next(struct random *random)
{
	uint64_t x = random->state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	random->state = x;
	return x * 0x2545f4914f6cdd1dULL;
}

void handle(int signal, void (*handler)(int signal, void *info, void *context), int flags)
{
	struct sigaction action = {
		.sa_sigaction = (void (*)(int, siginfo_t *, void *))(void *)handler,
		.sa_flags = SA_SIGINFO | flags,
	};

	if (sigaction(signal, &action, NULL))
		stop("sigaction %d: %s", signal, strerror(errno));
}
