/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU per network namespace: see arch/um/kernel/lab_cpu.c
 */

#ifndef __UM_LAB_CPU_H
#define __UM_LAB_CPU_H

#include <linux/types.h>

/*
 * Called at the end of a system call of this task. Wait until the CPU of its
 * namespace has served the call. Return false if this takes no time.
 */
bool lab_cpu_charge(int syscall, unsigned long arg2, long ret);

#endif /* __UM_LAB_CPU_H */
