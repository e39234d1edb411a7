# SPDX-License-Identifier: MIT
"""Shell completion: bash itself, if it is installed; zsh and fish by their protocols."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from mptcplab.kernel.data import DEFAULT_VERSION
from mptcplab.study.library import select

pytestmark = pytest.mark.slow

SCENARIO = """
title = "two paths"
topology = { preset = "disjoint-paths" }
links.link1.rate = "10 Mbit/s"
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "1 s" }
"""
PROGRAM = Path(sys.executable).parent / "mptcplab"
BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="bash is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    for name in ("two.toml", "three.toml", "sub/deep.toml", "notes.txt", "pyproject.toml"):
        (tmp_path / name).write_text(SCENARIO)
    return tmp_path


def run(*command: str, folder: Path, **variables: str) -> str:
    """Return the standard output of a command that must succeed."""
    environment = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", **variables}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def script_for(shell: str) -> str:
    """Return the completion script; it is cached, since starting Python is slow."""
    return run(str(PROGRAM), "completion", shell, folder=Path("/"))


def ask_bash(folder: Path, *words: str, **variables: str) -> list[str]:
    """Return the completions that bash offers for the last of ``words``, which are split as bash splits them."""
    assert BASH is not None
    lines = [
        script_for("bash"),
        "compopt() { :; }  # only known while a key is pressed",
        f"COMP_WORDS=({' '.join(_quote(word) for word in words)})",
        f"COMP_CWORD={len(words) - 1}",
        "_mptcplab_completion mptcplab",
        '[ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\\n" "${COMPREPLY[@]}"',
    ]
    return run(BASH, "--norc", "-c", "\n".join(lines), folder=folder, **variables).splitlines()


def _quote(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


@needs_bash
def test_commands_and_options(folder: Path) -> None:
    assert "reproduce" in ask_bash(folder, "mptcplab", "re")
    assert ask_bash(folder, "mptcplab", "kernel", "b") == ["build"]
    assert "--repeats" in ask_bash(folder, "mptcplab", "run", "two.toml", "--re")
    assert ask_bash(folder, "mptcplab", "init", "--workload", "ip") == ["iperf3"]
    assert ask_bash(folder, "mptcplab", "completion", "z") == ["zsh"]


@needs_bash
def test_scenario_files(folder: Path) -> None:
    assert ask_bash(folder, "mptcplab", "run", "") == ["sub/deep.toml", "three.toml", "two.toml"]
    assert ask_bash(folder, "mptcplab", "show", "tw") == ["two.toml"]
    assert ask_bash(folder, "mptcplab", "plan", "sub/") == ["sub/deep.toml"]
    assert ask_bash(folder, "mptcplab", "plan", f"{folder}/th") == [f"{folder}/three.toml"]


@needs_bash
def test_nodes_formats_and_devices_of_an_export(folder: Path) -> None:
    command = ("mptcplab", "plan", "two.toml", "--node")
    assert ask_bash(folder, *command, "c") == ["client"]
    assert ask_bash(folder, *command, "client", "--format", "") == ["sh", "networkd", "uci"]
    assert ask_bash(folder, *command, "client", "--device", "") == ["access1=", "access2="]
    assert ask_bash(folder, *command, "r1", "--device", "access1", "=", "eth0,l") == ["eth0,link1="]


@needs_bash
def test_keys_of_set(folder: Path) -> None:
    """bash passes ``a=b`` as three words, and expects only the part behind the equals sign."""
    before = ("mptcplab", "run", "two.toml", "--set")
    assert "links.link1.forward.rate=" in ask_bash(folder, *before, "links.link1.")
    assert ask_bash(folder, *before, "hosts.client.transport.prot") == ["hosts.client.transport.protocol="]
    assert ask_bash(folder, *before, "hosts.client.transport.protocol", "=", "") == ["mptcp", "tcp"]
    assert ask_bash(folder, *before, "hosts.client.transport.protocol", "=", "m") == ["mptcp"]
    assert ask_bash(folder, *before, "hosts.client.transport.protocol", "=") == ["mptcp", "tcp"]
    after = (*before, "transport.protocol", "=", "tcp", "--repe")
    assert ask_bash(folder, *after) == ["--repeats"]


@needs_bash
def test_keys_of_a_scenario_that_cannot_be_read(folder: Path) -> None:
    (folder / "two.toml").write_text("title = ")
    assert ask_bash(folder, "mptcplab", "run", "two.toml", "--set", "links.") == []
    assert ask_bash(folder, "mptcplab", "run", "--set", "links.") == []


@needs_bash
def test_studies_and_kernels(folder: Path) -> None:
    names = [selected.name for selected in select(None)]
    assert {name for name in names if name.startswith("sub")} <= set(ask_bash(folder, "mptcplab", "reproduce", "sub"))
    assert ask_bash(folder, "mptcplab", "reproduce", names[0]) == [name for name in names if name.startswith(names[0])]
    assert ask_bash(folder, "mptcplab", "doctor", "--for", "tw") == ["two.toml"]
    assert "ito2016" in ask_bash(folder, "mptcplab", "doctor", "--for", "ito")
    empty = {"XDG_CACHE_HOME": str(folder / "cache")}
    assert ask_bash(folder, "mptcplab", "kernel", "path", "", **empty) == [DEFAULT_VERSION]


@needs_bash
def test_key_that_awaits_a_value_gets_no_blank(folder: Path) -> None:
    """``compopt`` reports this to bash; the other tests replace it."""
    assert BASH is not None
    lines = [
        script_for("bash"),
        'compopt() { echo "options: $*"; }',
        "COMP_WORDS=(mptcplab run two.toml --set record.int)",
        "COMP_CWORD=4",
        "_mptcplab_completion mptcplab",
        'echo "${COMPREPLY[@]}"',
    ]
    output = run(BASH, "--norc", "-c", "\n".join(lines), folder=folder)
    assert output.splitlines() == ["options: -o nospace", "record.interval="]


@pytest.mark.parametrize(("shell", "words"), [("zsh", "mptcplab run tw"), ("fish", "mptcplab run ")])
def test_other_shells(folder: Path, shell: str, words: str) -> None:
    """The scripts for zsh and fish ask for completions by environment variables."""
    output = run(
        str(PROGRAM),
        folder=folder,
        _MPTCPLAB_COMPLETE=f"{shell}_complete",
        COMP_WORDS=words,
        COMP_CWORD="2" if shell == "zsh" else "tw",
    )
    assert "two.toml" in output
    assert "three.toml" not in output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_names_its_place(folder: Path, shell: str) -> None:
    script = script_for(shell)
    assert script.startswith(f"# Completion of mptcplab for {shell}. Save it as ")
    assert f"{shell}_complete" in script
    program = shutil.which(shell)
    if program is not None:
        (folder / "script").write_text(script)
        run(program, "-n", "script", folder=folder)
