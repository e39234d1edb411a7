# SPDX-License-Identifier: MIT
"""The pure parts of `python -m tests.pku`: what the machine has, how it is started, and how it ends."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.pku import machine as module
from tests.pku.machine import REPOSITORY, Machine

from mptcplab.errors import LabError, MissingError
from mptcplab.kernel.stock import StockKernel

KERNEL = StockKernel("6.12.1-amd64", Path("/stock/vmlinux"), "", None, version="6.12")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine without QEMU and without an archive."""
    monkeypatch.setattr(module, "qemu", lambda: Path("/usr/bin/qemu"))
    monkeypatch.setattr(Machine, "_root", lambda _: b"")
    return Machine(KERNEL, tmp_path / "machine", variables={"MODE": "it's on"})


def _qemu(monkeypatch: pytest.MonkeyPatch, status: str | None, output: str = "") -> list[list[str]]:
    """Replace QEMU by a function that leaves a status; return the list of its command lines."""
    calls = []

    def run(command: list[str], **options: Any) -> None:
        calls.append(command)
        assert options["timeout"] == 7
        (path,) = (word.partition("path=")[2].partition(",")[0] for word in command if "mount_tag=results" in word)
        Path(path, "output").write_text(output)
        if status is not None:
            Path(path, "status").write_text(status)

    monkeypatch.setattr(subprocess, "run", run)
    return calls


def test_the_command_reaches_the_machine_as_it_is(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("printf", "%s|", "two words", "$HOME", "it's")
    _qemu(monkeypatch, "3\n", "text\n")
    monkeypatch.setenv("XDG_CACHE_HOME", "/a b")
    result = machine.run(words, 7)
    assert (result.status, result.output) == (3, "text\n")
    script = machine.folder / "shared/command"
    assert os.access(script, os.X_OK)
    monkeypatch.undo()
    done = subprocess.run([script], capture_output=True, text=True, check=True)
    assert done.stdout == "two words|$HOME|it's|"
    lines = script.read_text().splitlines()
    assert "export XDG_CACHE_HOME='/a b'" in lines
    assert """export MODE='it'"'"'s on'""" in lines
    assert f"cd {REPOSITORY}" in lines


def test_the_processor_has_keys_and_the_files_cannot_be_written(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = _qemu(monkeypatch, "0")
    machine.run(["true"], 7)
    (command,) = calls
    # All that QEMU can emulate, keys included: none of what is taken away.
    cpu = command[command.index("-cpu") + 1].split(",")
    assert cpu[0] == "max"
    assert not {"-pku", "-xsave", "-fsgsbase"} & set(cpu)
    (root,) = (word for word in command if "mount_tag=root" in word)
    assert "readonly=on" in root.split(",")


@pytest.mark.parametrize("status", [None, "", "x"])
def test_a_machine_that_dies_is_an_error(machine: Machine, monkeypatch: pytest.MonkeyPatch, status: str | None) -> None:
    """A panic, or a host without memory: no result is not a good result."""
    _qemu(monkeypatch, status)
    with pytest.raises(LabError, match="without a result") as caught:
        machine.run(["true"], 7)
    assert str(machine.folder) in str(caught.value.hint)


def test_a_machine_that_hangs_is_ended(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "qemu", lambda: Path("/bin/sh"))
    monkeypatch.setattr(Machine, "_qemu", lambda *_: ["sleep", "100"])
    with pytest.raises(LabError, match=r"did not end in 0 s"):
        machine.run(["true"], 0.1)


def test_a_stock_kernel_without_shared_folders(tmp_path: Path) -> None:
    """An entry of the cache from before they were kept."""
    (tmp_path / "kernel/net").mkdir(parents=True)
    (tmp_path / "modules.builtin").write_text("kernel/drivers/virtio/virtio_pci.ko\n")
    kernel = StockKernel("6.12.1-amd64", Path("/stock/vmlinux"), "", tmp_path, version="6.12")
    with pytest.raises(MissingError, match="lacks modules: 9pnet_virtio, 9p, overlay") as caught:
        Machine(kernel, tmp_path / "machine").run(["true"], 1)
    assert "mptcplab kernel stock 6.12" in str(caught.value.hint)
