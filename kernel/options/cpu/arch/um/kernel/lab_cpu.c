// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CPU per network namespace, which the programs of a node share.
 *
 * In time-travel=inf-cpu mode computing takes no time. With these settings of a
 * namespace it does:
 *
 * net.lab.cpu_per_call_ps	time of a system call, in picoseconds
 * net.lab.cpu_per_byte_ps	time per byte that a call has read or written
 * net.lab.cpu_charge		1: charge the writing task and its descendants
 *
 * The CPU serves one call after the other, in the order in which they end; a
 * call that takes longer than a slice is queued again after each slice. A task
 * continues when its call has been served. Only tasks of the same namespace
 * wait for each other.
 *
 * /proc/net/lab_cpu has the number of calls and bytes that were charged, the
 * time that the CPU was busy, and the busy time in each interval since boot.
 */

#include <linux/bits.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/lab_cpu.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/seq_file_net.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/sysctl.h>
#include <linux/uaccess.h>
#include <asm/unistd.h>
#include <net/netns/generic.h>

/* A thread flag that Linux does not use. A new task inherits its parent's flags. */
#define TIF_LAB_CPU		31

#define PS_PER_NS		1000ULL

/* Bounds of the settings: a second per call, a millisecond per byte. */
#define PER_CALL_MAX_PS		1000000000000UL
#define PER_BYTE_MAX_PS		1000000000UL

/* The longest time for which one call occupies the CPU while others wait. */
#define SLICE_PS		(100 * NSEC_PER_USEC * PS_PER_NS)

/*
 * Intervals of busy time. Their number is fixed: when they are used up, pairs are
 * merged into intervals of twice the length.
 */
#define INTERVALS		8192
#define FIRST_INTERVAL_PS	(100 * NSEC_PER_MSEC * PS_PER_NS)

/*
 * Virtual time by which a task may be late although it worked all the time: it may
 * have woken up late, and have read the clock TIME_VDSO_READS times before its next
 * call. See start_of().
 */
#define LATE_MAX_PS		(20 * NSEC_PER_USEC * PS_PER_NS)

struct lab_cpu {
	struct mutex lock;		/* protects the fields below */
	unsigned long per_call_ps;
	unsigned long per_byte_ps;
	u64 free_ps;			/* when the CPU has served all calls so far */
	u64 calls;
	u64 bytes;
	u64 busy_ps;
	const void *last;		/* the task of the last call */
	unsigned long last_sleeps;	/* nvcsw of this task at its last call */
	u64 interval_ps;
	u64 *intervals;			/* busy time per interval; NULL: no call yet */
	struct ctl_table_header *header;
};

static unsigned int lab_cpu_id;

/* Reading the clock advances it, unless interrupts are off. */
static u64 now_ps(void)
{
	unsigned long flags;
	u64 ns;

	local_irq_save(flags);
	ns = ktime_get_ns();
	local_irq_restore(flags);
	return ns * PS_PER_NS;
}

/* The payload of sendmmsg() and recvmmsg(), which return a number of messages. */
static u64 bytes_of_messages(const struct mmsghdr __user *messages, long count)
{
	u64 bytes = 0;
	unsigned int len;
	long i;

	for (i = 0; i < count; i++) {
		if (get_user(len, &messages[i].msg_len))
			break;
		bytes += len;
	}
	return bytes;
}

/* Number of bytes that a call has read or written. */
static u64 bytes_of(int syscall, unsigned long arg2, long ret)
{
	if (ret <= 0)
		return 0;

	switch (syscall) {
	case __NR_read:
	case __NR_pread64:
	case __NR_readv:
	case __NR_preadv:
	case __NR_preadv2:
	case __NR_recvfrom:
	case __NR_recvmsg:
	case __NR_write:
	case __NR_pwrite64:
	case __NR_writev:
	case __NR_pwritev:
	case __NR_pwritev2:
	case __NR_sendto:
	case __NR_sendmsg:
	case __NR_sendfile:
	case __NR_splice:
	case __NR_vmsplice:
	case __NR_copy_file_range:
		return ret;
	case __NR_sendmmsg:
	case __NR_recvmmsg:
		return bytes_of_messages((void __user *)arg2, ret);
	default:
		return 0;
	}
}

