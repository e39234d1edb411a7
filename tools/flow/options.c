// SPDX-License-Identifier: MIT
#include "options.h"
#include "mode.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MAX 100000000ULL

static struct options given = {
	.bytes = UNLIMITED,
	.interval_ns = NS_PER_S,
	.connect_timeout_ns = 10 * NS_PER_S,
	.seed = 1,
};

static const struct spec specs[] = {
	{ "port", NUMBER, BOTH, &given.port, 1, 65535, "a port", 1, NULL },
	{ "bind", TEXT, BOTH, &given.bind, 0, 0, NULL, 0, NULL },
	{ "connect", TEXT, CLIENT, &given.connect, 0, 0, NULL, 0, NULL },
	{ "mptcp", FLAG, BOTH, &given.mptcp, 0, 0, NULL, 0, NULL },
	{ "udp", FLAG, BOTH, &given.udp, 0, 0, NULL, 0, NULL },
	{ "connections", NUMBER, BOTH, &given.connections, 1, 1000000, "a number of connections", 1, NULL },
	{ "seconds", SECONDS, CLIENT, &given.duration_ns, 0, 0, NULL, 0, NULL },
	{ "bytes", NUMBER, CLIENT | PATTERN, &given.bytes, 0, TARGET_MAX, "a whole number of bytes", 1, NULL },
	{ "file", TEXT, CLIENT, &given.file, 0, 0, NULL, 0, NULL },
	{ "download", FLAG, CLIENT, &given.download, 0, 0, NULL, 0, NULL },
	{ "connect-timeout-ms", NUMBER, CLIENT, &given.connect_timeout_ns, 1, 86400000,
	  "a whole number of milliseconds", NS_PER_MS, NULL },
	{ "congestion", TEXT, BOTH | WITH, &given.congestion, 0, 0, NULL, 0, NULL },
	{ "scheduler", TEXT, BOTH | WITH, &given.scheduler, 0, 0, NULL, 0, NULL },
	{ "any-address", FLAG, WITH, &given.any_address, 0, 0, NULL, 0, NULL },
	{ "interval-ms", NUMBER, BOTH, &given.interval_ns, 0, 86400000,
	  "a whole number of milliseconds", NS_PER_MS, NULL },
	{ "quantum-us", NUMBER, BOTH, &given.quantum_ns, 0, 10000000,
	  "a whole number of microseconds", NS_PER_US, NULL },
	{ "rcvbuf", NUMBER, BOTH, &given.rcvbuf, 1, INT_MAX / 2, "a whole number of bytes", 1, NULL },
	{ "sndbuf", NUMBER, BOTH, &given.sndbuf, 1, INT_MAX / 2, "a whole number of bytes", 1, NULL },
	{ "checksum", FLAG, BOTH, &given.checksum, 0, 0, NULL, 0, NULL },
	{ "seed", NUMBER, CLIENT | PATTERN, &given.seed, 0, ULLONG_MAX, "a seed", 1, NULL },
	{ "exponential", FLAG, CLIENT, &given.exponential, 0, 0, NULL, 0, NULL },
	{ "output", TEXT, BOTH, &given.output, 0, 0, NULL, 0, NULL },
};

/* strtoull() alone would accept " 7", "-7" and "7x". */
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

/* "12" or "0.25", exact to the nanosecond; further digits are refused, not rounded. */
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

static unsigned int parse_word(const struct spec *spec, const char *text)
{
	for (unsigned int i = 0; i < spec->max; i++)
		if (!strcmp(text, spec->words[i]))
			return i;
	die(EXIT_USAGE, "--%s: '%s' is not %s", spec->name, text, spec->what);
}

static void store(const struct spec *spec, const char *text)
{
	switch (spec->kind) {
	case FLAG:
		*(bool *)spec->place = true;
		break;
	case NUMBER:
		*(__u64 *)spec->place = parse_number(spec, text);
		break;
	case SECONDS:
		*(__u64 *)spec->place = parse_seconds(spec, text);
		break;
	case WORD:
		*(unsigned int *)spec->place = parse_word(spec, text);
		break;
	case TEXT:
		if (!*text)
			die(EXIT_USAGE, "--%s: the value is empty", spec->name);
		*(const char **)spec->place = text;
		break;
	}
}

static const struct spec *find_in(const struct spec *table, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(table[i].name) == len && !strncmp(table[i].name, name, len))
			return &table[i];
	return NULL;
}

