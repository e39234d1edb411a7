// SPDX-License-Identifier: MIT
#include "radio.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Thermal noise in 20 MHz at 290 K, -101 dBm, and a receiver's noise figure of 7 dB. */
#define NOISE_DBM -94

void die(int status, const char *format, ...)
{
	va_list args;

	fputs("radio: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

void *allocate(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		die(EXIT_RUNTIME, "out of memory");
	return memory;
}

int64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int open_signals(void)
{
	sigset_t set;
	int signals;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (signals < 0)
		die(EXIT_RUNTIME, "signalfd: %s", strerror(errno));
	return signals;
}

/* The kernel lengthens sleeps of other tasks by up to a thousandth, to coalesce timers. */
void be_exact(void)
{
	struct sched_param priority = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &priority))
		die(EXIT_RUNTIME, "the scheduler refuses exact timers: %s", strerror(errno));
}

/* Run all events until @ns, each at its own time: the program may run slightly later than they were due. */
static void run_events(struct medium *medium, int64_t ns)
{
	struct event *event;

	while ((event = event_first(&medium->events)) && event->at_ns <= ns) {
		medium->now_ns = event->at_ns;
		event_cancel(&medium->events, event);
		event->run(medium, event);
	}
	medium->now_ns = ns;
}

/* Wait until a message or signal arrives, or the next event is due. */
static void wait_for_work(const struct medium *medium, struct pollfd *polled, int count)
{
	const struct event *next = event_first(&medium->events);
	struct timespec timeout = { 0 };
	int64_t ns;

	if (next) {
		ns = next->at_ns - clock_ns();
		ns = ns > 0 ? ns : 0;
		timeout = (struct timespec){ ns / NS_PER_S, ns % NS_PER_S };
	}
	if (ppoll(polled, count, next ? &timeout : NULL, NULL) < 0)
		die(EXIT_RUNTIME, "ppoll: %s", strerror(errno));
}

/* Process messages that arrived together one by one, as events that are due now may come between. */
static void receive(struct medium *medium)
{
	hwsim_receive(medium);
	while (netlink_has_next(&medium->netlink)) {
		netlink_flush(&medium->netlink);
		run_events(medium, medium->now_ns);
		hwsim_receive(medium);
	}
}

static void run(struct medium *medium, const char *stats, int signals)
{
	struct pollfd polled[] = {
		{ .fd = medium->netlink.fd, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};
	struct signalfd_siginfo signal = { .ssi_signo = SIGUSR1 };

	while (signal.ssi_signo == SIGUSR1 || signal.ssi_signo == SIGUSR2) {
		wait_for_work(medium, polled, ARRAY_SIZE(polled));
		run_events(medium, clock_ns());
		if (polled[0].revents)
			receive(medium);
		netlink_flush(&medium->netlink);
		if (!polled[1].revents || read(signals, &signal, sizeof(signal)) != sizeof(signal))
			continue;
		if (signal.ssi_signo == SIGUSR2)
			medium->moving_since_ns = medium->now_ns;
		else if (stats)
			stats_write(medium, stats);
	}
}

static FILE *open_log(const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file)
		die(EXIT_RUNTIME, "'%s' cannot be written: %s", path, strerror(errno));
	return file;
}

/* Let a child run the medium. Exit when the child is ready, or with its status if it fails. */
static int go_to_background(const char *pid_file)
{
	int ends[2], status = 0;
	char byte;
	FILE *file;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		die(EXIT_RUNTIME, "pipe: %s", strerror(errno));
	child = fork();
	if (child < 0)
		die(EXIT_RUNTIME, "fork: %s", strerror(errno));
	if (!child) {
		close(ends[0]);
		return ends[1];
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1) {
		waitpid(child, &status, 0);
		exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_RUNTIME);
	}
	file = fopen(pid_file, "we");
	if (!file || fprintf(file, "%d\n", child) < 0 || fclose(file))
		die(EXIT_RUNTIME, "'%s' cannot be written: %s", pid_file, strerror(errno));
	exit(EXIT_SUCCESS);
}

struct options {
	const char *stats;
	const char *pid_file;
	bool moves_on_signal;
};

static void read_options(struct medium *medium, struct options *chosen, int argc, char **argv)
{
	static const struct option options[] = {
		{ "stats", required_argument, NULL, 's' },
		{ "log", required_argument, NULL, 'l' },
		{ "background", required_argument, NULL, 'b' },
		{ "move-on-usr2", no_argument, NULL, 'm' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	const char *log = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == 's') {
			chosen->stats = optarg;
		} else if (option == 'b') {
			chosen->pid_file = optarg;
		} else if (option == 'm') {
			chosen->moves_on_signal = true;
		} else if (option == 'l') {
			log = optarg;
		} else if (option == 'h') {
			fputs(help_text, stdout);
			exit(EXIT_SUCCESS);
		} else {
			exit(EXIT_USAGE);
		}
	}
	if (optind != argc - 1)
		die(EXIT_USAGE, "give one file; see radio --help");
	config_read(&medium->config, argv[optind]);
	if (log)
		medium->log = open_log(log);
}

int main(int argc, char **argv)
{
	static struct medium medium = {
		.config = {
			.seed = 1,
			.propagation = { .model = LOG_DISTANCE, .exponent = 3, .reference_loss_db = 46.7 },
			.capture_db = 5,
			.basic_rates = 3,
			.regulatory_domain = -1,
			.defaults = {
				.power_dbm = 16,
				.noise_dbm = NOISE_DBM,
				.sensitivity_dbm = -95,
				.carrier_sense_dbm = NAN,
				.energy_detect_dbm = -62,
			},
		},
	};
	struct options chosen = { 0 };
	int signals, parent = -1;

	if (argc > 1 && !strcmp(argv[1], "watch"))
		return watch_main(argc - 1, argv + 1);
	read_options(&medium, &chosen, argc, argv);
	if (chosen.pid_file)
		parent = go_to_background(chosen.pid_file);
	medium_init(&medium);
	netlink_open(&medium.netlink, "MAC80211_HWSIM");
	signals = open_signals();
	be_exact();
	hwsim_create(&medium);
	hwsim_register(&medium);
	medium.started_ns = clock_ns();
	medium.now_ns = medium.started_ns;
	medium.moving_since_ns = chosen.moves_on_signal ? INT64_MAX : medium.started_ns;
	puts("ready");
	fflush(stdout);
	if (parent >= 0 && write(parent, "\n", 1) != 1)
		die(EXIT_RUNTIME, "the program that waits for this one is gone");
	run(&medium, chosen.stats, signals);
	return medium.log && fclose(medium.log) ? EXIT_RUNTIME : EXIT_SUCCESS;
}
