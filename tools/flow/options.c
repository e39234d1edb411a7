// SPDX-License-Identifier: MIT
/* The command line: one table says what each option is, who takes it and what it may be. */
#include "flow.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind { FLAG, NUMBER, SECONDS, TEXT, SIZES };
/* Who takes an option: a set. */
enum { SERVER = 1, CLIENT = 2, PATTERN = 4, WITH = 8, BOTH = SERVER | CLIENT };

struct spec {
	const char *name;
	enum kind kind;
	unsigned int takers;
	size_t offset;
	/* NUMBER: range, what it counts, and the factor to the unit of the program */
	__u64 min;
	__u64 max;
	const char *what;
	__u64 scale;
};

#define AT(member) offsetof(struct options, member)
#define TARGET_MAX 1000000000000000000ULL
#define SECONDS_MAX 100000000ULL

static const struct spec specs[] = {
	{ "port", NUMBER, BOTH, AT(port), 1, 65535, "a port", 1 },
	{ "bind", TEXT, BOTH, AT(bind), 0, 0, NULL, 0 },
	{ "connect", TEXT, CLIENT, AT(connect), 0, 0, NULL, 0 },
	{ "mptcp", FLAG, BOTH, AT(mptcp), 0, 0, NULL, 0 },
	{ "udp", FLAG, BOTH, AT(udp), 0, 0, NULL, 0 },
	{ "connections", NUMBER, BOTH, AT(connections), 1, 1000000, "a number of connections", 1 },
	{ "seconds", SECONDS, CLIENT, AT(duration_ns), 0, 0, NULL, 0 },
	{ "bytes", NUMBER, CLIENT | PATTERN, AT(bytes), 0, TARGET_MAX,
	  "a whole number of bytes", 1 },
	{ "file", TEXT, CLIENT, AT(file), 0, 0, NULL, 0 },
	{ "download", FLAG, CLIENT, AT(download), 0, 0, NULL, 0 },
	{ "connect-timeout-ms", NUMBER, CLIENT, AT(connect_timeout_ns), 1, 86400000,
	  "a whole number of milliseconds", NS_PER_MS },
	{ "congestion", TEXT, BOTH | WITH, AT(congestion), 0, 0, NULL, 0 },
	{ "scheduler", TEXT, BOTH | WITH, AT(scheduler), 0, 0, NULL, 0 },
	{ "any-address", FLAG, WITH, AT(any_address), 0, 0, NULL, 0 },
	{ "interval-ms", NUMBER, BOTH, AT(interval_ns), 0, 86400000,
	  "a whole number of milliseconds", NS_PER_MS },
	{ "quantum-us", NUMBER, BOTH, AT(quantum_ns), 0, 10000000,
	  "a whole number of microseconds", NS_PER_US },
	{ "rcvbuf", NUMBER, BOTH, AT(rcvbuf), 1, INT_MAX / 2, "a whole number of bytes", 1 },
	{ "sndbuf", NUMBER, BOTH, AT(sndbuf), 1, INT_MAX / 2, "a whole number of bytes", 1 },
	{ "checksum", FLAG, BOTH, AT(checksum), 0, 0, NULL, 0 },
	{ "seed", NUMBER, CLIENT | PATTERN, AT(seed), 0, ULLONG_MAX, "a seed", 1 },
	{ "message-bytes", NUMBER, CLIENT, AT(message), MESSAGE_HEAD, 65507, "a whole number of bytes", 1 },
	{ "message-ns", NUMBER, CLIENT, AT(gap_ns), 1, 86400000000000, "a whole number of nanoseconds", 1 },
	{ "on-us", NUMBER, CLIENT, AT(on_ns), 1, 86400000000, "a whole number of microseconds", NS_PER_US },
	{ "off-us", NUMBER, CLIENT, AT(off_ns), 1, 86400000000, "a whole number of microseconds", NS_PER_US },
	{ "exponential", FLAG, CLIENT, AT(exponential), 0, 0, NULL, 0 },
	{ "log", FLAG, CLIENT, AT(log), 0, 0, NULL, 0 },
	{ "ask", FLAG, CLIENT, AT(ask), 0, 0, NULL, 0 },
	{ "requests", NUMBER, CLIENT, AT(requests), 1, 1000000000, "a number of requests", 1 },
	{ "request-bytes", NUMBER, CLIENT, AT(request_bytes), 0, TARGET_MAX, "a whole number of bytes", 1 },
	{ "response-bytes", NUMBER, CLIENT, AT(response_bytes), 1, TARGET_MAX, "a whole number of bytes", 1 },
	{ "largest-bytes", NUMBER, CLIENT, AT(largest), 1, TARGET_MAX, "a whole number of bytes", 1 },
	{ "sizes", SIZES, CLIENT, AT(sizes), 0, 0, NULL, 0 },
	{ "shape-milli", NUMBER, CLIENT, AT(shape_milli), 1, 100000, "a number of thousandths", 1 },
	{ "think-us", NUMBER, CLIENT, AT(think_ns), 0, 86400000000, "a whole number of microseconds", NS_PER_US },
	{ "arrival-us", NUMBER, CLIENT, AT(arrival_ns), 1, 86400000000, "a whole number of microseconds", NS_PER_US },
	{ "output", TEXT, BOTH, AT(output), 0, 0, NULL, 0 },
};

