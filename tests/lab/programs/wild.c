// SPDX-License-Identifier: MIT
/*
 * Accesses to what is not the program's own: memory of the lab kernel, of the
 * host's libraries, of other programs, no memory at all. Each is a SIGSEGV, and
 * others do not notice.
 */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096UL
#define MANY 1500

static sigjmp_buf environment;
static uintptr_t fault_address;
static int fault_code, fault_signal;

static void remember(int signal, void *info, void *context)
{
	const siginfo_t *si = info;

	(void)context;
	fault_signal = signal;
	fault_code = si->si_code;
	fault_address = (uintptr_t)si->si_addr;
	siglongjmp(environment, 1);
}

/* Copies of a program have one place in the kernel's process, which the hottest gets. */
static void heat(int calls)
{
	struct stat about;

	for (int i = 0; i < calls; i++)
		fstat(0, &about);
}

enum kind { READ, WRITE, JUMP };

static const char * const kinds[] = { "reading", "writing", "a jump to" };

/* Return whether the access is a SIGSEGV; its details are in fault_*. */
static __attribute__((noinline)) bool faults(enum kind kind, uintptr_t address)
{
	fault_signal = 0;
	if (sigsetjmp(environment, 1))
		return fault_signal == SIGSEGV;
	switch (kind) {
	case READ:
		*(volatile char *)address;
		break;
	case WRITE:
		*(volatile char *)address = 'W';
		break;
	case JUMP:
		((void (*)(void))address)();
		break;
	}
	return false;
}

static void check_one(enum kind kind, uintptr_t address)
{
	bool good = faults(kind, address);

	check(good && fault_code == SEGV_MAPERR && fault_address == address,
	      "%s %#lx: signal %d, code %d, address %#lx", kinds[kind], address, fault_signal, fault_code,
	      fault_address);
}

/* The CPU does not report the address. */
static void check_not_canonical(enum kind kind, uintptr_t address)
{
	bool good = faults(kind, address);

	check(good, "%s %#lx: signal %d", kinds[kind], address, fault_signal);
}

/*
 * Pages that programs must reach in the moment of a call: triples of arguments, the last one is
 * "rw" or "r". Nothing that lasts is there.
 */
#define HOLES 8
static struct {
	uintptr_t from, to;
	bool is_written;
} holes[HOLES];
static int hole_count;

static bool in_hole(enum kind kind, uintptr_t address)
{
	for (int i = 0; i < hole_count; i++)
		if (address >= holes[i].from && address < holes[i].to)
			return kind == READ || holes[i].is_written;
	return false;
}

static void check_range(enum kind kind, const char *what, uintptr_t from, uintptr_t to, uintptr_t step)
{
	unsigned long count = 0, good = 0;
	uintptr_t wrong = 0;

	for (uintptr_t at = from; at < to; at += step) {
		bool is_good;

		if (in_hole(kind, at))
			continue;
		is_good = faults(kind, at) && fault_code == SEGV_MAPERR && fault_address == at;
		count++;
		good += is_good;
		if (!is_good && !wrong)
			wrong = at;
	}
	check(good == count, "%s %s, %#lx to %#lx: %lu of %lu%s", kinds[kind], what, from, to, good, count,
	      good == count ? "" : ", see below");
	if (wrong) {
		faults(kind, wrong);
		note("first: %#lx: signal %d, code %d, address %#lx", wrong, fault_signal, fault_code, fault_address);
	}
}

/* The kernel does not follow wild pointers either. */
static void check_calls(uintptr_t address)
{
	int fd = open("/dev/zero", O_RDWR), ends[2], good = 0;
	struct stat about;

	if (pipe(ends))
		stop("pipe");
	errno = 0;
	good += read(fd, (void *)address, 16) == -1 && errno == EFAULT;
	errno = 0;
	good += write(ends[1], (void *)address, 16) == -1 && errno == EFAULT;
	errno = 0;
	good += stat((const char *)address, &about) == -1 && errno == EFAULT;
	errno = 0;
	good += syscall(SYS_clock_gettime, CLOCK_MONOTONIC, (void *)address) == -1 && errno == EFAULT;
	check(good == 4, "system calls with %#lx: EFAULT in %d of 4", address, good);
	close(fd);
	close(ends[0]);
	close(ends[1]);
}

/*
 * Other programs: each has a place of its own, which it reports, and checks in the end. They are
 * fewer than protection keys, so that none shares one with this program.
 */

#define OTHERS 8
#define PLACES 3
static char buffer[4 * PAGE] __attribute__((aligned(4096)));

static int be_another(int number)
{
	uintptr_t places[PLACES] = { (uintptr_t)buffer + PAGE, (uintptr_t)malloc(PAGE), (uintptr_t)&number };
	char byte;

	memset(buffer, number, sizeof(buffer));
	memset((char *)places[1], number, PAGE);
	heat(3000);
	if (write(1, places, sizeof(places)) != sizeof(places) || read(0, &byte, 1) != 1)
		return 1;
	for (size_t i = 0; i < sizeof(buffer); i++)
		if (buffer[i] != number)
			return 2;
	for (size_t i = 0; i < PAGE; i++)
		if (((char *)places[1])[i] != number)
			return 3;
	return 40 + number;
}

