/* SPDX-License-Identifier: MIT */
#ifndef CHECK_H
#define CHECK_H

/*
 * What the programs of tests/lab/machine/test_user_code.py have in common. Each prints
 * one line per check, the same in every run, and ends with status 1 if one
 * failed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Print a line that begins with "ok" or "FAILED". */
void check(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Print a line that is compared between runs and not judged. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* End the program: something that the checks need is not possible. */
void stop(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Print the virtual time; return the status of the program. */
int finish(void);

/* Run @child in a process of its own; return how that ended, as waitpid() says. */
int run_child(void (*child)(void));
/* The exit status, or 128 plus the number of the signal. */
int status_of(int wait_status);
/* Wait for @pid; return its exit as status_of() does. */
int end_of(pid_t pid);

/* Numbers that depend on nothing but the seed. */
struct random {
	uint64_t state;
};

uint64_t random_next(struct random *random);

/* Handle @signal on its own stack or not, by @flags of sigaction(). */
void handle(int signal, void (*handler)(int signal, void *info, void *context), int flags);

#endif
