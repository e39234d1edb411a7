// SPDX-License-Identifier: MIT
/* Registers survive system calls, page faults, exceptions, signals, and other threads and processes. */
#include "check.h"
#include "probe.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define CARRY		0x001UL
#define PARITY		0x004UL
#define ADJUST		0x010UL
#define ZERO		0x040UL
#define SIGN		0x080UL
#define DIRECTION	0x400UL
#define OVERFLOW	0x800UL
#define ALIGNMENT	0x40000UL
#define ARITHMETIC	(CARRY | PARITY | ADJUST | ZERO | SIGN | OVERFLOW)
#define ALL_FLAGS	(ARITHMETIC | DIRECTION | ALIGNMENT)
#define FIXED_FLAGS	0x202UL

#define BIT(number)	(1U << (number))
/* What each system call changes */
#define BY_CALL		(BIT(RSP) | BIT(RAX) | BIT(RCX) | BIT(R11))
#define ROUNDS		300

__thread struct registers probe_before, probe_after;
__thread uint64_t probe_count, probe_stack;
int probe_width = 16;

static volatile sig_atomic_t handled, odd_handlers;

static void fill(struct random *random)
{
	struct registers *r = &probe_before;
	uint64_t *words = (uint64_t *)r;

	for (size_t i = 0; i < sizeof(*r) / sizeof(*words); i++)
		words[i] = random_next(random);
	r->flags = (r->flags & ALL_FLAGS & ~ALIGNMENT) | FIXED_FLAGS;
	/* All exceptions masked; rounding, denormals as they come. */
	r->mxcsr = (r->mxcsr & 0xe040) | 0x1f80;
	r->cw = (r->cw & 0x0c00) | 0x037f;
	for (int i = 0; i < 8; i++) {
		/* A normal number: the integer bit, and an exponent in the middle */
		r->st[i][7] |= 0x80;
		r->st[i][9] = 0x40;
	}
	memset(&probe_after, 0xa5, sizeof(probe_after));
}

static int first_difference(unsigned int changed, unsigned long flags, char *text, size_t size)
{
	const struct registers *b = &probe_before, *a = &probe_after;

	for (int i = 0; i < 16; i++) {
		if (!(changed & BIT(i)) && i != RSP && b->gpr[i] != a->gpr[i])
			return snprintf(text, size, "register %d is %#llx, not %#llx", i,
					(long long)a->gpr[i], (long long)b->gpr[i]);
	}
	if ((b->flags ^ a->flags) & flags)
		return snprintf(text, size, "flags are %#llx, not %#llx", (long long)a->flags,
				(long long)b->flags);
	if (b->mxcsr != a->mxcsr)
		return snprintf(text, size, "mxcsr is %#x, not %#x", a->mxcsr, b->mxcsr);
	if (b->cw != a->cw)
		return snprintf(text, size, "control word is %#x, not %#x", a->cw, b->cw);
	for (int i = 0; i < 8; i++) {
		if (memcmp(b->st[i], a->st[i], 10))
			return snprintf(text, size, "st(%d) has changed", i);
	}
	for (int i = 0; i < (probe_width == 64 ? 32 : 16); i++) {
		if (memcmp(b->vector[i], a->vector[i], probe_width))
			return snprintf(text, size, "vector %d has changed", i);
	}
	for (int i = 0; i < 8; i++) {
		if (probe_width == 64 && b->k[i] != a->k[i])
			return snprintf(text, size, "k%d has changed", i);
	}
	return 0;
}

struct trial {
	const char *name;
	void (*probe)(void);
	/* Sets up one round. */
	void (*prepare)(struct random *random);
	/* After it; whether all is well beside the registers. */
	bool (*judge)(void);
	unsigned int changed;
	unsigned long flags;
	uint64_t count;
};

/* Return the number of rounds in which something changed, and describe the first. */
static int run(const struct trial *trial, int rounds, uint64_t seed, char *text, size_t size)
{
	struct random random = { seed };
	int wrong = 0;

	for (int round = 0; round < rounds; round++) {
		char difference[100];

		fill(&random);
		if (trial->prepare)
			trial->prepare(&random);
		probe_count = trial->count;
		trial->probe();
		if (first_difference(trial->changed, trial->flags, difference, sizeof(difference)) ||
		    (trial->judge && !trial->judge() && snprintf(difference, sizeof(difference), "judge"))) {
			if (!wrong++)
				snprintf(text, size, ": round %d: %s", round, difference);
		}
	}
	return wrong;
}

