// SPDX-License-Identifier: MIT
#include "flow.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

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
	if (flow->opt.output) {
		flow->out = fopen(flow->opt.output, "we");
		if (!flow->out)
			die(EXIT_RUNTIME, "--output: cannot write '%s': %s", flow->opt.output,
			    strerror(errno));
	}
	setvbuf(flow->out, NULL, _IOFBF, 1 << 16);
}

static void close_output(struct flow *flow)
{
	if (ferror(flow->out) || fclose(flow->out))
		die(EXIT_RUNTIME, "the output could not be written: %s", strerror(errno));
}

static void open_file(struct flow *flow)
{
	const char *path = flow->opt.file;
	struct stat st;

	flow->file = -1;
	if (!path)
		return;
	flow->file = open(path, O_RDONLY | O_CLOEXEC);
	if (flow->file < 0 || fstat(flow->file, &st))
		die(EXIT_RUNTIME, "--file: cannot read '%s': %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		die(EXIT_RUNTIME, "--file: '%s' is not a regular file", path);
	flow->opt.bytes = st.st_size;
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

int main(int argc, char **argv)
{
	struct flow flow = { .listener = -1 };

	options_parse(&flow.opt, argc, argv);
	if (flow.opt.command == COMMAND_PATTERN)
		return stream_pattern(&flow.opt);
	if (flow.opt.command == COMMAND_SUM)
		return stream_sum();
	if (flow.opt.command == COMMAND_WITH)
		with_run(&flow.opt);
	net_check(&flow.opt);
	open_file(&flow);
	open_output(&flow);
	open_signals(&flow);
	/* The default slack lets a wakeup be 50 us late, which the quantum would show. */
	prctl(PR_SET_TIMERSLACK, 1);
	loop_run(&flow);
	close_output(&flow);
	return flow.failed ? EXIT_RUNTIME : EXIT_SUCCESS;
}