static const struct spec *find(const char *arg, size_t len)
{
	const struct spec *spec = find_in(specs, ARRAY_SIZE(specs), arg + 2, len);

	for (const struct mode *const *mode = modes; !spec && *mode; mode++)
		spec = find_in((*mode)->options, (*mode)->n_options, arg + 2, len);
	if (!spec)
		die(EXIT_USAGE, "unknown option '%s' (see flow --help)", arg);
	if (!(spec->takers & given.command->takes))
		die(EXIT_USAGE, "--%s: not for '%s' (see flow --help)", spec->name, given.command->name);
	return spec;
}

static void parse_arguments(char **argv)
{
	for (; *argv; argv++) {
		const char *arg = *argv;
		const char *equals = strchr(arg, '=');
		const char *value = equals ? equals + 1 : NULL;
		const struct spec *spec;

		if (given.command->takes == WITH && strncmp(arg, "--", 2)) {
			given.program = argv;
			return;
		}
		if (strncmp(arg, "--", 2))
			die(EXIT_USAGE, "unexpected argument '%s' (see flow --help)", arg);
		spec = find(arg, equals ? (size_t)(equals - arg - 2) : strlen(arg + 2));
		if (spec->kind == FLAG && value)
			die(EXIT_USAGE, "--%s: takes no value", spec->name);
		if (spec->kind != FLAG && !value) {
			if (!argv[1])
				die(EXIT_USAGE, "--%s: a value is missing", spec->name);
			value = *++argv;
		}
		store(spec, value);
	}
}

/* A client that transfers payload needs exactly one condition of its end. */
void options_check_target(const struct options *opt)
{
	if ((opt->bytes != UNLIMITED) + !!opt->duration_ns + !!opt->file != 1)
		die(EXIT_USAGE, "give exactly one of --seconds, --bytes and --file");
}

/* The mode whose options were given; by default the mode without chosen(). */
static const struct mode *choose_mode(void)
{
	const struct mode *usual = NULL, *found = NULL;

	for (const struct mode *const *mode = modes; *mode; mode++) {
		if (!(*mode)->chosen)
			usual = *mode;
		else if ((*mode)->chosen() && found)
			die(EXIT_USAGE, "these options are of two modes, of which a client has one (see flow --help)");
		else if ((*mode)->chosen())
			found = *mode;
	}
	return found ?: usual;
}

static void check_client(void)
{
	if (!given.connect)
		die(EXIT_USAGE, "--connect is missing");
	given.mode = choose_mode();
	for (const struct mode *const *mode = modes; *mode; mode++)
		if (*mode != given.mode)
			(*mode)->check(&given, false);
	given.mode->check(&given, true);
}

static void check(void)
{
	unsigned int takes = given.command->takes;

	if (takes == PATTERN && given.bytes == UNLIMITED)
		die(EXIT_USAGE, "--bytes is missing");
	if (takes == WITH && !given.program)
		die(EXIT_USAGE, "say which program to run (see flow --help)");
	if (!(takes & BOTH))
		return;
	if (given.udp && given.mptcp)
		die(EXIT_USAGE, "--udp: not with --mptcp");
	if (given.scheduler && !given.mptcp)
		die(EXIT_USAGE, "--scheduler: only with --mptcp");
	if (!given.port)
		die(EXIT_USAGE, "--port is missing");
	if (takes == CLIENT)
		check_client();
}

static void help_if_asked(int argc, char **argv)
{
	bool with = argc > 1 && !strcmp(argv[1], "with");

	/* Arguments after the program's name are the program's. */
	for (int i = 1; i < argc && !(with && i > 1 && strncmp(argv[i], "--", 2)); i++) {
		if (strcmp(argv[i], "--help") && strcmp(argv[i], "-h"))
			continue;
		help_print();
		exit(EXIT_SUCCESS);
	}
}

static const struct command *parse_command(const char *word)
{
	for (const struct command *command = commands; command->name; command++)
		if (!strcmp(word, command->name))
			return command;
	die(EXIT_USAGE, "'%s' is not server, client, pattern, sum or with (see flow --help)", word);
}

const struct options *options_parse(int argc, char **argv)
{
	help_if_asked(argc, argv);
	if (argc < 2)
		die(EXIT_USAGE, "say 'server' or 'client' first (see flow --help)");
	given.command = parse_command(argv[1]);
	given.server = given.command->takes == SERVER;
	given.connections = given.server ? 0 : 1;
	parse_arguments(argv + 2);
	check();
	return &given;
}
