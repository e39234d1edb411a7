// SPDX-License-Identifier: MIT
/* Signals at and in system calls: restarts, contexts, stacks, cancellation. */
#include "check.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* What a system call in user code looks like to the C library's compiler */
#define COMPARE ".byte 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff\n\t"
#define MANY 1500

static volatile sig_atomic_t handled;

/*
 * A system call at an address of its own, so that a check begins with an
 * instruction that was not used before.
 */
#define DEFINE_CALL(name) \
	static __attribute__((noinline)) long name(long number, long a, long b, long c) \
	{ \
		long result; \
		asm volatile("syscall\n\t" COMPARE \
			     : "=a" (result) : "0" (number), "D" (a), "S" (b), "d" (c) \
			     : "rcx", "r11", "memory", "cc"); \
		return result; \
	}

static void count_signal(int signal, void *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	handled++;
}

static void after_ms(long first, long next)
{
	struct itimerval timer = {
		{ next / 1000, next % 1000 * 1000 }, { first / 1000, first % 1000 * 1000 },
	};

	if (setitimer(ITIMER_REAL, &timer, NULL))
		stop("setitimer");
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void sleep_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

/* A child writes a byte after a while. */
static pid_t write_later(int fd, long ms)
{
	pid_t pid = fork();

	if (!pid) {
		sleep_ms(ms);
		_exit(write(fd, "x", 1) != 1);
	}
	return pid;
}

static void check_restart(void)
{
	int ends[2], good = 0;
	char byte;

	handle(SIGALRM, count_signal, SA_RESTART);
	if (pipe(ends))
		stop("pipe");
	for (int i = 0; i < 30; i++) {
		pid_t pid = write_later(ends[1], 20);
		long long start = now_ns();

		handled = 0;
		after_ms(1, 2);
		good += read(ends[0], &byte, 1) == 1 && byte == 'x' && handled >= 9 && now_ns() - start >= 20000000;
		after_ms(0, 0);
		end_of(pid);
	}
	check(good == 30, "read() goes on after signals with SA_RESTART: %d of 30", good);

	handle(SIGALRM, count_signal, 0);
	good = 0;
	for (int i = 0; i < 30; i++) {
		after_ms(3, 0);
		errno = 0;
		good += read(ends[0], &byte, 1) == -1 && errno == EINTR;
	}
	check(good == 30, "read() ends with EINTR without it: %d of 30", good);
	close(ends[0]);
	close(ends[1]);
}

static void check_interrupted_calls(void)
{
	struct timespec second = { 1, 0 }, left;
	int poller = epoll_create1(0), listener = socket(AF_INET, SOCK_STREAM, 0);
	struct epoll_event event;
	fd_set none;
	int word = 0;
	sem_t semaphore;

	if (listen(listener, 1))
		stop("listen");
	handle(SIGALRM, count_signal, SA_RESTART);
	FD_ZERO(&none);
	sem_init(&semaphore, 0, 0);
	for (int i = 0; i < 5; i++) {
		after_ms(100, 0);
		errno = 0;
		check(nanosleep(&second, &left) == -1 && errno == EINTR, "nanosleep() has %ld ms left",
		      left.tv_nsec / 1000000);
		after_ms(100, 0);
		check(poll(NULL, 0, 1000) == -1 && errno == EINTR, "poll()");
		after_ms(100, 0);
		check(pselect(0, &none, NULL, NULL, &second, NULL) == -1 && errno == EINTR, "pselect()");
		after_ms(100, 0);
		check(epoll_wait(poller, &event, 1, 1000) == -1 && errno == EINTR, "epoll_wait()");
		after_ms(100, 0);
		check(syscall(SYS_futex, &word, 0, 0, &second) == -1 && errno == EINTR, "futex()");
		after_ms(100, 0);
		check(pause() == -1 && errno == EINTR, "pause()");
	}
	handle(SIGALRM, count_signal, 0);
	after_ms(100, 0);
	check(accept(listener, NULL, NULL) == -1 && errno == EINTR, "accept()");
	after_ms(100, 0);
	check(sem_wait(&semaphore) == -1 && errno == EINTR, "sem_wait()");
	close(poller);
	close(listener);
}

/* restart_syscall(): a stopped process sleeps no longer than it was asked to. */
static void check_stopped_sleep(void)
{
	pid_t pid = fork();

	if (!pid) {
		struct timespec second = { 1, 0 };
		long long start = now_ns();

		if (nanosleep(&second, NULL))
			_exit(2);
		_exit((now_ns() - start) / 1000000 == 1000 ? 0 : 1);
	}
	for (int i = 0; i < 5; i++) {
		sleep_ms(100);
		kill(pid, SIGSTOP);
		waitpid(pid, NULL, WUNTRACED);
		kill(pid, SIGCONT);
	}
	check(!end_of(pid), "a sleep of 1 s, stopped and continued five times");
}

/*
 * Replaced meanwhile: an instruction is used for the first time by a call that
 * blocks, and often until that returns.
 */

DEFINE_CALL(call_in_handler)
DEFINE_CALL(call_in_handler_restarted)
DEFINE_CALL(call_in_thread)
DEFINE_CALL(call_in_child)

static long (*hot_call)(long number, long a, long b, long c);

static void heat(int signal, void *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	for (int i = 0; i < MANY; i++)
		hot_call(SYS_getppid, 0, 0, 0);
	handled++;
}

static void check_heated_by_handler(void)
{
	int ends[2];
	char byte = 0;
	long result;
	pid_t pid;

	if (pipe(ends))
		stop("pipe");
	handled = 0;
	hot_call = call_in_handler;
	handle(SIGALRM, heat, 0);
	after_ms(5, 0);
	result = call_in_handler(SYS_read, ends[0], (long)&byte, 1);
	check(result == -EINTR && handled == 1, "a system call whose instruction became hot in a handler: %ld", result);

	hot_call = call_in_handler_restarted;
	handle(SIGALRM, heat, SA_RESTART);
	pid = write_later(ends[1], 20);
	after_ms(5, 5);
	result = call_in_handler_restarted(SYS_read, ends[0], (long)&byte, 1);
	after_ms(0, 0);
	check(result == 1 && byte == 'x' && handled > 3, "the same with SA_RESTART: %ld", result);
	end_of(pid);
}

static int waiting[2];

static void *wait_in_call(void *unused)
{
	char byte = 0;
	long result = call_in_thread(SYS_read, waiting[0], (long)&byte, 1);

	(void)unused;
	return (void *)(result == 1 && byte == 'y' ? 0L : 1L);
}

static void check_heated_by_thread(void)
{
	pthread_t threads[3];
	void *wrong;
	int good = 0;

	if (pipe(waiting))
		stop("pipe");
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, wait_in_call, NULL);
	sleep_ms(1);
	for (int i = 0; i < MANY; i++)
		call_in_thread(SYS_getppid, 0, 0, 0);
	check(write(waiting[1], "yyy", 3) == 3, "waking the threads");
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], &wrong);
		good += !wrong;
	}
	check(good == 3, "threads in a system call whose instruction another made hot: %d of 3", good);
}

