// SPDX-License-Identifier: MIT
/* Run another program, with a congestion control and a scheduler on all its sockets. */
#include "with.h"
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of this program, with a slash at its end. */
static void own_folder(char path[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (len < 0)
		die(EXIT_RUNTIME, "cannot find this program's folder: %s", strerror(errno));
	path[len] = '\0';
	*(strrchr(path, '/') + 1) = '\0';
}

/*
 * First in the list: our library calls the next one (mptcpize's, which turns TCP sockets into
 * MPTCP sockets) to create the socket, and sets the options after that.
 */
static void preload(void)
{
	const char *others = getenv("LD_PRELOAD");
	char folder[PATH_MAX];
	char *list;

	own_folder(folder);
	if (access(strcat(folder, FLOW_WITH_LIBRARY), R_OK))
		die(EXIT_RUNTIME, "cannot read '%s': %s", folder, strerror(errno));
	if (asprintf(&list, "%s%s%s", folder, others ? ":" : "", others ? others : "") < 0 ||
	    setenv("LD_PRELOAD", list, 1))
		die(EXIT_RUNTIME, "no memory for the environment");
	free(list);
}

static void tell(const char *name, const char *value)
{
	if (value && setenv(name, value, 1))
		die(EXIT_RUNTIME, "no memory for the environment");
}

int with_run(const struct options *opt)
{
	preload();
	tell(FLOW_WITH_CONGESTION, opt->congestion);
	tell(FLOW_WITH_SCHEDULER, opt->scheduler);
	tell(FLOW_WITH_ANY_ADDRESS, opt->any_address ? "1" : NULL);
	execvp(opt->program[0], opt->program);
	die(EXIT_RUNTIME, "cannot run '%s': %s", opt->program[0], strerror(errno));
}