static void call_getppid(struct random *random)
{
	(void)random;
	probe_before.gpr[RAX] = SYS_getppid;
}

static bool is_parent(void)
{
	return (pid_t)probe_after.gpr[RAX] == getppid();
}

/* SYSCALL leaves the next address in rcx and the flags in r11. */
static bool is_raw(void)
{
	return is_parent() && probe_after.gpr[RCX] == (uint64_t)probe_raw_after &&
	       ((probe_after.gpr[R11] ^ probe_before.flags) & ALL_FLAGS) == 0;
}

static void call_yield(struct random *random)
{
	(void)random;
	probe_before.gpr[RAX] = SYS_sched_yield;
}

/* No stack is there, nor can one be. */
static void call_without_stack(struct random *random)
{
	static const uint64_t stacks[] = { 0, 8, 0x12345, 0xdead000000000001, ~0UL, 1UL << 47, 1UL << 62 };

	call_getppid(random);
	probe_stack = stacks[random_next(random) % (sizeof(stacks) / sizeof(*stacks))];
	probe_before.gpr[RDX] = probe_stack;
}

static bool has_no_stack(void)
{
	return is_parent() && probe_stack == probe_before.gpr[RDX];
}

#define PAGE 4096
static uint8_t *page;

static void new_page(struct random *random, int protection, int flags, int fd)
{
	if (page)
		munmap(page, 2 * PAGE);
	page = mmap(NULL, 2 * PAGE, protection, MAP_PRIVATE | flags, fd, 0);
	if (page == MAP_FAILED)
		stop("mmap");
	probe_before.gpr[RBX] = (uint64_t)page + random_next(random) % (PAGE / 8) * 8;
}

static void new_memory(struct random *random)
{
	new_page(random, PROT_READ | PROT_WRITE, MAP_ANONYMOUS, -1);
	/* Half of the accesses touch two pages. */
	if (random_next(random) & 1)
		probe_before.gpr[RBX] = (uint64_t)page + PAGE - 4;
}

static bool is_written(void)
{
	return !memcmp((void *)probe_before.gpr[RBX], &probe_before.gpr[RCX], 8);
}

static int code_fd;

static void new_code(struct random *random)
{
	new_page(random, PROT_READ | PROT_EXEC, 0, code_fd);
}

static void make_code(void)
{
	uint8_t code[2 * PAGE];

	memset(code, 0xc3, sizeof(code));
	code_fd = memfd_create("code", MFD_CLOEXEC);
	if (code_fd < 0 || write(code_fd, code, sizeof(code)) != sizeof(code))
		stop("memfd");
}

static void clobber(void)
{
	asm volatile("fninit; fld1; fldpi");
	asm volatile("emms");
	if (probe_width == 16)
		asm volatile("pcmpeqd %%xmm0, %%xmm0; pxor %%xmm7, %%xmm7; pcmpeqd %%xmm15, %%xmm15"
			     : : : "xmm0", "xmm7", "xmm15");
	else
		asm volatile("vzeroall" : : : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
			     "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	if (probe_width == 64)
		asm volatile("vpternlogd $255, %%zmm31, %%zmm31, %%zmm31; kxorq %%k5, %%k5, %%k5; kxnorq %%k1, %%k1, %%k1"
			     : : : );
}

static void count_signal(int signal, void *info, void *context)
{
	(void)info;
	(void)context;
	handled++;
	clobber();
	/* System calls in handlers are calls like others. */
	if (signal == SIGUSR1)
		getppid();
}

static void skip_instruction(int signal, void *info, void *context)
{
	ucontext_t *uc = context;
	const uint8_t *at = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP];

	(void)info;
	handled = signal;
	/* int3 reports the address behind it; hlt is one byte, ud2 and div are two. */
	if (signal != SIGTRAP)
		uc->uc_mcontext.gregs[REG_RIP] += *at == 0xf4 ? 1 : 2;
	clobber();
}

static void no_exception(struct random *random)
{
	(void)random;
	handled = 0;
}

static void divide_by_zero(struct random *random)
{
	no_exception(random);
	probe_before.gpr[RCX] &= ~0xffUL;
}

static bool was_ill(void)
{
	return handled == SIGILL;
}

static bool was_trap(void)
{
	return handled == SIGTRAP;
}

static bool was_segv(void)
{
	return handled == SIGSEGV;
}