static void check_heated_by_parent(void)
{
	pid_t pid = fork();

	if (!pid) {
		char byte = 0;
		long result = call_in_child(SYS_read, waiting[0], (long)&byte, 1);

		if (result != 1 || byte != 'z')
			_exit(1);
		for (int i = 0; i < MANY; i++)
			result = call_in_child(SYS_getppid, 0, 0, 0);
		_exit(result != getppid());
	}
	sleep_ms(1);
	for (int i = 0; i < MANY; i++)
		call_in_child(SYS_getppid, 0, 0, 0);
	check(write(waiting[1], "z", 1) == 1, "waking the child");
	check(!end_of(pid), "a child in a system call whose instruction its parent made hot");
}

/* Contexts */

static ucontext_t main_context, contexts[3];
static int steps[3];

static void coroutine(int number)
{
	for (int i = 0; i < 1000; i++) {
		steps[number]++;
		getppid();
		swapcontext(&contexts[number], &contexts[(number + 1) % 3]);
	}
}

static void check_coroutines(void)
{
	static char stacks[3][65536];

	for (int i = 0; i < 3; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], (void (*)(void))(void *)coroutine, 1, i);
	}
	swapcontext(&main_context, &contexts[0]);
	check(steps[0] == 1000 && steps[1] >= 999 && steps[2] >= 999, "3000 changes of context: %d, %d, %d", steps[0],
	      steps[1], steps[2]);
}

