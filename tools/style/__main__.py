# SPDX-License-Identifier: MIT
"""Builds vale once, into the cache folder, and runs it on the files of this checkout that changed since they passed.

Status 0: no errors, or vale cannot be built on this machine; 1: errors of style, which are printed; 2: a wrong call.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from mptcplab.cache import KEY_CHARS, cache_root, hold_lock, make_work_folder
from mptcplab.errors import LabError, MissingError
from mptcplab.files import write_text
from mptcplab.kernel.process import run_logged
from mptcplab.proxies.build import toolchain_of
from mptcplab.proxies.catalog import Recipe

ROOT = Path(__file__).resolve().parents[2]
PINNED = Path(__file__).resolve().parent / "pinned"
RULES = Path(__file__).resolve().parent / "rules"
CONFIGURATION = ROOT / ".vale.ini"
PACKAGE = "github.com/vale-cli/vale/v3/cmd/vale"
#: The toolchain that builds vale: the `go` line of its module.
VALE = Recipe(
    name="vale",
    language="go",
    source="github.com/vale-cli/vale/v3",
    version="3.22.0",
    binaries=("vale",),
    compiler=(1, 25),
    licence="MIT",
    package=PACKAGE,
)
#: What is checked. Vale reads the comments of C without a view, and .vale.ini limits patches to their descriptions.
CHECKED = ("*.md", "*.py", "*.c", "*.h", "*.patch")
_BUILD_LIMIT_S = 1800.0
_SHOWN_LINES = 10


def main(arguments: list[str] | None = None) -> int:
    """Check files, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.style", description="Check the English of pages and code.")
    parser.add_argument("--all", action="store_true", help="print warnings, too, which do not fail")
    parser.add_argument("files", nargs="*", metavar="FILE", help="files to check; default: all of the checkout")
    options = parser.parse_args(arguments)
    try:
        vale = build_vale()
    except MissingError as error:
        return _skip(
            error.message, "put Go 1.25 or later on PATH: https://go.dev/dl; Debian 12 and 13 have an older one"
        )
    except LabError as error:
        return _skip(error.message, error.hint)
    level = "warning" if options.all else "error"
    command = [str(vale), f"--config={CONFIGURATION}", f"--minAlertLevel={level}", "--output=line"]
    if options.files or options.all:
        files = options.files or list_files()
        return subprocess.run([*command, *files], cwd=None if options.files else ROOT, check=False).returncode
    return check_changed(command, list_files(), ROOT, vale.parent / "passed")


def check_changed(command: list[str], files: list[str], root: Path, passed_file: Path) -> int:
    """Check the files of ``root`` that have not passed as they are, and return the exit status of ``command``.

    If all pass, their digests are written to ``passed_file``. A digest covers the rules and a file's path, too.
    """
    rules = hashlib.sha256()
    for path in (CONFIGURATION, *sorted(path for path in RULES.rglob("*") if path.is_file())):
        rules.update(path.read_bytes())
    passed = set(passed_file.read_text().split()) if passed_file.exists() else set()
    digests: dict[str, str] = {}
    for name in files:
        digest = rules.copy()
        digest.update(f"{name}\0".encode() + (root / name).read_bytes())
        digests[name] = digest.hexdigest()
    changed = [name for name in files if digests[name] not in passed]
    status = subprocess.run([*command, *changed], cwd=root, check=False).returncode if changed else 0
    if changed and status == 0:
        write_text(passed_file, "\n".join(digests.values()))
    return status


def _skip(reason: str, hint: str | None) -> int:
    """Say why nothing is checked, and return the status: a machine that cannot build vale may still change code."""
    print(f"The style check is skipped: {reason}\n  hint: {hint}", file=sys.stderr)
    return 0


def list_files() -> list[str]:
    """Return the files of the checkout that are checked, by their paths in it."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *CHECKED]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [path for path in listed if (ROOT / path).is_file()]


def vale_path() -> Path:
    """Return the place of vale as it is pinned now, whether it is built or not."""
    digest = hashlib.sha256(VALE.version.encode())
    for name in ("go.mod", "go.sum"):
        digest.update((PINNED / name).read_bytes())
    return cache_root() / "tools" / f"vale-{digest.hexdigest()[:KEY_CHARS]}" / "vale"


def build_vale() -> Path:
    """Return the path of vale, which is built unless it is there.

    :raises MissingError: without a new enough Go. :raises LabError: if the build fails, with the end of its log.
    """
    path = vale_path()
    if path.is_file():
        return path
    toolchain = toolchain_of(VALE)
    with hold_lock("vale", cache_root()), make_work_folder("vale", cache_root()) as work:
        if path.is_file():
            return path
        print("Building vale, once: one to five minutes", file=sys.stderr, flush=True)
        source, log = work / "source", work / "log"
        shutil.copytree(PINNED, source)
        # Only the modules that go.sum has the checksums of. vale parses Python and C with libraries in C.
        fixed = {"GOFLAGS": "-mod=readonly", "GOSUMDB": "off", "GOWORK": "off", "CGO_ENABLED": "1"}
        command = [str(toolchain.path), "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", "vale"]
        try:
            with log.open("w") as opened:
                run_logged(
                    [*command, PACKAGE],
                    log=opened,
                    cwd=source,
                    env={**toolchain.environment, **fixed},
                    limit_s=_BUILD_LIMIT_S,
                )
        except LabError as error:
            lines = log.read_text(errors="replace").splitlines()[-_SHOWN_LINES:]
            raise LabError("vale could not be built", hint="its log ends with\n  " + "\n  ".join(lines)) from error
        path.parent.mkdir(parents=True, exist_ok=True)
        os.replace(source / "vale", path)
    return path


if __name__ == "__main__":
    sys.exit(main())
