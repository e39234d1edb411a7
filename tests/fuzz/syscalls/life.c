// SPDX-License-Identifier: MIT
/* A life: a few hundred steps of a process or thread, each one or several calls. */
#include "calls.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

__thread struct life *me;

/* Whether a fault leads back to me->environment; the compiler must not move accesses past that. */
static void guard(bool guarded)
{
	__atomic_store_n(&me->guarded, guarded, __ATOMIC_SEQ_CST);
}

/*
 * Whether the program may access @size bytes at @at. Only the tame form of the program asks whether it has mapped them:
 * on a processor without protection keys, an access in the kernel's process may reach memory of others.
 */
static bool may_access(const char *at, size_t size)
{
#ifdef TAME
	uintptr_t from = (uintptr_t)at & -PAGE;
	unsigned char resident[2];

	return !syscall(SYS_mincore, from, (uintptr_t)at + size - from, resident);
#else
	(void)at;
	(void)size;
	return true;
#endif
}

/* Return a digest of 32 bytes at @at, or of the fault. */
static uint64_t peek(const char *at)
{
	uint64_t result;

	if (!may_access(at, 32))
		return 1;
	if (sigsetjmp(me->environment, 1)) {
		guard(false);
		return 1;
	}
	guard(true);
	result = hash(2, at, 32);
	guard(false);
	return result;
}

static void make_call(void)
{
	const struct call *call = any_call();
	int times = below(16) ? 1 : 1 + (int)below(12);
	long values[6] = { 0 }, result;
	uint64_t memory = 0;

	for (int i = 0; call->arguments[i]; i++)
		values[i] = argument(call->arguments[i]);
	while (times--) {
		result = syscall(call->number, values[0], values[1], values[2], values[3], values[4], values[5]);
		note(call->number, result < 0 ? -errno : result, 0);
	}
	for (int i = 0; call->arguments[i]; i++)
		if (call->arguments[i] == 'a')
			memory = memory * 31 + peek((char *)values[i]);
	note(call->number, 0, memory);
}

static void map_memory(void)
{
	static const int flags[] = { 0, 0, 0, MAP_FIXED, MAP_FIXED_NOREPLACE, MAP_POPULATE, MAP_NORESERVE };
	int i = below(ARENAS), flag = flags[below(ARRAY_SIZE(flags))], fd = -1;
	bool shared = below(4) == 0, fixed = flag & (MAP_FIXED | MAP_FIXED_NOREPLACE);
	uintptr_t at = fixed || !below(4) ? outside() : 0;
	size_t size = below(20) || (flag & MAP_POPULATE) ? ARENA_PAGES * PAGE : 1UL << 30;
	char *got;

	if (fixed && below(3))
		at = (uintptr_t)me->arenas[i] + below(2) * 4 * PAGE;
	if (below(3))
		flag |= MAP_ANONYMOUS;
	else
		fd = (int)argument('f');
	got = mmap((void *)at, size, (int)argument('P'), flag | (shared ? MAP_SHARED : MAP_PRIVATE), fd, 0);
	note(SYS_mmap, got == MAP_FAILED ? -errno : (long)got, 0);
	if (got != MAP_FAILED)
		me->arenas[i] = got;
}

static void move_memory(void)
{
	int i = below(ARENAS), flags = (int)below(4);
	char *got = mremap(me->arenas[i], (1 + below(ARENA_PAGES)) * PAGE, (1 + below(2 * ARENA_PAGES)) * PAGE, flags,
			   outside());

	note(SYS_mremap, got == MAP_FAILED ? -errno : (long)got, 0);
	if (got != MAP_FAILED)
		me->arenas[i] = got;
}

static void touch_memory(void)
{
	char *at = (char *)anywhere();
	bool write = below(2);

	if (!may_access(at, 1))
		return;
	if (!sigsetjmp(me->environment, 1)) {
		guard(true);
		if (write)
			__atomic_store_n(at, (char)next(), __ATOMIC_RELAXED);
		note(TRACE_FAULT, 0, (uint8_t)__atomic_load_n(at, __ATOMIC_RELAXED));
	}
	guard(false);
}

