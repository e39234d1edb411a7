# SPDX-License-Identifier: MIT
"""The guest's machine: mounts, namespaces, power. It uses system calls, since starting a command each takes longer."""

from __future__ import annotations

import os

from mptcplab.guest.libc import check, function

LAB = "/run/lab"
NAMESPACES = "/run/netns"
_READ_BYTES = 1 << 14

_mount, _unshare, _setns, _reboot = (function(name) for name in ("mount", "unshare", "setns", "reboot"))

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT, _MS_NOATIME, _MS_BIND = 1, 2, 4, 32, 1024, 4096
_CLONE_NEWNET = 0x40000000
_LINUX_REBOOT_CMD_POWER_OFF = 0x4321FEDC
_SETTINGS = "/proc/sys/net/ipv4"
#: Buckets of a namespace's own table of connections (Linux 6.1 and later).
_TABLE, _BUCKETS = "tcp_child_ehash_entries", b"256"
#: The limits that the kernel derives from the size of this table.
_DERIVED = ("tcp_max_tw_buckets", "tcp_max_syn_backlog")


def read(file: str) -> str:
    """Return the text of ``file``."""
    return read_bytes(file).decode()


def read_bytes(file: str) -> bytes:
    """Return the content of ``file``."""
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(descriptor, _READ_BYTES):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def write(file: str, content: bytes) -> None:
    """Create or replace ``file``."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(descriptor, left) :]
    finally:
        os.close(descriptor)


def mount(source: str, target: str, kind: str, *, flags: int = 0, data: str = "") -> None:
    """Call mount(2). :raises OSError: naming the target."""
    if not os.path.isdir(target):
        os.makedirs(target)
    arguments = (source.encode(), os.fsencode(target), kind.encode(), flags, data.encode())
    check(_mount(*arguments), f"mount {target}")


def set_up_mounts(results: str, exposed: list[str]) -> None:
    """Mount private /tmp and /run, ``results`` writable at /run/lab, and the ``exposed`` folders at their paths.

    The root is the host's file system, read-only. The private /tmp and /run would hide the host's folders below them.
    Reading a file must not read the clock, which advances time: hence the mounts keep no access times.
    """
    mount("none", "/", "none", flags=_MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOATIME)
    mount("proc", "/proc", "proc")
    mount("sysfs", "/sys", "sysfs")
    mount("devpts", "/dev/pts", "devpts", data="ptmxmode=0666")
    mount("tmpfs", "/dev/shm", "tmpfs", flags=_MS_NOSUID | _MS_NODEV)
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        if not os.path.islink(f"/dev/{name}"):
            os.symlink(f"/proc/self/{target}", f"/dev/{name}")
    for folder in ("/tmp", "/run"):
        mount("tmpfs", folder, "tmpfs", flags=_MS_NOSUID | _MS_NODEV | _MS_NOATIME)
    os.chmod("/tmp", 0o1777)
    for folder in exposed:
        mount("none", folder, "hostfs", flags=_MS_RDONLY | _MS_NOATIME, data=folder)
    mount("none", LAB, "hostfs", flags=_MS_NOATIME, data=results)
    os.mkdir(NAMESPACES)


def add_namespace(name: str) -> None:
    """Create a network namespace as ``ip netns add`` does, and enter it.

    It has a table of connections of its own, as machines have, and the same limits as the present one. A program
    that lists its sockets walks through this table. A shared table has 8192 buckets in a lab kernel.
    """
    limits = {limit: read(f"{_SETTINGS}/{limit}") for limit in _DERIVED}
    if os.path.exists(f"{_SETTINGS}/{_TABLE}"):
        write(f"{_SETTINGS}/{_TABLE}", _BUCKETS)
    check(_unshare(_CLONE_NEWNET), f"network namespace {name}")
    for limit, value in limits.items():
        write(f"{_SETTINGS}/{limit}", value.encode())
    file = f"{NAMESPACES}/{name}"
    write(file, b"")
    arguments = (b"/proc/self/ns/net", os.fsencode(file), b"none", _MS_BIND, None)
    check(_mount(*arguments), f"network namespace {name}")


def open_namespace(name: str | None) -> int:
    """Return a descriptor of a node's namespace, or of the present one if ``name`` is None."""
    return os.open(f"{NAMESPACES}/{name}" if name else "/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def enter_namespace(descriptor: int) -> None:
    """Call setns(2): sockets and programs of this thread then belong to that namespace."""
    check(_setns(descriptor, _CLONE_NEWNET), "setns")


def power_off() -> None:
    """Power the guest off at once."""
    os.sync()
    _reboot(_LINUX_REBOOT_CMD_POWER_OFF)