static sigjmp_buf environment;

static void jump_out(int signal, void *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	siglongjmp(environment, 1);
}

static void check_jumps(void)
{
	volatile int jumps = 0;

	handle(SIGUSR1, jump_out, 0);
	for (volatile int i = 0; i < 1000; i++) {
		if (sigsetjmp(environment, 1))
			jumps++;
		else
			kill(getpid(), SIGUSR1);
	}
	check(jumps == 1000, "%d jumps out of handlers", jumps);
}

/* What a handler sees, and changes */

static uint64_t seen[4];
static void *seen_address;
extern const char frame_after[];

static void look(int signal, void *info, void *context)
{
	ucontext_t *uc = context;
	const struct _libc_fpstate *fp = uc->uc_mcontext.fpregs;
	uint32_t magic;

	(void)signal;
	(void)info;
	memcpy(&seen[0], &fp->_xmm[5], 8);
	memcpy(&seen[1], &fp->_xmm[6], 8);
	/* The first of the bytes that software may use: FP_XSTATE_MAGIC1 */
	memcpy(&magic, (const char *)fp + 464, sizeof(magic));
	seen[2] = magic;
	seen[3] = fp->mxcsr;
	seen_address = (void *)uc->uc_mcontext.gregs[REG_RIP];
	memset(&uc->uc_mcontext.fpregs->_xmm[5], 0x77, 16);
}

static __attribute__((noinline, noclone)) void check_frame(void)
{
	uint64_t in = 0x1122334455667788, out, all_zero;
	long result;
	int good = 0;

	handle(SIGUSR1, look, 0);
	for (int i = 0; i < MANY; i++) {
		asm volatile("movq %3, %%xmm5\n\tpxor %%xmm6, %%xmm6\n\t"
			     "syscall\n"
			     ".globl frame_after\nframe_after:\n\t" COMPARE
			     "movq %%xmm5, %1\n\tmovq %%xmm6, %2"
			     : "=a" (result), "=r" (out), "=r" (all_zero)
			     : "r" (in), "0" (SYS_tgkill), "D" (getpid()), "S" (syscall(SYS_gettid)), "d" (SIGUSR1)
			     : "rcx", "r11", "xmm5", "xmm6", "memory", "cc");
		good += !result && seen[0] == in && !seen[1] && seen[2] == 0x46505853 && seen[3] == 0x1f80 &&
			seen_address == (void *)frame_after && out == 0x7777777777777777 && !all_zero;
	}
	check(good == MANY, "a handler sees and changes vector registers: %d of %d", good, MANY);
	if (good != MANY)
		note("last: %llx %llx %llx %llx at %+ld, then %llx", (long long)seen[0], (long long)seen[1],
		     (long long)seen[2], (long long)seen[3], (long)((char *)seen_address - frame_after), (long long)out);
}

/* The upper half of ymm5 in the frame: offset of the component, and of the register in it */
#define UPPER_HALF (576 + 5 * 16)

static void look_at_upper_half(int signal, void *info, void *context)
{
	ucontext_t *uc = context;

	(void)signal;
	(void)info;
	memcpy(&seen[0], (const char *)uc->uc_mcontext.fpregs + UPPER_HALF, 8);
}

