# SPDX-License-Identifier: MIT
"""Loading any file succeeds or reports one sentence with a hint."""

from __future__ import annotations

import copy
import datetime
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mptcplab.errors import InputError
from mptcplab.scenario.load import load

pytestmark = pytest.mark.slow

VALID = """
title = "Everything"
question = "Does it hold?"
kernel = "7.2"
family = "ipv4"
seed = 3
repeats = 2

[topology]
preset = "disjoint-paths"
paths = 2

[links.link1]
rate = "10 Mbit/s"
queue = "50 ms"
forward = { delay = "10 ms", jitter = "1 ms", loss = "0.1 %" }

[links.link2]
rate = "20 Mbit/s"
burst = "10 kB"
addresses = ["10.77.0.1/24", "10.77.0.2/24"]

[hosts.client.transport]
endpoints = [{ link = "access1", flags = ["subflow"] }, { link = "access2", flags = ["signal"], port = 80 }]

[transport]
protocol = "mptcp"
congestion_control = "cubic"
limits = { subflows = 2 }
tcp_rmem = ["4 KiB", "128 KiB", "6 MiB"]
sysctl = { "net.ipv4.tcp_ecn" = 1 }

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
via = "link1"
duration = "10 s"

[workloads.file]
kind = "transfer"
from = "server"
to = "client"
size = "10 MB"
start = "1 s"

[record]
interval = "100 ms"

[sweep]
"transport.scheduler" = ["default", "roundrobin"]
"links.link*.delay" = ["5 ms", "10 ms"]

[[sweep.zip]]
"links.link1.loss" = ["0 %", "1 %"]
"links.link2.loss" = ["1 %", "0 %"]
"""

_TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["", "auto", "tcp", "flow", "10 ms", "-1 s", "1e999 s", "10 Mbit/s", "link1", "client", "r1", "1 packets", "*"]
    ),
)
_SCALARS = st.one_of(
    _TEXTS,
    st.integers(-(2**70), 2**70),
    st.integers(-2, 20),
    st.floats(),
    st.booleans(),
    st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)),
    st.times(),
)
VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_TEXTS, inner, max_size=3)),
    max_leaves=5,
)
KEYS = st.one_of(
    _TEXTS,
    st.sampled_from(
        ["rate", "delay", "kind", "flow", "links", "hosts", "between", "zip", "sweep", "lines", "via", "0"]
    ),
)
PIECES = ["[", "]", "[[", '"', "'", '"""', "=", ".", "{", "}", "\n", "#", ",", "\\", "[a]\n"]
_FUZZ = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])


def quote(text: str) -> str:
    """Return ``text`` as a basic TOML string."""
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text) + '"'


def toml(value: Any) -> str:
    """Return ``value`` as TOML with inline tables."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{quote(key)} = {toml(below)}" for key, below in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return str(value)


def document(tables: dict[str, Any]) -> str:
    """Return ``tables`` as a file, one line per top-level key."""
    return "".join(f"{quote(key)} = {toml(value)}\n" for key, value in tables.items())


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values in ``value``."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(p for key, below in members for p in paths(below, (*path, key)))][0 if path else 1 :]


def mutate(draw: st.DrawFn, tables: dict[str, Any]) -> None:
    """Make one change: replace a value, or remove, rename or add a key."""
    path = draw(st.sampled_from(paths(tables) or [("title",)]))
    holder: Any = tables
    for part in path[:-1]:
        holder = holder[part]
    action = draw(st.sampled_from(["replace", "remove", "rename", "add"]))
    if action == "replace":
        holder[path[-1]] = draw(VALUES)
    elif action == "add" and isinstance(holder, dict):
        holder[draw(KEYS)] = draw(VALUES)
    elif path[-1] in holder if isinstance(holder, dict) else True:
        value = holder.pop(path[-1])
        if action == "rename" and isinstance(holder, dict):
            holder[draw(KEYS)] = value


@st.composite
def mutants(draw: st.DrawFn) -> dict[str, Any]:
    tables = copy.deepcopy(tomllib.loads(VALID))
    for _ in range(draw(st.integers(1, 3))):
        mutate(draw, tables)
    return tables


def check(file: Path, *overrides: str) -> None:
    """Load ``file``, and check that an error is an InputError of one line with a hint."""
    refusal: InputError | None = None
    try:
        load(file, overrides=overrides)
    except InputError as error:
        refusal = error
    if refusal is not None:
        assert refusal.message.isprintable()
        assert len(refusal.message) < 1000
        assert refusal.message.startswith((str(file), "--set"))
        assert refusal.hint
        assert refusal.hint.isprintable()


def test_the_valid_file_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(VALID)
    assert len(load(file).runs) == 2 * 2 * 2 * 2
    file.write_text(document(tomllib.loads(VALID)))
    assert len(load(file).runs) == 2 * 2 * 2 * 2


@_FUZZ
@given(tables=mutants())
def test_mutated_tables(tmp_path_factory: Any, tables: dict[str, Any]) -> None:
    file = Path(tmp_path_factory.getbasetemp()) / "mutant.toml"
    file.write_text(document(tables))
    tomllib.loads(file.read_text())
    check(file)


@_FUZZ
@given(data=st.data())
def test_mutated_text(tmp_path_factory: Any, data: st.DataObject) -> None:
    text = VALID
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.sampled_from([0, 0, 1, 1, 2, 10, 100]))
        piece = data.draw(st.one_of(st.sampled_from(PIECES), st.text(max_size=3), st.just(text[start : start + 20])))
        text = text[:start] + piece + text[start + length :]
    file = Path(tmp_path_factory.getbasetemp()) / "edited.toml"
    file.write_text(text, "utf-8", errors="replace")
    check(file)


@_FUZZ
@given(content=st.binary(max_size=40))
def test_any_bytes(tmp_path_factory: Any, content: bytes) -> None:
    file = Path(tmp_path_factory.getbasetemp()) / "bytes.toml"
    file.write_bytes(content)
    check(file)


@_FUZZ
@given(
    key=st.one_of(
        st.sampled_from(["links.link1.rate", "transport", "topology.lines", "links.*.delay", "*.*", "hosts", "title"]),
        st.text(max_size=6),
    ),
    value=st.one_of(VALUES.map(toml), st.text(max_size=8)),
)
def test_any_setting(tmp_path_factory: Any, key: str, value: str) -> None:
    file = Path(tmp_path_factory.getbasetemp()) / "valid.toml"
    file.write_text(VALID)
    check(file, f"{key}={value}")
