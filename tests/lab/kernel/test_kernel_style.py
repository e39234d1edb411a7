# SPDX-License-Identifier: MIT
"""C is in the kernel's style, as checkpatch.pl from the kernel's own source says. Its warnings are errors here."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest
from tests.lab import shared_recordings

from mptcplab.cache import cache_root
from mptcplab.kernel.debian import debian_source
from mptcplab.kernel.progress import SilentProgress

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch")
#: Programs for user space have lines as long as the Python beside them. They lack the kernel's macros and functions,
#: and have handlers of signals and symbols of assembly. COMPLEX_MACRO and MACRO_WITH_FLOW_CONTROL find tables and
#: functions that macros define.
USER = (
    "--file",
    "--max-line-length=120",
    "--ignore",
    "PREFER_DEFINED_ATTRIBUTE_MACRO,STRCPY,VOLATILE,AVOID_EXTERNS,COMPLEX_MACRO,MACRO_WITH_FLOW_CONTROL",
)
#: Programs in eBPF have no header of the kernel that defines `noinline`.
BPF = ("--strict", "--file", "--ignore", "PREFER_DEFINED_ATTRIBUTE_MACRO")
#: What stands in for the kernel's headers there defines the macros, types and functions that others are to use.
BPF_HEADERS = (
    "--strict",
    "--file",
    "--ignore",
    "PREFER_DEFINED_ATTRIBUTE_MACRO,NEW_TYPEDEFS,CAMELCASE,COMPLEX_MACRO,MACRO_ARG_REUSE,MACRO_ARG_PRECEDENCE,"
    "AVOID_EXTERNS",
)
#: No Signed-off-by. EMBEDDED_FILENAME takes "net/mptcp/Kconfig.lab" in net/mptcp/Kconfig for its own name. ENOSYS wants
#: that error returned for unknown system calls only; 0020 compares with it.
PATCH = ("--strict", "--no-signoff", "--ignore", "EMBEDDED_FILENAME,ENOSYS")
#: For mainline. The commits that they fix are in no repository here, and MAINTAINERS has a pattern for each new file.
UPSTREAM = ("--strict", "--ignore", "UNKNOWN_COMMIT_ID,FILE_PATH_CHANGES")


@pytest.fixture(scope="module")
def checkpatch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script, out of the source that the lab kernel was built from, which takes long to unpack."""
    folder = tmp_path_factory.mktemp("source")
    with (folder / "log").open("w") as log:
        source = debian_source("7.2", cache_root(), progress=SilentProgress(), log=log)
    place = shared_recordings.folder("checkpatch") / source.path.name
    if not shared_recordings.keeps() or not shared_recordings.lend(place, folder):
        wanted = [f"*/scripts/{name}" for name in SCRIPTS]
        command = ["tar", "-xf", str(source.path), "-C", str(folder), "--strip-components=1", "--wildcards", *wanted]
        subprocess.run(command, check=True, timeout=300)
        shared_recordings.keep(folder, place)
    return folder / "scripts" / SCRIPTS[0]


def _find(checkpatch: Path, options: tuple[str, ...], files: list[Path]) -> str:
    done = subprocess.run(
        ["perl", checkpatch, "--no-tree", "--terse", "--quiet", "--no-summary", *options, *files],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.stdout + done.stderr


def _mark(checkpatch: Path, options: tuple[str, ...], file: Path) -> Path:
    """Where an earlier session noted that nothing was found in a file with this name and content."""
    digest = hashlib.sha256(repr((options, str(file.relative_to(ROOT)))).encode())
    for source in (*sorted(checkpatch.parent.iterdir()), file):
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    return shared_recordings.folder("checkpatch") / "clean" / digest.hexdigest()


@pytest.mark.parametrize(
    ("options", "globs"),
    [
        pytest.param(
            ("--strict", "--file"),
            ("kernel/net/mptcp/*.[ch]", "kernel/options/**/*.[ch]", "examples/**/*.c"),
            id="kernel",
        ),
        pytest.param(
            PATCH, ("kernel/patches/**/*.patch", "kernel/options/*/*.patch", "kernel/experiments/*.patch"), id="patches"
        ),
        pytest.param(UPSTREAM, ("kernel/upstream/*/*.patch",), id="upstream"),
        pytest.param(BPF, ("bpf/*.bpf.[ch]",), id="bpf"),
        pytest.param(BPF_HEADERS, ("bpf/kernel.h", "bpf/linux/*.h"), id="bpf-headers"),
        pytest.param(USER, ("tools/**/*.[ch]", "tests/**/*.[ch]"), id="user"),
    ],
)
def test_nothing_is_found(checkpatch: Path, options: tuple[str, ...], globs: tuple[str, ...]) -> None:
    files = [file for pattern in globs for file in sorted(ROOT.glob(pattern))]
    print(len(files), "files")
    assert len(files) > len(globs)
    marks = {file: _mark(checkpatch, options, file) for file in files}
    unknown = [file for file in files if not shared_recordings.keeps() or not marks[file].exists()]
    print(len(unknown), "of them new or changed")
    assert not unknown or _find(checkpatch, options, unknown) == ""
    for mark in marks.values():
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def test_it_would_find_something(checkpatch: Path, tmp_path: Path) -> None:
    file = tmp_path / "wrong.c"
    file.write_text("// SPDX-License-Identifier: GPL-2.0-only\nint f(void)\n{\n\tif(1) return 2;\n}\n")
    complaints = _find(checkpatch, ("--strict", "--file"), [file])
    assert "wrong.c:4: ERROR: space required before the open parenthesis" in complaints, complaints