/* The CPU may leave out what is zero when it saves; a program would see what was there before. */
static void check_upper_half(void)
{
	int good = 0;

	if (!__builtin_cpu_supports("avx2"))
		return;
	handle(SIGUSR1, look_at_upper_half, 0);
	for (int i = 0; i < MANY; i++) {
		long result;

		asm volatile("test %5, %5\n\tjz 1f\n\t"
			     "vpcmpeqd %%ymm5, %%ymm5, %%ymm5\n\tjmp 2f\n"
			     "1:\n\tvzeroupper\n"
			     "2:\n\tsyscall\n\t" COMPARE "vzeroupper"
			     : "=a" (result)
			     : "0" (SYS_tgkill), "D" (getpid()), "S" (syscall(SYS_gettid)), "d" (SIGUSR1), "r" (i & 1)
			     : "rcx", "r11", "xmm5", "memory", "cc");
		good += !result && seen[0] == (i & 1 ? ~0UL : 0);
	}
	check(good == MANY, "a handler sees halves of vector registers that became zero: %d of %d", good, MANY);
}

static void change_result(int signal, void *info, void *context)
{
	ucontext_t *uc = context;

	(void)signal;
	(void)info;
	uc->uc_mcontext.gregs[REG_RAX] = 4711;
	uc->uc_mcontext.gregs[REG_RBX] = handled++;
}

static void check_changed_registers(void)
{
	int good = 0;

	handle(SIGUSR1, change_result, 0);
	handled = 0;
	for (int i = 0; i < MANY; i++) {
		long result, rbx;

		asm volatile("syscall\n\t" COMPARE "mov %%rbx, %1"
			     : "=a" (result), "=r" (rbx)
			     : "0" (SYS_tgkill), "D" (getpid()), "S" (syscall(SYS_gettid)), "d" (SIGUSR1)
			     : "rbx", "rcx", "r11", "memory", "cc");
		good += result == 4711 && rbx == i;
	}
	check(good == MANY, "a handler changes the result of a system call: %d of %d", good, MANY);
}

/* Stacks */

static char alternate[65536];
static volatile uintptr_t handler_stack;

static void remember_stack(int signal, void *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	handler_stack = (uintptr_t)__builtin_frame_address(0);
	getppid();
	handled++;
}

static bool on_alternate(void)
{
	return handler_stack - (uintptr_t)alternate < sizeof(alternate);
}

static int recurse(int depth)
{
	volatile char frame[4096];

	frame[0] = depth;
	return depth > 1000000 ? 0 : recurse(depth + 1) + frame[0];
}

static void jump_from_overflow(int signal, void *info, void *context)
{
	siginfo_t *si = info;

	(void)signal;
	(void)context;
	remember_stack(signal, info, context);
	siglongjmp(environment, si->si_code);
}

static void check_stacks(void)
{
	stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	volatile int good = 0;

	if (sigaltstack(&stack, NULL))
		stop("sigaltstack");
	handle(SIGUSR1, remember_stack, SA_ONSTACK);
	for (int i = 0; i < 1000; i++) {
		kill(getpid(), SIGUSR1);
		good += on_alternate();
	}
	handle(SIGUSR1, remember_stack, 0);
	kill(getpid(), SIGUSR1);
	check(good == 1000 && !on_alternate(), "handlers on another stack: %d of 1000", good);

	handle(SIGSEGV, jump_from_overflow, SA_ONSTACK);
	for (volatile int i = 0; i < 3; i++) {
		int code = sigsetjmp(environment, 1);

		if (!code)
			recurse(0);
		check(code == SEGV_MAPERR && on_alternate(), "a stack that is too large, %d", code);
	}
	signal(SIGSEGV, SIG_DFL);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
}

/* Other ways to take signals */

static void check_queues(void)
{
	struct signalfd_siginfo from_fd;
	union sigval value = { .sival_int = 17 };
	siginfo_t info;
	sigset_t set, old;
	int fd, good = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, &old);
	fd = signalfd(-1, &set, 0);
	for (int i = 0; i < 100; i++) {
		value.sival_int = i;
		sigqueue(getpid(), SIGRTMIN, value);
		good += sigwaitinfo(&set, &info) == SIGRTMIN && info.si_value.sival_int == i;
		sigqueue(getpid(), SIGRTMIN, value);
		good += read(fd, &from_fd, sizeof(from_fd)) == sizeof(from_fd) && from_fd.ssi_int == i;
	}
	check(good == 200, "sigwaitinfo() and signalfd(): %d of 200", good);
	close(fd);
	sigprocmask(SIG_SETMASK, &old, NULL);

	handle(SIGALRM, count_signal, 0);
	sigemptyset(&set);
	good = 0;
	for (int i = 0; i < 20; i++) {
		handled = 0;
		after_ms(2, 0);
		good += sigsuspend(&set) == -1 && errno == EINTR && handled == 1;
	}
	check(good == 20, "sigsuspend(): %d of 20", good);
}

