# SPDX-License-Identifier: MIT
"""The kernel's log after a selftest: part of what is kept when one of the kernel's own checks complained."""

from __future__ import annotations

from mptcplab.metrics.complaints import complaints_in
from mptcplab.selftest.tap import Result

_MARK = "# The kernel complained. Its log:"
#: For grep: any sign of a complaint, and perhaps more. What is one is decided when the log is read.
_SIGNS = "WARNING:|BUG:|UBSAN:|KASAN:|ODEBUG:|Oops|INFO: (possible|trying|suspicious)"


def watched(command: str) -> str:
    """``command``, for a shell; the kernel's log is printed after it if there are complaints. Its status is kept."""
    return f"{command}; status=$?; dmesg | grep -qE '{_SIGNS}' && {{ echo; echo '{_MARK}'; dmesg; }}; exit $status"


def kernel_result(printed: str) -> Result | None:
    """A test that failed, if the kernel complained; None otherwise."""
    _, _, log = printed.partition(f"\n{_MARK}\n")
    found = complaints_in(log)
    more = f" (and others: {len(found)} in all)" if len(found) > 1 else ""
    return Result("the kernel's own checks", "not ok", f"{found[0]}{more}") if found else None
