# SPDX-License-Identifier: MIT
"""``mptcplab cc load`` on machines that cannot load a program: this machine, with one thing taken away for the command.

tests/unit/ebpf/test_ebpf.py has the same refusals, and more versions, without a kernel.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.bench import CLI

from mptcplab.ebpf import controls
from mptcplab.ebpf.objects import compile_program, object_file, source_folder
from mptcplab.errors import Exit, MissingError

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not controls.BTF.is_file(), reason="only root may load eBPF programs, into a kernel with BTF"
)
#: Still allowed to read the checkout and the virtual environment, wherever they are.
_NOBODY = ("setpriv", "--reuid=65534", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search", "--")
_WITHOUT_BTF = ("unshare", "--mount", "sh", "-ec", f'mount -t tmpfs none {controls.BTF.parent}; exec "$@"', "sh")
#: The kernel then says that it is a 2.6.
_OLD = ("setarch", "--uname-2.6", "--")


@pytest.fixture(autouse=True)
def absent() -> Iterator[None]:
    """LIA is not in this machine's kernel, neither before nor after."""
    if controls.status("lia").state != "not loaded":
        pytest.skip("this machine has lia already")
    yield
    assert controls.status("lia").state == "not loaded"


def _load(*before: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*before, *CLI, "cc", "load", "lia"], capture_output=True, text=True)


def _sentence(done: subprocess.CompletedProcess[str], status: Exit) -> str:
    """Return the error, which is one sentence, of a command that also printed a hint and nothing else."""
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    sentence, hint = done.stderr.splitlines()
    assert "hint: " in hint
    return sentence


@pytest.mark.parametrize(
    ("before", "message"),
    [
        pytest.param(_NOBODY, "only root may load eBPF programs", id="no root"),
        pytest.param(_WITHOUT_BTF, f"the kernel {os.uname().release} has no type information (BTF)", id="no BTF"),
        pytest.param(_OLD, "is too old for these eBPF programs", id="old"),
    ],
)
def test_a_machine_that_cannot_is_refused(before: tuple[str, ...], message: str) -> None:
    assert message in _sentence(_load(*before), Exit.MISSING)


def test_a_name_that_is_taken_is_refused() -> None:
    """By the same program, which somebody else has registered."""
    subprocess.run(["bpftool", "struct_ops", "register", str(object_file("lia"))], check=True, capture_output=True)
    try:
        assert controls.status("lia").state == "taken"
        message = "the kernel has a congestion control 'lia' already"
        assert message in _sentence(_load(), Exit.BAD_INPUT)
    finally:
        controls.show("struct_ops", "unregister", "name", "lia")


@pytest.mark.parametrize(
    ("used", "other", "message"),
    [
        ("is_mptcp", "is_multipath", "it has no field 'tcp_sock.is_multipath'"),
        ("tcp_slow_start", "tcp_quick_start", "it has no function 'tcp_quick_start' for eBPF programs"),
    ],
)
def test_a_kernel_without_a_field_or_function_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, used: str, other: str, message: str
) -> None:
    """By a program that uses another name than this kernel has."""
    sources = shutil.copytree(source_folder(), tmp_path / "bpf")
    for file in sources.rglob("*.[ch]"):
        file.write_text(file.read_text().replace(used, other))
    compile_program(sources / "lia.bpf.c", tmp_path / "lia.bpf.o")
    monkeypatch.setattr(controls, "object_file", lambda _: tmp_path / "lia.bpf.o")
    with pytest.raises(MissingError) as caught:
        controls.load("lia")
    assert message in caught.value.message
    assert caught.value.hint
