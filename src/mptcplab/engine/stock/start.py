# SPDX-License-Identifier: MIT
"""Process 1 of a stock machine: sets up mounts, modules and random numbers, and becomes the guest of lab kernels.

It runs inside the machine with only the standard library. The guest (:mod:`mptcplab.guest.init`) depends on its
machine in two places, which this module replaces: its mounts, because there is no file system of the host, and its end,
because the results have to leave the machine.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import struct
import sys

from mptcplab.guest import init, instants, system

#: The folder of this package in the machine, wherever it is outside: a run's times depend on the length of a path.
PACKAGE = "/usr/lib/mptcplab"
#: Modules in the order in which they are loaded, and the folder with them.
MODULES, ORDER = "/modules", "/modules/order"
#: eBPF programs of congestion controls, and a file with the path of the program that loads them.
CONTROLS, LOADER = "/controls", "/controls/loader"
#: The prefix of the user's programs there, and the result that has the loader's message about a refused program.
USER_PREFIX, REFUSED = "own-", "refused.txt"
_AVAILABLE, _ALLOWED = (f"/proc/sys/net/ipv4/tcp_{word}_congestion_control" for word in ("available", "allowed"))
#: The prefix of a message on the console by process 1, as in the lab kernel.
_PREFIX = "mptcplab: "
_FINIT_MODULE = 313  # arch/x86/entry/syscalls/syscall_64.tbl
_RNDADDENTROPY = 0x40085203  # include/uapi/linux/random.h
_READ_BYTES = 1 << 20
_SECOND = 10**9
#: Before each file of the results: lengths of its name and its content.
HEAD = struct.Struct("=HQ")
#: A byte for this port of the machine ends QEMU at once.
EXIT_PORT = 0x501
_SCRIPT_FOLDERS = ("/tmp", "/var/tmp", "/root")

_libc = ctypes.CDLL(None, use_errno=True)


def main(secret: bytes, limit_s: int) -> None:
    """Execute the plan in the folder of the lab, then power off; never returns.

    All random numbers follow from ``secret``. After ``limit_s`` seconds since boot the run is ended without results.
    """
    try:
        _set_up_mounts()
        _start_watchdog(limit_s)
        _load_modules()
        _load_congestion_controls()
        _seed_random_numbers(secret)
    except OSError as error:
        print(f"{_PREFIX}the machine cannot be set up: {error}", file=sys.stderr, flush=True)
        _exit()
        system.power_off()
    power_off = system.power_off

    def end() -> None:
        _send_results()
        _exit()
        power_off()

    system.set_up_mounts = _keep_mounts
    system.power_off = end
    init.main(system.LAB, [])


def _exit() -> None:
    """End QEMU, if the kernel lets programs use ports.

    Powering off is up to QEMU's main thread, which cannot work while the kernel waits in a loop for it: see `turns.c`.
    """
    with contextlib.suppress(OSError), open("/dev/port", "wb", buffering=0) as ports:
        ports.seek(EXIT_PORT)
        ports.write(b"\0")


def _keep_mounts(results: str, exposed: list[str]) -> None:
    """Do nothing: the archive has all files at their places."""
    del results, exposed


def _set_up_mounts() -> None:
    for kind, target in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("devpts", "/dev/pts")):
        system.mount(kind, target, kind)
    system.mount("tmpfs", "/dev/shm", "tmpfs")
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        if not os.path.islink(f"/dev/{name}"):
            os.symlink(f"/proc/self/{target}", f"/dev/{name}")
    for folder in _SCRIPT_FOLDERS:
        os.makedirs(folder, exist_ok=True)
    os.chmod("/tmp", 0o1777)
    os.makedirs(system.NAMESPACES)


def _start_watchdog(limit_s: int) -> None:
    """Start a process that ends the run at a time, however busy this one is."""
    if os.fork():
        return
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_max(os.SCHED_FIFO)))
    instants.sleep_until(limit_s * _SECOND)
    text = f"the guest was still running at {limit_s} s of virtual time, long after the plan's end"
    print(f"{_PREFIX}{text}", file=sys.stderr, flush=True)
    _exit()
    system.write("/proc/sysrq-trigger", b"b")
    os._exit(1)


def _load_modules() -> None:
    for name in system.read(ORDER).split():
        file = os.open(f"{MODULES}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        failed = _libc.syscall(_FINIT_MODULE, file, b"", 0)
        os.close(file)
        if failed:
            number = ctypes.get_errno()
            raise OSError(number, f"module {name}: {os.strerror(number)}")


def _load_congestion_controls() -> None:
    """Register the algorithms of the archive, if it has any, as `mptcplab cc load` does on a real machine."""
    if not os.path.isdir(CONTROLS):
        return
    loader = system.read(LOADER)
    names = sorted(set(os.listdir(CONTROLS)) - {os.path.basename(LOADER)})
    for name in names:
        _load_congestion_control(loader, name)
    if any(name.startswith(USER_PREFIX) for name in names):
        # The kernel lets only such congestion controls be the default of a namespace.
        system.write(_ALLOWED, system.read(_AVAILABLE).encode())


def _load_congestion_control(loader: str, name: str) -> None:
    """Register one program. If the kernel refuses it, end with the loader's output as the only result."""
    words = [loader, "struct_ops", "register", f"{CONTROLS}/{name}"]
    log = f"{system.LAB}/{REFUSED}"
    system.write(log, b"%s\n" % name.encode())
    flags = os.O_WRONLY | os.O_APPEND
    actions = [(os.POSIX_SPAWN_OPEN, 1, log, flags, 0), (os.POSIX_SPAWN_OPEN, 2, log, flags, 0)]
    child = os.posix_spawn(loader, words, os.environ, file_actions=actions)
    if os.waitpid(child, 0)[1]:
        _send_results()
        raise OSError(f"the eBPF program {name} cannot be loaded")
    os.unlink(log)


def _seed_random_numbers(secret: bytes) -> None:
    """Give the kernel all its randomness at once: the machine has no other source of it."""
    device = os.open("/dev/urandom", os.O_RDWR | os.O_CLOEXEC)
    fcntl.ioctl(device, _RNDADDENTROPY, struct.pack(f"=ii{len(secret)}s", 8 * len(secret), len(secret), secret))
    os.close(device)


def _send_results() -> None:
    """Send all files of the lab's folder through the machine's port. An error is on the console."""
    try:
        port = next(name for name in os.listdir("/dev") if name.startswith("vport"))
        out = os.open(f"/dev/{port}", os.O_WRONLY | os.O_CLOEXEC)
        for folder, _, names in sorted(os.walk(system.LAB)):
            for name in sorted(names):
                _send(out, os.path.join(folder, name))
        _write(out, HEAD.pack(0, 0))
        os.close(out)
    except (OSError, StopIteration) as error:
        print(f"{_PREFIX}the results cannot be sent: {error}", file=sys.stderr, flush=True)


def _send(out: int, file: str) -> None:
    name = os.fsencode(os.path.relpath(file, system.LAB))
    content = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    left = os.fstat(content).st_size
    _write(out, HEAD.pack(len(name), left) + name)
    while left:
        # A program that still writes may have made the file longer since.
        part = os.read(content, min(left, _READ_BYTES))
        _write(out, part)
        left -= len(part)
    os.close(content)


def _write(out: int, data: bytes) -> None:
    while data:
        data = data[os.write(out, data) :]
