# SPDX-License-Identifier: MIT
"""Read what ``curl`` reports of its downloads: their times, and why a download failed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mptcplab.workload.outputs import quote_output

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording

#: What ``curl`` is to write of each download to its standard error.
TIMES = r'%{stderr}{"event":"curl","time_connect":%{time_connect},"time_total":%{time_total}}\n'
TIMES_AND_STATUS = TIMES.replace("}\\n", ',"exitcode":%{exitcode}}\\n')
_EVENT = '{"event":"curl"'

#: Exit statuses by which a connection broke (curl(1), EXIT CODES): a part of the file arrived, nothing was received,
#: sending failed, receiving failed.
_BROKEN = frozenset((18, 52, 55, 56))
#: And by which it could not be made: the connection failed or took too long, or the SOCKS5 proxy could not make it.
#: No name is resolved here, FTP is passive, and nothing uses TLS or HTTP/2, so 5, 6, 12, 16 and 35 are other errors.
_NOT_MADE = frozenset((7, 28, 97))

_ERROR = re.compile(r"curl: \((\d+)\) (.*)")
#: Counts of a single download in its message. The times are known anyway.
_TIME = re.compile(r" after \d+ (?:ms|milliseconds)\b")
_AMOUNT = re.compile(r"\b\d+ (?:out of \d+ )?bytes\b")


@dataclass(frozen=True)
class CurlEnd:
    """The end of one ``curl``, ``time_total`` s after its start; its handshake took ``time_connect`` s, 0 without one.

    ``status`` is its exit status, and ``message`` what it said of its error.
    """

    time_connect: float
    time_total: float
    status: int = 0
    message: str = ""

    @property
    def is_connection_failure(self) -> bool:
        """True if its connection could not be made, or broke."""
        return self.status in _BROKEN | _NOT_MADE

    @property
    def was_established(self) -> bool:
        """True if it had a connection; with FTP, one for commands."""
        return self.time_connect > 0 or self.status in _BROKEN

    @property
    def after_s(self) -> float:
        """The time from the handshake to the end, or from the first SYN if there was no handshake."""
        return self.time_total - self.time_connect

    @property
    def reason(self) -> str:
        """Its message without what differs from one download to the next, so that equal reasons are equal."""
        return quote_output(f"curl: ({self.status}) {_AMOUNT.sub('bytes', _TIME.sub('', self.message))}")


def read_curl_ends(recording: Recording, program: str) -> list[CurlEnd]:
    """Return the ends of every ``curl`` of a program, in order of time.

    A ``curl`` writes its error and then its times, in the same instant. Others write to the same file.
    """
    ends, errors = [], list[tuple[int, str]]()
    for line in recording.output(program, "err").splitlines():
        if error := _ERROR.match(line):
            errors.append((int(error[1]), error[2]))
        elif line.startswith(_EVENT):
            event = json.loads(line)
            has_failed = event.get("exitcode", 1) != 0 and bool(errors)
            status, message = errors.pop(0) if has_failed else (event.get("exitcode", 0), "")
            ends.append(CurlEnd(event["time_connect"], event["time_total"], status, message))
    return ends
