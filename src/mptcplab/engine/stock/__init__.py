# SPDX-License-Identifier: MIT
"""The engine ``stock``: an ordinary kernel in QEMU without KVM, whose clock counts instructions.

Modules of a kernel are loaded as a plan needs them (`modules`), everything that the guest reads is in an archive in its
memory (`root`), `start` is process 1 inside it, and `machine` is QEMU.
"""
