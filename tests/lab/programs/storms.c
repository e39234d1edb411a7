// SPDX-License-Identifier: MIT
/* Many threads, processes and programs, which end, and talk to each other by pipes, futexes and shared memory. */
#include "check.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static char self[4096];

/* A system call that the C library makes in the usual form: a comparison follows. */
static void hot(int calls)
{
	struct stat about;

	for (int i = 0; i < calls; i++)
		if (fstat(STDIN_FILENO, &about))
			_exit(70);
}

static void sleep_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

static void *counting_thread(void *argument)
{
	hot(20);
	__atomic_add_fetch((long *)argument, 1, __ATOMIC_RELAXED);
	return argument;
}

static void check_threads(void)
{
	static pthread_t threads[200];
	long count = 0;
	int good = 0;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 200; i++)
			good += !pthread_create(&threads[i], NULL, counting_thread, &count);
		for (int i = 0; i < 200; i++) {
			void *result = NULL;

			pthread_join(threads[i], &result);
			good += result == &count;
		}
	}
	check(good == 1200 && count == 600, "600 threads, up to 200 at once: %d, %ld", good, count);
}

static void check_forks(void)
{
	static pid_t pids[300];
	int good = 0;

	for (int i = 0; i < 300; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			hot(i % 30);
			_exit(i % 100);
		}
	}
	for (int i = 0; i < 300; i++)
		good += end_of(pids[i]) == i % 100;
	check(good == 300, "300 children at once: %d", good);

	good = 0;
	for (int i = 0; i < 300; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(i % 100);
		good += end_of(pid) == i % 100;
	}
	check(good == 300, "300 children in turn: %d", good);
}

/* Each generation forks the next, changes what it has inherited, and checks that only its own has changed. */
static int generation(int depth, char *memory)
{
	int status = 0;
	pid_t pid;

	memset(memory, depth, 65536);
	if (!depth)
		return 0;
	pid = fork();
	if (!pid)
		_exit(generation(depth - 1, memory));
	hot(10);
	status = end_of(pid);
	for (int i = 0; i < 65536; i++)
		if (memory[i] != depth)
			return 1;
	return status;
}

static void check_generations(void)
{
	char *memory = malloc(65536);

	check(!generation(40, memory), "40 generations with memory of their own");
	free(memory);
}

static char *const again[] = { (char *)"storms", (char *)"exit", (char *)"42", NULL };

static void check_programs(void)
{
	posix_spawn_file_actions_t actions;
	volatile int good = 0;
	int ends[2];
	char byte;

	for (int i = 0; i < 200; i++) {
		pid_t pid = fork();

		if (!pid) {
			execve(self, again, environ);
			_exit(71);
		}
		good += end_of(pid) == 42;
	}
	check(good == 200, "200 programs by fork and exec: %d", good);

	good = 0;
	for (int i = 0; i < 200; i++) {
		volatile pid_t pid = vfork();

		if (!pid) {
			execve(self, again, environ);
			_exit(71);
		}
		good += end_of(pid) == 42;
	}
	check(good == 200, "200 programs by vfork and exec: %d", good);

	good = 0;
	for (int i = 0; i < 200; i++) {
		pid_t pid;

		good += !posix_spawn(&pid, self, NULL, NULL, again, environ) && end_of(pid) == 42;
	}
	check(good == 200, "200 programs by posix_spawn: %d", good);

	if (pipe(ends))
		stop("pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	{
		char *const print[] = { (char *)"storms", (char *)"print", (char *)"!", NULL };
		pid_t pid;

		good = !posix_spawn(&pid, self, &actions, NULL, print, environ) && read(ends[0], &byte, 1) == 1 &&
		       byte == '!' && end_of(pid) == 0;
	}
	check(good, "posix_spawn with a pipe");
	close(ends[0]);
	close(ends[1]);

	/* An exec in a thread ends the others. */
	{
		pid_t pid = fork();

		if (!pid) {
			char *const exec[] = { (char *)"storms", (char *)"exec-in-thread", NULL };

			execve(self, exec, environ);
			_exit(71);
		}
		check(end_of(pid) == 42, "a program started by one of several threads");
	}
}

