# SPDX-License-Identifier: MIT
"""Count the system calls of processes on this machine, and the bytes that they read and write, by a BPF program.

The same calls count as in the lab kernel, except that the bytes of sendmmsg and recvmmsg are unknown here: see
kernel/options/cpu/arch/um/kernel/lab_cpu.c. A traced process would behave differently, and /proc/PID/io leaves out
sockets. It needs root, a kernel of 4.17 or newer, and x86-64, as the lab does.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from mptcplab.errors import MissingError, reason

_libc = ctypes.CDLL(None, use_errno=True)
_SYS_BPF = 321
_MAP_CREATE, _MAP_LOOKUP, _MAP_UPDATE, _PROG_LOAD, _RAW_TRACEPOINT_OPEN = 0, 1, 2, 5, 17
_HASH, _RAW_TRACEPOINT = 1, 17
_GET_PID, _LOOKUP, _PROBE_READ_KERNEL = 14, 1, 113
_ATTRIBUTE_BYTES = 128
_VALUE = struct.Struct("<QQ")
_MAX_PROCESSES = 64
#: Offset of orig_ax in struct pt_regs: the number of the call.
_ORIG_AX = 120
#: read, pread64, readv, preadv, preadv2, recvfrom, recvmsg, write, pwrite64, writev, pwritev, pwritev2, sendto,
#: sendmsg, sendfile, splice, vmsplice, copy_file_range.
MOVING = (0, 17, 19, 295, 327, 45, 47, 1, 18, 20, 296, 328, 44, 46, 40, 275, 278, 326)


class SyscallCounter:
    """Counts the calls of the processes that it watches, with all their threads. Each call costs some 100 ns meanwhile.

    :raises OSError: if this kernel or this user cannot have it.
    """

    def __init__(self) -> None:
        self._open: list[int] = []
        try:
            self._map = self._keep(_bpf(_MAP_CREATE, struct.pack("<IIII", _HASH, 4, _VALUE.size, _MAX_PROCESSES)))
            program = self._keep(_load(_program(self._map)))
            name = ctypes.create_string_buffer(b"sys_exit")
            self._keep(_bpf(_RAW_TRACEPOINT_OPEN, struct.pack("<QI", ctypes.addressof(name), program)))
        except OSError:
            self.close()
            raise

    def _keep(self, descriptor: int) -> int:
        self._open.append(descriptor)
        return descriptor

    def watch(self, pid: int) -> None:
        """Count the calls of a process from now on."""
        self._element(_MAP_UPDATE, pid, ctypes.create_string_buffer(_VALUE.size))

    def read(self, pid: int) -> tuple[int, int]:
        """Return the calls of a watched process so far, and the bytes that they moved. It may have exited."""
        value = ctypes.create_string_buffer(_VALUE.size)
        self._element(_MAP_LOOKUP, pid, value)
        calls, moved = _VALUE.unpack(value.raw)
        return calls, moved

    def _element(self, command: int, pid: int, value: ctypes.Array[ctypes.c_char]) -> None:
        key = ctypes.create_string_buffer(struct.pack("<I", pid), 4)
        _bpf(command, struct.pack("<IIQQQ", self._map, 0, ctypes.addressof(key), ctypes.addressof(value), 0))

    def close(self) -> None:
        """Stop counting."""
        while self._open:
            os.close(self._open.pop())


@contextmanager
def count_calls() -> Iterator[SyscallCounter]:
    """Count inside. :raises MissingError: if this kernel or this user cannot."""
    try:
        counter = SyscallCounter()
    except OSError as error:
        message = f"system calls cannot be counted on this machine: {reason(error)}"
        raise MissingError(message, hint="run the command as root; the kernel needs CONFIG_BPF_SYSCALL") from error
    try:
        yield counter
    finally:
        counter.close()


def _bpf(command: int, attribute: bytes) -> int:
    buffer = ctypes.create_string_buffer(attribute, _ATTRIBUTE_BYTES)
    result: int = _libc.syscall(_SYS_BPF, command, buffer, _ATTRIBUTE_BYTES)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _load(instructions: list[bytes]) -> int:
    code, license_ = ctypes.create_string_buffer(b"".join(instructions)), ctypes.create_string_buffer(b"GPL")
    places = (ctypes.addressof(code), ctypes.addressof(license_))
    return _bpf(_PROG_LOAD, struct.pack("<IIQQ", _RAW_TRACEPOINT, len(instructions), *places))


def _instruction(code: int, to: int = 0, by: int = 0, offset: int = 0, value: int = 0) -> bytes:
    """Return one instruction of BPF: ``to`` and ``by`` are registers."""
    return struct.pack("<BBhi", code, to | by << 4, offset, value)


# The few instructions that the program needs; linux/bpf.h and linux/bpf_common.h have their codes.
_MOVE, _SET, _ADD, _SHIFT_RIGHT, _CALL, _EXIT = 0xBF, 0xB7, 0x07, 0x77, 0x85, 0x95
_STORE_32, _LOAD_64, _ADD_ATOMICALLY, _LOAD_MAP = 0x63, 0x79, 0xDB, 0x18
_JUMP, _JUMP_IF_EQUAL, _JUMP_UNLESS_POSITIVE = 0x05, 0x15, 0xD5
_MAP_DESCRIPTOR = 1
_STACK = 10


def _program(map_: int) -> list[bytes]:
    """Return the program. Register 6 is its context (registers of the process, result), 7 the process's counts, 8 the
    result."""
    begin = [
        _instruction(_MOVE, 6, 1),
        _instruction(_CALL, value=_GET_PID),
        _instruction(_SHIFT_RIGHT, 0, value=32),
        _instruction(_STORE_32, _STACK, 0, -4),
        _instruction(_LOAD_MAP, 1, _MAP_DESCRIPTOR, value=map_),
        _instruction(0),
        _instruction(_MOVE, 2, _STACK),
        _instruction(_ADD, 2, value=-4),
        _instruction(_CALL, value=_LOOKUP),
    ]
    count = [
        _instruction(_MOVE, 7, 0),
        _instruction(_SET, 1, value=1),
        _instruction(_ADD_ATOMICALLY, 7, 1, 0),
        _instruction(_LOAD_64, 8, 6, 8),
    ]
    add = [*_read_number(), *_compare(MOVING), _instruction(_ADD_ATOMICALLY, 7, 8, 8)]
    watched = [*count, _instruction(_JUMP_UNLESS_POSITIVE, 8, offset=len(add)), *add]
    end = [_instruction(_SET, 0, value=0), _instruction(_EXIT)]
    return [*begin, _instruction(_JUMP_IF_EQUAL, 0, offset=len(watched)), *watched, *end]


def _read_number() -> list[bytes]:
    """Return the instructions that leave the number of the call in register 1."""
    return [
        _instruction(_LOAD_64, 3, 6, 0),
        _instruction(_ADD, 3, value=_ORIG_AX),
        _instruction(_MOVE, 1, _STACK),
        _instruction(_ADD, 1, value=-16),
        _instruction(_SET, 2, value=8),
        _instruction(_CALL, value=_PROBE_READ_KERNEL),
        _instruction(_LOAD_64, 1, _STACK, -16),
    ]


def _compare(numbers: Iterable[int]) -> list[bytes]:
    """Return the instructions that skip the next one unless register 1 is one of ``numbers``."""
    known = list(numbers)
    jumps = [_instruction(_JUMP_IF_EQUAL, 1, offset=len(known) - at, value=count) for at, count in enumerate(known)]
    return [*jumps, _instruction(_JUMP, offset=1)]
