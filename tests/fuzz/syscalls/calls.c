// SPDX-License-Identifier: MIT
/*
 * calls SEED COUNT [trace]: random system calls, the same for each seed
 *
 * Four workers make COUNT calls together. A worker's calls are made in lives:
 * processes of a few hundred calls each, which may crash or hang. Calls and their
 * results go to a file per worker, of which a digest is printed at the end, and
 * with "trace" all of it. Nothing outside is touched: there is a namespace of
 * processes, one of networks, and one of mounts with a tmpfs.
 */
#include "calls.h"

#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

const char *self;
int worker;

static int work(uint64_t seed, uint64_t calls_wanted)
{
	map_trace();
	while (trace->used < calls_wanted) {
		struct pollfd end = { .events = POLLIN };
		pid_t pid = fork();
		int status;

		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			live(seed, LIFE_CALLS, 0);
			_exit(0);
		}
		end.fd = (int)syscall(SYS_pidfd_open, pid, 0);
		if (pid < 0 || end.fd < 0)
			return 92;
		if (!poll(&end, 1, LIFE_SECONDS * 1000))
			kill(pid, SIGKILL);
		close(end.fd);
		if (waitpid(pid, &status, 0) != pid)
			return 93;
		note(TRACE_END, status, seed++);
	}
	return 0;
}

static int prepare(uint64_t count)
{
	size_t size = sizeof(struct trace) + (2 * count / WORKERS + 4096) * sizeof(struct record);
	struct rlimit none = { 0, 0 };
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	setrlimit(RLIMIT_CORE, &none);
	mkdir(FOLDER, 0700);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("fuzz", FOLDER, "tmpfs", 0, "size=64m") ||
	    mkdir(FOLDER "/work", 0700) || chdir(FOLDER "/work") || ioctl(fd, SIOCGIFFLAGS, &request))
		return -1;
	request.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &request))
		return -1;
	close(fd);
	fd = open(FOLDER "/order", O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || ftruncate(fd, PAGE))
		return -1;
	close(fd);
	for (worker = 0; worker < WORKERS; worker++) {
		struct trace start = { 0, (size - sizeof(start)) / sizeof(struct record) };
		char name[64];

		snprintf(name, sizeof(name), FOLDER "/trace-%d", worker);
		fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
		if (fd < 0 || ftruncate(fd, size) || write(fd, &start, sizeof(start)) != sizeof(start))
			return -1;
		close(fd);
	}
	return 0;
}

/* Process 1 of the namespace: when it ends, all end. */
static int run_workers(uint64_t seed, uint64_t count, bool whole)
{
	int running = WORKERS, wrong = 0, status;
	pid_t pids[WORKERS], pid;

	if (prepare(count)) {
		perror("calls: preparation");
		return 1;
	}
	for (worker = 0; worker < WORKERS; worker++) {
		pids[worker] = fork();
		if (!pids[worker]) {
			int null = open("/dev/null", O_RDWR);

			for (int fd = 0; fd < 3; fd++)
				dup2(null, fd);
			close(null);
			_exit(work((seed * WORKERS + worker) << 20, count / WORKERS));
		}
	}
	while (running && (pid = wait(&status)) > 0) {
		for (worker = 0; worker < WORKERS; worker++) {
			if (pids[worker] != pid)
				continue;
			running--;
			if (status) {
				printf("worker %d ended with status %#x\n", worker, status);
				wrong = 1;
			}
		}
	}
	report(whole);
	return wrong;
}

int main(int argc, char **argv)
{
	static char path[4096];
	int status;
	pid_t pid;

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		return 1;
	self = path;
	if (argc == 6 && !strcmp(argv[1], "life")) {
		worker = atoi(argv[2]);
		map_trace();
		_exit(live(strtoull(argv[3], NULL, 10), atoi(argv[4]), atoi(argv[5])));
	}
	if (argc < 3 || unshare(CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS)) {
		fputs("calls SEED COUNT [trace], as root\n", stderr);
		return 2;
	}
	pid = fork();
	if (!pid) {
		status = run_workers(strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10), argc > 3);
		fflush(stdout);
		_exit(status);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
