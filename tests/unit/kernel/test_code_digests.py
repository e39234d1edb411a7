# SPDX-License-Identifier: MIT
"""Comments of C files and descriptions of patches do not count in a kernel's key; code does."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from mptcplab.kernel.code_digests import FILE, code_of, read_code_digests, write
from mptcplab.kernel.data import data_dir, load_inputs

_C = b"""/* Old words. */
int x; // a number
char s[] = "/* no comment */ // none";
char quote = '"'; /* of several
 * lines */ int y;
"""
_PATCH = b"""Subject: old words

--- a/x.c
+++ b/x.c
@@ -1 +1 @@
-int a;
+int b; /* part of the diff */
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """A checkout with a folder of inputs, a C file and a patch."""
    folder = tmp_path / "kernel"
    for name, content in {
        "net/mptcp/a.c": _C,
        "patches/0001-a.patch": _PATCH,
        "config/lab.config": b"CONFIG_NET=y\n",
    }.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(content)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return folder


def test_code_is_what_a_compiler_reads() -> None:
    code = code_of("a.c", _C).decode()
    assert code == 'int x;\nchar s[] = "/* no comment */ // none";\nchar quote = \'"\'; int y;'
    assert code_of("a.patch", _PATCH) == _PATCH[_PATCH.index(b"--- a/") :]
    assert code_of("Makefile.lab", b"# words\n") == b"# words\n"


def test_other_comments_keep_the_key(kernel: Path) -> None:
    before = load_inputs("7.2", directory=kernel).digest
    source, patch = kernel / "net/mptcp/a.c", kernel / "patches/0001-a.patch"
    source.write_bytes(_C.replace(b"Old words.", b"Better words,\n * on two lines."))
    patch.write_bytes(_PATCH.replace(b"old words", b"better words"))
    assert load_inputs("7.2", directory=kernel).digest != before, "without an entry a file counts as it is"
    assert write(kernel, "HEAD") == ["net/mptcp/a.c", "patches/0001-a.patch"]
    read_code_digests.cache_clear()
    assert load_inputs("7.2", directory=kernel).digest == before
    source.write_bytes(source.read_bytes().replace(b"Better", b"The best"))
    assert load_inputs("7.2", directory=kernel).digest == before, "entries hold for all comments"


@pytest.mark.parametrize(
    ("name", "change"),
    [("net/mptcp/a.c", (b"int x", b"long x")), ("patches/0001-a.patch", (b"part of the diff", b"another part"))],
)
def test_other_code_is_another_key(kernel: Path, name: str, change: tuple[bytes, bytes]) -> None:
    before = load_inputs("7.2", directory=kernel).digest
    file = kernel / name
    file.write_bytes(file.read_bytes().replace(b"words", b"English"))
    write(kernel, "HEAD")
    read_code_digests.cache_clear()
    file.write_bytes(file.read_bytes().replace(*change))
    assert load_inputs("7.2", directory=kernel).digest != before
    assert name not in write(kernel, "HEAD"), "the entry goes with the code that it was for"


def test_the_entries_are_of_files_with_other_comments() -> None:
    """An entry whose code has changed, or whose file is as it counts, has no effect."""
    folder = data_dir()
    for name, entry in read_code_digests(folder / FILE).items():
        content = (folder / name).read_bytes()
        assert hashlib.sha256(code_of(name, content)).hexdigest() == entry.code, name
        assert hashlib.sha256(content).hexdigest() != entry.counts_as, name


def test_entries_do_not_depend_on_the_folder(tmp_path: Path) -> None:
    """An installed package has the same keys as a checkout."""
    copy = tmp_path / "kernel"
    shutil.copytree(data_dir(), copy)
    assert load_inputs("7.2", directory=copy).digest == load_inputs("7.2").digest