static bool was_fpe(void)
{
	return handled == SIGFPE;
}

static void call_kill(struct random *random)
{
	(void)random;
	handled = 0;
	probe_before.gpr[RAX] = SYS_tgkill;
	probe_before.gpr[RDI] = getpid();
	probe_before.gpr[RSI] = syscall(SYS_gettid);
	probe_before.gpr[RDX] = SIGUSR1;
}

static bool was_killed(void)
{
	return handled == 1 && !probe_after.gpr[RAX];
}

static struct timespec now;

static void call_clock(struct random *random)
{
	(void)random;
	probe_before.gpr[RAX] = SYS_clock_gettime;
	probe_before.gpr[RDI] = CLOCK_MONOTONIC;
	probe_before.gpr[RSI] = (uint64_t)&now;
}

/* A timer fires every 1 us, of which each reading of the clock takes a quarter. */
static int run_with_timer(const struct trial *trial, long ns, char *text, size_t size)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2 };
	struct itimerspec often = { { 0, ns }, { 0, ns } };
	timer_t timer;
	int wrong;

	handled = 0;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &often, NULL))
		stop("timer");
	wrong = run(trial, 20, 17, text, size);
	timer_delete(timer);
	return wrong;
}

static const struct trial trials[] = {
	{ "a system call as in glibc", probe_site, call_getppid, is_parent, BY_CALL, DIRECTION, 0 },
	{ "a system call followed by something else", probe_raw, call_getppid, is_raw, BY_CALL, ALL_FLAGS, 0 },
	{ "100 system calls as in glibc", probe_repeat, call_getppid, NULL, BY_CALL, DIRECTION, 100 },
	{ "100 other system calls", probe_repeat_raw, call_getppid, is_parent, BY_CALL, DIRECTION, 100 },
	{ "a system call without a stack, as in glibc", probe_site_stack, call_without_stack, has_no_stack, BY_CALL,
	  DIRECTION, 0 },
	{ "another system call without a stack", probe_raw_stack, call_without_stack, has_no_stack, BY_CALL,
	  ALL_FLAGS, 0 },
	{ "a page fault at reading", probe_read, new_memory, NULL, BIT(RAX), ALL_FLAGS, 0 },
	{ "a page fault at writing", probe_write, new_memory, is_written, 0, ALL_FLAGS, 0 },
	{ "a page fault at executing", probe_call, new_code, NULL, 0, ALL_FLAGS, 0 },
	{ "SIGILL", probe_ud2, no_exception, was_ill, 0, ALL_FLAGS, 0 },
	{ "SIGTRAP", probe_int3, no_exception, was_trap, 0, ALL_FLAGS, 0 },
	{ "SIGSEGV", probe_hlt, no_exception, was_segv, 0, ALL_FLAGS, 0 },
	{ "SIGFPE", probe_divide, divide_by_zero, was_fpe, 0, ALL_FLAGS, 0 },
	{ "a signal by a system call as in glibc", probe_site, call_kill, was_killed, BY_CALL, DIRECTION, 0 },
	{ "a signal by another system call", probe_raw, call_kill, was_killed, BY_CALL, ALL_FLAGS, 0 },
};

static void check_trial(const struct trial *trial)
{
	char text[200] = "";
	int wrong = run(trial, ROUNDS, 1, text, sizeof(text));

	check(!wrong, "%s, %d rounds%s", trial->name, ROUNDS, text);
}

static void check_timers(void)
{
	const struct trial site = { "", probe_repeat, call_clock, NULL, BY_CALL, DIRECTION, 200 };
	const struct trial raw = { "", probe_repeat_raw, call_clock, NULL, BY_CALL, DIRECTION, 200 };
	static const long periods[] = { 1000, 3700, 20000, 1000000 };

	for (size_t i = 0; i < sizeof(periods) / sizeof(*periods); i++) {
		char text[200] = "";
		int wrong = run_with_timer(&site, periods[i], text, sizeof(text));
		int signals = handled;

		wrong += run_with_timer(&raw, periods[i], text, sizeof(text));
		check(!wrong && signals > 0, "a timer every %ld ns: %d and %d signals%s", periods[i], signals, handled,
		      text);
	}
}

/* Threads and processes with other values each, which take turns */

#define TURNS 4
static char failures_of_threads[TURNS][200];

