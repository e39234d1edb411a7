# SPDX-License-Identifier: MIT
"""Tests congestion controls and schedulers on several CPUs, for races that User-Mode Linux with one CPU cannot have.

`python -m tests.smp` builds a kernel for an x86 machine with several CPUs, preemption and lockdep or KCSAN, boots it in
QEMU without KVM, and applies random events to MPTCP connections there. It fails if the kernel complains.

    tests/smp/config/       options of the kernel
        kernel.py     builds it
        machine.py    boots it, with a time limit
        guest/        the programs inside: process 1, connections, events; standard library only
        complaints.py parses the kernel's complaints
        known.toml    races of mainline's own, which are not ours to fix, with the reason for each
"""
