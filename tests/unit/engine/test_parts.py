# SPDX-License-Identifier: MIT
"""The parts of the engine that need no kernel: folders, the command line, tools, the console, identities."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from mptcplab.cache import cache_root
from mptcplab.campaign.identity import identify
from mptcplab.campaign.lab import Lab, Stop
from mptcplab.campaign.record import Engines
from mptcplab.engine import tools
from mptcplab.engine.bytecode import compile_guest
from mptcplab.engine.defaults import DEFAULT_ENGINE
from mptcplab.engine.process import Console
from mptcplab.engine.report import PLAN_HINT, read_report
from mptcplab.engine.virtual import machine
from mptcplab.engine.virtual.engine import VirtualEngine
from mptcplab.engine.virtual.machine import LabBoot, check_folder, virtual_clock_address
from mptcplab.engine.virtual.session import Session, find
from mptcplab.errors import InputError, LabError, MissingError
from mptcplab.guest.sampler import SAMPLER
from mptcplab.kernel import KernelBuild
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.scenario.load import Run, load
from mptcplab.steps import Event, Program
from mptcplab.workload.context import FLOW

SCENARIO = """
title = "two paths"
repeats = 2
topology = { preset = "disjoint-paths", paths = 2 }
links.link1.rate = "10 Mbit/s"
links.link2.rate = "10 Mbit/s"
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "1 s" }
"""


def build(path: Path, *, symbols: str = "0000000060456780 b time_travel_time\n") -> KernelBuild:
    """Return a kernel without an executable."""
    (path / "System.map").write_text(symbols)
    return KernelBuild("7.2", "7.2.1-test", "k" * 64, path, "c" * 64)


@pytest.mark.parametrize("name", ["/tmp/a,b", "/tmp/a\nb", "/tmp/\x07", "/" + "x" * 4000])
def test_folders_that_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"cannot use the folder|too long"):
        check_folder(Path(name))


@pytest.mark.parametrize("name", ["/tmp/a b", "/tmp/'\"$", "/tmp/größe", "/" + "x/" * 1000])
def test_folders_that_are_accepted(name: str) -> None:
    check_folder(Path(name))


def test_a_refused_folder_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        Lab(Engines(DEFAULT_ENGINE, {}), tmp_path / "a,b", stop=Stop())
    assert not list(tmp_path.iterdir())


def test_command_line_does_not_depend_on_the_folder(tmp_path: Path) -> None:
    """Linux mixes its command line into its random numbers: a folder's name in it would change the results."""
    kernel = build(tmp_path)
    boots = [
        LabBoot(kernel=kernel, seed=7, cpu=cpu, folder=Path(folder), source=Path(source), exposed=(Path(folder),))
        for cpu, folder, source in ((0, "/a", "/b"), (1, "/tmp/much/longer", "/opt/elsewhere"))
    ]
    first, second = (machine._arguments(boot) for boot in boots)
    assert first == second
    assert "rng_seed=7" in first


