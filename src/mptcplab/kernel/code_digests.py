# SPDX-License-Identifier: MIT
"""Let comments change without a new kernel: a file counts in a kernel's key as it was when its code last changed.

A key names a build, and is a part of each run's identity. ``kernel/code-digests.json`` lists the files whose comments
have changed since: the digest of their code, and the digest as which they count. ``python -m
mptcplab.kernel.code_digests --write [COMMIT]`` adds the files that have other comments than in COMMIT, by default HEAD,
and the same code. A file whose code changes counts as it is, and loses its entry.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from mptcplab.files import write_text

FILE = "code-digests.json"
#: The folders below kernel/ whose files are inputs of builds; a user names the patches of others.
_FOLDERS = ("net", "options", "patches", "upstream")
_C = (".c", ".h")
_PATCH = ".patch"
#: Comments of C, and the literals that may contain what looks like a comment.
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
#: The first line of what `patch` reads.
_DIFF = re.compile(rb"^(?:diff --git |--- a/|--- /dev/null)", re.MULTILINE)


@dataclass(frozen=True)
class CodeDigest:
    """The hash of a file's code, and the hash of the file, with the comments that it had, as which it counts."""

    code: str
    counts_as: str


def code_of(name: str, content: bytes) -> bytes:
    """Return what a compiler or `patch` reads of a file: C without comments and layout, a patch without description.

    Other files are returned unchanged.
    """
    suffix = Path(name).suffix
    if suffix == _PATCH:
        diff = _DIFF.search(content)
        return content[diff.start() :] if diff else content
    if suffix not in _C:
        return content
    text = _COMMENT.sub(lambda part: " " if part[0].startswith("/") else part[0], content.decode())
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(filter(None, lines)).encode()


@cache
def read_code_digests(file: Path) -> Mapping[str, CodeDigest]:
    """Return the entries of ``file`` by the file's name below ``kernel/``; none without such a file."""
    if not file.is_file():
        return {}
    return {name: CodeDigest(**entry) for name, entry in json.loads(file.read_text()).items()}


def digest_of_input(name: str, content: bytes, known: Mapping[str, CodeDigest]) -> str:
    """Return the hash as which a file counts in a kernel's key."""
    entry = known.get(name)
    if entry is not None and _hash(code_of(name, content)) == entry.code:
        return entry.counts_as
    return _hash(content)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write(kernel: Path, commit: str) -> list[str]:
    """Write the entries of all files in the folder ``kernel`` of a checkout. Return the names of files that have one.

    :raises subprocess.CalledProcessError: if git does not know the commit.
    """
    file = kernel / FILE
    known = read_code_digests(file)
    changed = _git(kernel, "diff", "--name-only", "--relative", "--diff-filter=M", "-z", commit).decode().split("\0")
    entries = {}
    for name in sorted({*known, *filter(None, changed)}):
        path = kernel / name
        if name.partition("/")[0] not in _FOLDERS or path.suffix not in (*_C, _PATCH) or not path.is_file():
            continue
        content = path.read_bytes()
        code, entry = _hash(code_of(name, content)), known.get(name)
        if (entry is None or entry.code != code) and name in changed:
            before = _git(kernel, "show", f"{commit}:./{name}")
            entry = CodeDigest(_hash(code_of(name, before)), digest_of_input(name, before, known))
        if entry is not None and entry.code == code and entry.counts_as != _hash(content):
            entries[name] = entry
    document = {name: asdict(entry) for name, entry in entries.items()}
    write_text(file, json.dumps(document, indent=1) + "\n")
    return list(entries)


def _git(folder: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True).stdout


def main(arguments: list[str]) -> None:
    """Write the entries of this checkout's files."""
    if not 1 <= len(arguments) <= 2 or arguments[0] != "--write":
        sys.exit("usage: python -m mptcplab.kernel.code_digests --write [COMMIT]")
    from mptcplab.kernel.data import data_dir

    try:
        names = write(data_dir(), *(arguments[1:] or ["HEAD"]))
    except subprocess.CalledProcessError as error:
        sys.exit(error.stderr.decode().strip())
    print(f"{len(names)} files count as they were before their comments changed")


if __name__ == "__main__":
    main(sys.argv[1:])
