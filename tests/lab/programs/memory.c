// SPDX-License-Identifier: MIT
/* Mappings of every kind: where a program wants them, shared, executable, huge, many. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096UL
#define MIB (1UL << 20)
#define GIB (1UL << 30)

static sigjmp_buf environment;
static int fault_code, fault_signal;
static void *fault_address;

static void remember(int signal, void *info, void *context)
{
	const siginfo_t *si = info;

	(void)context;
	fault_signal = signal;
	fault_code = si->si_code;
	fault_address = si->si_addr;
	siglongjmp(environment, 1);
}

/* Return the code of the SIGSEGV, -1 for another signal, 0 if the access succeeds. */
static __attribute__((noinline)) int touch(volatile char *at, bool write)
{
	if (sigsetjmp(environment, 1))
		return fault_signal == SIGSEGV && fault_address == at ? fault_code : -1;
	if (write)
		*at = 'w';
	else
		*at;
	return 0;
}

static void heat(int calls)
{
	struct stat about;

	for (int i = 0; i < calls; i++)
		fstat(0, &about);
}

static void *map(void *at, size_t size, int protection, int flags)
{
	return mmap(at, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static void fill(char *at, size_t size, int seed)
{
	for (size_t i = 0; i < size; i += 64)
		at[i] = seed + i / PAGE;
}

static bool is_filled(const char *at, size_t size, int seed)
{
	for (size_t i = 0; i < size; i += 64)
		if (at[i] != (char)(seed + i / PAGE))
			return false;
	return true;
}

static bool is_zero(const char *at, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (at[i])
			return false;
	return true;
}

/* In a child: a mapping at an odd place may send the program elsewhere for the rest of its life. */
static uintptr_t fixed_place;

static void map_fixed(void)
{
	char *at = (char *)fixed_place;
	char *got;
	pid_t pid;

	heat(3000);
	got = map(at, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_FIXED);
	if (got != at)
		_exit(1);
	/* Before anything else enters the kernel */
	if (!is_zero(at, 16 * PAGE))
		_exit(2);
	fill(at, 16 * PAGE, 3);
	heat(100);
	pid = fork();
	if (!pid) {
		heat(3000);
		if (!is_filled(at, 16 * PAGE, 3))
			_exit(1);
		fill(at, 16 * PAGE, 50);
		_exit(is_filled(at, 16 * PAGE, 50) ? 0 : 2);
	}
	if (end_of(pid) || !is_filled(at, 16 * PAGE, 3))
		_exit(3);
	if (mprotect(at, PAGE, PROT_READ) || touch(at, true) != SEGV_ACCERR || touch(at, false))
		_exit(4);
	if (munmap(at, 16 * PAGE) || touch(at, false) != SEGV_MAPERR)
		_exit(5);
	heat(3000);
	_exit(0);
}

static void check_fixed(void)
{
	static const uintptr_t places[] = { 0x10000, 0x10000000, 0x5ffe0000, 0x60000000, 0x60200000, 0x70000000,
					    0x100000000, 0x7fff8000, 0xc000000000, 0x10001000000, 0x20000000000,
					    0x14000000000, 0x200000000000, 0x7e0000000000, 0x7f7fffff0000 - 32 * PAGE };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		int status;

		fixed_place = places[i];
		status = run_child(map_fixed);
		check(!status, "a mapping at %#lx: status %d", fixed_place, status);
	}
}

/*
 * Mappings where other programs have theirs, of which none must be seen or
 * changed, and without a system call in between.
 */

#define OTHERS 24
static char buffer[16 * PAGE] __attribute__((aligned(4096)));

static int be_another(void)
{
	uintptr_t place = (uintptr_t)buffer;
	char byte;

	fill(buffer, sizeof(buffer), 77);
	heat(1000);
	if (write(1, &place, sizeof(place)) != sizeof(place) || read(0, &byte, 1) != 1)
		return 1;
	return is_filled(buffer, sizeof(buffer), 77) ? 42 : 2;
}

static void check_others(const char *self)
{
	uintptr_t places[OTHERS];
	int to[OTHERS][2], from[2], good = 0, ended = 0;
	pid_t pids[OTHERS];
	char byte = 0;

	if (pipe2(from, O_CLOEXEC))
		stop("pipe");
	for (int i = 0; i < OTHERS; i++) {
		if (pipe2(to[i], O_CLOEXEC))
			stop("pipe");
		pids[i] = fork();
		if (!pids[i]) {
			dup2(to[i][0], 0);
			dup2(from[1], 1);
			execl(self, "memory", "other", NULL);
			_exit(1);
		}
		if (read(from[0], &places[i], sizeof(places[i])) != sizeof(places[i]))
			stop("another program does not answer");
	}
	for (int i = 0; i < OTHERS; i++) {
		pid_t pid;

		/* A program without position has the same addresses as this one. */
		if (places[i] == (uintptr_t)buffer) {
			good++;
			continue;
		}
		pid = fork();
		if (!pid) {
			fixed_place = places[i];
			map_fixed();
		}
		good += !end_of(pid);
	}
	for (int i = 0; i < OTHERS; i++) {
		ended += write(to[i][1], &byte, 1) == 1 && end_of(pids[i]) == 42;
		close(to[i][0]);
		close(to[i][1]);
	}
	check(good == OTHERS && ended == OTHERS, "mappings where %d other programs have theirs: %d, %d", OTHERS, good,
	      ended);
	close(from[0]);
	close(from[1]);
}

static void check_moves(void)
{
	char *at = map(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, 0), *grown, *fixed, *hole;
	int good = 0;

	fill(at, 64 * PAGE, 1);
	grown = mremap(at, 64 * PAGE, 4096 * PAGE, MREMAP_MAYMOVE);
	good += grown != MAP_FAILED && is_filled(grown, 64 * PAGE, 1) && is_zero(grown + 64 * PAGE, 64 * PAGE);
	fill(grown, 4096 * PAGE, 2);
	grown = mremap(grown, 4096 * PAGE, 16 * PAGE, 0);
	good += is_filled(grown, 16 * PAGE, 2) && touch(grown + 16 * PAGE, false) == SEGV_MAPERR;
	hole = map(NULL, 64 * PAGE, PROT_NONE, 0);
	fixed = mremap(grown, 16 * PAGE, 16 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, hole + 8 * PAGE);
	good += fixed == hole + 8 * PAGE && is_filled(fixed, 16 * PAGE, 2) && touch(grown, false) == SEGV_MAPERR;
	good += touch(hole, false) == SEGV_ACCERR && touch(fixed + 16 * PAGE, true) == SEGV_ACCERR;
	check(good == 4, "mremap(): %d of 4", good);
	munmap(hole, 64 * PAGE);
}

/*
 * Within one system call, one page takes the place of 16, and the other 15 become empty. The page tables of the 16 go
 * before that, as many levels of them as have nothing else.
 */

static bool is_replaced(char *at, int sharing)
{
	char *page = map(NULL, PAGE, PROT_READ | PROT_WRITE, 0), *got;
	bool good;

	got = mmap(at, 16 * PAGE, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (got != at)
		return false;
	fill(at, 16 * PAGE, 5);
	fill(page, PAGE, 6);
	got = mremap(page, PAGE, 16 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at);
	good = got == at && is_filled(at, PAGE, 6) && is_zero(at + PAGE, 15 * PAGE);
	munmap(at, 16 * PAGE);
	return good;
}

static void replace_far(void)
{
	_exit(is_replaced((char *)0x200000000000, MAP_PRIVATE) ? 0 : 1);
}

static void check_replaced(void)
{
	char *room = map(NULL, 4 * GIB, PROT_NONE, MAP_NORESERVE), *at, *near;
	int good = 0, status;

	munmap(room, 4 * GIB);
	at = (char *)(((uintptr_t)room + 2 * GIB) & -GIB);
	near = map(at + 4 * MIB, PAGE, PROT_READ | PROT_WRITE, MAP_FIXED);
	*near = 1;
	good += is_replaced(at, MAP_PRIVATE) + is_replaced(at, MAP_SHARED);
	check(good == 2, "memory that is replaced, with something 4 MiB further on: %d of 2", good);
	munmap(near, PAGE);
	check(is_replaced(at, MAP_PRIVATE), "memory that is replaced, with nothing within 1 GiB");
	status = run_child(replace_far);
	check(!status, "memory that is replaced, with nothing within 512 GiB: status %d", status);
}

static void check_protection(void)
{
	char *at = map(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, 0);
	int good = 0;

	fill(at, 8 * PAGE, 9);
	for (int i = 0; i < 200; i++) {
		char *page = at + i % 8 * PAGE;

		mprotect(page, PAGE, PROT_NONE);
		good += touch(page, false) == SEGV_ACCERR && touch(page, true) == SEGV_ACCERR;
		mprotect(page, PAGE, PROT_READ);
		good += touch(page, false) == 0 && touch(page, true) == SEGV_ACCERR;
		mprotect(page, PAGE, PROT_READ | PROT_WRITE);
		good += touch(page + 1, true) == 0;
	}
	check(good == 600 && is_filled(at, 8 * PAGE, 9), "mprotect(): %d of 600", good);

	good = 0;
	for (int i = 0; i < 50; i++) {
		unsigned char resident[8];

		fill(at, 8 * PAGE, i);
		madvise(at + 2 * PAGE, 3 * PAGE, MADV_DONTNEED);
		good += !mincore(at, 8 * PAGE, resident) && (resident[0] & 1) && !(resident[3] & 1);
		good += is_filled(at, 2 * PAGE, i) && is_zero(at + 2 * PAGE, 3 * PAGE);
	}
	check(good == 100, "madvise() and mincore(): %d of 100", good);
	munmap(at, 8 * PAGE);
}

static void check_files(void)
{
	int fd = memfd_create("shared", 0), good = 0, id;
	char *one, *two, *private, *segment;
	char data[4] = "";

	if (ftruncate(fd, 16 * PAGE))
		stop("ftruncate");
	one = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	two = mmap(NULL, 16 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	private = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	for (int i = 0; i < 16; i++) {
		one[i * PAGE] = i + 1;
		good += two[i * PAGE] == i + 1 && private[i * PAGE] == i + 1;
		private[i * PAGE] = 99;
		one[i * PAGE] = i + 2;
		good += two[i * PAGE] == i + 2 && private[i * PAGE] == 99;
		good += pwrite(fd, "abc", 3, i * PAGE + 5) == 3 && !memcmp(two + i * PAGE + 5, "abc", 3);
		one[i * PAGE + 7] = 'x';
		good += pread(fd, data, 3, i * PAGE + 5) == 3 && !memcmp(data, "abx", 3);
	}
	check(good == 64, "two shared mappings and a private one of a file: %d of 64", good);

	good = 0;
	for (int i = 0; i < 16; i++) {
		pid_t pid = fork();

		if (!pid) {
			heat(i % 2 ? 3000 : 1);
			one[i * PAGE + 100] = i + 100;
			private[i * PAGE] = 1;
			_exit(0);
		}
		good += !end_of(pid) && two[i * PAGE + 100] == (char)(i + 100) && private[i * PAGE] == 99;
	}
	check(good == 16, "children write to both: %d of 16", good);

	if (ftruncate(fd, 0))
		stop("ftruncate");
	check(touch(two, false) == -1 && fault_signal == SIGBUS, "SIGBUS behind the end of a file");
	close(fd);
	munmap(one, 16 * PAGE);
	munmap(two, 16 * PAGE);
	munmap(private, 16 * PAGE);

	id = shmget(IPC_PRIVATE, 4 * PAGE, IPC_CREAT | 0600);
	if (id < 0) {
		note("no System V shared memory: %s", strerror(errno));
		return;
	}
	segment = shmat(id, NULL, 0);
	strcpy(segment, "shared");
	shmctl(id, IPC_RMID, NULL);
	check(!strcmp(segment, "shared") && !shmdt(segment) && touch(segment, false) == SEGV_MAPERR, "shmat()");
}

/* Code that changes: mov $value, %eax; ret */
static void write_code(unsigned char *at, int value)
{
	at[0] = 0xb8;
	memcpy(at + 1, &value, sizeof(value));
	at[5] = 0xc3;
}

/* mov $number, %eax; syscall; cmp $-4095, %rax; ret */
static void write_call(unsigned char *at, int number)
{
	static const unsigned char rest[] = { 0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff, 0xc3 };

	write_code(at, number);
	memcpy(at + 5, rest, sizeof(rest));
}

static int run(void *at)
{
	return ((int (*)(void))at)();
}

static void check_code(void)
{
	unsigned char *at = map(NULL, 4 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, 0), *second;
	int fd = memfd_create("code", 0), good = 0;

	for (int i = 0; i < 1000; i++) {
		unsigned char *place = at + i * 7 % (3 * PAGE);

		write_code(place, i);
		good += run(place) == i;
	}
	check(good == 1000, "code that is rewritten: %d of 1000", good);

	/* System calls in such code, which the program may change as soon as they are used often */
	good = 0;
	for (int i = 0; i < 50; i++) {
		write_call(at, i % 2 ? SYS_getppid : SYS_getpid);
		for (int call = 0; call < 200; call++)
			good += run(at) == (i % 2 ? getppid() : getpid());
		/* Its end alone */
		at[13] = 0x90;
		at[14] = 0xc3;
		good += run(at) == (i % 2 ? getppid() : getpid());
		/* The operand of the comparison alone */
		at[9] = 0x02;
		good += run(at) == (i % 2 ? getppid() : getpid());
	}
	check(good == 10100, "system calls in code that is rewritten: %d of 10100", good);

	good = 0;
	for (int i = 0; i < 100; i++) {
		mprotect(at, PAGE, PROT_READ | PROT_WRITE);
		write_call(at + 64, SYS_getpid);
		mprotect(at, PAGE, PROT_READ | PROT_EXEC);
		good += touch((char *)at, true) == SEGV_ACCERR && run(at + 64) == getpid();
	}
	check(good == 100, "code that is written, then executed: %d of 100", good);
	munmap(at, 4 * PAGE);

	/* Twice: to write, and to execute */
	if (ftruncate(fd, PAGE))
		stop("ftruncate");
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	second = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	good = 0;
	for (int i = 0; i < 300; i++) {
		write_call(at + i, i % 2 ? SYS_getppid : SYS_getpid);
		for (int call = 0; call < 10; call++)
			good += run(second + i) == (i % 2 ? getppid() : getpid());
	}
	check(good == 3000, "system calls in code that is mapped twice: %d of 3000", good);
	munmap(at, PAGE);
	munmap(second, PAGE);

	/* The same file is code of another program, which has it elsewhere. */
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, fd, 0);
	write_call(at, SYS_getpid);
	good = 0;
	for (int i = 0; i < 2000; i++)
		good += run(at) == getpid();
	{
		unsigned char bytes[14], wanted[14];

		write_call(wanted, SYS_getpid);
		check(good == 2000 && pread(fd, bytes, sizeof(bytes), 0) == sizeof(bytes) &&
		      !memcmp(bytes, wanted, sizeof(bytes)), "a file that is executed does not change: %d", good);
	}
	munmap(at, PAGE);
	close(fd);
}

static void check_sizes(void)
{
	char *end = sbrk(0), *at;
	struct rlimit stack;
	int good = 0;

	for (unsigned long size = 64 * MIB; size <= GIB; size += 64 * MIB) {
		if (brk(end + size))
			break;
		end[size - 1] = 1;
		good += end[size - 1] == 1 && !end[size - PAGE - 1];
	}
	/* Without position, the heap may meet the mappings there. */
	check(good >= 15, "the heap grows to 1 GiB: %d of 16", good);
	check(!brk(end) && touch(end + 512 * MIB, false) == SEGV_MAPERR, "and shrinks");

	at = map(NULL, 100 * GIB, PROT_NONE, MAP_NORESERVE);
	check(at != MAP_FAILED && touch(at + 50 * GIB, false) == SEGV_ACCERR, "100 GiB reserved");
	good = 0;
	for (unsigned long place = 0; at != MAP_FAILED && place < 100 * GIB; place += 10 * GIB) {
		good += !mprotect(at + place, MIB, PROT_READ | PROT_WRITE) && !touch(at + place + PAGE, true) &&
			touch(at + place + MIB, true) == SEGV_ACCERR;
	}
	check(good == 10, "parts of it used: %d of 10", good);
	if (at != MAP_FAILED)
		munmap(at, 100 * GIB);

	at = map(NULL, 200 * GIB, PROT_READ | PROT_WRITE, MAP_NORESERVE);
	good = 0;
	for (unsigned long place = 0; at != MAP_FAILED && place < 200 * GIB; place += 10 * GIB)
		good += !touch(at + place + 17, true) && at[place + 17] == 'w' && !at[place + 18];
	check(good == (at == MAP_FAILED ? 0 : 20), "200 GiB sparse: %d of 20", good);
	if (at != MAP_FAILED)
		munmap(at, 200 * GIB);

	getrlimit(RLIMIT_STACK, &stack);
	note("stack limit: %ld MiB", stack.rlim_cur == RLIM_INFINITY ? -1 : (long)(stack.rlim_cur / MIB));
}

static __attribute__((noinline)) int grow(int kib)
{
	volatile char frame[1024];

	frame[0] = kib;
	frame[1023] = kib;
	return kib > 1 ? grow(kib - 1) + (frame[0] == frame[1023]) : 1;
}

static void check_stack(void)
{
	int good = grow(6500);

	check(good == 6500, "the stack grows to 7 MiB: %d", good);
}

/*
 * Pages without neighbours are mappings of their own on the host, which permits
 * a process 65530 of them.
 */

static int touch_scattered(unsigned long count, int turns)
{
	char *at = map(NULL, 2 * count * PAGE, PROT_READ | PROT_WRITE, MAP_NORESERVE);
	char byte = 0;

	for (unsigned long i = 0; i < count; i++)
		at[2 * i * PAGE] = i % 100 + 1;
	for (int turn = 0; turn < turns; turn++) {
		if (write(1, &byte, 1) != 1 || read(0, &byte, 1) != 1)
			return 1;
		heat(10);
		for (unsigned long i = 0; i < count; i++) {
			if (at[2 * i * PAGE] != (char)(i % 100 + 1) || at[2 * i * PAGE + 1] != turn)
				return 2;
			at[2 * i * PAGE + 1] = turn + 1;
		}
	}
	return 42;
}

#define SCATTERED 4
#define TURNS 3

static void check_scattered(const char *self)
{
	int to[SCATTERED][2], from[SCATTERED][2], good = 0;
	pid_t pids[SCATTERED];
	char byte;

	for (int i = 0; i < SCATTERED; i++) {
		if (pipe2(to[i], O_CLOEXEC) || pipe2(from[i], O_CLOEXEC))
			stop("pipe");
		pids[i] = fork();
		if (!pids[i]) {
			dup2(to[i][0], 0);
			dup2(from[i][1], 1);
			execl(self, "memory", "scattered", NULL);
			_exit(1);
		}
	}
	for (int turn = 0; turn < TURNS; turn++) {
		for (int i = 0; i < SCATTERED; i++)
			good += read(from[i][0], &byte, 1) == 1 && write(to[i][1], &byte, 1) == 1;
	}
	for (int i = 0; i < SCATTERED; i++)
		good += end_of(pids[i]) == 42;
	check(good == SCATTERED * (TURNS + 1), "four programs with 20,000 scattered pages each: %d of %d", good,
	      SCATTERED * (TURNS + 1));
}

static void check_rights(void)
{
	unsigned long count = 60000, good = 0;
	char *at = map(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_NORESERVE);

	for (unsigned long i = 0; i < count; i += 2)
		good += !mprotect(at + i * PAGE, PAGE, PROT_READ);
	for (unsigned long i = 0; i < count; i++)
		good += i % 2 ? touch(at + i * PAGE, true) == 0 : touch(at + i * PAGE, true) == SEGV_ACCERR;
	for (unsigned long i = 0; i < count; i++)
		good += at[i * PAGE] == (i % 2 ? 'w' : 0);
	check(good == 150000, "60,000 pages with changing rights: %lu", good);
	munmap(at, count * PAGE);
}

int main(int argc, char **argv)
{
	char self[4096] = "";

	if (argc == 2 && !strcmp(argv[1], "other"))
		return be_another();
	if (argc == 2 && !strcmp(argv[1], "scattered"))
		return touch_scattered(20000, TURNS);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		stop("readlink");
	handle(SIGSEGV, remember, 0);
	handle(SIGBUS, remember, 0);
	if (argc == 2 && !strcmp(argv[1], "many")) {
		check_scattered(self);
		check_rights();
		return finish();
	}
	heat(3000);
	check_moves();
	check_replaced();
	check_protection();
	check_files();
	check_code();
	check_stack();
	check_fixed();
	check_others(self);
	check_sizes();
	return finish();
}
