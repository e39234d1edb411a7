# SPDX-License-Identifier: MIT
"""What the kernel complained of: everything in its log, kept if one of its own checks has found something.

Not by the console: it shows errors only, and most checks warn.
"""

from __future__ import annotations

import os

_LOG = "/dev/kmsg"
_LONGEST_RECORD = 1 << 13
#: How a check that has found something begins its report.
_SIGNS = (
    *("WARNING:", "BUG:", "UBSAN:", "KASAN:", "ODEBUG:", "Oops:"),
    *("INFO: possible", "INFO: trying", "INFO: suspicious"),
)


def log_with_complaints() -> str:
    """The kernel's log, a line per record with seconds since boot; empty when there is no complaint in it."""
    lines = [text for record in _records() for text in _lines(record)]
    return "".join(f"{line}\n" for line in lines) if any(sign in line for line in lines for sign in _SIGNS) else ""


def _records() -> list[str]:
    try:
        log = os.open(_LOG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    records = []
    try:
        while True:
            try:
                records.append(os.read(log, _LONGEST_RECORD).decode(errors="replace"))
            except BrokenPipeError:  # older records were overwritten; the next read goes on behind them
                continue
            except BlockingIOError:
                return records
    finally:
        os.close(log)


def _lines(record: str) -> list[str]:
    """``LEVEL,NUMBER,MICROSECONDS,FLAGS;TEXT``; lines below it name the device that it is about, and are left out."""
    head, _, text = record.partition(";")
    fields = head.split(",")
    at_us = int(fields[2]) if len(fields) > 2 and fields[2].isdigit() else 0
    return [f"[{at_us / 1e6:12.6f}] {line}" for line in text.splitlines()[:1]]
