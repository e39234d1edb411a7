# SPDX-License-Identifier: MIT
"""Addresses of a starting lab kernel: fixed ones, and a heap where it would be without address randomisation."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Puts the heap of a starting lab kernel where it would be without address randomisation.
#
# Container engines refuse the system call that disables randomisation: the default seccomp profiles of Docker, podman
# and buildah allow personality() with few values only. Linux then starts the heap up to 1 GiB after the program
# (arch_randomize_brk() of x86). User-Mode Linux adds this gap to its memory, and Linux derives the largest receive
# buffer from the size of memory. So `net.ipv4.tcp_rmem` would differ from boot to boot by some thousandths, and with
# it the bytes of a recording.
#
# What is allowed is to trace a process of one's own. While the kernel's first instruction waits, it is made to call
# prctl(PR_SET_MM, PR_SET_MM_MAP), which moves its heap.

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)

# include/uapi/linux/ptrace.h
_TRACEME, _PEEK, _POKE, _CONT, _SINGLESTEP, _GETREGS, _SETREGS, _DETACH = 0, 1, 4, 7, 9, 12, 13, 17
_SIGTRAP = 5
# include/uapi/linux/prctl.h
_PR_SET_MM, _PR_SET_MM_MAP = 35, 14
_PRCTL = 157
_SYSCALL = 0x050F
_NONE_U32, _NONE_U64 = (1 << 32) - 1, (1 << 64) - 1
_WORD = 8
#: Below the stack pointer there may be data of the ABI's red zone.
_BELOW_STACK = 1024
_PAGE = 4096
_PT_LOAD = 1
#: Fields of /proc/PID/stat that struct prctl_mm_map has, by their numbers in proc(5), in the order of the struct; the
#: start and the end of the heap are in between.
_CODE_AND_DATA, _STACK_AND_WORDS = (26, 27, 45, 46), (28, 48, 49, 50, 51)


class _Registers(ctypes.Structure):
    """struct user_regs_struct of x86-64."""

    _fields_ = tuple(
        (name, ctypes.c_uint64)
        for name in (
            *("r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi", "rdi"),
            *("orig_rax", "rip", "cs", "eflags", "rsp", "ss", "fs_base", "gs_base", "ds", "es", "fs", "gs"),
        )
    )


class _Map(ctypes.Structure):
    """struct prctl_mm_map."""

    _fields_ = (
        ("addresses", ctypes.c_uint64 * 11),
        ("auxv", ctypes.c_uint64),
        ("auxv_size", ctypes.c_uint32),
        ("exe_fd", ctypes.c_uint32),
    )


@dataclass
class HeapMover:
    """Follows a process from its start until it executes ``executable``, and then moves its heap.

    Both methods belong to the start of one process: :meth:`prepare` runs in the child, and :meth:`follow` afterwards in
    the thread that started it. ``has_moved`` is then known.
    """

    executable: Path
    has_moved: bool = False

    def prepare(self) -> None:
        """Let the parent trace this process."""
        _libc.ptrace(_TRACEME, 0, None, None)

    def follow(self, pid: int) -> None:
        """Let the child go on through all programs that start the executable, and move the executable's heap."""
        for signal in _stops(pid):
            if signal != _SIGTRAP:
                _libc.ptrace(_CONT, pid, None, signal)
            elif not self._is_executed_by(pid):
                _libc.ptrace(_CONT, pid, None, None)
            else:
                with suppress(OSError):
                    _move_heap(pid, _end_of_program(self.executable))
                    self.has_moved = True
                _libc.ptrace(_DETACH, pid, None, None)
                return

    def _is_executed_by(self, pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/exe").samefile(self.executable)
        except OSError:
            return False


def _stops(pid: int) -> Iterator[int]:
    """Yield the signal of each stop of a traced child until it ends. Its exit status is left to others."""
    while True:
        state = os.waitid(os.P_PID, pid, os.WEXITED | os.WSTOPPED | os.WNOWAIT)
        if state is None or state.si_code in (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED):
            return
        os.waitid(os.P_PID, pid, os.WSTOPPED)
        yield state.si_status


def _end_of_program(executable: Path) -> int:
    """Return the first page after a program that is linked to fixed addresses: its heap without randomisation."""
    with executable.open("rb") as file:
        header = file.read(64)
        offset, size, count = (int.from_bytes(header[at : at + n], "little") for at, n in ((32, 8), (54, 2), (56, 2)))
        file.seek(offset)
        entries = [file.read(size) for _ in range(count)]
    ends = [
        int.from_bytes(entry[16:24], "little") + int.from_bytes(entry[40:48], "little")
        for entry in entries
        if int.from_bytes(entry[:4], "little") == _PT_LOAD
    ]
    return -(-max(ends) // _PAGE) * _PAGE


def _move_heap(pid: int, start: int) -> None:
    """Make a stopped child call prctl(), and put everything else back. :raises OSError: if it cannot."""
    before = _registers(pid)
    instruction = _peek(pid, before.rip)
    mapping = _mapping_with_heap(pid, start)
    place = (before.rsp - _BELOW_STACK - ctypes.sizeof(mapping)) & ~(_WORD - 1)
    words = [int.from_bytes(bytes(mapping)[at : at + _WORD], "little") for at in range(0, len(bytes(mapping)), _WORD)]
    saved = [_peek(pid, place + _WORD * at) for at in range(len(words))]
    call = _Registers.from_buffer_copy(before)
    call.rax, call.rdi, call.rsi, call.rdx = _PRCTL, _PR_SET_MM, _PR_SET_MM_MAP, place
    call.r10, call.r8, call.orig_rax = ctypes.sizeof(mapping), 0, _NONE_U64
    try:
        _poke(pid, place, words)
        _poke(pid, before.rip, [instruction & ~0xFFFF | _SYSCALL])
        _call(_SETREGS, pid, None, ctypes.byref(call))
        _call(_SINGLESTEP, pid, None, None)
        os.waitid(os.P_PID, pid, os.WSTOPPED)
        result = ctypes.c_int64(_registers(pid).rax).value
    finally:
        _poke(pid, before.rip, [instruction])
        _poke(pid, place, saved)
        _call(_SETREGS, pid, None, ctypes.byref(before))
    if result < 0:
        raise OSError(-result, os.strerror(-result))


def _mapping_with_heap(pid: int, start: int) -> _Map:
    """Return the child's present places, with an empty heap at ``start``."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    # The list begins with field 3.
    code, others = ([int(fields[number - 3]) for number in numbers] for numbers in (_CODE_AND_DATA, _STACK_AND_WORDS))
    return _Map((ctypes.c_uint64 * 11)(*code, start, start, *others), 0, 0, _NONE_U32)


def _registers(pid: int) -> _Registers:
    registers = _Registers()
    _call(_GETREGS, pid, None, ctypes.byref(registers))
    return registers


def _peek(pid: int, address: int) -> int:
    ctypes.set_errno(0)
    word = _libc.ptrace(_PEEK, pid, address, None)
    if ctypes.get_errno():
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(word) & _NONE_U64


def _poke(pid: int, address: int, words: list[int]) -> None:
    for at, word in enumerate(words):
        _call(_POKE, pid, address + _WORD * at, word)


def _call(request: int, pid: int, address: int | None, data: object) -> None:
    """Call ptrace(2). :raises OSError: if it fails."""
    if _libc.ptrace(request, pid, address, data) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


# Starts programs at fixed addresses: the memory of User-Mode Linux includes a gap that would otherwise be random.

# A seccomp filter compares all 64 bits with 0xffffffff.
_libc.personality.argtypes = (ctypes.c_ulong,)
_NOT_RANDOM = 0x0040000  # ADDR_NO_RANDOMIZE, include/uapi/linux/personality.h
_QUERY = 0xFFFFFFFF


@contextlib.contextmanager
def fixed_addresses() -> Iterator[bool]:
    """Disable address randomisation in programs that this thread starts while inside; give whether that is allowed.

    linux_main() of arch/um adds the gap before the heap to the lab's memory. Limits that depend on memory, such as
    tcp_rmem, then differ from boot to boot. Linux 6.16 and later disable randomisation themselves, if that is allowed.
    Containers usually forbid it.
    """
    before = _libc.personality(_QUERY)
    is_fixed = before >= 0 and _libc.personality(before | _NOT_RANDOM) >= 0
    try:
        yield is_fixed
    finally:
        if is_fixed:
            _libc.personality(before)
