# SPDX-License-Identifier: MIT
"""The guest's modules, compiled, in one file."""

from __future__ import annotations

import marshal
import subprocess
import sys
from pathlib import Path

import pytest

from mptcplab.engine import bytecode
from mptcplab.engine.report import package_folder
from mptcplab.engine.virtual import machine
from mptcplab.engine.virtual.machine import LabBoot
from mptcplab.kernel import KernelBuild

#: In place of process 1's work: imports everything, and prints which files were opened for that, and an error.
INSPECT = """
import importlib, sys, traceback
opened = []
sys.addaudithook(lambda event, words: opened.append(str(words[0])) if event == "open" else None)
for name in index:
    importlib.import_module(name)
print(sorted(index) == sorted(name for name in sys.modules if name.startswith("mptcplab")))
print([file for file in opened if "mptcplab" in file])
from mptcplab.guest import nodes, system
print(nodes.__file__)
try:
    system.read("/no/such")
except OSError:
    traceback.print_exc(file=sys.stdout)
"""


def test_the_guest_is_loaded_from_one_file(tmp_path: Path) -> None:
    """Process 1 opens no other file of ours, and its errors have the lines of the sources."""
    kernel = KernelBuild("7.2", "7.2.1-test", "k" * 64, tmp_path, "c" * 64)
    machine._write_init(LabBoot(kernel=kernel, seed=7, cpu=0, folder=tmp_path, source=package_folder()))
    script = (tmp_path / "init").read_text()
    last = "from mptcplab.guest.init import main\n"
    (tmp_path / "init").write_text(script[: script.index(last)] + INSPECT)
    words = [sys.executable, "-IS", str(tmp_path / "init")]
    is_complete, opened, file, *trace = subprocess.run(
        words, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert (is_complete, opened) == ("True", "[]")
    assert file == str(package_folder() / "mptcplab/guest/nodes.py")
    assert any("descriptor = os.open(file, os.O_RDONLY" in line for line in trace), trace


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with a guest of one module besides the loader, and an empty cache folder."""
    package = tmp_path / "package"
    (package / "guest").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "guest" / "modules.py").touch()
    (package / "guest" / "init.py").write_text("answer = 42\n")
    monkeypatch.setattr("mptcplab.__file__", str(package / "__init__.py"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return package / "guest"


def _answer(bundle: bytecode.Bundle) -> int:
    """Return what the module `init` of a bundle sets."""
    _, index = marshal.loads(bundle.content[: bundle.head_bytes])
    _, start, length, _ = index["mptcplab.guest.init"]
    names: dict[str, int] = {}
    exec(marshal.loads(bundle.content[bundle.head_bytes + start :][:length]), names)
    return names["answer"]


def test_the_bundle_is_kept_until_a_module_changes(guest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = bytecode.bundle_guest.__wrapped__
    first = bundle()
    assert _answer(first) == 42
    with monkeypatch.context() as patch:
        patch.setattr(bytecode, "_compile", lambda _: pytest.fail("compiled again"))
        assert bundle() == first
    (guest / "init.py").write_text("answer = 43\n")
    assert _answer(bundle()) == 43


@pytest.mark.parametrize("content", [b"", b"no bytecode", marshal.dumps((1, b"", 2))], ids=["empty", "text", "other"])
def test_a_damaged_bundle_is_made_again(guest: Path, tmp_path: Path, content: bytes) -> None:
    assert guest.is_dir()
    first = bytecode.bundle_guest.__wrapped__()
    (kept,) = (tmp_path / "cache/mptcplab/code").iterdir()
    kept.write_bytes(content)
    assert bytecode.bundle_guest.__wrapped__() == first


def test_without_a_cache_folder_the_bundle_is_made_each_time(guest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(guest / "init.py"))
    assert _answer(bytecode.bundle_guest.__wrapped__()) == 42