static void check_children(void)
{
	pid_t pids[50];
	int good = 0;

	handle(SIGCHLD, count_signal, SA_RESTART | SA_NOCLDSTOP);
	handled = 0;
	for (int i = 0; i < 50; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit(i);
	}
	for (int i = 0; i < 50; i++)
		good += end_of(pids[i]) == i;
	check(good == 50 && handled > 0, "SIGCHLD %d times, of 50 children", handled);
	signal(SIGCHLD, SIG_DFL);
}

/* Cancellation unwinds the stack through the handler's frame. */

static int cleaned;
static int listener, silent[2];
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void clean(void *argument)
{
	cleaned += *(int *)argument;
}

static void *wait_for_ever(void *argument)
{
	long kind = (long)argument;
	struct timespec hour = { 3600, 0 };
	int weight = 1;
	fd_set set;
	char byte;

	pthread_cleanup_push(clean, &weight);
	switch (kind) {
	case 0:
		while (read(silent[0], &byte, 1) >= 0)
			;
		break;
	case 1:
		accept(listener, NULL, NULL);
		break;
	case 2:
		FD_ZERO(&set);
		FD_SET(silent[0], &set);
		pselect(silent[0] + 1, &set, NULL, NULL, &hour, NULL);
		break;
	case 3:
		nanosleep(&hour, NULL);
		break;
	case 4:
		pthread_mutex_lock(&mutex);
		pthread_cond_wait(&never, &mutex);
		break;
	default:
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
		/* Virtual time passes where the clock is read. */
		for (;;)
			syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &hour);
	}
	pthread_cleanup_pop(0);
	return NULL;
}

static void check_cancellation(void)
{
	static const char * const names[] = { "read()", "accept()", "pselect()", "nanosleep()",
					      "pthread_cond_wait()", "a loop" };

	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (listen(listener, 1) || pipe(silent))
		stop("listen");
	for (long kind = 0; kind < 6; kind++) {
		int good = 0;

		cleaned = 0;
		for (int i = 0; i < 20; i++) {
			pthread_t thread;
			void *result;

			pthread_create(&thread, NULL, wait_for_ever, (void *)kind);
			sleep_ms(1);
			pthread_cancel(thread);
			pthread_join(thread, &result);
			good += result == PTHREAD_CANCELED;
			if (kind == 4)
				pthread_mutex_unlock(&mutex);
		}
		check(good == 20 && cleaned == 20, "cancelled in %s: %d, cleaned %d of 20", names[kind], good, cleaned);
	}
}

/*
 * Some programs go on by themselves at the address that a handler saw, as
 * preemptive threads in user space do.
 */

void *detour_end;
void detour(void);
asm(".text\n"
	"detour:\n\t"
	"jmp *detour_end(%rip)\n");

static void make_detour(int signal, void *info, void *context)
{
	ucontext_t *uc = context;

	(void)signal;
	(void)info;
	detour_end = (void *)uc->uc_mcontext.gregs[REG_RIP];
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)detour;
	handled++;
}

static void check_detour(void)
{
	int good = 0;

	handle(SIGUSR1, make_detour, 0);
	handled = 0;
	for (int i = 0; i < MANY; i++)
		good += !kill(getpid(), SIGUSR1);
	check(handled == MANY && good == MANY, "a jump to the address that a handler saw, %d times", handled);
}

int main(void)
{
	check_restart();
	check_interrupted_calls();
	check_stopped_sleep();
	check_heated_by_handler();
	check_heated_by_thread();
	check_heated_by_parent();
	check_coroutines();
	check_jumps();
	check_frame();
	check_upper_half();
	check_changed_registers();
	check_stacks();
	check_queues();
	check_children();
	check_cancellation();
	check_detour();
	return finish();
}
