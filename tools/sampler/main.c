// SPDX-License-Identifier: MIT
#include "instants.h"
#include "nodes.h"
#include "sampler.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL
/* Above the guest's process 1, so that the sample is the first event of its instant. */
#define PRIORITY 2

static const char help_text[] =
"sampler - reads sockets and queues of network namespaces at fixed instants\n"
"\n"
"SYNOPSIS\n"
"  sampler FOLDER ZERO_NS INTERVAL_NS < DESCRIPTION\n"
"\n"
"DESCRIPTION\n"
"  Samples every INTERVAL_NS from ZERO_NS of CLOCK_MONOTONIC on, and first after 10, 20, 40 ms and\n"
"  so on, until SIGTERM or SIGINT. Rows of JSON go to FOLDER/sockets.jsonl and FOLDER/queues.jsonl.\n"
"  At its end it prints one object of JSON: the peak of TCP's memory in pages, and the algorithms\n"
"  that sockets were seen to use, which it looks for at most once a second.\n"
"\n"
"  sockets NODE                             sample the TCP sockets of namespace NODE\n"
"  watch NODE                               look for the algorithms of its sockets\n"
"  queue NODE DEVICE HANDLE LINK DIRECTION  sample the queue of a discipline; LINK and DIRECTION\n"
"                                           are columns of its rows\n"
"\n"
"EXIT STATUS\n"
"  0 ended by a signal; 1 the system refused something; 2 the command line or a line is wrong.\n";

/* The end of the current sleep. */
static volatile struct timespec until;
static volatile sig_atomic_t stopped;

/*
 * Ends the current sleep, or the next one if it is about to begin: the kernel reads the end when a
 * sleep begins. If the signal arrives before a new end is set, sleep_until() notices that the
 * program is to stop.
 */
static void stop(int number)
{
	(void)number;
	stopped = 1;
	until.tv_sec = 0;
	until.tv_nsec = 0;
}

static void handle_signals(void)
{
	struct sigaction action = { .sa_handler = stop, .sa_flags = SA_RESTART };

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}

/* Real-time tasks have no timer slack (50 us), so that they wake at the exact instant. */
static void be_exact(void)
{
	struct sched_param priority = { .sched_priority = PRIORITY };

	/* Only root may do this. */
	if (sched_setscheduler(0, SCHED_FIFO, &priority))
		prctl(PR_SET_TIMERSLACK, 1);
}

/* Returns false if the program is to stop. */
static bool sleep_until(int64_t instant_ns)
{
	until.tv_sec = instant_ns / NS_PER_S;
	until.tv_nsec = instant_ns % NS_PER_S;
	while (!stopped && syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
		if (errno != EINTR)
			die(EXIT_RUNTIME, "clock_nanosleep: %s", strerror(errno));
	return !stopped;
}

static void run(struct nodes *nodes, int64_t zero_ns, int64_t interval_ns)
{
	struct instants samples, checks;

	instants_init(&samples, nodes->any_sampled ? interval_ns : 0);
	instants_init(&checks, !nodes->any_watched ? 0 : interval_ns > NS_PER_S ? interval_ns : NS_PER_S);
	for (;;) {
		int64_t instant_ns = samples.next_ns < checks.next_ns ? samples.next_ns : checks.next_ns;
		bool sampled, watched;

		if (!sleep_until(zero_ns + instant_ns))
			return;
		sampled = instants_due(&samples, instant_ns);
		watched = instants_due(&checks, instant_ns);
		nodes_sample(nodes, instant_ns, sampled, watched);
	}
}

static int64_t read_ns(const char *word, const char *name, int64_t min)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(word, &end, 10);
	if (errno || *end || end == word || value < min)
		die(EXIT_USAGE, "'%s' is not a time in ns: %s is expected", word, name);
	return value;
}

int main(int argc, char **argv)
{
	static struct nodes nodes;
	int64_t zero_ns, interval_ns;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(help_text, stdout);
		return EXIT_SUCCESS;
	}
	if (argc != 4)
		die(EXIT_USAGE, "give a folder, the zero instant and the interval; see sampler --help");
	zero_ns = read_ns(argv[2], "ZERO_NS", 0);
	interval_ns = read_ns(argv[3], "INTERVAL_NS", 1);
	handle_signals();
	nodes_read(&nodes, stdin, argv[1]);
	be_exact();
	run(&nodes, zero_ns, interval_ns);
	nodes_finish(&nodes, stdout);
	return fflush(stdout) ? EXIT_RUNTIME : EXIT_SUCCESS;
}
