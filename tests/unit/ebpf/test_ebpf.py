# SPDX-License-Identifier: MIT
"""Programs of eBPF: they compile, and a machine that cannot load one is told why before anything is loaded."""

from __future__ import annotations

import os
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from mptcplab.campaign.failures import find_missing
from mptcplab.ebpf import controls, objects
from mptcplab.ebpf.controls import find, reason_of
from mptcplab.errors import InputError, MissingError
from mptcplab.scenario.load import load

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
Names = namedtuple("Names", "release")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that can load programs, as far as the checks before loading look: root, BTF, Linux 6.12."""
    for name in ("BTF", "AVAILABLE"):
        (tmp_path / name).write_text("reno cubic\n")
        monkeypatch.setattr(controls, name, tmp_path / name)
    monkeypatch.setattr(controls, "PINS", tmp_path / "pins")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "uname", lambda: Names("6.12.1-amd64"))
    # Where a check fails to refuse, this machine's own kernel must not get the program.
    monkeypatch.setattr(controls, "register", lambda *_: pytest.fail("not refused"))
    return tmp_path


@pytest.mark.skipif(not shutil.which("clang"), reason="clang is not installed; only it compiles for eBPF")
@pytest.mark.parametrize("name", objects.CONGESTION_CONTROLS)
def test_every_congestion_control_compiles(name: str) -> None:
    content = objects.object_file(name).read_bytes()
    assert content.startswith(b"\x7fELF")
    # What the loader needs: type information, relocations of fields, and the registration.
    for section in (b".BTF\0", b".BTF.ext\0", b".struct_ops\0"):
        assert section in content


@pytest.mark.usefixtures("machine")
def test_other_users_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(MissingError, match="only root may load eBPF programs"):
        controls.load("lia")


def test_a_kernel_without_btf_is_refused(machine: Path) -> None:
    (machine / "BTF").unlink()
    with pytest.raises(MissingError, match=r"no type information \(BTF\)"):
        controls.load("lia")


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("release", ["5.15.0-100-generic", "6.0.19", "4.19"])
def test_an_old_kernel_is_refused(monkeypatch: pytest.MonkeyPatch, release: str) -> None:
    monkeypatch.setattr(os, "uname", lambda: Names(release))
    with pytest.raises(MissingError, match="too old"):
        controls.load("lia")


def test_a_name_that_is_taken_is_refused(machine: Path) -> None:
    (machine / "AVAILABLE").write_text("reno cubic lia\n")
    with pytest.raises(InputError, match="has a congestion control 'lia' already"):
        controls.load("lia")
    assert controls.status("lia").state == "taken"


def test_what_is_loaded_is_not_loaded_again(machine: Path) -> None:
    (machine / "AVAILABLE").write_text("reno cubic lia\n")
    (machine / "pins").mkdir()
    (machine / "pins" / "lia").touch()
    with pytest.raises(InputError, match="'lia' is loaded already"):
        controls.load("lia")


@pytest.mark.usefixtures("machine")
def test_an_interruption_before_it_is_pinned_unloads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the name would be taken, by a program that `unload` does not know."""
    shown: list[tuple[str, ...]] = []

    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(controls, "object_file", lambda name: Path(name))
    monkeypatch.setattr(controls, "register", lambda *_: None)
    monkeypatch.setattr(controls, "show", lambda *words: shown.append(words))
    monkeypatch.setattr(controls, "_pin", interrupt)
    with pytest.raises(KeyboardInterrupt):
        controls.load("lia")
    assert shown == [("struct_ops", "unregister", "name", "lia")]


@pytest.mark.usefixtures("machine")
def test_only_what_we_loaded_is_unloaded() -> None:
    with pytest.raises(InputError, match="not loaded by mptcplab"):
        controls.unload("lia")


@pytest.mark.usefixtures("machine")
def test_an_unknown_congestion_control_is_refused() -> None:
    with pytest.raises(InputError, match="no eBPF program of 'cubic'"):
        controls.load("cubic")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            "failed to resolve CO-RE relocation <byte_off> [55] struct tcp_sock.is_mptcp (0:9 @ offset 153)",
            "it has no field 'tcp_sock.is_mptcp'",
        ),
        (
            "libbpf: extern (func ksym) 'tcp_slow_start': not found in kernel or module BTFs",
            "it has no function 'tcp_slow_start' for eBPF programs",
        ),
        (
            "libbpf: prog 'cong_avoid': BPF program load failed: Argument list too long",
            "its verifier refuses the operation 'cong_avoid'",
        ),
        ("libbpf: failed to find valid kernel BTF", None),
    ],
)
def test_the_log_of_a_refusal_becomes_a_sentence(line: str, reason: str | None) -> None:
    """The lines are from the logs of bpftool 7.1, with programs that were made to fail."""
    assert reason_of(f"libbpf: loading object\n{line}\nlibbpf: failed to load object 'lia.bpf.o'\n") == reason


def test_the_newest_row_is_last() -> None:
    rows = [{"id": 30, "name": "lia"}, {"id": 4, "name": "lia"}, {"id": 50, "name": "olia"}]
    assert [row["id"] for row in find(rows, name="lia")] == [4, 30]


@pytest.mark.parametrize(
    ("file", "congestion_control", "packages"),
    [
        ("ebpf/my-control", "reno", {"clang", "bpftool", "libbpf-dev"}),
        # One of ours includes its own headers only.
        ("two-paths", "lia", {"clang", "bpftool"}),
        ("two-paths", "reno", set()),
    ],
)
def test_doctor_names_what_programs_take(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, congestion_control: str, packages: set[str]
) -> None:
    """Beside the kernel and QEMU, and although there is no kernel yet for which to compile."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(objects, "_SEARCH", str(tmp_path))
    monkeypatch.setattr(objects, "_has_headers", lambda _: False)
    experiment = load(EXAMPLES / f"{file}.toml", overrides=(f"transport.congestion_control={congestion_control}",))
    lacking = {package for error in find_missing(experiment.runs, engine="stock:7.2") for package in error.packages}
    assert lacking & {"clang", "bpftool", "libbpf-dev"} == packages
    virtual = {error.subject for error in find_missing(experiment.runs)}
    assert not virtual & {"clang", "bpftool", "headers of libbpf"}, "the lab kernel loads no programs"


def test_headers_are_looked_for_with_the_compiler(tmp_path: Path) -> None:
    assert not objects._has_headers(str(tmp_path / "absent"))
    compiler = tmp_path / "compiler"
    for status in (0, 1):
        compiler.write_text(f"#!/bin/sh\ngrep -q bpf_helpers.h && exit {status}\n")
        compiler.chmod(0o755)
        assert objects._has_headers(str(compiler)) is (status == 0)
