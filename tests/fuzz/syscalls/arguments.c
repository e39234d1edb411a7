// SPDX-License-Identifier: MIT
/* Random numbers, and system calls with plausible arguments that harm nobody. */
#include "calls.h"

#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

uint64_t next(void)
{
	uint64_t x = me->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	me->random = x;
	return x * 0x2545f4914f6cdd1dULL;
}

uint64_t below(uint64_t bound)
{
	return (next() >> 20) % bound;
}

uintptr_t outside(void)
{
	static const uintptr_t places[] = {
		0x10000000, 0x5ff00000, 0x60000000, 0x60200000, 0x61000000, 0x70000000, 0x9fff0000, 0x100000000,
		0x8000000000, 0x200000000000, 0x7e0000000000,
	};
	uintptr_t region;

	if (below(2))
		return places[below(ARRAY_SIZE(places))] + below(3) * 4 * PAGE;
	/* Where other programs are */
	region = (1UL << 40) + (below(12) << 37);
	if ((region >> 37) == ((uintptr_t)me->arenas[0] >> 37))
		return 0x8000000000;
	return region + (below(2) ? 1UL << 24 : 1UL << 35) + below(64) * PAGE;
}

static char *in_arena(void)
{
	static const int offsets[] = { 0, 0, 0, 1, 8, 64, 2048, 4090, 4095 };

	return me->arenas[below(ARENAS)] + below(ARENA_PAGES) * PAGE + offsets[below(ARRAY_SIZE(offsets))];
}

uintptr_t anywhere(void)
{
	static const uintptr_t wrong[] = { 0, 8, PAGE, 0x7ffffffff000, 0xffff800000000000, -PAGE, -1 };

	if (below(8))
		return (uintptr_t)in_arena();
	return below(2) ? outside() : wrong[below(ARRAY_SIZE(wrong))];
}

int harmless_signal(void)
{
	static const int signals[] = { SIGUSR1, SIGUSR2, SIGWINCH, SIGURG, SIGCHLD, SIGCONT, 34, 40 };

	return signals[below(ARRAY_SIZE(signals))];
}

#define MAX_VALUES 12
static const struct values {
	char letter;
	uint8_t count;
	long values[MAX_VALUES];
} tables[] = {
	{ 'O', 8, { O_RDONLY, O_RDWR, O_RDWR | O_CREAT, O_CREAT | O_TRUNC | O_WRONLY, O_NONBLOCK | O_RDWR, O_PATH,
		    O_DIRECTORY, O_APPEND | O_CREAT | O_RDWR } },
	{ 'P', 8, { 0, 1, 3, 3, 3, 5, 7, 2 } },
	{ 'D', 10, { 0, 1, 2, 3, 4, 4, 8, 10, 14, 18 } },
	{ 'E', 3, { EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD } },
	{ 'L', 4, { SOL_SOCKET, IPPROTO_TCP, IPPROTO_IP, 284 } },
	{ 'S', 7, { 0, 0, MSG_DONTWAIT, MSG_PEEK | MSG_DONTWAIT, MSG_NOSIGNAL, MSG_OOB, MSG_WAITALL } },
	{ 'C', 7, { F_DUPFD, F_GETFD, F_GETFL, F_DUPFD_CLOEXEC, 1032, F_GETOWN, 1034 } },
	{ 'I', 4, { FIONREAD, FIONBIO, 0x5401, 0x5450 } },
	{ 'G', 4, { ARCH_SET_GS, ARCH_GET_GS, ARCH_GET_FS, 0x9999 } },
	{ 'Y', 5, { AF_INET, AF_INET, AF_INET, AF_UNIX, AF_INET6 } },
	{ 'T', 5, { SOCK_STREAM, SOCK_STREAM | SOCK_NONBLOCK, SOCK_STREAM | SOCK_NONBLOCK, SOCK_DGRAM,
		    SOCK_SEQPACKET } },
	{ 'Q', 4, { 0, 0, 262, IPPROTO_TCP } },
	{ 'U', 8, { FUTEX_WAIT, FUTEX_WAKE, FUTEX_WAIT_PRIVATE, FUTEX_WAKE_PRIVATE, FUTEX_LOCK_PI, FUTEX_UNLOCK_PI,
		    FUTEX_TRYLOCK_PI, 99 } },
	{ 'e', 4, { 0, 04000, 02000000, 1 } },
	{ 'K', 5, { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_MONOTONIC_COARSE, 77 } },
	{ 'n', 10, { 0, 1, 7, 16, 64, 100, 1024, 4096, 10000, 65536 } },
	{ 'l', 8, { 0, 1, PAGE, PAGE, 2 * PAGE, 3 * PAGE, 16 * PAGE, 100 * PAGE } },
	{ 'X', 5, { PR_GET_NAME, PR_SET_NAME, PR_GET_DUMPABLE, PR_GET_PDEATHSIG, 9999 } },
};

static const char *const paths[] = {
	"a", "b", "c", "d", "d/e", "nothing/f", ".", "/dev/null", "/dev/zero", "/proc/self/comm", "",
};

