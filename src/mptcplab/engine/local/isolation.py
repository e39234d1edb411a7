# SPDX-License-Identifier: MIT
"""Namespaces of this machine in which a plan can change everything, and that end with their first process.

It runs as a separate process with only the standard library. The process that is started makes the namespaces of
mounts, processes, network and IPC, and without root also of users. Its child is the first process there. Each dies with
its parent, by SIGKILL, and the kernel kills all other processes of a namespace when the first one ends. Network
namespaces, interfaces and mounts have no other holder, so that they end as well.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from mptcplab.guest import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# include/uapi/linux/sched.h, mount.h and prctl.h
_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
_CLONE_NEWPID, _CLONE_NEWNET = 0x20000000, 0x40000000
_NAMESPACES = _CLONE_NEWNS | _CLONE_NEWIPC | _CLONE_NEWPID | _CLONE_NEWNET
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
_PR_SET_PDEATHSIG = 1
_MOUNT_SETATTR = 442  # the same on every architecture
_AT_FDCWD, _AT_RECURSIVE, _MOUNT_ATTR_RDONLY = -100, 0x8000, 1
#: The prefix of a message on the console, as of the guest.
_PREFIX = "mptcplab: "
#: A write to our private /tmp or /run does not touch this machine's.
_PRIVATE = ("/tmp", "/run", "/dev/shm")

_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns"))


def run_isolated(child: Callable[[], None]) -> None:
    """Run ``child`` as the first process of new namespaces; exit as it does. Never returns."""
    parent = os.getppid()
    try:
        _unshare()
    except OSError as error:
        fail(f"this machine does not allow namespaces: {error.strerror}")
    # A change of the user namespace has cancelled the request of our launcher.
    _die_with_parent()
    if os.getppid() != parent:
        os._exit(1)
    reader, writer = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(writer)
        _die_with_parent()
        if not os.read(reader, 1):  # the parent died before the request
            os._exit(1)
        os.close(reader)
        child()
        os._exit(0)
    os.close(reader)
    os.write(writer, b"1")
    code = os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


def fail(message: str) -> None:
    """End with ``message`` on the console, where the engine finds it."""
    print(f"{_PREFIX}{message}", file=sys.stderr, flush=True)
    os._exit(1)


def _check_result(result: int, action: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{action}: {os.strerror(number)}")


def _die_with_parent() -> None:
    _check_result(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL), "prctl")


def _unshare() -> None:
    if os.geteuid() == 0 and _libc.unshare(_NAMESPACES) == 0:
        return
    user, group = os.geteuid(), os.getegid()
    _check_result(_libc.unshare(_NAMESPACES | _CLONE_NEWUSER), "user namespace")
    system.write("/proc/self/setgroups", b"deny")
    system.write("/proc/self/uid_map", f"0 {user} 1".encode())
    system.write("/proc/self/gid_map", f"0 {group} 1".encode())


def set_up_mounts(results: str, exposed: Iterable[str]) -> None:
    """Make this machine's files read-only, but for ``results``, which is also at the lab's place.

    /tmp, /run and /dev/shm are private and empty, but for ``exposed`` and ``results``.
    """
    system.mount("none", "/", "none", flags=_MS_REC | _MS_PRIVATE)
    kept = {folder: os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in exposed}
    lab = os.open(results, os.O_PATH | os.O_DIRECTORY)
    _set_attributes("/", _MountAttributes(set=_MOUNT_ATTR_RDONLY), _AT_RECURSIVE)
    system.mount("proc", "/proc", "proc")
    system.mount("sysfs", "/sys", "sysfs", flags=1)
    for folder in _PRIVATE:
        system.mount("tmpfs", folder, "tmpfs", flags=_MS_NOSUID | _MS_NODEV)
        os.chmod(folder, 0o1777 if folder != "/run" else 0o755)
    for folder, descriptor in kept.items():
        system.mount(f"/proc/self/fd/{descriptor}", folder, "none", flags=_MS_BIND)
        os.close(descriptor)
    system.mount(f"/proc/self/fd/{lab}", system.LAB, "none", flags=_MS_BIND)
    os.close(lab)
    _set_attributes(system.LAB, _MountAttributes(clear=_MOUNT_ATTR_RDONLY), 0)
    os.mkdir(system.NAMESPACES)


def _set_attributes(path: str, attributes: _MountAttributes, flags: int) -> None:
    size = ctypes.sizeof(attributes)
    arguments = (_AT_FDCWD, os.fsencode(path), flags, ctypes.byref(attributes), ctypes.c_size_t(size))
    _check_result(_libc.syscall(_MOUNT_SETATTR, *arguments), f"mount {path}")
