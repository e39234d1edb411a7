/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU per network namespace: see arch/um/kernel/lab_cpu.c
 */

#ifndef __UM_LAB_CPU_H
#define __UM_LAB_CPU_H

#include <linux/types.h>

/*
 * A system call of this task is over. Waits until the CPU of its namespace has
 * served it; returns false if that takes no time at all.
 */
bool lab_cpu_charge(int syscall, unsigned long arg2, long ret);

#endif /* __UM_LAB_CPU_H */