/* strtoull() alone would take " 7", "-7" and "7x". */
static bool parse_digits(const char *text, const char **end, __u64 *value)
{
	char *stop;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &stop, 10);
	*end = stop;
	return !errno;
}

static __u64 parse_number(const struct spec *spec, const char *text)
{
	const char *end;
	__u64 value;

	if (!parse_digits(text, &end, &value) || *end || value < spec->min || value > spec->max)
		die(EXIT_USAGE, "--%s: '%s' is not %s (%llu to %llu)", spec->name, text, spec->what,
		    spec->min, spec->max);
	return value * spec->scale;
}

/* "12" or "0.25", exact to the nanosecond; more digits than that are refused, not rounded. */
static __u64 parse_seconds(const struct spec *spec, const char *text)
{
	__u64 whole, fraction = 0, unit = NS_PER_S;
	const char *end;
	bool good = parse_digits(text, &end, &whole) && whole <= SECONDS_MAX;

	if (good && *end == '.') {
		const char *digits = end + 1;

		good = parse_digits(digits, &end, &fraction) && end - digits <= 9;
		for (; good && digits < end; digits++)
			unit /= 10;
	}
	if (!good || *end || (!whole && !fraction))
		die(EXIT_USAGE,
		    "--%s: '%s' is not a time in seconds (above 0, to %llu, at most 9 decimals)",
		    spec->name, text, SECONDS_MAX);
	return whole * NS_PER_S + fraction * unit;
}

static enum sizes parse_sizes(const char *text)
{
	static const char *const names[] = { "fixed", "exponential", "pareto", "lognormal" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(text, names[i]))
			return i;
	die(EXIT_USAGE, "--sizes: '%s' is not fixed, exponential, pareto or lognormal", text);
}

static void store(struct options *opt, const struct spec *spec, const char *text)
{
	char *place = (char *)opt + spec->offset;

	switch (spec->kind) {
	case FLAG:
		*(bool *)place = true;
		break;
	case NUMBER:
		*(__u64 *)place = parse_number(spec, text);
		break;
	case SECONDS:
		*(__u64 *)place = parse_seconds(spec, text);
		break;
	case SIZES:
		*(enum sizes *)place = parse_sizes(text);
		break;
	case TEXT:
		if (!*text)
			die(EXIT_USAGE, "--%s: the value is empty", spec->name);
		*(const char **)place = text;
		break;
	}
}

static const char *const command_names[] = {
	[COMMAND_SERVER] = "server",
	[COMMAND_CLIENT] = "client",
	[COMMAND_PATTERN] = "pattern",
	[COMMAND_SUM] = "sum",
	[COMMAND_WITH] = "with",
};

static unsigned int role_of(enum command command)
{
	static const unsigned int roles[] = {
		[COMMAND_SERVER] = SERVER,
		[COMMAND_CLIENT] = CLIENT,
		[COMMAND_PATTERN] = PATTERN,
		[COMMAND_SUM] = 0,
		[COMMAND_WITH] = WITH,
	};

	return roles[command];
}

static const struct spec *find(const struct options *opt, const char *arg, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		const struct spec *spec = &specs[i];

		if (strlen(spec->name) != len || strncmp(spec->name, arg + 2, len))
			continue;
		if (!(spec->takers & role_of(opt->command)))
			die(EXIT_USAGE, "--%s: not for '%s' (see flow --help)", spec->name,
			    command_names[opt->command]);
		return spec;
	}
	die(EXIT_USAGE, "unknown option '%s' (see flow --help)", arg);
}

static void parse_arguments(struct options *opt, char **argv)
{
	for (; *argv; argv++) {
		const char *arg = *argv;
		const char *equals = strchr(arg, '=');
		const char *value = equals ? equals + 1 : NULL;
		const struct spec *spec;

		if (opt->command == COMMAND_WITH && strncmp(arg, "--", 2)) {
			opt->program = argv;
			return;
		}
		if (strncmp(arg, "--", 2))
			die(EXIT_USAGE, "unexpected argument '%s' (see flow --help)", arg);
		spec = find(opt, arg, equals ? (size_t)(equals - arg - 2) : strlen(arg + 2));
		if (spec->kind == FLAG && value)
			die(EXIT_USAGE, "--%s: takes no value", spec->name);
		if (spec->kind != FLAG && !value) {
			if (!argv[1])
				die(EXIT_USAGE, "--%s: a value is missing", spec->name);
			value = *++argv;
		}
		store(opt, spec, value);
	}
}