static void *sleeping_thread(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static void *executing_thread(void *argument)
{
	sleep_ms(1);
	execve(self, again, environ);
	return argument;
}

static int exec_in_thread(void)
{
	pthread_t threads[10];

	for (int i = 0; i < 9; i++)
		pthread_create(&threads[i], NULL, sleeping_thread, NULL);
	pthread_create(&threads[9], NULL, executing_thread, NULL);
	pthread_join(threads[9], NULL);
	return 72;
}

/* clone() with memory in common, but nothing else */
static int shared_value;

static int change_value(void *argument)
{
	hot(100);
	shared_value += (int)(long)argument;
	return 7;
}

static void check_clones(void)
{
	static char stacks[20][16384] __attribute__((aligned(16)));
	pid_t pids[20];
	int good = 0;

	for (long i = 0; i < 20; i++)
		pids[i] = clone(change_value, stacks[i] + sizeof(stacks[i]), CLONE_VM | SIGCHLD, (void *)i);
	for (int i = 0; i < 20; i++)
		good += pids[i] > 0 && end_of(pids[i]) == 7;
	check(good == 20 && shared_value == 190, "20 clones with the same memory: %d, sum %d", good, shared_value);
}

/* Who is hot, and who is idle */

static void check_hot(int parent, int child, const char *who)
{
	int ends[2], go[2];
	char byte = 0;
	pid_t pid;

	if (pipe(ends) || pipe(go))
		stop("pipe");
	pid = fork();
	if (!pid) {
		for (int i = 0; i < child; i += 10) {
			hot(10);
			/* Let the other one run, too. */
			if (parent)
				sched_yield();
		}
		_exit(write(ends[1], "x", 1) != 1 || read(go[0], &byte, 1) != 1 || byte != 'y');
	}
	for (int i = 0; i < parent; i += 10) {
		hot(10);
		sched_yield();
	}
	check(read(ends[0], &byte, 1) == 1 && byte == 'x' && write(go[1], "y", 1) == 1 && end_of(pid) == 0, "%s", who);
	close(ends[0]);
	close(ends[1]);
	close(go[0]);
	close(go[1]);
}

/* Several copies of one program, each hot in turn */
static void check_hot_in_turn(void)
{
	pid_t pids[5];
	int rings[5][2], good = 0;

	for (int i = 0; i < 5; i++)
		if (pipe(rings[i]))
			stop("pipe");
	for (int i = 0; i < 5; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			char byte;

			for (int round = 0; round < 10; round++) {
				if (read(rings[i][0], &byte, 1) != 1)
					_exit(1);
				hot(2500);
				if (write(rings[(i + 1) % 5][1], &byte, 1) != 1)
					_exit(2);
			}
			_exit(0);
		}
	}
	check(write(rings[0][1], "r", 1) == 1, "the first of five begins");
	for (int i = 0; i < 5; i++)
		good += end_of(pids[i]) == 0;
	check(good == 5, "five copies are hot in turn: %d", good);
	for (int i = 0; i < 5; i++) {
		close(rings[i][0]);
		close(rings[i][1]);
	}
}

/* Pipes and sockets between processes and threads */

static void *echo(void *argument)
{
	int fd = *(int *)argument;
	char data[1000];
	ssize_t got;

	while ((got = read(fd, data, sizeof(data))) > 0)
		if (write(fd, data, got) != got)
			break;
	return NULL;
}

