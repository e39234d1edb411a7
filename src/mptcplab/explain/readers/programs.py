# SPDX-License-Identifier: MIT
"""What people paste beside the outputs of MPTCP: kernel logs, ``strace``, ``mptcpize``, tracebox, ``tcpdump``.

Each is recognised by the form of its lines. What a traced program or a path does becomes facts; nothing else is kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mptcplab.explain.evidence import JoinError, OptionTrace, SocketCall
from mptcplab.explain.readers.facts import HostFacts, Place

_PROMPT = r"(?:.{0,80}[#$>]\s+|\s*)(?:sudo\s+)?"
# The kernel outside of mainline logs the steps of a join that failed (net/mptcp/mptcp_ipv4.c and mptcp_ipv6.c there).
_JOIN = re.compile(r"mptcp_init(?P<version>[46])_subsockets:? (?P<rest>.{0,300})")
_ADD = re.compile(r"mptcp_add_sock failed ret: -?(?P<error>\d{1,4})\b")
_BIND = re.compile(r".{0,80}?\bbind\(\) to (?P<address>\S{1,60}) index \d{1,9} failed, error -(?P<error>\d{1,4})\b")
_CONNECT = re.compile(r".{0,80}?\bconnect\(\) failed, error -(?P<error>\d{1,4})\b")

_CALL = re.compile(
    r"(?:\[pid +\d{1,9}\] +|\d{1,9} +)?(?:[\d:.]{1,20} +)?(?P<name>socket|setsockopt)\((?P<arguments>[^()]{3,500}?)"
    r"(?: <unfinished \.\.\.>|\)\s*= (?P<result>-?\d{1,9})(?: (?P<error>E[A-Z0-9]{2,20}))?.*)$"
)
_STREAMS = re.compile(r"AF_INET6?, SOCK_STREAM[|\w]*, (?P<protocol>\w+)$")
_MPTCP = ("IPPROTO_MPTCP", "0x106", "262")

_MPTCPIZE = re.compile(rf"{_PROMPT}mptcpize run (?:-d|--debug) (?P<program>\S{{1,80}})")
_WRAPPED = "mptcpwrap: changing socket protocol"

_TRACEBOX = re.compile(rf"{_PROMPT}(?P<command>\S{{0,40}}tracebox\S{{0,20}})(?P<arguments>(?: +\S{{1,200}}){{1,20}})$")
_TRACE_HEAD = re.compile(r"tracebox6? to \S{1,200} \((?P<address>[0-9a-fA-F.:]{3,45})\)")
_HOP = re.compile(r"\s*\d{1,3}: (?P<hop>[0-9a-zA-Z.:-]{1,60})(?P<changes>(?:\s.*)?)$")
_REMOVED = re.compile(r"\s-TCPOptionMPTCPCapable\b")

_OPTIONS, _LENGTH = " options [", re.compile(r", length (?P<bytes>\d{1,6})\b")
_OFFLOAD = re.compile(r"\s*tcp-segmentation-offload: (?P<state>on|off)\b")
#: Segments and calls that are kept: the first ones say the same as all.
_MAX_KEPT = 1000


@dataclass
class _Trace:
    """A tracebox output that is being read."""

    target: str = ""
    device: str = ""
    removed: str | None = None
    last: str | None = None


class ProgramReader:
    """Reads lines of programs into the facts of one host."""

    def __init__(self, facts: HostFacts) -> None:
        self._facts = facts
        #: Whether a file descriptor is a socket of MPTCP.
        self._sockets: dict[str, bool] = {}
        self._wrapped: tuple[str, Place] | None = None
        self._trace: _Trace | None = None
        self._readers = (self._take_join, self._take_wrapper, self._take_call, self._take_trace, self._take_segment)

    def take(self, line: str, place: Place) -> bool:
        """Take a line; return whether it was recognised."""
        return any(reader(line, place) for reader in self._readers)

    def end(self) -> None:
        """Take note that the output of a command ended."""
        self._end_wrapper()
        self._end_trace()
        self._sockets = {}

    def _take_join(self, line: str, place: Place) -> bool:
        match = _JOIN.search(line)
        if match is None:
            return False
        rest, family = match["rest"], f"IPv{match['version']}"
        for step, pattern in (("add", _ADD), ("bind", _BIND), ("connect", _CONNECT)):
            failed = pattern.match(rest)
            if failed is not None:
                address = failed["address"] if step == "bind" else None
                error = JoinError(step=step, family=family, error=int(failed["error"]), address=address)
                if error in self._facts.join_errors or len(self._facts.join_errors) < _MAX_KEPT:
                    self._facts.join_errors[error] = self._facts.join_errors.get(error, 0) + 1
                self._facts.note(step, place)
                self._facts.recognise("dmesg")
                return True
        return False

    def _take_wrapper(self, line: str, place: Place) -> bool:
        """Take ``mptcpize run -d``, which says when it changes a socket, and says nothing if it cannot."""
        if line.startswith(_WRAPPED):
            self._wrapped = None
            self._facts.recognise("mptcpize")
            return True
        match = _MPTCPIZE.match(line) if "mptcpize run" in line else None
        if match is None:
            return False
        self.end()
        self._wrapped = match["program"], place
        self._facts.recognise("mptcpize")
        return True

    def _end_wrapper(self) -> None:
        if self._wrapped is not None:
            program, place = self._wrapped
            self._facts.unwrapped.append(program)
            self._facts.note("mptcpize", place)
        self._wrapped = None

    def _take_call(self, line: str, place: Place) -> bool:
        match = _CALL.match(line)
        if match is None:
            return False
        arguments = match["arguments"]
        if match["name"] == "socket":
            stream = _STREAMS.match(arguments)
            if stream is None:
                return False
            is_mptcp = stream["protocol"] in _MPTCP
            self._sockets[match["result"] or ""] = is_mptcp
            call = SocketCall(is_mptcp=is_mptcp, error=match["error"])
            word = "socket"
        else:
            number, _, rest = arguments.partition(", ")
            word = rest.split(", ")[1] if rest.count(", ") else ""
            if number not in self._sockets or not word:
                return False
            call = SocketCall(is_mptcp=self._sockets[number], option=word, error=match["error"])
        if len(self._facts.calls) < _MAX_KEPT:
            self._facts.calls.append(call)
        self._facts.note(word, place)
        self._facts.recognise("strace")
        return True

    def _take_trace(self, line: str, place: Place) -> bool:
        """Take lines of tracebox, which lists hops with what changed in the packet up to there."""
        head = _TRACE_HEAD.match(line)
        if head is not None:
            if self._trace is None or self._trace.target:
                self._end_trace()
                self._trace = _Trace()
            self._trace.target = head["address"]
            self._facts.recognise("tracebox")
            return True
        command = _TRACEBOX.match(line) if "tracebox" in line else None
        if command is not None:
            self._end_trace()
            words = command["arguments"].split()
            device = words[words.index("-i") + 1] if "-i" in words[:-1] else ""
            if command["command"].startswith("omr-"):  # its arguments are the server and the interface
                device = words[1] if len(words) > 1 else ""
            self._trace = _Trace(device=device)
            return False
        hop = _HOP.match(line) if self._trace is not None else None
        if self._trace is None or hop is None:
            return False
        self._trace.last = hop["hop"]
        if _REMOVED.search(hop["changes"]) and self._trace.removed is None:
            self._trace.removed = hop["hop"]
        self._facts.note(hop["hop"], place)
        self._facts.recognise("tracebox")
        return True

    def _end_trace(self) -> None:
        trace, self._trace = self._trace, None
        # Only a trace that reached its target, or saw the option vanish, says something.
        if trace is not None and trace.target and (trace.removed is not None or trace.last == trace.target):
            ended = OptionTrace(target=trace.target, device=trace.device, hop=trace.removed)
            if len(self._facts.traces) < _MAX_KEPT:
                self._facts.traces.append(ended)

    def _take_segment(self, line: str, place: Place) -> bool:
        offload = _OFFLOAD.match(line)
        if offload is not None:
            self._facts.offloads = offload["state"] == "on"
            self._facts.note("tcp-segmentation-offload", place)
            self._facts.recognise("ethtool")
            return True
        options, _, rest = line.partition(_OPTIONS)[2].partition("]")
        length = _LENGTH.match(rest)
        if length is None or "mptcp dss" not in options or " csum 0x" not in options:
            return False
        if len(self._facts.checksummed_bytes) < _MAX_KEPT:
            self._facts.checksummed_bytes.append(int(length["bytes"]))
        self._facts.note("csum", place)
        self._facts.recognise("tcpdump")
        return True