@pytest.mark.parametrize(
    ("mode", "is_trusted", "option", "passed"),
    [
        (None, False, "y", []),
        (None, True, "y", ["inproc=on"]),
        (None, True, "n", []),
        ("auto", False, "y", []),
        ("auto", True, "y", ["inproc=on"]),
        ("off", True, "y", ["inproc=off"]),
        ("on", False, "y", ["inproc=on"]),
        ("on", False, "n", []),
        ("off", False, None, []),
    ],
)
def test_where_user_code_runs(
    mode: str | None,
    is_trusted: bool,
    option: str | None,
    passed: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A kernel that does not know the parameter would mix it into its random numbers."""
    monkeypatch.delenv(machine.INPROC, raising=False)
    if mode is not None:
        monkeypatch.setenv(machine.INPROC, mode)
    if option is not None:
        line = "CONFIG_UML_INPROC=y" if option == "y" else "# CONFIG_UML_INPROC is not set"
        (tmp_path / "config").write_text(f"CONFIG_UML=y\n{line}\n")
    boot = LabBoot(build(tmp_path), seed=7, cpu=0, folder=Path("/a"), source=Path("/b"), is_trusted=is_trusted)
    assert [word for word in machine._arguments(boot) if word.startswith("inproc=")] == passed


def test_programs_of_the_system_and_ours_are_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    mine = tmp_path / "bin" / "mine"
    mine.parent.mkdir()
    mine.write_text("")
    link = tmp_path / "bin" / "sh"
    link.symlink_to("/usr/bin/env")
    built = cache_root() / "gateways" / "proxy"
    trusted = {"ip": Path("/usr/sbin/ip"), "sh": link, "proxy": built, "nft": machine.REFUSED}
    assert machine.are_trusted(trusted, {})
    assert not machine.are_trusted(trusted | {"mine": mine}, {})
    assert machine.are_trusted(trusted | {"mine": mine}, {"mine": mine}), (
        "the tools are ours, wherever they were compiled"
    )
    link.unlink()
    link.symlink_to(mine)
    assert not machine.are_trusted(trusted, {})


def test_a_wrong_mode_of_user_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine.INPROC, "yes")
    boot = LabBoot(kernel=build(tmp_path), seed=7, cpu=0, folder=Path("/a"), source=Path("/b"))
    with pytest.raises(InputError, match=f"{machine.INPROC} is 'yes'") as raised:
        machine._arguments(boot)
    assert raised.value.hint == "set it to one of auto, off, on, or unset it"


def test_virtual_clock_is_found(tmp_path: Path) -> None:
    symbols = "0000000060000000 T _start\n0000000060456780 b time_travel_time\n0000000060456790 b time_travel_timer\n"
    assert virtual_clock_address(build(tmp_path, symbols=symbols)) == 0x60456780


def test_kernel_without_virtual_clock(tmp_path: Path) -> None:
    kernel = build(tmp_path, symbols="0000000060456790 b time_travel_timer\n")
    with pytest.raises(MissingError, match="built without time travel"):
        virtual_clock_address(kernel)
    kernel.system_map.unlink()
    with pytest.raises(MissingError, match=r"has no System\.map"):
        virtual_clock_address(kernel)


def test_console_keeps_the_beginning_and_end_of_long_output() -> None:
    console = Console()
    console.add(b"first line\r\n")
    for _ in range(100):
        console.add(b"x" * 99_999 + b"\n")
    console.add(b"\nlast line\n\n")
    assert console.text.startswith("first line\n")
    assert console.tail(1) == "last line"
    assert len(console.text) < 3 << 20


def test_console_takes_any_bytes() -> None:
    console = Console()
    console.add(b"\xff\xfe\x00 odd\n")
    assert "odd" in console.tail(3)


@pytest.mark.parametrize("cause", ["give it more", None])
@pytest.mark.parametrize("hint", [PLAN_HINT, None])
def test_an_error_of_the_guest_has_a_hint(cause: str | None, hint: str | None, tmp_path: Path) -> None:
    """A command of `exec` has no plan unless it has a scenario."""
    (tmp_path / "guest.json").write_text(json.dumps({"error": "it did not end", "hint": cause}))
    nothing = cast(machine.LabMachine, None)  # it ended by itself, so its console does not matter
    with pytest.raises(LabError) as raised:
        read_report(tmp_path, nothing, None, hint=hint)
    assert (raised.value.message, raised.value.hint) == ("it did not end", cause or hint)


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("unreachable flow: connection 705 failed: unreachable flow: connection 706 failed: unreachable",
         "pages.client on client ended with status 3: connection 705 failed: unreachable, and 1 more",
         'failures = "end"'),
        ("flow: connection 0 failed: connect-timeout",
         "pages.client on client ended with status 3: connection 0 failed: connect-timeout",
         "without this key the run goes on"),
        ("flow: connection 3 failed: reset", "pages.client on client ended with status 3: connection 3 failed: reset",
         "its row says how many connections failed"),
    ],
)  # fmt: skip
def test_many_lost_connections_are_one_sentence(tmp_path: Path, words: str, message: str, hint: str) -> None:
    """A newcomer's message was cut off at the left, named seven connections, and did not say what to do."""
    error = f"pages.client on client ended with status 3: : {words}"
    (tmp_path / "guest.json").write_text(json.dumps({"error": error}))
    with pytest.raises(LabError) as raised:
        read_report(tmp_path, cast(machine.LabMachine, None), None, hint=PLAN_HINT)
    assert raised.value.message == message
    assert hint in (raised.value.hint or "")


def test_a_connection_that_was_never_there_names_the_links_that_were_down(tmp_path: Path) -> None:
    """A case of shared/cases: the reader saw neither the link nor since when."""
    # Events of traces come first in a plan.
    later, down, up = (
        Event(at_s * 10**9, kind, "link1", "both", "", ()) for at_s, kind in ((20, "trace"), (5, "down"), (9, "up"))
    )
    plans = {
        start_ns: Plan(
            ("client",),
            (),
            (Program("new.client", "client", "client", ("flow",), start_ns=start_ns),),
            (),
            (),
            10**9,
            events=(later, down, up),
        )
        for start_ns in (4 * 10**9, 8 * 10**9, 10 * 10**9)
    }
    error = "new.client on client ended with status 3: flow: connection 0 failed: connect-timeout"
    (tmp_path / "guest.json").write_text(json.dumps({"error": error}))
    messages = []
    for plan in plans.values():
        with pytest.raises(LabError) as raised:
            read_report(tmp_path, cast(machine.LabMachine, None), None, hint=PLAN_HINT, plan=plan)
        messages.append(raised.value.message.partition("connect-timeout")[2])
    assert messages == ["", "; down when it started: link1 since 5 s", ""]


@pytest.mark.parametrize("name", ["true", "/bin/true", "./true"])
def test_a_program_of_exec_is_found_by_name_and_by_path(name: str) -> None:
    """The guest gets the path in a JSON file, which cannot hold a Path."""
    assert json.loads(json.dumps(find(Session((name,), cwd=Path("/bin"))))).endswith("bin/true")


@pytest.mark.parametrize("name", ["ip", "iperf3", "mptcpize", "socat", "gcc"])
def test_missing_tool_names_its_package(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_SEARCH", str(tmp_path))
    with pytest.raises(MissingError) as error:
        tools.find_program(name)
    assert error.value.hint == f"sudo apt-get install {tools.package_of(name)}"


def _runs(tmp_path: Path, text: str = SCENARIO) -> list[Run]:
    file = tmp_path / "scenario.toml"
    file.write_text(text)
    return load(file).runs


def _name(run: Run, kernel: KernelBuild) -> str:
    plan = compile_plan(run.point.scenario, seed=run.seed)
    here = Path(__file__)
    facts = VirtualEngine(kernel, {}).kernel_facts
    return identify(run, plan, engine=DEFAULT_ENGINE, kernel=facts, tools={FLOW: here, SAMPLER: here}).name


def test_identity_is_what_can_change_the_result(tmp_path: Path) -> None:
    kernel = build(tmp_path)
    first, second = _runs(tmp_path)
    again, _ = _runs(tmp_path, f"# a comment\n{SCENARIO}")
    (faster, *_) = _runs(tmp_path, SCENARIO.replace('link2.rate = "10 M', 'link2.rate = "11 M'))
    (spelled, *_) = _runs(tmp_path, SCENARIO.replace('"1 s"', '"1 s", reverse = false'))
    assert _name(first, kernel) == _name(again, kernel), "a comment changes nothing"
    assert _name(first, kernel) == _name(spelled, kernel), "nor does a default that is written out"
    names = {
        "itself": _name(first, kernel),
        "seed": _name(second, kernel),
        "rate": _name(faster, kernel),
        "kernel": _name(first, replace(kernel, key="other")),
        "config": _name(first, replace(kernel, config_sha256="other")),
    }
    assert len(set(names.values())) == len(names), names


def test_identity_does_not_depend_on_where_the_kernel_is(tmp_path: Path) -> None:
    kernel = build(tmp_path)
    run, _ = _runs(tmp_path)
    assert _name(run, kernel) == _name(run, replace(kernel, path=Path("/elsewhere"), built="later"))


GIGABYTE = 1 << 30


@pytest.mark.parametrize(
    ("free", "noexec", "expected"),
    [
        ({"/dev/shm": GIGABYTE, "/tmp": GIGABYTE}, (), "/dev/shm"),
        ({"/dev/shm": 64 << 20, "/tmp": GIGABYTE}, (), "/tmp"),  # Docker
        ({"/dev/shm": GIGABYTE, "/tmp": GIGABYTE}, ("/dev/shm",), "/tmp"),
        ({"/var/tmp": 2 * GIGABYTE}, (), "/var/tmp"),
        ({"/dev/shm": 64 << 20, "/tmp": 900 << 20}, (), "space for the 1024 MiB of a lab's memory; at most 900 MiB"),
        ({"/dev/shm": GIGABYTE}, ("/dev/shm",), "allows executable memory mappings"),
    ],
)
def test_memory_folder(
    monkeypatch: pytest.MonkeyPatch, free: dict[str, int], noexec: tuple[str, ...], expected: str
) -> None:
    """It has space for all of a lab's memory; /dev/shm is preferred."""

    def statvfs(folder: Path) -> object:
        if str(folder) not in free:
            raise FileNotFoundError(folder)
        flags = os.ST_NOEXEC if str(folder) in noexec else 0
        return type("Place", (), {"f_flag": flags, "f_bavail": free[str(folder)] // 4096, "f_frsize": 4096})

    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(os, "statvfs", statvfs)
    monkeypatch.setattr(os, "access", lambda *_: True)
    if expected.startswith("/"):
        assert machine.memory_folder() == Path(expected)
        return
    with pytest.raises(MissingError, match=expected) as caught:
        machine.memory_folder()
    assert caught.value.hint is not None
    assert "TMPDIR" in caught.value.hint


def test_the_guest_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Python may write bytecode, and is not told to leave it."""
    (tmp_path / "guest").mkdir()
    source = tmp_path / "guest" / "init.py"
    source.write_text("answer = 42\n")
    monkeypatch.setattr("mptcplab.__file__", str(tmp_path / "__init__.py"))
    written = Path(importlib.util.cache_from_source(str(source)))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    compile_guest.__wrapped__()
    assert not written.exists()
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    compile_guest.__wrapped__()
    before = written.stat().st_mtime_ns
    compile_guest.__wrapped__()
    assert written.stat().st_mtime_ns == before
    source.write_text("answer = 43\n")
    os.utime(source, (0, 0))  # bytecode is of one time of its source, in seconds
    compile_guest.__wrapped__()
    assert written.stat().st_mtime_ns > before
