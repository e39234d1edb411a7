# SPDX-License-Identifier: MIT
"""The kernel's log, which the recording keeps if one of the kernel's own checks reports a problem.

The console does not suffice: it shows only errors, and most checks print warnings.
"""

from __future__ import annotations

import os

from mptcplab.guest.libc import function, make_buffer

_LOG = "/dev/kmsg"
_MAX_RECORD_BYTES = 1 << 13
#: Actions of syslog(2): SYSLOG_ACTION_READ_ALL, SYSLOG_ACTION_SIZE_BUFFER.
_READ_ALL, _SIZE = 3, 10
#: More than twice the log of a lab without problems.
_USUAL_BYTES = 1 << 15
#: The beginnings of reports by the kernel's checks.
_SIGNS = (
    *("WARNING:", "BUG:", "UBSAN:", "KASAN:", "ODEBUG:", "Oops:"),
    *("INFO: possible", "INFO: trying", "INFO: suspicious"),
)


_klogctl = function("klogctl")


def read_log_of_problems() -> str:
    """Return the kernel's log, a line per record with seconds since boot; empty if it reports no problem."""
    text = _whole_text()
    if text and not any(sign.encode() in text for sign in _SIGNS):
        return ""
    lines = [text for record in _records() for text in _lines(record)]
    return "".join(f"{line}\n" for line in lines) if any(sign in line for line in lines for sign in _SIGNS) else ""


def _whole_text() -> bytes:
    """Return the log as text, by one system call instead of one per record; empty if this process may not read it."""
    text = _read_text(_USUAL_BYTES)
    # The call returns the last records that fit. The kernel's buffer stores their times in another form.
    return text if len(text) < _USUAL_BYTES // 2 else _read_text(2 * _klogctl(_SIZE, None, 0))


def _read_text(size: int) -> bytes:
    buffer = make_buffer(size)
    return memoryview(buffer)[: max(_klogctl(_READ_ALL, buffer, size), 0)].tobytes()


def _records() -> list[str]:
    try:
        log = os.open(_LOG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    records = []
    try:
        while True:
            try:
                records.append(os.read(log, _MAX_RECORD_BYTES).decode(errors="replace"))
            except BrokenPipeError:  # older records were overwritten; the next read continues after them
                continue
            except BlockingIOError:
                return records
    finally:
        os.close(log)


def _lines(record: str) -> list[str]:
    """Parse ``LEVEL,NUMBER,MICROSECONDS,FLAGS;TEXT``. The lines below it, which name a device, are left out."""
    head, _, text = record.partition(";")
    fields = head.split(",")
    at_us = int(fields[2]) if len(fields) > 2 and fields[2].isdigit() else 0
    return [f"[{at_us / 1e6:12.6f}] {line}" for line in text.splitlines()[:1]]
