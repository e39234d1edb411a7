# SPDX-License-Identifier: MIT
"""The common part of downloads by Debian's servers and ``curl``: the file that is served, and the requests."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, model_validator

from mptcplab.errors import LabError
from mptcplab.fields import Misnomers, Protocol, Whole, conflict, value_error
from mptcplab.steps import FAILURES_END_HINT, Call, Program, shell
from mptcplab.units import Size
from mptcplab.workload import cost
from mptcplab.workload.context import FLOW, WorkloadContext, client, server, with_algorithms
from mptcplab.workload.curl import TIMES, TIMES_AND_STATUS, CurlEnd, read_curl_ends
from mptcplab.workload.failures import WorkloadWithFailures, errno_at_end
from mptcplab.workload.outputs import (
    NO_FAILURES,
    NS,
    Failure,
    Failures,
    Item,
    Items,
    Reading,
    compute_completion_metrics,
    compute_goodput,
    quote_output,
    read_checksums,
)
from mptcplab.workload.recorded import client_program, read_span_ns, read_start_ns, server_program

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording

_MAX_FILE = Size(100 * 10**9)
#: The part of a file that is pseudo-random and occupies memory; the rest is zeros, which take no space.
_RANDOM_BYTES = 128 * 2**20
NAME = "file"
#: The placeholder that ``xargs`` replaces by a number, everywhere in the command: it must be unique.
_NUMBER = "MPTCPLAB_FILE_NUMBER"
#: The time between a broken download and the next attempt.
_PAUSE_SECONDS = "0.1"


def folder(name: str) -> str:
    """Return the folder with the file of a workload's server."""
    return f"/tmp/mptcplab-{name}"


