/* SPDX-License-Identifier: MIT */
/* The command line: tables define each option, the commands that have it, and its values. */
#ifndef FLOW_OPTIONS_H
#define FLOW_OPTIONS_H

#include "flow.h"

#define TARGET_MAX 1000000000000000000ULL

enum kind { FLAG, NUMBER, SECONDS, TEXT, WORD };
/* The commands that have an option: a set. */
enum { SERVER = 1, CLIENT = 2, PATTERN = 4, WITH = 8, BOTH = SERVER | CLIENT };

struct spec {
	const char *name;
	enum kind kind;
	unsigned int takers;
	void *place;		/* bool, __u64, __u64, const char * or unsigned int, by kind */
	/* NUMBER: range, what it counts, and the factor to the unit of the program */
	__u64 min;
	__u64 max;
	const char *what;
	__u64 scale;
	const char *const *words;	/* of WORD: max words; what lists them all */
};

struct command {
	const char *name;
	unsigned int takes;	/* its bit in struct spec.takers */
	int (*run)(const struct options *opt);
};

extern const struct command commands[];

/* Options of all commands and modes; a mode's own options are in its file. */
struct options {
	const struct command *command;
	const struct mode *mode;
	bool server;
	bool mptcp;
	bool udp;
	bool download;
	bool checksum;
	bool exponential;	/* times are random, with the given means */
	const char *connect;
	const char *bind;
	const char *congestion;
	const char *scheduler;
	const char *file;
	const char *output;
	bool any_address;	/* of `flow with` */
	char **program;		/* of `flow with`, with its arguments */
	__u64 port;
	__u64 connections;	/* server: 0 = serve until a signal */
	__u64 bytes;		/* UNLIMITED = not given */
	__u64 duration_ns;	/* 0 = not given */
	__u64 interval_ns;	/* 0 = final samples only */
	__u64 quantum_ns;	/* 0 = read when data arrives */
	__u64 connect_timeout_ns;
	__u64 rcvbuf;		/* 0 = the kernel tunes it */
	__u64 sndbuf;		/* 0 = the kernel tunes it */
	__u64 seed;
};

const struct options *options_parse(int argc, char **argv);
void options_check_target(const struct options *opt);

/* help.c */
void help_print(void);

#endif