static void double_intervals(struct lab_cpu *cpu)
{
	unsigned int i;

	for (i = 0; i < INTERVALS / 2; i++)
		cpu->intervals[i] = cpu->intervals[2 * i] +
				    cpu->intervals[2 * i + 1];
	memset(cpu->intervals + i, 0, i * sizeof(*cpu->intervals));
	cpu->interval_ps *= 2;
}

static void note_busy(struct lab_cpu *cpu, u64 start_ps, u64 end_ps)
{
	cpu->busy_ps += end_ps - start_ps;
	if (!cpu->intervals)
		cpu->intervals = kvcalloc(INTERVALS, sizeof(*cpu->intervals),
					  GFP_KERNEL | __GFP_NOFAIL);

	while (start_ps < end_ps) {
		u64 i = div64_u64(start_ps, cpu->interval_ps);
		u64 until_ps = min(end_ps, (i + 1) * cpu->interval_ps);

		if (i >= INTERVALS) {
			double_intervals(cpu);
			continue;
		}
		cpu->intervals[i] += until_ps - start_ps;
		start_ps = until_ps;
	}
}

/*
 * The time at which the CPU begins to serve a call of this task. If the task has not
 * slept since its last call, and the CPU has served no other task since, then the task
 * has worked on this call all the time, whatever the clock shows.
 */
static u64 start_of(const struct lab_cpu *cpu)
{
	u64 now = now_ps();

	if (cpu->last == current && cpu->last_sleeps == current->nvcsw)
		now -= min(now, LATE_MAX_PS);
	return max(now, cpu->free_ps);
}

static void wait_until(u64 ps)
{
	ktime_t until = ns_to_ktime(DIV64_U64_ROUND_UP(ps, PS_PER_NS));

	if (now_ps() >= ps)
		return;
	do {
		set_current_state(TASK_KILLABLE);
	} while (schedule_hrtimeout(&until, HRTIMER_MODE_ABS) &&
		 !fatal_signal_pending(current));
}

/* Let the CPU work for this task. */
static void serve(struct lab_cpu *cpu, u64 cost_ps)
{
	u64 start_ps;

	mutex_lock(&cpu->lock);
	start_ps = start_of(cpu);
	cpu->free_ps = start_ps + cost_ps;
	cpu->last = current;
	cpu->last_sleeps = current->nvcsw;
	note_busy(cpu, start_ps, cpu->free_ps);
	mutex_unlock(&cpu->lock);

	wait_until(start_ps + cost_ps);

	/* Waiting for the CPU does not count as a sleep. */
	mutex_lock(&cpu->lock);
	if (cpu->last == current)
		cpu->last_sleeps = current->nvcsw;
	mutex_unlock(&cpu->lock);
}

bool lab_cpu_charge(int syscall, unsigned long arg2, long ret)
{
	u64 bytes, cost_ps, slice_ps;
	struct lab_cpu *cpu;

	if (!test_thread_flag(TIF_LAB_CPU))
		return false;

	cpu = net_generic(current->nsproxy->net_ns, lab_cpu_id);
	bytes = bytes_of(syscall, arg2, ret);
	cost_ps = cpu->per_call_ps + bytes * cpu->per_byte_ps;
	if (!cost_ps)
		return false;

	mutex_lock(&cpu->lock);
	cpu->calls++;
	cpu->bytes += bytes;
	mutex_unlock(&cpu->lock);

	for (; cost_ps && !fatal_signal_pending(current); cost_ps -= slice_ps) {
		slice_ps = min(cost_ps, SLICE_PS);
		serve(cpu, slice_ps);
	}
	return true;
}

static int proc_charge(const struct ctl_table *ctl, int write, void *buffer,
		       size_t *lenp, loff_t *ppos)
{
	unsigned int charge = test_thread_flag(TIF_LAB_CPU);
	const struct ctl_table number = {
		.data = &charge,
		.maxlen = sizeof(charge),
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	};
	int ret;

	ret = proc_dointvec_minmax(&number, write, buffer, lenp, ppos);
	if (write && !ret) {
		if (charge)
			set_thread_flag(TIF_LAB_CPU);
		else
			clear_thread_flag(TIF_LAB_CPU);
	}
	return ret;
}

