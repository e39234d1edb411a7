# SPDX-License-Identifier: MIT
"""JSON and words for a shell as the standard library writes them; counters in the form of the programs."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Sequence

import pytest

from mptcplab.guest import json_text
from mptcplab.guest.command_form import UnknownFormError
from mptcplab.guest.counters import read_counter
from mptcplab.guest.json_text import parse_json, to_json
from mptcplab.guest.qdisc_counters import read_disciplines
from mptcplab.guest.shell_words import join

DATA = {"b": [1, -2.5, 1e300, None, True, {'ä\n"\\': "\u2028"}], "a": {}, "c": [], "n": float("inf")}


@pytest.mark.parametrize("has_core", [True, False])
def test_json_is_that_of_the_standard_library(monkeypatch: pytest.MonkeyPatch, has_core: bool) -> None:
    assert json_text._core, "this Python has a core that the guest does not know"
    if not has_core:
        monkeypatch.setattr(json_text, "_core", None)
    assert to_json(DATA) == json.dumps(DATA)
    assert to_json(DATA, sort_keys=True) == json.dumps(DATA, sort_keys=True)
    assert to_json(DATA, compact=True) == json.dumps(DATA, separators=(",", ":"))
    for text in (json.dumps(DATA), json.dumps(DATA, indent=1), "[]", ' {"a": NaN}\n', "-Infinity"):
        assert json.dumps(parse_json(text)) == json.dumps(json.loads(text))
    for text in ("", "{", "[1,]", '{"a" 1}', "[] x"):
        with pytest.raises(ValueError, match="line 1"):
            parse_json(text)


@pytest.mark.parametrize("words", [["a", "b-c=d/e:1,2@%+_.0"], ["a b", "", "it's", "$x", "ä", "*"]])
def test_words_are_quoted_as_by_shlex(words: list[str]) -> None:
    assert join(words) == shlex.join(words)


def test_a_short_run_loads_few_modules() -> None:
    """Regular expressions, enumerations and ctypes' package took longer to load than all work of a short run."""
    used = "from mptcplab.guest import algorithms, init, sampler"
    code = f"import sys; sys.path.insert(0, sys.argv[1]); {used}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-IS", "-c", code, _source()], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    slow = {"re", "enum", "json", "ctypes", "typing", "dataclasses", "collections", "functools", "shlex", "signal"}
    assert not loaded & (slow | {"subprocess", "socket", "pathlib", "traceback", "contextlib", "heapq"})
    assert len(loaded) < 80, sorted(loaded)


def _source() -> str:
    return json_text.__file__.removesuffix("/mptcplab/guest/json_text.py")


class TextPlace:
    """A namespace with some files and one answer of netlink."""

    def __init__(self, files: dict[str, str] | None = None, answers: tuple[bytes, ...] = ()) -> None:
        self._files, self._answers = files or {}, answers

    def read(self, files: Sequence[str]) -> list[bytes | None]:
        return [self._files[file].encode() if file in self._files else None for file in files]

    def netlink(self, protocol: int) -> TextPlace:
        del protocol
        return self

    def dump(self, kind: int, body: bytes) -> list[tuple[int, memoryview]]:
        del kind, body
        return [(0, memoryview(answer)) for answer in self._answers]

    def name(self, index: int) -> str:
        return f"eth{index}"


def _read(place: TextPlace, line: str) -> bytes | None:
    return read_counter(place, line.split())  # type: ignore[arg-type]


def test_settings_are_those_of_sysctl() -> None:
    place = TextPlace({"/proc/sys/net/a": "1\n", "/proc/sys/net/b": "4096\t131072\t6291456\n", "/proc/sys/net/c": ""})
    assert _read(place, "sysctl -e net.a net.none net.b net.c") == (
        b"net.a = 1\nnet.b = 4096\t131072\t6291456\nnet.c = \n"
    )
    lines = TextPlace({"/proc/sys/net/a": "1\n2\n"})
    for place, line in ((lines, "sysctl -e net.a"), (lines, "sysctl -e net.*"), (lines, "sysctl net.a")):
        assert _read(place, line) is None, line


def test_statistics_are_those_of_nstat() -> None:
    files = {
        "/proc/net/snmp": "Ip: Forwarding DefaultTTL InReceives\nIp: 1 64 7\nTcp: MaxConn InSegs\nTcp: -1 9\n",
        "/proc/net/snmp6": "Ip6InReceives \t5\n",
        "/proc/net/netstat": "TcpExt: SyncookiesSent\nTcpExt: 3\nMPTcpExt: MPCapableSYNRX\nMPTcpExt: 2\n",
    }
    assert _read(TextPlace(files), "nstat -a -s -z -j") == (
        b'{"kernel":{"IpInReceives":7,"TcpInSegs":9,"Ip6InReceives":5,"TcpExtSyncookiesSent":3,'
        b'"MPTcpExtMPCapableSYNRX":2}}\n'
    )
    del files["/proc/net/snmp6"]
    assert _read(TextPlace(files), "nstat -a -s -z -j") is None


def test_a_file_is_read_and_everything_else_left_to_the_program() -> None:
    place = TextPlace({"/proc/net/x": "text\n"})
    assert _read(place, "cat /proc/net/x") == b"text\n"
    for line in ("cat /none", "cat -n /proc/net/x", "cat x", "nft list ruleset", "ip -j link show", "sh -c true"):
        assert _read(place, line) is None, line


def test_an_unknown_discipline_is_left_to_the_program() -> None:
    queue = bytes.fromhex("01000300") + bytes(0)
    body = bytes(4) + (3).to_bytes(4, "little") + bytes(12) + b"\x09\0\x01\0cake\0\0\0\0" + queue
    with pytest.raises(UnknownFormError):
        read_disciplines(TextPlace(answers=(body,)))  # type: ignore[arg-type]
