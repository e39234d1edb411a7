// SPDX-License-Identifier: MIT
#include "flow.h"
#include "loop.h"
#include "mode.h"
#include "net.h"
#include "stream.h"
#include "with.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

void die(int status, const char *format, ...)
{
	va_list args;

	fputs("flow: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

static void open_output(struct flow *flow)
{
	flow->out = stdout;
	if (flow->opt->output) {
		flow->out = fopen(flow->opt->output, "we");
		if (!flow->out)
			die(EXIT_RUNTIME, "--output: cannot write '%s': %s", flow->opt->output,
			    strerror(errno));
	}
	setvbuf(flow->out, NULL, _IOFBF, 1 << 16);
}

static void close_output(struct flow *flow)
{
	if (ferror(flow->out) || fclose(flow->out))
		die(EXIT_RUNTIME, "the output could not be written: %s", strerror(errno));
}

static void open_signals(struct flow *flow)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	flow->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (flow->signals < 0)
		die(EXIT_RUNTIME, "signalfd: %s", strerror(errno));
}

/* Each connection is an open file. The usual soft limit only protects programs that call select(). */
static void raise_open_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* Server and client. */
static int serve(const struct options *opt)
{
	struct flow flow = { .opt = opt, .mode = opt->mode, .listener = -1 };

	net_check(opt);
	if (flow.mode && flow.mode->prepare)
		flow.mode->prepare(opt);
	raise_open_files();
	open_output(&flow);
	open_signals(&flow);
	/* With the default slack a wakeup can be 50 us late, which would affect the quantum. */
	prctl(PR_SET_TIMERSLACK, 1);
	loop_run(&flow);
	close_output(&flow);
	return flow.failed ? EXIT_CONNECTION : EXIT_SUCCESS;
}

const struct command commands[] = {
	{ "server", SERVER, serve },
	{ "client", CLIENT, serve },
	{ "pattern", PATTERN, stream_pattern },
	{ "sum", 0, stream_sum },
	{ "with", WITH, with_run },
	{ 0 }
};

int main(int argc, char **argv)
{
	const struct options *opt = options_parse(argc, argv);

	return opt->command->run(opt);
}
