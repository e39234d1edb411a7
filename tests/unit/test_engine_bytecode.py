# SPDX-License-Identifier: MIT
"""The guest's modules, compiled, in one file."""

from __future__ import annotations

import importlib.util
import marshal
import os
import py_compile
import subprocess
import sys
from pathlib import Path

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


def test_modules_are_compiled_if_their_bytecode_cannot_be_used(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text("answer = 42\n")
    expected = compile(source.read_bytes(), str(source), "exec", dont_inherit=True)
    assert marshal.loads(bytecode._bytecode(source)) == expected, "there is none"
    py_compile.compile(str(source))
    assert marshal.loads(bytecode._bytecode(source)) == expected, "it is current"
    written = Path(importlib.util.cache_from_source(str(source)))
    written.write_bytes(written.read_bytes()[:16] + b"other code")
    assert bytecode._bytecode(source) == b"other code", "it is not compiled again"
    os.utime(source, (0, 0))
    assert marshal.loads(bytecode._bytecode(source)) == expected, "it is old"