static void check_messages(const struct options *opt)
{
	if (!opt->message != !opt->gap_ns)
		die(EXIT_USAGE, "--message-bytes and --message-ns belong together");
	if (!opt->on_ns != !opt->off_ns)
		die(EXIT_USAGE, "--on-us and --off-us belong together");
	if (opt->message && (!opt->duration_ns || opt->ask || opt->checksum || opt->file))
		die(EXIT_USAGE, "--message-bytes: only with --seconds, and without --ask, --checksum and --file");
	if (!opt->message && (opt->on_ns || opt->log || opt->udp))
		die(EXIT_USAGE, "--on-us, --log and --udp: only with --message-bytes");
}

static void check_requests(const struct options *opt)
{
	if (!opt->response_bytes)
		die(EXIT_USAGE, "--response-bytes is missing");
	if (opt->bytes != UNLIMITED || opt->file || opt->checksum)
		die(EXIT_USAGE, "--ask: not with --bytes, --file or --checksum");
	if (!opt->requests && !opt->duration_ns)
		die(EXIT_USAGE, "say how long with --seconds, or how often with --requests");
	if (opt->arrival_ns && !opt->duration_ns)
		die(EXIT_USAGE, "--arrival-us: only with --seconds");
	if ((opt->sizes == SIZES_PARETO && opt->shape_milli <= 1000) ||
	    (opt->sizes == SIZES_LOGNORMAL && !opt->shape_milli))
		die(EXIT_USAGE, "--sizes: needs a --shape-milli, above 1000 for pareto");
}

static void check(const struct options *opt)
{
	int targets = (opt->bytes != UNLIMITED) + !!opt->duration_ns + !!opt->file;

	if (opt->command == COMMAND_PATTERN && opt->bytes == UNLIMITED)
		die(EXIT_USAGE, "--bytes is missing");
	if (opt->command == COMMAND_WITH && !opt->program)
		die(EXIT_USAGE, "say which program to run (see flow --help)");
	if (opt->command != COMMAND_SERVER && opt->command != COMMAND_CLIENT)
		return;
	if (opt->udp && opt->mptcp)
		die(EXIT_USAGE, "--udp: not with --mptcp");
	if (opt->scheduler && !opt->mptcp)
		die(EXIT_USAGE, "--scheduler: only with --mptcp");
	if (!opt->port)
		die(EXIT_USAGE, "--port is missing");
	if (opt->server)
		return;
	if (!opt->connect)
		die(EXIT_USAGE, "--connect is missing");
	check_messages(opt);
	if (opt->ask) {
		check_requests(opt);
		return;
	}
	if (targets != 1)
		die(EXIT_USAGE, "give exactly one of --seconds, --bytes and --file");
	if (opt->file && opt->download)
		die(EXIT_USAGE, "--file: only for uploads, not with --download");
}

static void help_if_asked(int argc, char **argv)
{
	bool with = argc > 1 && !strcmp(argv[1], command_names[COMMAND_WITH]);

	/* Behind the program's name they are the program's. */
	for (int i = 1; i < argc && !(with && i > 1 && strncmp(argv[i], "--", 2)); i++) {
		if (strcmp(argv[i], "--help") && strcmp(argv[i], "-h"))
			continue;
		if (fputs(help_text, stdout) == EOF || fflush(stdout))
			die(EXIT_RUNTIME, "the help text could not be written");
		exit(EXIT_SUCCESS);
	}
}

static enum command parse_command(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(command_names); i++) {
		if (!strcmp(word, command_names[i]))
			return i;
	}
	die(EXIT_USAGE, "'%s' is not server, client, pattern, sum or with (see flow --help)", word);
}

void options_parse(struct options *opt, int argc, char **argv)
{
	help_if_asked(argc, argv);
	if (argc < 2)
		die(EXIT_USAGE, "say 'server' or 'client' first (see flow --help)");
	opt->command = parse_command(argv[1]);
	opt->server = opt->command == COMMAND_SERVER;
	opt->connections = opt->server ? 0 : 1;
	opt->bytes = UNLIMITED;
	opt->interval_ns = NS_PER_S;
	opt->connect_timeout_ns = 10 * NS_PER_S;
	opt->seed = 1;
	parse_arguments(opt, argv + 2);
	check(opt);
}
