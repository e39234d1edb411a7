# SPDX-License-Identifier: MIT
"""Congestion controls and schedulers on several CPUs: the races that User-Mode Linux, with its one CPU, cannot have.

`python -m smp` builds a kernel for an x86 machine with several CPUs, preemption and lockdep or KCSAN, boots it in QEMU
without KVM, and lets random events loose on MPTCP connections there. It fails when the kernel complains.

    smp/config/       options of the kernel
        kernel.py     builds it
        machine.py    boots it, with a bound on time
        guest/        what happens inside: process 1, connections, events; standard library only
        complaints.py reads what the kernel complained of
        known.toml    races of mainline's own, which are not ours to fix, with the reason of each
"""
