# SPDX-License-Identifier: MIT
"""Commands of a plan that the guest executes itself: starting a program takes about 10 ms in the lab kernel.

It supports only the forms that plans use, with the same effect as the program. A command of another form, or one that
fails, is left to the program, which then also reports the error.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
from _socket import (
    AF_INET,
    AF_PACKET,
    SOCK_DGRAM,
    SOCK_RAW,
    socket,
)  # the module `socket` around it takes longer than its use here

#: ioctl of ethtool and its commands ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO: include/uapi/linux/{sockios,ethtool}.h.
_SIOCETHTOOL = 0x8946
_SETTERS = {"tso": 0x1F, "gso": 0x24, "gro": 0x2C}
_STATES = {"on": 1, "off": 0}


#: A frame of the experimental protocol 0x88b5 without addresses: sending it makes the interface serve waiting packets.
_FRAME = bytes(12) + b"\x88\xb5" + bytes(46)
_NUDGE = "import socket,sys;s=socket.socket(17,3);s.bind((sys.argv[1],0));s.send(bytes(12)+b'\\x88\\xb5'+bytes(46))"


def nudge(device: str) -> tuple[str, ...]:
    """Return a command that sends that frame on ``device``."""
    return ("python3", "-c", _NUDGE, device)


def carry_out(argv: list[str]) -> bool:
    """Execute ``argv`` in this namespace; return False if it must be started as a program."""
    try:
        if argv[:2] == ["ethtool", "-K"]:
            return _set_offloads(argv[2], argv[3::2], argv[4::2])
        if argv[:2] == ["sysctl", "-qw"]:
            return _set_sysctls(argv[2:])
        if argv[:3] == ["python3", "-c", _NUDGE]:
            return _send(argv[3], _FRAME)
    except OSError:
        return False
    return False


def _set_offloads(device: str, names: list[str], states: list[str]) -> bool:
    if len(names) != len(states) or not set(names) <= set(_SETTERS) or not set(states) <= set(_STATES):
        return False
    control = socket(AF_INET, SOCK_DGRAM)
    try:
        for name, state in zip(names, states, strict=True):
            value = ctypes.create_string_buffer(struct.pack("=II", _SETTERS[name], _STATES[state]), 8)
            fcntl.ioctl(
                control.fileno(), _SIOCETHTOOL, struct.pack("16sQ16x", device.encode(), ctypes.addressof(value))
            )
    finally:
        control.close()
    return True


def _send(device: str, frame: bytes) -> bool:
    sender = socket(AF_PACKET, SOCK_RAW)
    try:
        sender.bind((device, 0))
        sender.send(frame)
    finally:
        sender.close()
    return True


def _set_sysctls(settings: list[str]) -> bool:
    pairs = [setting.partition("=") for setting in settings]
    # Names with slashes, wildcards or dotted interface names follow rules that are left to sysctl(8).
    if any("/" in name or "*" in name or not equals for name, equals, _ in pairs):
        return False
    for name, _, value in pairs:
        file = os.open("/proc/sys/" + name.replace(".", "/"), os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(file, value.encode())
        finally:
            os.close(file)
    return True