/* mov $number, %eax; syscall; cmp $-4095, %rax; ret: code that this program writes */
static void run_code(void)
{
	static const int numbers[] = { SYS_getpid, SYS_getppid, SYS_gettid, SYS_getuid, SYS_sched_yield };
	uint8_t code[] = { 0xb8, 0, 0, 0, 0, 0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff, 0xc3 };
	char *at = me->arenas[below(ARENAS)] + below(8) * 100;

	memcpy(code + 1, &numbers[below(ARRAY_SIZE(numbers))], sizeof(*numbers));
	if (mprotect((void *)((uintptr_t)at & -PAGE), PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		return;
	me->sum = 0;
	if (!sigsetjmp(me->environment, 1)) {
		guard(true);
		memcpy(at, code, sizeof(code));
		for (int i = 0; i < 12; i++)
			me->sum += ((int (*)(void))(void *)at)();
	}
	guard(false);
	note(TRACE_CODE, me->sum, peek(at));
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	bool fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE || signal == SIGTRAP;

	(void)context;
	note(TRACE_SIGNAL, signal, fault ? (uint64_t)info->si_addr * 16 + info->si_code : 0);
	if (fault && me->guarded)
		siglongjmp(me->environment, 1);
	if (fault)
		_exit(99);
}

static void set_handler(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	int signal = harmless_signal();

	if (!below(8))
		action.sa_handler = SIG_IGN;
	if (below(2))
		action.sa_flags |= SA_RESTART;
	if (below(4) == 0)
		action.sa_flags |= SA_NODEFER;
	sigaction(signal, &action, NULL);
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
}

static void *run_thread(void *seed)
{
	live((uint64_t)seed, 30, MAX_DEPTH);
	return NULL;
}

static void start_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_thread, (void *)next()))
		return;
	for (int i = 0; i < 10; i++)
		make_call();
	pthread_join(thread, NULL);
}

static void start_process(bool exec)
{
	uint64_t seed = next() >> 1;
	int count = (int)below(60), depth = me->depth + 1, status = 0;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (exec) {
			char words[4][32];

			snprintf(words[0], 32, "%d", worker);
			snprintf(words[1], 32, "%llu", (unsigned long long)seed);
			snprintf(words[2], 32, "%d", count);
			snprintf(words[3], 32, "%d", depth);
			execl(self, self, "life", words[0], words[1], words[2], words[3], NULL);
			_exit(98);
		}
		_exit(live(seed, count, depth));
	}
	for (int i = 0; i < 5; i++)
		make_call();
	if (pid > 0 && below(8)) {
		pid_t got = waitpid(pid, &status, 0);

		note(TRACE_CHILD, got, status);
	}
}

static void step(void)
{
	uint64_t choice = below(100);

	if (choice < 5)
		map_memory();
	else if (choice < 7)
		move_memory();
	else if (choice < 13)
		touch_memory();
	else if (choice < 15)
		run_code();
	else if (choice < 18)
		set_handler();
	else if (choice < 20 && me->depth < MAX_DEPTH)
		start_process(choice == 19);
	else if (choice == 20 && me->depth < MAX_DEPTH)
		start_thread();
	else
		make_call();
}

int live(uint64_t seed, int count, int depth)
{
	struct itimerval often = { { 0, 3000 }, { 0, 3000 } };
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct life life = { .random = seed * 0x9e3779b97f4a7c15ULL | 1, .depth = depth };

	me = &life;
	for (int i = 0; i < 8; i++)
		next();
	for (int i = 0; i < ARENAS; i++) {
		life.arenas[i] = mmap(NULL, ARENA_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (life.arenas[i] == MAP_FAILED)
			_exit(97);
	}
	for (int signal = 1; signal < 65; signal++)
		if (signal != SIGINT && signal != SIGTERM)
			sigaction(signal, &action, NULL);
	/* Ends what blocks. */
	setitimer(ITIMER_REAL, &often, NULL);
	while (count--)
		step();
	return (int)(next() & 63);
}
