# SPDX-License-Identifier: MIT
"""docs/add-a-congestion-control.md, followed to the letter in a copy of the project: it needs a kept tree.

Without one it would build a kernel from nothing, which takes longer than all other tests together: `make kernel` keeps
none. After `mptcplab kernel build --keep-tree` it runs.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from tools.docs.figures import semicoupled

from mptcplab.kernel import find_kernel
from mptcplab.kernel.build import build_kernel, find_tree
from mptcplab.kernel.data import data_dir, load_inputs

GUIDE = Path(__file__).parents[3] / "docs" / "add-a-congestion-control.md"


def test_new_control_is_built_in_seconds(tmp_path: Path) -> None:
    kernel = find_kernel()
    if find_tree(kernel) is None:
        pytest.skip("no tree of the kernel was kept: mptcplab kernel build --keep-tree")
    shutil.copytree(data_dir(), tmp_path / "kernel")
    shutil.copytree(GUIDE.parents[1] / "examples" / "semicoupled", tmp_path / "examples" / "semicoupled")
    with (tmp_path / "examples" / "semicoupled" / "mptcp_semicoupled.c").open("a") as source:
        source.write(f"/* {time.time_ns()}: the tree may have had this file before */\n")
    subprocess.run(["sh", "-ec", semicoupled.commands("3. One file in `kernel/net/mptcp/`")], cwd=tmp_path, check=True)
    built = build_kernel(inputs=load_inputs(kernel.version, directory=tmp_path / "kernel"))
    try:
        assert b"semicoupled\0" in built.executable.read_bytes()
        lines = (built.path / "build.log").read_text().splitlines()
        compiled = [line.split()[1] for line in lines if line.startswith("  CC ")]
        print(f"compiled: {compiled}")
        # Linking makes the symbol table and the version anew; of the 1600 other files none is compiled.
        assert "net/mptcp/mptcp_semicoupled.o" in compiled
        assert len(compiled) < 10
    finally:
        shutil.rmtree(built.path)