struct other {
	pid_t pid;
	int to, from;
	uintptr_t places[PLACES];
};

static void start_other(struct other *other, int number, const char *self)
{
	int to[2], from[2];
	char text[10];

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		stop("pipe");
	snprintf(text, sizeof(text), "%d", number);
	other->pid = fork();
	if (!other->pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		/* Programs that begin anew, and copies of this one */
		if (number % 4 == 3)
			_exit(be_another(number));
		execl(self, "wild", text, NULL);
		_exit(9);
	}
	close(to[0]);
	close(from[1]);
	other->to = to[1];
	other->from = from[0];
}

/* Copies have the addresses of this program; so have all programs where the kernel does not set them apart. */
static bool is_mine(uintptr_t address)
{
	uintptr_t stack = (uintptr_t)&address;
	unsigned char resident;

	/* A stack grows where it is touched. */
	if (stack - address < (64UL << 20))
		return true;
	return !mincore((void *)(address & ~(PAGE - 1)), PAGE, &resident);
}

static void check_others(const char *self)
{
	static struct other others[OTHERS];
	int faulty[2] = { 0 }, tried[2] = { 0 }, ended = 0;

	for (int i = 0; i < OTHERS; i++) {
		start_other(&others[i], i, self);
		if (read(others[i].from, others[i].places, sizeof(others[i].places)) != sizeof(others[i].places))
			stop("another program does not answer");
	}
	heat(20000);
	for (int i = 0; i < OTHERS; i++) {
		for (int place = 0; place < PLACES; place++) {
			for (enum kind kind = READ; kind <= WRITE; kind++) {
				uintptr_t address = others[i].places[place];

				if (is_mine(address))
					continue;
				tried[kind]++;
				faulty[kind] += faults(kind, address) && fault_address == address;
			}
		}
	}
	for (enum kind kind = READ; kind <= WRITE; kind++)
		check(faulty[kind] == tried[kind], "%s other programs: %d of %d", kinds[kind], faulty[kind],
		      tried[kind]);
	for (int i = 0; i < OTHERS; i++) {
		if (write(others[i].to, "x", 1) != 1)
			stop("another program has gone");
		ended += end_of(others[i].pid) == 40 + i;
		close(others[i].to);
		close(others[i].from);
	}
	check(ended == OTHERS, "others found their memory as they left it: %d of %d", ended, OTHERS);
}

int main(int argc, char **argv)
{
	static const uintptr_t nowhere[] = { 0, 8, 0x1000, 0x20000, 0x5ffff000, 0x60000000, 0x60001000, 0x100000000,
					     0x7ffff7fff000, 0x7e0000000000 };
	static const uintptr_t not_canonical[] = { 1UL << 47, 0x8000000000000123, 0xdead000000000000,
						   0xffff800000000000, 0xffffffff81000000, ~0UL };
	char self[4096] = "";

	if (argc == 2)
		return be_another(atoi(argv[1]));
	for (int i = 1; i + 2 < argc && hole_count < HOLES; i += 3) {
		holes[hole_count].from = strtoul(argv[i], NULL, 16);
		holes[hole_count].to = strtoul(argv[i + 1], NULL, 16);
		holes[hole_count++].is_written = !strcmp(argv[i + 2], "rw");
	}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		stop("readlink");
	handle(SIGSEGV, remember, 0);
	handle(SIGBUS, remember, 0);
	handle(SIGILL, remember, 0);
	handle(SIGTRAP, remember, 0);
	heat(MANY);

	for (size_t i = 0; i < sizeof(nowhere) / sizeof(*nowhere); i++) {
		check_one(READ, nowhere[i]);
		check_one(WRITE, nowhere[i]);
		check_calls(nowhere[i]);
	}
	for (size_t i = 0; i < sizeof(not_canonical) / sizeof(*not_canonical); i++) {
		check_not_canonical(READ, not_canonical[i]);
		check_not_canonical(WRITE, not_canonical[i]);
		check_not_canonical(JUMP, not_canonical[i]);
		check_calls(not_canonical[i]);
	}
	check_one(JUMP, 0);
	check_one(JUMP, 0x20000);
	check_one(JUMP, 0x7e0000000000);
	/* The lab kernel itself, the lab's memory, what the host has mapped behind it */
	check_range(WRITE, "the kernel", 0x60000000, 0x61000000, PAGE);
	check_range(READ, "the kernel", 0x60000000, 0x61000000, PAGE);
	check_range(WRITE, "the lab's memory", 0x61000000, 0xa4000000, 0x40000 + 8);
	check_range(READ, "the lab's memory", 0x61000000, 0xa4000000, 0x40000 + 8);
	/* The host's libraries and stack, but for the few pages that a stub has, too */
	check_range(WRITE, "the host's libraries", 0x7ffff7800000, 0x7ffff8000000, PAGE);
	check_range(READ, "the host's libraries", 0x7ffff7800000, 0x7ffff8000000, PAGE);
	check_range(WRITE, "the host's stack", 0x7fffff700000, 0x7fffffff0000, PAGE);
	check_range(READ, "the host's stack", 0x7fffff700000, 0x7fffffff0000, PAGE);
	check_others(self);
	return finish();
}
