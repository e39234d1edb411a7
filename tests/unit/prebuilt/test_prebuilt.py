# SPDX-License-Identifier: MIT
"""The package mptcplab-kernel: when its kernel and programs are used, and what is said when they are not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.command_output import output_of
from tests.unit.kernel.test_cache import INPUTS, add
from tests.unit.kernel_package import KEY, NAME, install_prebuilt

from mptcplab import prebuilt
from mptcplab.doctor import kernel as doctor_kernel
from mptcplab.doctor.model import Level, finding_without_fix
from mptcplab.doctor.programs import program_uses
from mptcplab.engine import tools
from mptcplab.errors import Exit, MissingError
from mptcplab.kernel.cache import find_by_key, find_kernel, list_kernels, source_record
from mptcplab.kernel.data import load_inputs

CURRENT = load_inputs("7.2").digest


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, which commands use as well."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "mptcplab"


def _sources() -> dict[str, str]:
    return {name: tools.source_digest(tools.source_folder(name)) for name in ("flow", "radio", "sampler")}


def test_its_kernel_is_used_where_none_is_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path) -> None:
    folder = install_prebuilt(monkeypatch, tmp_path / "site", inputs=INPUTS.digest)
    kernel = find_kernel(cache=cache, inputs=INPUTS)
    assert (kernel.key, kernel.package) == (KEY, NAME)
    assert kernel.executable == folder / "kernels" / "7.2-ffffffffffff" / "linux"
    assert find_by_key(KEY, cache) == kernel, "`kernel build` does not build it again"
    assert find_kernel("7.2-ffffffffffff", cache) == kernel, "the name that `kernel list` shows"
    assert find_kernel(str(kernel.executable), cache).key == KEY


def test_a_kernel_that_the_user_built_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path) -> None:
    install_prebuilt(monkeypatch, tmp_path / "site", inputs=INPUTS.digest)
    add(cache, key="a" * 64, built="2020-01-01", source="tree")
    assert find_kernel(cache=cache, inputs=INPUTS).key == "a" * 64, "although the package is newer"
    assert [kernel.package for kernel in list_kernels(cache)] == ["", NAME]
    record = source_record("7.2", cache)
    record.parent.mkdir()
    record.write_text('{"sha256": "s1"}')
    assert find_kernel(cache=cache, inputs=INPUTS).key == KEY, "of two, the one from Debian's source"


def test_a_kernel_of_other_patches_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path) -> None:
    install_prebuilt(monkeypatch, tmp_path / "site", inputs="other")
    with pytest.raises(MissingError, match=f"the kernel 7.2 of {NAME} was built from other patches") as caught:
        find_kernel(cache=cache, inputs=INPUTS)
    assert (caught.value.hint or "").splitlines()[0] == "mptcplab kernel build"


@pytest.mark.parametrize(
    ("manifest", "libc", "reason"),
    [
        ({"machine": "pdp11"}, (2, 36), f"is for pdp11, and this machine is {os.uname().machine}"),
        ({"glibc": "2.35"}, (2, 31), "needs glibc 2.35 or later, and this machine has glibc 2.31"),
        ({"glibc": "2.35"}, (2, 9), "needs glibc 2.35 or later, and this machine has glibc 2.9"),
        ({"glibc": "2.35"}, None, "needs glibc 2.35 or later, and this machine has another C library"),
    ],
)
def test_what_this_machine_cannot_run_is_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    cache: Path,
    manifest: dict[str, str],
    libc: tuple[int, int] | None,
    reason: str,
) -> None:
    monkeypatch.setattr(prebuilt, "glibc_version", lambda: libc)
    install_prebuilt(monkeypatch, tmp_path / "site", inputs=CURRENT, programs=_sources(), **manifest)
    with pytest.raises(MissingError) as caught:
        find_kernel()
    assert caught.value.message == f"the lab kernel 7.2 is not built on this machine; {NAME} {reason}"
    with pytest.raises(MissingError) as caught:
        find_kernel("6.12")
    assert NAME not in caught.value.message, "the package does not have that version anyway"
    assert (list_kernels(cache), tools.prebuilt_program("flow")) == ([], None)
    done = output_of(monkeypatch, capsys, "kernel", "list")
    assert done.err.startswith(f"The kernel of {NAME} is not used: the package {reason}.\n")
    findings = {finding.subject: finding for finding in doctor_kernel.check_kernels()}
    assert findings["kernel 7.2"].level is Level.BROKEN
    assert findings["mptcplab-kernel"].level is Level.MISSING
    assert findings["mptcplab-kernel"].message == f"is not used: it {reason}"


def test_on_another_processor_nothing_promises_a_kernel(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cache: Path
) -> None:
    """Linux has User-Mode Linux for x86 only. This is said before a download or a compiler is asked for."""
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="aarch64"))
    message = "the lab kernel (User-Mode Linux) needs x86-64, and this machine is aarch64"
    for command in (["kernel", "path"], ["kernel", "build"], ["run", "@two-paths"], ["exec", "--", "true"]):
        done = output_of(monkeypatch, capsys, *command)
        assert done.status == Exit.MISSING
        assert done.err == f"mptcplab: {message}\n  hint: use a machine with an x86-64 processor\n", command
    assert not cache.exists() or list_kernels(cache) == []
    assert "kernel 7.2" not in {finding.subject for finding in doctor_kernel.check_kernels()}


@pytest.mark.parametrize("libc", [(2, 35), (2, 36), (2, 100), (3, 0)])
def test_later_c_libraries_run_what_is_for_earlier_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, libc: tuple[int, int]
) -> None:
    monkeypatch.setattr(prebuilt, "glibc_version", lambda: libc)
    install_prebuilt(monkeypatch, tmp_path / "site", glibc="2.35")
    assert prebuilt.find_usable_prebuilt() is not None


@pytest.mark.parametrize(
    ("text", "version"), [("glibc 2.36", (2, 36)), ("glibc 2.36.9", (2, 36)), ("musl 1.2", None), ("", None)]
)
def test_the_c_library_is_known(monkeypatch: pytest.MonkeyPatch, text: str, version: tuple[int, int] | None) -> None:
    monkeypatch.setattr(os, "confstr", lambda _: text)
    assert prebuilt.glibc_version() == version


def test_a_damaged_package_counts_as_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path) -> None:
    folder = install_prebuilt(monkeypatch, tmp_path / "site", inputs=CURRENT)
    assert [kernel.package for kernel in list_kernels(cache)] == [NAME]
    for text in ("{", "[]", '{"format": 99}', '{"format": 1, "version": "1", "machine": "x", "glibc": "2"}'):
        (folder / "manifest.json").write_text(text)
        assert prebuilt.find_prebuilt() is None, text
    assert list_kernels(cache) == []


def test_its_programs_are_used_without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path) -> None:
    folder = install_prebuilt(monkeypatch, tmp_path / "site", programs=_sources())
    monkeypatch.setattr(tools, "_SEARCH", "/nowhere")
    assert tools.flow_program() == folder / "programs" / "flow" / "flow"
    assert tools.radio_program() == folder / "programs" / "radio" / "radio"
    assert tools.sampler_program() == folder / "programs" / "sampler" / "sampler"
    with pytest.raises(MissingError, match="no 'gcc'"):
        tools.static_flow_program()
    assert not cache.exists()


def test_a_program_of_another_source_is_compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install_prebuilt(monkeypatch, tmp_path / "site", programs=_sources() | {"flow": "other"})
    monkeypatch.setattr(tools, "_SEARCH", "/nowhere")
    with pytest.raises(MissingError, match="no 'gcc'"):
        tools.flow_program()


def test_any_change_of_the_source_makes_another_hash(tmp_path: Path) -> None:
    (tmp_path / "Makefile").touch()
    (tmp_path / "a.c").write_text("a")
    hashes = [tools.source_digest(tmp_path)]
    for name, text in (("a.c", "b"), ("b.h", ""), ("Makefile", "all:")):
        (tmp_path / name).write_text(text)
        hashes.append(tools.source_digest(tmp_path))
    assert len(set(hashes)) == 4
    (tmp_path / "notes.txt").touch()
    assert tools.source_digest(tmp_path) == hashes[-1], "not compiled, so no part of it"


def test_runs_need_a_compiler_only_without_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert program_uses()["gcc"] == "every run"
    install_prebuilt(monkeypatch, tmp_path / "site", programs=_sources())
    assert program_uses()["gcc"] == program_uses()["make"] == "`mptcplab kernel build`"


def test_lists_name_the_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, cache: Path
) -> None:
    install_prebuilt(monkeypatch, tmp_path / "site", inputs=CURRENT)
    add(cache, key="a" * 64)
    rows = output_of(monkeypatch, capsys, "kernel", "list").out.splitlines()
    assert [row.split()[:2] for row in rows[1:]] == [["7.2", "7.2.1-mptcplab"], ["*", "7.2"]]
    assert rows[1].endswith("stale")
    assert rows[2].endswith(NAME)
    listed: list[dict[str, Any]] = json.loads(output_of(monkeypatch, capsys, "kernel", "list", "--json").out)
    assert [(item["package"], item["default"]) for item in listed] == [(None, False), (NAME, True)]
    monkeypatch.setattr(doctor_kernel, "boot", lambda _: finding_without_fix("boot", "not tried"))
    findings = {finding.subject: finding.message for finding in doctor_kernel.check_kernels()}
    assert findings["kernel 7.2"].endswith(f", from {NAME}")
