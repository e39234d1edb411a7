// SPDX-License-Identifier: MIT
/*
 * Lets QEMU's main thread work only while the thread of its one CPU waits. QEMU is started with this as LD_PRELOAD.
 *
 * With -icount sleep=off, the main thread skips idle time. It may look at any moment, and finds the CPU halted shortly
 * before the CPU's last instructions are counted: then it skips too much, and two runs differ. See in QEMU 7.2
 * icount_start_warp_timer() and rr_cpu_thread_fn(), where icount_process_data() comes after the halt and without the
 * lock.
 *
 * The CPU's thread waits by pthread_cond_wait() with QEMU's big lock, after everything is counted. So the main thread
 * gets that lock only then. Both changes of `waiting` happen with the lock held.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NAME_BYTES 16
#define MAX_BUSY_S 120
/* In the name of the thread that interprets all CPUs, with -name debug-threads=on: "ALL CPUs/TCG", or "CPU 0/TCG". */
#define CPU_THREAD "/TCG"

/* The lock with which the CPU's thread waits; NULL until it has waited once. */
static _Atomic(pthread_mutex_t *) big_lock;
static atomic_int waiting;
static atomic_int main_is_queued;

/* Of the CPU's thread. */
static clockid_t cpu_clock;

static int (*real_wait)(pthread_cond_t *cond, pthread_mutex_t *lock);
static int (*real_lock)(pthread_mutex_t *lock);

static __thread int is_cpu; /* 0: not known yet, 1: yes, -1: no */

__attribute__((constructor)) static void find(void)
{
	real_lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	/* There is an older version with another layout. */
	real_wait = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
	if (!real_wait)
		real_wait = dlsym(RTLD_NEXT, "pthread_cond_wait");
}

static int this_is_cpu(void)
{
	char name[NAME_BYTES] = "";

	if (!is_cpu) {
		prctl(PR_GET_NAME, name);
		is_cpu = strstr(name, CPU_THREAD) && !pthread_getcpuclockid(pthread_self(), &cpu_clock) ? 1 : -1;
	}
	return is_cpu > 0;
}

/* CPU time that the CPU's thread has used, in seconds. */
static time_t used(void)
{
	struct timespec now = { 0 };

	clock_gettime(cpu_clock, &now);
	return now.tv_sec;
}

/*
 * Sleep until the CPU waits; return -1 if it has not for a long time, as with a program that never sleeps: the main
 * thread must still be able to end QEMU. This machine may be busy, so what counts is the time of the CPU's thread: a
 * kernel boots without waiting once.
 */
static int nap(void)
{
	const struct timespec limit = { .tv_sec = 10 };
	const time_t began = used();
	int overdue = 0;

	atomic_store(&main_is_queued, 1);
	while (!overdue && !atomic_load(&waiting) &&
	       syscall(SYS_futex, &waiting, FUTEX_WAIT_PRIVATE, 0, &limit, NULL, 0) < 0 && errno == ETIMEDOUT)
		overdue = used() - began > MAX_BUSY_S;
	atomic_store(&main_is_queued, 0);
	return overdue ? -1 : 0;
}

int pthread_mutex_lock(pthread_mutex_t *lock)
{
	int status;

	if (!real_lock)
		find();
	status = real_lock(lock);
	if (status || lock != atomic_load(&big_lock) || getpid() != gettid())
		return status;
	while (!status && !atomic_load(&waiting)) {
		int overdue;

		pthread_mutex_unlock(lock);
		overdue = nap();
		status = real_lock(lock);
		if (overdue)
			break;
	}
	return status;
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	int status;

	if (!this_is_cpu())
		return real_wait(cond, lock);
	atomic_store(&big_lock, lock);
	atomic_store(&waiting, 1);
	if (atomic_load(&main_is_queued))
		syscall(SYS_futex, &waiting, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	status = real_wait(cond, lock);
	atomic_store(&waiting, 0);
	return status;
}