static int lab_cpu_show(struct seq_file *seq, void *v)
{
	struct lab_cpu *cpu = net_generic(seq_file_single_net(seq), lab_cpu_id);
	u64 interval_ns = div64_u64(cpu->interval_ps, PS_PER_NS);
	unsigned int i;

	mutex_lock(&cpu->lock);
	seq_printf(seq, "calls %llu\nbytes %llu\nbusy_ns %llu\n", cpu->calls,
		   cpu->bytes, div64_u64(cpu->busy_ps, PS_PER_NS));
	seq_printf(seq, "interval_ns %llu\n", interval_ns);
	for (i = 0; cpu->intervals && i < INTERVALS; i++) {
		if (cpu->intervals[i])
			seq_printf(seq, "%llu %llu\n", i * interval_ns,
				   div64_u64(cpu->intervals[i], PS_PER_NS));
	}
	mutex_unlock(&cpu->lock);
	return 0;
}

static int __net_init lab_cpu_add_sysctls(struct net *net, struct lab_cpu *cpu)
{
	static unsigned long per_call_max_ps = PER_CALL_MAX_PS;
	static unsigned long per_byte_max_ps = PER_BYTE_MAX_PS;
	const struct ctl_table entries[] = {
		{
			.procname = "cpu_per_call_ps",
			.data = &cpu->per_call_ps,
			.maxlen = sizeof(cpu->per_call_ps),
			.mode = 0644,
			.proc_handler = proc_doulongvec_minmax,
			.extra2 = &per_call_max_ps,
		},
		{
			.procname = "cpu_per_byte_ps",
			.data = &cpu->per_byte_ps,
			.maxlen = sizeof(cpu->per_byte_ps),
			.mode = 0644,
			.proc_handler = proc_doulongvec_minmax,
			.extra2 = &per_byte_max_ps,
		},
		{
			.procname = "cpu_charge",
			.mode = 0644,
			.proc_handler = proc_charge,
		},
	};
	void *table = kmemdup(entries, sizeof(entries), GFP_KERNEL);

	if (!table)
		return -ENOMEM;
	cpu->header = register_net_sysctl_sz(net, "net/lab", table,
					     ARRAY_SIZE(entries));
	if (!cpu->header)
		kfree(table);
	return cpu->header ? 0 : -ENOMEM;
}

static void lab_cpu_remove_sysctls(struct lab_cpu *cpu)
{
	const struct ctl_table *table = cpu->header->ctl_table_arg;

	unregister_net_sysctl_table(cpu->header);
	kfree(table);
}

static int __net_init lab_cpu_init(struct net *net)
{
	struct lab_cpu *cpu = net_generic(net, lab_cpu_id);
	int err;

	mutex_init(&cpu->lock);
	cpu->interval_ps = FIRST_INTERVAL_PS;
	err = lab_cpu_add_sysctls(net, cpu);
	if (err)
		return err;
	if (!proc_create_net_single("lab_cpu", 0444, net->proc_net,
				    lab_cpu_show, NULL)) {
		lab_cpu_remove_sysctls(cpu);
		return -ENOMEM;
	}
	return 0;
}

static void __net_exit lab_cpu_exit(struct net *net)
{
	struct lab_cpu *cpu = net_generic(net, lab_cpu_id);

	remove_proc_entry("lab_cpu", net->proc_net);
	lab_cpu_remove_sysctls(cpu);
	/* This namespace has no tasks any more. */
	kvfree(cpu->intervals);
}

static struct pernet_operations lab_cpu_ops = {
	.init	= lab_cpu_init,
	.exit	= lab_cpu_exit,
	.id	= &lab_cpu_id,
	.size	= sizeof(struct lab_cpu),
};

static int __init lab_cpu_register(void)
{
	return register_pernet_subsys(&lab_cpu_ops);
}
device_initcall(lab_cpu_register);
