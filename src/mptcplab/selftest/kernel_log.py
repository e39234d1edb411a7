# SPDX-License-Identifier: MIT
"""The kernel's log after a selftest, which is kept if one of the kernel's own checks complained."""

from __future__ import annotations

from mptcplab.metrics.complaints import complaints_in
from mptcplab.selftest.tap import Result

_MARK = "# The kernel complained. Its log:"
#: A pattern for grep that matches every complaint, and perhaps more. Parsing the log decides which are complaints.
_SIGNS = "WARNING:|BUG:|UBSAN:|KASAN:|ODEBUG:|Oops|INFO: (possible|trying|suspicious)"


def watch_log(command: str) -> str:
    """Return a shell command that runs ``command`` and prints the kernel's log if it has complaints.

    Its exit status is ``command``'s.
    """
    return f"{command}; status=$?; dmesg | grep -qE '{_SIGNS}' && {{ echo; echo '{_MARK}'; dmesg; }}; exit $status"


def kernel_result(printed: str) -> Result | None:
    """Return a failed test if the kernel complained; None otherwise."""
    _, _, log = printed.partition(f"\n{_MARK}\n")
    complaints = complaints_in(log)
    more = f" (and others, {len(complaints)} in total)" if len(complaints) > 1 else ""
    return Result("the kernel's own checks", "not ok", f"{complaints[0]}{more}") if complaints else None