static void check_talk(int in_thread)
{
	uint32_t sum_out = 0, sum_in = 0;
	int ends[2];
	pthread_t thread;
	pid_t pid = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		stop("socketpair");
	if (in_thread) {
		pthread_create(&thread, NULL, echo, &ends[1]);
	} else {
		pid = fork();
		if (!pid) {
			close(ends[0]);
			echo(&ends[1]);
			_exit(0);
		}
		close(ends[1]);
	}
	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t value = i * 2654435761U, answer = 0;

		sum_out += value;
		if (write(ends[0], &value, sizeof(value)) != sizeof(value) ||
		    recv(ends[0], &answer, sizeof(answer), MSG_WAITALL) != sizeof(answer))
			break;
		sum_in += answer;
	}
	shutdown(ends[0], SHUT_RDWR);
	check(sum_in == sum_out, "5000 messages to a %s and back, sum %u", in_thread ? "thread" : "process", sum_in);
	if (in_thread) {
		pthread_join(thread, NULL);
		close(ends[1]);
	} else {
		end_of(pid);
	}
	close(ends[0]);
}

static long futex(int *word, int operation, int value)
{
	return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

/* Two take turns by a word in shared memory. */
static int play(int *word, int mine, int turns)
{
	for (int i = 0; i < turns; i++) {
		int value;

		while ((value = __atomic_load_n(word, __ATOMIC_ACQUIRE)) % 2 != mine)
			futex(word, FUTEX_WAIT, value);
		__atomic_store_n(word, value + 1, __ATOMIC_RELEASE);
		futex(word, FUTEX_WAKE, 1);
	}
	return 0;
}

static void check_futexes(void)
{
	int *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	int wrong;

	if (!pid)
		_exit(play(word, 1, 3000));
	play(word, 0, 3000);
	wrong = end_of(pid);
	check(!wrong && *word == 6000, "futexes: %d turns of two processes", *word);
	munmap(word, 4096);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int position;

static void *ring_thread(void *argument)
{
	long number = (long)argument;

	for (int i = 0; i < 300; i++) {
		pthread_mutex_lock(&mutex);
		while (position % 8 != number)
			pthread_cond_wait(&condition, &mutex);
		position++;
		pthread_cond_broadcast(&condition);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void check_conditions(void)
{
	pthread_t threads[8];

	for (long i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, ring_thread, (void *)i);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	check(position == 2400, "condition variables: %d turns of eight threads", position);
}

/* A thread forks while others run; the child has this one alone. */
static void *forking_thread(void *argument)
{
	long good = 0;

	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid) {
			hot(50);
			_exit(3);
		}
		good += end_of(pid) == 3;
		hot(50);
	}
	*(long *)argument = good;
	return NULL;
}

static void check_forks_of_threads(void)
{
	pthread_t threads[6];
	long good[6], sum = 0;

	for (int i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, forking_thread, &good[i]);
	for (int i = 0; i < 6; i++) {
		pthread_join(threads[i], NULL);
		sum += good[i];
	}
	check(sum == 120, "six threads fork: %ld children", sum);
}

static void check_killed(void)
{
	int good = 0;

	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		if (!pid) {
			for (;;) {
				hot(10);
				sleep_ms(1);
			}
		}
		sleep_ms(i % 5);
		kill(pid, SIGKILL);
		good += end_of(pid) == 128 + SIGKILL;
	}
	check(good == 50, "50 children killed at work: %d", good);
}

int main(int argc, char **argv)
{
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		stop("readlink");
	if (argc == 3 && !strcmp(argv[1], "exit")) {
		hot(30);
		return atoi(argv[2]);
	}
	if (argc == 3 && !strcmp(argv[1], "print"))
		return write(1, argv[2], 1) != 1;
	if (argc == 2 && !strcmp(argv[1], "exec-in-thread"))
		return exec_in_thread();

	check_threads();
	check_forks();
	check_generations();
	check_programs();
	check_clones();
	check_hot(0, 10000, "a hot child of an idle parent");
	check_hot(10000, 0, "a hot parent of an idle child");
	check_hot(10000, 10000, "both hot");
	check_hot_in_turn();
	check_talk(0);
	check_talk(1);
	check_futexes();
	check_conditions();
	check_forks_of_threads();
	check_killed();
	return finish();
}
