# SPDX-License-Identifier: MIT
"""Any text with outputs of ``nstat``, ``ss``, ``ip``, ``sysctl`` and others: each line is recognised by its form.

A file may have one output, several, or a whole terminal session as people paste it into reports. A line
``### 12 s: COMMAND``, which our own script writes, gives the time of what follows; a prompt with a command, such as
``$ ss -Mi``, says what an output is that could be something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from mptcplab.explain.evidence import Limits, Route
from mptcplab.explain.readers import mptcp
from mptcplab.explain.readers.facts import CounterSnapshot, HostFacts, Place, SocketRow
from mptcplab.explain.readers.programs import ProgramReader

_HEADING = re.compile(r"### (?P<time>\d{1,9})(?:\.\d+)? s: (?P<command>.*)$")
_PROMPT = re.compile(r"(?:.{0,80}[#$>]\s+|\s*)(?:sudo\s+)?(?P<command>(?:ip|ss|nstat|sysctl|uname)\s.*|nstat|ss)$")
_SS = re.compile(r"\bss\s+(?P<options>-.*)?")
_COUNTER = re.compile(r"\s*(?:#\s+)?(?P<name>[A-Z][A-Za-z0-9]{2,60})\s+(?P<count>\d{1,20})\s+\d+\.\d+\s*$")
_PROC = re.compile(r"(?P<prefix>[A-Z][A-Za-z0-9]{1,20}): (?P<words>\S.*)$")
_SYSCTL = re.compile(r"\s*(?P<key>(?:net|kernel)(?:[./][\w*-]{1,80}){1,12})\s*=\s?(?P<value>.*)$")
_DEVICE = re.compile(r"(?P<index>\d{1,9}): (?P<name>[^\s:@]{1,40})(?:@\S+)?: <(?P<flags>[A-Z_,-]*)>")
_ADDRESS = re.compile(r"\s+inet6? (?P<address>[0-9a-f.:]+)(?:/\d+)?\s.*scope (?P<scope>\w+)")
_ROUTE_ASKED = re.compile(
    r"ip (?:-\d )?r(?:oute)? g(?:et)? (?P<remote>\S+) from (?P<local>\S+)(?: oif (?P<device>\S+))?\s*$"
)
_ROUTE_FOUND = re.compile(r"\S+ from \S+ .*?dev (?P<device>\S+)")
_CPU = re.compile(r"(?P<name>cpu\d{1,5}) (?P<ticks>[\d ]{7,300})$")
_QDISC = re.compile(r"qdisc (?P<kind>\S+) (?P<handle>\S+) dev (?P<device>\S+)")
_SENT = re.compile(r"\s*Sent \d+ bytes \d+ pkt \(dropped (?P<dropped>\d{1,18}),")
_UNAME = re.compile(r"Linux \S+ (?P<release>\d+\.\S+) ")
_RELEASE = re.compile(r"(?P<release>\d{1,3}\.\d{1,4}[\w.+~-]{0,60})$")
#: What sysctl says of a kernel, or of a network namespace, without MPTCP.
_NO_SETTINGS = "sysctl: cannot stat /proc/sys/net/mptcp: "
_RULE_COMMAND = re.compile(r"ip (?P<six>-6 )?ru(?:le)?\b")
_RULE = re.compile(r"\d{1,9}:\s+from (?P<source>\S{1,60})\s")
#: Counters that every kernel since 5.10 has: without ``-z``, nstat leaves them out if they are zero.
_OLD_COUNTERS = (
    "MPCapableSYNRX",
    "MPCapableSYNTX",
    "MPCapableSYNACKRX",
    "MPCapableACKRX",
    "MPCapableFallbackACK",
    "MPCapableFallbackSYNACK",
    "MPTCPRetrans",
    "MPJoinNoTokenFound",
    "MPJoinSynRx",
    "MPJoinSynAckRx",
    "MPJoinSynAckHMacFailure",
    "MPJoinAckRx",
    "MPJoinAckHMacFailure",
    "AddAddr",
    "EchoAdd",
    "RmAddr",
    "RmSubflow",
)
#: Queueing disciplines that only pass on to others, or do nothing.
_NO_DISCIPLINE = ("noqueue", "mq", "ingress", "clsact", "pfifo_fast", "fq")
_MAX_LINE = 20_000
_MAX_COUNT = 2**64


class TextReader:
    """Reads texts of one host into its facts."""

    def __init__(self, facts: HostFacts) -> None:
        self._facts = facts
        self._readers: tuple[Callable[[str, Place], bool], ...] = (
            self._take_counter,
            self._take_socket,
            self._take_refusal,
            self._take_proc,
            self._take_event,
            self._take_path_manager,
            self._take_address,
            self._take_route,
            self._take_machine,
            self._take_sysctl,
            self._take_rule,
        )
        self._programs = ProgramReader(facts)
        self._begin(None)

    def read(self, name: str, text: str) -> int:
        """Read one file; return the number of lines that were recognised."""
        before = self._facts.recognised_lines
        self._begin(None)
        if text.lstrip()[:1] in ("{", "[") and self._take_document(name, text):
            return self._facts.recognised_lines - before
        for number, line in enumerate(text.splitlines(), start=1):
            self._take(line[:_MAX_LINE].rstrip(), Place(name, number))
        self._end_block()
        return self._facts.recognised_lines - before

    def _begin(self, time_s: float | None, command: str = "") -> None:
        """Forget what the lines before said about the next ones."""
        self._time_s, self._command = time_s, command
        self._counts: dict[str, int] = {}
        self._row: SocketRow | None = None
        self._row_place: Place | None = None
        self._protocol: str | None = None
        self._proc: tuple[str, list[str]] | None = None
        self._device: str | None = None
        self._qdisc: str | None = None
        self._asked: re.Match[str] | None = None
        self._ticks: dict[str, tuple[int, int]] = {}
        self._is_new_endpoint = False
        self._limits_before: tuple[Limits | None] | None = None

    def _end_block(self) -> None:
        self._end_row()
        self._programs.end()
        if self._counts:
            has_zeros = 0 in self._counts.values()
            self._facts.counters.append(CounterSnapshot(time_s=self._time_s, counts=self._counts, has_zeros=has_zeros))
        if self._ticks:
            self._facts.cpu_ticks.append(self._ticks)

    def _take(self, line: str, place: Place) -> None:
        heading = _HEADING.match(line)
        prompt = None if heading else _PROMPT.match(line)
        if heading or prompt:
            match = heading or prompt
            assert match is not None
            time_s = float(heading["time"]) if heading else self._time_s
            self._end_block()
            self._begin(time_s, match["command"])
            self._take_command(match["command"], place, has_run=heading is not None)
            return
        if line.startswith("#kernel"):
            self._end_block()
            self._begin(self._time_s, self._command)
            self._facts.recognise("nstat")
            return
        if not any(reader(line, place) for reader in self._readers):
            self._programs.take(line, place)

    # -- commands

    def _take_command(self, command: str, place: Place, *, has_run: bool) -> None:
        """Take what a command itself says: which table follows, or what it configures."""
        if (options := _SS.match(command)) is not None:
            words = options["options"] or ""
            is_mptcp = re.search(r"-\w*M|--mptcp", words) is not None
            is_tcp = re.search(r"-\w*t|--tcp", words) is not None
            if is_mptcp:
                self._facts.kinds.add("ss -M")
            self._protocol = None if is_mptcp == is_tcp else "mptcp" if is_mptcp else "tcp"
        self._asked = _ROUTE_ASKED.match(command)
        known = mptcp.command_of(command)
        if known is None:
            return
        what, rest = known
        if what == "endpoint" and rest.startswith("add "):
            endpoint = mptcp.read_endpoint(rest.removeprefix("add "), is_command=True)
            if endpoint is not None:
                self._is_new_endpoint = self._facts.add_endpoint(endpoint)
                self._facts.note(f"endpoint {endpoint.address}", place)
                self._facts.recognise("ip mptcp")
        elif what == "limits" and rest.startswith("set "):
            self._take_limits(rest, place)
        elif what == "endpoint" and not has_run:
            # A listing without a line: there are none. After a heading, it may have failed.
            self._facts.endpoints = self._facts.endpoints or []

    def _take_limits(self, text: str, place: Place) -> None:
        limits = mptcp.change_limits(text, self._facts.limits)
        if limits is not None:
            self._limits_before = (self._facts.limits,)
            self._facts.limits = limits
            self._facts.note("limits", place)
            self._facts.recognise("ip mptcp")

    # -- lines

    def _take_counter(self, line: str, place: Place) -> bool:
        match = _COUNTER.match(line)
        if match is None or int(match["count"]) >= _MAX_COUNT:
            return False
        if match["name"] in self._counts:
            self._end_block()
            self._begin(self._time_s, self._command)
        self._count(match["name"], int(match["count"]), place)
        return True

    def _count(self, name: str, count: int, place: Place) -> None:
        self._counts[name] = count
        self._facts.note(name, place)
        self._facts.recognise("nstat")

    def _take_proc(self, line: str, place: Place) -> bool:
        """Take a line of ``/proc/net/netstat``: names, and below them numbers."""
        match = _PROC.match(line)
        if match is None:
            return False
        prefix, words = match["prefix"], match["words"].split()
        if self._proc is not None and self._proc[0] == prefix and len(self._proc[1]) == len(words):
            names, self._proc = self._proc[1], None
            if f"{prefix}{names[0]}" in self._counts:
                self._end_block()
                self._begin(self._time_s, self._command)
            for name, word in zip(names, words, strict=True):
                if word.isascii() and word.isdigit() and len(word) <= 20:
                    self._count(f"{prefix}{name}", int(word), place)
            return True
        if all(word[0].isalpha() for word in words):
            self._proc = (prefix, words)
            return True
        return False

    def _take_socket(self, line: str, place: Place) -> bool:
        if mptcp.is_header(line):
            self._end_row()
            self._facts.recognise("ss")
            return True
        row = mptcp.read_row(line, self._time_s, self._protocol)
        if row is not None:
            self._end_row()
            self._row, self._row_place = row, place
            self._facts.recognise("ss")
            return True
        if self._row is not None and line[:1].isspace() and line.strip():
            self._row = mptcp.with_details(self._row, line)
            self._facts.recognise("ss")
            return True
        self._end_row()
        return False

    def _end_row(self) -> None:
        if self._row is not None and self._row_place is not None:
            self._facts.sockets.append(self._row)
            for word in (self._row.local, self._row.remote, *filter(None, mptcp.tokens(self._row))):
                self._facts.note(word, self._row_place)
        self._row = self._row_place = None

    def _take_event(self, line: str, place: Place) -> bool:
        event = mptcp.read_event(line)
        if event is None:
            return False
        if self._facts.events is None:
            self._facts.events = []
        self._facts.events.append(event)
        for word in (event.kind, event.local, event.remote):
            if word is not None:
                self._facts.note(word, place)
        self._facts.recognise("ip mptcp monitor")
        return True

    def _take_path_manager(self, line: str, place: Place) -> bool:
        endpoint = mptcp.read_endpoint(line)
        if endpoint is not None:
            self._facts.add_endpoint(endpoint)
            self._facts.note(f"endpoint {endpoint.address}", place)
            self._facts.recognise("ip mptcp")
            return True
        limits = mptcp.read_limits(line)
        if limits is None:
            return False
        self._facts.limits = limits
        self._facts.note("limits", place)
        self._facts.recognise("ip mptcp")
        return True

    def _take_address(self, line: str, place: Place) -> bool:
        if (device := _DEVICE.match(line)) is not None:
            self._device = device["name"]
            flags = device["flags"].split(",")
            is_up = "UP" in flags and "NO-CARRIER" not in flags
            (self._facts.up if is_up else self._facts.down).add(self._device)
            self._facts.note(self._device, place)
            self._facts.recognise("ip addr")
            return True
        address = _ADDRESS.match(line)
        if address is None or not mptcp.is_address(address["address"]):
            return False
        if address["scope"] not in ("host", "link"):
            self._facts.addresses[address["address"]] = self._device or ""
            devices = self._facts.devices.setdefault(address["address"], [])
            if self._device is not None and self._device not in devices:
                devices.append(self._device)
            self._facts.note(address["address"], place)
        self._facts.recognise("ip addr")
        return True

    def _take_route(self, line: str, place: Place) -> bool:
        asked = self._asked
        if asked is None or not line.strip():
            return False
        match = _ROUTE_FOUND.match(line)
        error = line.strip() if "unreachable" in line or line.startswith("RTNETLINK answers") else None
        if match is None and error is None:
            return False
        self._asked = None
        device = match["device"] if match else None
        self._facts.routes.append(Route(local=asked["local"], remote=asked["remote"], device=device, error=error))
        self._facts.note(f"route {asked['local']}", place)
        self._facts.recognise("ip route")
        return True

    def _take_machine(self, line: str, place: Place) -> bool:
        """Take lines of ``/proc/stat``, ``tc -s qdisc`` and ``uname -a``."""
        if (cpu := _CPU.match(line)) is not None:
            ticks = [int(word) for word in cpu["ticks"].split() if len(word) <= 18]
            if len(ticks) < 5:
                return False
            if cpu["name"] in self._ticks:  # the next look
                self._end_block()
                self._begin(self._time_s, self._command)
            # Time as a guest is in the user's time, too.
            self._ticks[cpu["name"]] = (sum(ticks[:8]) - ticks[3] - ticks[4], sum(ticks[:8]))
            self._facts.note(cpu["name"], place)
            self._facts.recognise("/proc/stat")
            return True
        if (qdisc := _QDISC.match(line)) is not None:
            self._qdisc = qdisc["device"]
            if qdisc["kind"] not in _NO_DISCIPLINE:
                self._facts.disciplines.setdefault(self._qdisc, qdisc["kind"])
            self._facts.recognise("tc")
            return True
        if self._qdisc is not None and (sent := _SENT.match(line)) is not None:
            dropped = self._facts.dropped
            dropped[self._qdisc] = max(dropped.get(self._qdisc, 0), int(sent["dropped"]))
            self._facts.note(f"qdisc {self._qdisc}", place)
            return True
        uname = (_RELEASE if self._command.startswith("uname") else _UNAME).match(line) or _UNAME.match(line)
        if uname is not None:
            self._facts.kernel = uname["release"]
            self._facts.note(self._facts.kernel, place)
            self._facts.recognise("uname")
            return True
        return False

    def _take_sysctl(self, line: str, place: Place) -> bool:
        if line.startswith(_NO_SETTINGS):
            self._facts.without_settings = True
            self._facts.note("net.mptcp", place)
            self._facts.recognise("sysctl")
            return True
        match = _SYSCTL.match(line)
        if match is None:
            return False
        key = match["key"].replace("/", ".")
        self._facts.sysctls[key] = match["value"].strip()
        self._facts.note(key, place)
        self._facts.recognise("sysctl")
        return True

    def _take_refusal(self, line: str, place: Place) -> bool:
        """Take an error of ``ip mptcp``: what its command asked for is not the configuration."""
        refusal = mptcp.read_refusal(line)
        if refusal is None:
            return False
        self._facts.refusals.append(refusal)
        if refusal.what == "limits" and self._limits_before is not None:
            (self._facts.limits,) = self._limits_before
        elif self._is_new_endpoint and self._facts.endpoints:
            self._facts.endpoints.pop()
        self._is_new_endpoint, self._limits_before = False, None
        self._facts.note(f"{refusal.what} refused", place)
        self._facts.recognise("ip mptcp")
        return True

    def _take_rule(self, line: str, place: Place) -> bool:
        """Take a line of ``ip rule`` or ``ip -6 rule``; the command says the IP version."""
        command = _RULE_COMMAND.match(self._command)
        rule = _RULE.match(line) if command is not None else None
        if command is None or rule is None:
            return False
        version = "IPv6" if command["six"] else "IPv4"
        sources = self._facts.rule_sources.setdefault(version, set())
        if rule["source"] != "all":
            sources.add(rule["source"])
        for word in ("rules", version):
            self._facts.note(word, place)
        self._facts.recognise("ip rule")
        return True

    # -- documents

    def _take_document(self, name: str, text: str) -> bool:
        """Take the JSON of ``nstat -j`` or ``ip -j mptcp``. False if it is something else."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            return False
        place, before = Place(name, 1), self._facts.recognised_lines
        kernel = document.get("kernel") if isinstance(document, dict) else None
        if isinstance(kernel, dict):
            for key, value in kernel.items():
                if isinstance(value, int) and 0 <= value < _MAX_COUNT:
                    self._count(key, value, place)
            self._end_block()
        if document == [] and "endpoint" in name:
            self._facts.endpoints = self._facts.endpoints or []
            self._facts.recognise("ip mptcp")
        endpoints, limits = mptcp.read_documents(document)
        for endpoint in endpoints:
            self._facts.add_endpoint(endpoint)
            self._facts.note(f"endpoint {endpoint.address}", place)
            self._facts.recognise("ip mptcp")
        if limits is not None:
            self._facts.limits = limits
            self._facts.note("limits", place)
            self._facts.recognise("ip mptcp")
        return self._facts.recognised_lines > before


def complete_counters(snapshot: CounterSnapshot) -> dict[str, int]:
    """Return counters with the zeros that ``nstat`` left out, of counters that every kernel with MPTCP has."""
    counts = dict(snapshot.counts)
    if not snapshot.has_zeros and any(name.startswith("MPTcpExt") for name in counts):
        for name in _OLD_COUNTERS:
            counts.setdefault(f"MPTcpExt{name}", 0)
    return counts


def merge_counters(first: CounterSnapshot, last: CounterSnapshot) -> dict[str, int]:
    """Return the differences between two snapshots, without counters that fell: the machine was booted anew."""
    before, after = complete_counters(first), complete_counters(last)
    return {name: count - before.get(name, 0) for name, count in after.items() if count >= before.get(name, 0)}