static int take_turns(int number, char *text, size_t size)
{
	const struct trial site = { "", probe_repeat, call_yield, NULL, BY_CALL, DIRECTION, 50 };
	const struct trial raw = { "", probe_repeat_raw, call_yield, NULL, BY_CALL, DIRECTION, 50 };

	return run(&site, 20, 100 + number, text, size) + run(&raw, 20, 200 + number, text, size);
}

static void *thread(void *argument)
{
	long number = (long)argument;

	return (void *)(long)take_turns(number, failures_of_threads[number], sizeof(failures_of_threads[number]));
}

static void check_threads(void)
{
	pthread_t threads[TURNS];

	for (long i = 0; i < TURNS; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)i))
			stop("pthread_create");
	for (long i = 0; i < TURNS; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		check(!wrong, "thread %ld beside others%s", i, failures_of_threads[i]);
	}
}

static void check_processes(void)
{
	pid_t pids[TURNS];

	for (int i = 0; i < TURNS; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			char text[200] = "";
			int wrong = take_turns(i, text, sizeof(text));

			if (wrong)
				check(false, "process %d%s", i, text);
			_exit(!!wrong);
		}
	}
	for (int i = 0; i < TURNS; i++)
		check(!end_of(pids[i]), "process %d beside others", i);
}

/*
 * A compiler may let another branch end in the comparison behind a system call.
 * Not in a child, which may run elsewhere.
 */
static void check_jump(void)
{
	long id = 0;

	for (int i = 0; i < 2000; i++)
		id = probe_jump(SYS_getppid, 0, 0);
	check(id == getppid() && probe_jump(0, 5, 1) == 5 && probe_jump(0, -22, 1) == -1,
	      "a jump to the comparison behind a system call");
}

static void aligned_calls(void)
{
	long result = 0;

	for (int i = 0; i < 20; i++) {
		asm volatile("pushfq\n\torq %1, (%%rsp)\n\tpopfq\n\tmovl %2, %%eax\n\tsyscall\n\t"
			     ".byte 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff\n\t"
			     "pushfq\n\tandq %3, (%%rsp)\n\tpopfq"
			     : "=&a" (result) : "i" (ALIGNMENT), "i" (SYS_getppid), "i" (~ALIGNMENT)
			     : "rcx", "r11", "cc", "memory");
	}
	_exit(result == getppid() ? 0 : 1);
}

static void check_direction(int signal, void *info, void *context)
{
	unsigned long flags;

	(void)signal;
	(void)info;
	(void)context;
	asm volatile("pushfq\n\tpopq %0" : "=r" (flags));
	odd_handlers += !!(flags & DIRECTION);
}

static void check_flags_of_handlers(void)
{
	handle(SIGUSR1, check_direction, 0);
	for (int i = 0; i < 10; i++)
		asm volatile("std\n\tsyscall\n\tcld"
			     : : "a" (SYS_tgkill), "D" (getpid()), "S" (syscall(SYS_gettid)), "d" (SIGUSR1)
			     : "rcx", "r11", "memory", "cc");
	note("handlers that began with the direction flag: %d of 10", odd_handlers);
	handle(SIGUSR1, count_signal, 0);
}

static void note_initial_state(void)
{
	unsigned int mxcsr;
	unsigned short cw;

	asm("stmxcsr %0" : "=m" (mxcsr));
	asm("fnstcw %0" : "=m" (cw));
	check(mxcsr == 0x1f80 && cw == 0x37f, "a program begins with mxcsr %#x and control word %#x", mxcsr, cw);
}

int main(void)
{
	note_initial_state();
	if (__builtin_cpu_supports("avx512bw"))
		probe_width = 64;
	else if (__builtin_cpu_supports("avx2"))
		probe_width = 32;
	note("vectors of %d bytes", probe_width);

	make_code();
	handle(SIGUSR1, count_signal, 0);
	handle(SIGUSR2, count_signal, 0);
	handle(SIGILL, skip_instruction, 0);
	handle(SIGTRAP, skip_instruction, 0);
	handle(SIGSEGV, skip_instruction, 0);
	handle(SIGFPE, skip_instruction, 0);

	for (size_t i = 0; i < sizeof(trials) / sizeof(*trials); i++)
		check_trial(&trials[i]);
	check_timers();
	check_threads();
	check_processes();
	check_flags_of_handlers();

	signal(SIGILL, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGTRAP, SIG_DFL);
	check(!run_child(aligned_calls), "system calls while alignment is checked");
	check_jump();
	return finish();
}