long argument(char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (tables[i].letter == letter)
			return tables[i].values[below(tables[i].count)];
	switch (letter) {
	case '0' ... '9':
		return letter - '0';
	case 'f':
		return below(12) ? 3 + (long)below(20) : (long)below(3) * 100 - 1;
	case 'a':
		return (long)anywhere();
	case 'g':
		return (long)(anywhere() & -PAGE);
	case 'i':
		return (long)below(10);
	case 'N':
		return (long)below(50);
	case 's':
		return harmless_signal();
	case 'p':
		return below(16) ? (long)paths[below(ARRAY_SIZE(paths))] : (long)anywhere();
	case 'm':
		me->signals = 0;
		for (int i = 0; i < 3; i++)
			me->signals |= 1UL << (harmless_signal() - 1);
		return (long)&me->signals;
	case 't':
		me->times[0] = me->times[1] = (struct timespec){ 0, (long)below(3000000) };
		return (long)me->times;
	case 'v':
		for (size_t i = 0; i < ARRAY_SIZE(me->vectors); i++)
			me->vectors[i] = (struct iovec){ (void *)anywhere(), below(3000) };
		return (long)me->vectors;
	case 'A':
		me->address = (struct sockaddr_in){
			.sin_family = below(16) ? AF_INET : AF_UNSPEC,
			.sin_port = htons(1000 + worker * 10 + below(4)),
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		};
		return (long)&me->address;
	default:
		abort();
	}
}

static const struct call calls[] = {
	{ SYS_read, "fan" }, { SYS_write, "fan" }, { SYS_readv, "fv3" }, { SYS_writev, "fv3" }, { SYS_pread64, "fann" },
	{ SYS_pwrite64, "fann" }, { SYS_lseek, "fni" }, { SYS_openat, "fpO8" }, { SYS_open, "pO8" }, { SYS_open, "pO8" },
	{ SYS_close, "f" }, { SYS_fstat, "fa" }, { SYS_stat, "pa" }, { SYS_newfstatat, "fpa0" }, { SYS_access, "pi" },
	{ SYS_mkdir, "p7" }, { SYS_rmdir, "p" }, { SYS_unlink, "p" }, { SYS_rename, "pp" }, { SYS_symlink, "pp" },
	{ SYS_readlink, "pan" }, { SYS_link, "pp" }, { SYS_truncate, "pn" }, { SYS_ftruncate, "fn" }, { SYS_fsync, "f" },
	{ SYS_getcwd, "an" }, { SYS_getdents64, "fan" }, { SYS_dup, "f" }, { SYS_fcntl, "fCi" }, { SYS_ioctl, "fIa" },
	{ SYS_pipe2, "ae" }, { SYS_socketpair, "1T0a" }, { SYS_socket, "YTQ" }, { SYS_socket, "YTQ" },
	{ SYS_bind, "fAn" }, { SYS_connect, "fAn" }, { SYS_listen, "fi" }, { SYS_accept4, "f00e" },
	{ SYS_accept4, "faae" }, { SYS_sendto, "fanSAn" }, { SYS_recvfrom, "fanSaa" }, { SYS_shutdown, "fi" },
	{ SYS_sendto, "fanS00" }, { SYS_recvfrom, "fanS00" }, { SYS_sendmsg, "faS" }, { SYS_recvmsg, "faS" },
	{ SYS_setsockopt, "fLNan" }, { SYS_getsockopt, "fLNaa" }, { SYS_getsockname, "faa" }, { SYS_getpeername, "faa" },
	{ SYS_epoll_create1, "e" }, { SYS_epoll_ctl, "fEfa" }, { SYS_epoll_wait, "faii" }, { SYS_epoll_pwait, "faiim8" },
	{ SYS_ppoll, "ait08" }, { SYS_eventfd2, "ie" }, { SYS_timerfd_create, "Ke" }, { SYS_timerfd_settime, "f0ta" },
	{ SYS_timerfd_gettime, "fa" }, { SYS_signalfd4, "fm8e" }, { SYS_memfd_create, "pe" }, { SYS_sendfile, "ff0n" },
	{ SYS_splice, "f0f0n3" }, { SYS_munmap, "gl" }, { SYS_mprotect, "glP" }, { SYS_mprotect, "glP" },
	{ SYS_madvise, "glD" }, { SYS_msync, "gl4" }, { SYS_mlock, "gl" }, { SYS_munlock, "gl" }, { SYS_mincore, "gla" },
	{ SYS_rt_sigprocmask, "im08" }, { SYS_rt_sigprocmask, "ima8" }, { SYS_rt_sigpending, "a8" },
	{ SYS_rt_sigtimedwait, "mat8" }, { SYS_rt_sigsuspend, "m8" }, { SYS_sigaltstack, "0a" }, { SYS_pause, "" },
	{ SYS_nanosleep, "ta" }, { SYS_clock_nanosleep, "K0ta" }, { SYS_clock_gettime, "Ka" }, { SYS_gettimeofday, "aa" },
	{ SYS_clock_getres, "Ka" }, { SYS_timer_create, "K0a" }, { SYS_timer_settime, "i0ta" }, { SYS_timer_delete, "i" },
	{ SYS_futex, "aUitai" }, { SYS_sched_yield, "" }, { SYS_getpid, "" }, { SYS_getppid, "" }, { SYS_gettid, "" },
	{ SYS_getuid, "" }, { SYS_uname, "a" }, { SYS_getrlimit, "ia" }, { SYS_umask, "i" }, { SYS_getpriority, "i0" },
	{ SYS_prctl, "Xa" }, { SYS_arch_prctl, "Ga" }, { SYS_getrandom, "an4" }, { SYS_sched_getaffinity, "0na" },
	{ SYS_inotify_init1, "e" }, { SYS_inotify_add_watch, "fp7" }, { SYS_wait4, "0a30" }, { SYS_getitimer, "ia" },
	{ SYS_membarrier, "i0" }, { SYS_statx, "fp0na" }, { SYS_process_vm_readv, "ivivi0" }, { 387, "aa" },
	{ 600, "aaaaaa" }, { -1, "aa" },
};

const struct call *any_call(void)
{
	return &calls[below(ARRAY_SIZE(calls))];
}