class Download(WorkloadWithFailures):
    """Downloads of a file by ``curl``, with a comparison of checksums."""

    misnomers: ClassVar[Misnomers] = {
        "files": ("count", "number", "downloads", "repeats"),
        "retries": ("retry", "tries", "attempts"),
    }

    is_bulk = True
    server_sends = True
    speaks_socks = True
    recorded_if_set = (*WorkloadWithFailures.recorded_if_set, "retries")
    packages: ClassVar[Mapping[str, str]] = {"xargs": "findutils"}
    # With several files, doctor checks `xargs`, too.
    example: ClassVar[Mapping[str, Any]] = {"size": "1 kB", "files": 2}
    scheme: ClassVar[str]

    size: Size = Field(description="size of the file", examples=["10 MB"])
    files: Whole = Field(default=1, ge=1, le=1000, description="number of downloads of the file", examples=[1])
    connections: Whole = Field(default=1, ge=1, le=20, description="simultaneous downloads", examples=[1])
    retries: Whole = Field(
        default=0,
        ge=0,
        le=1000,
        description="times that a broken download of a file begins again, 100 ms later",
        examples=[3],
    )

    @model_validator(mode="after")
    def _goal(self) -> Download:
        self._check_goal(None, self.size)
        if self.size > _MAX_FILE:
            raise value_error("is too large a file", f"use at most {_MAX_FILE}", "size")
        if self.connections > self.files:
            hint = f"set files = {self.connections} or more: each connection is one download"
            raise conflict(f"are more than the files, {self.files}", hint, "connections")
        return self

    def programs(self, name: str, context: WorkloadContext) -> Iterator[Program]:
        """Yield a server that runs until the end, and a client that ends with the last file."""
        line, serving = self._serve(name, context)
        prepare = f"{self._prepare(name, context)} && {line}"
        yield server(name, self, shell(prepare, "mkdir", FLOW, "truncate", *serving))
        yield client(name, self, self._fetch(context))

    def _serve(self, name: str, context: WorkloadContext) -> tuple[str, tuple[str | Call, ...]]:
        """Return shell commands that serve the file until the end, and the programs in them."""
        raise NotImplementedError

    def _prepare(self, name: str, context: WorkloadContext) -> str:
        """Return shell commands that create the file; its checksum goes to the server's standard error, like the
        client's."""
        place, file = folder(name), f"{folder(name)}/{NAME}"
        part = str(min(int(self.size), _RANDOM_BYTES))
        make = shlex.join((FLOW, "pattern", "--bytes", part, "--seed", str(context.seed)))
        grow = shlex.join(("truncate", "--size", str(int(self.size)), file))
        return f"mkdir -p {place} && {make} > {file} 2> /dev/null && {grow} && {FLOW} sum < {file}"

    def _with_algorithms(self, call: Call, protocol: Protocol, *, library: tuple[str, ...] | None = None) -> Call:
        return with_algorithms(call, protocol, self.congestion_control, self.scheduler, library=library)

    def _fetch(self, context: WorkloadContext) -> Call:
        """Return one ``curl`` per file, ``connections`` at a time; each reports its times and the checksum."""
        address, port = context.destination
        host = f"[{address}]" if ":" in address else address
        url = f"{self.scheme}://{host}:{port}/{NAME}"
        options: tuple[str, ...] = (
            "--silent",
            "--show-error",
            "--fail",
            "--write-out",
            TIMES_AND_STATUS if self.retries else TIMES,
        )
        options += ("--proxy", f"socks5://{context.proxy}") if context.proxy is not None else ()
        fetch = self._with_algorithms(Call(("curl", *options, url)), context.client_protocol)
        text = f"{fetch} | {FLOW} sum"
        programs: tuple[str | Call, ...] = (fetch, FLOW)
        if self.retries:
            text, programs = _repeat(str(fetch), self.retries), (*programs, "sleep")
        if self.files == 1:
            return shell(text, *programs)
        many = f"xargs -P {self.connections} -I {_NUMBER} sh -c {shlex.quote(f'{text} # {_NUMBER}')}"
        return shell(f"seq {self.files} | {many}", "seq", "xargs", *programs)

    def cpu_seconds(self, capacity_bps: float) -> float:
        """See the base class."""
        return cost.bulk_cpu_seconds(self.size, self.connections, None, capacity_bps)

    def _read_times_s(self, recording: Recording, name: str) -> list[float]:
        """Return the times of the complete downloads."""
        return [end.time_total for end in read_curl_ends(recording, client_program(name)) if not end.status]

    def failed_connections(self, recording: Recording, name: str) -> Failures:
        """See the base class. A download that is repeated is not a failure, unless its file never arrives."""
        if self.failures == "end":
            return NO_FAILURES
        program = client_program(name)
        ends = read_curl_ends(recording, program)
        final = [number for number in self._final(ends) if ends[number].is_connection_failure]
        if not final:
            return NO_FAILURES
        start_s, instants = read_start_ns(recording, program) / NS, self._ended_s(ends)
        failed = (_failure(ends[number], start_s, instants[number]) for number in final)
        return Failures(self.files, tuple(failed))

    def _final(self, ends: Sequence[CurlEnd]) -> list[int]:
        """Return the places of the downloads in ``ends`` that failed and were not repeated.

        If files that broke were fetched side by side, the last download of each is not known: then these are the last
        ones of all.
        """
        failed = [number for number, end in enumerate(ends) if end.status]
        if not self.retries:
            return failed
        if self.connections > 1:
            missing = self.files - (len(ends) - len(failed))
            return failed[-missing:] if missing > 0 else []
        final, attempts = [], 0
        for number, end in enumerate(ends):
            attempts = attempts + 1 if end.status else 0
            if attempts > self.retries:
                final.append(number)
                attempts = 0
        return final

    def _ended_s(self, ends: Sequence[CurlEnd]) -> list[float | None]:
        """Return when each of ``ends`` was, in s from the client's start; None if that is not known."""
        times = [end.time_total for end in ends]
        if self.connections == 1:
            final = set(self._final(ends))
            pauses = [bool(end.status) and number not in final for number, end in enumerate(ends)]
            waited = accumulate(pauses, initial=0)
            return [at + float(_PAUSE_SECONDS) * paused for at, paused in zip(accumulate(times), waited, strict=False)]
        if self.connections == self.files and not self.retries:
            return [*times]
        return [*times[:1], *[None] * len(times[1:])]

    def items(self, recording: Recording, name: str) -> Items:
        """See the base class; times are curl's, from its start to the last byte."""
        times = self._read_times_s(recording, name)
        return Items("objects", "completion time", "s", tuple(Item(number, time) for number, time in enumerate(times)))

    def read(self, recording: Recording, name: str) -> Reading:
        """Compare every download with the served file; the duration is the client's program's."""
        (served,) = read_checksums(recording, server_program(name))
        fetched = read_checksums(recording, client_program(name))
        broken = [checksum for checksum in fetched if checksum != served]
        whole = len(fetched) - len(broken)
        missing = self.files - whole
        if not self._is_explained(recording, name, missing, len(broken)):
            raise self._error(recording, name)
        start_ns, end_ns = read_span_ns(recording, client_program(name))
        elapsed = (end_ns - start_ns) / NS
        times = self._read_times_s(recording, name)
        metrics = compute_completion_metrics(times) if len(times) > 1 else {}
        metrics |= {"broken_downloads": float(len(broken) - missing)} if self.retries else {}
        parts = broken[len(broken) - missing :]
        received = served.bytes * whole + sum(checksum.bytes for checksum in parts)
        return Reading(compute_goodput(received, elapsed, name), elapsed, metrics)

    def _is_explained(self, recording: Recording, name: str, missing: int, broken: int) -> bool:
        """Return whether ``missing`` files did not arrive, and ``broken`` downloads broke, as connections failed."""
        if not missing:
            return bool(self.retries or not broken)
        ends = read_curl_ends(recording, client_program(name))
        failed = self.failed_connections(recording, name).failed
        if not all(ends[number].is_connection_failure for number in self._final(ends)):
            return False
        # Each download that failed has left a part of the file, which may be empty, or even all of it.
        return 0 < missing <= len(failed) and missing <= broken and (bool(self.retries) or missing == broken)

    def _error(self, recording: Recording, name: str) -> LabError:
        """Return the error of a download that is not the served file."""
        file = f"see out/{name}.client.err"
        errors = [
            line for line in recording.output(client_program(name), "err").splitlines() if line.startswith("curl:")
        ]
        hint = f"{quote_output(errors[0])} ({file})" if errors else file
        if errors and self.failures == "end":
            hint += f"; {FAILURES_END_HINT}"
        return LabError(f"{name}: a downloaded file differs from the served one", hint=hint)


def _failure(end: CurlEnd, start_s: float, after_start_s: float | None) -> Failure:
    at_s = None if after_start_s is None else start_s + after_start_s
    return Failure(end.reason, at_s, end.after_s, end.was_established, errno_at_end(end.message))


def _repeat(line: str, retries: int) -> str:
    """Return shell commands that repeat ``line``, a download, while it breaks; each attempt's checksum is written."""
    attempt = f"{{ {line}; echo $? > /tmp/mptcplab-$$; }} | {FLOW} sum; read broken < /tmp/mptcplab-$$"
    again = f'[ "$broken" != 0 ] && [ $attempts -lt {retries} ]'
    return f"attempts=0; while {attempt}; {again}; do attempts=$((attempts + 1)); sleep {_PAUSE_SECONDS}; done"
