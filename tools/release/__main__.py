# SPDX-License-Identifier: MIT
"""``python -m tools.release``, which scripts/release calls: prepares and checks a release.

``prepare VERSION`` writes the version to all files. ``check`` checks the tree, builds all artifacts and uses each in an
empty environment. ``dry-run VERSION`` does both in a copy of the checkout.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tools.release.command import ROOT, run
from tools.release.versions import check_changelog, check_versions, prepare
from tools.wheels.command import run_main

from mptcplab.errors import InputError, LabError

#: The artifacts, and the target of the Makefile that builds each, installs it somewhere empty and runs an experiment;
#: data are opened again, and compared with the documentation. What is quick comes first.
ARTIFACTS = {"fidelity": "fidelity-data", "wheels": "wheels", "image": "image-check", "deb": "deb-check"}


def check_release(root: Path, *, artifacts: Sequence[str], skips_tests: bool) -> str:
    """Check the checkout `root`, build and use `artifacts`, and return the version. The quick checks come first.

    :raises LabError: at the first thing that is wrong.
    """
    check_clean(root)
    version = check_versions(root)
    check_changelog(root, version)
    check_licences(root)
    print(f"{version}: the tree is clean, versions agree, the changelog has it, every file has a licence", flush=True)
    if not skips_tests:
        make(root, "test")
    for artifact in artifacts:
        make(root, ARTIFACTS[artifact])
    return version


def check_clean(root: Path) -> None:
    """Check that git has the whole tree. :raises LabError: naming files that are changed or not in git."""
    changed = run(["git", "status", "--porcelain"], cwd=root).splitlines()
    if changed:
        names = ", ".join(line[3:] for line in changed[:5])
        more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
        raise LabError(f"the tree has changes that are not committed: {names}{more}")


def check_licences(root: Path) -> None:
    """Check that every file has a licence and a copyright. :raises LabError: if not."""
    run([sys.executable, "-m", "reuse", "--root", root, "lint", "--lines"], cwd=root)


def make(root: Path, target: str) -> None:
    """Make a target, with its output. :raises LabError: if it fails."""
    print(f"+ make {target}", flush=True)
    # This interpreter can belong to another checkout, whose modules are not to be tested.
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MAKEFLAGS")}
    done = subprocess.run(["make", target], cwd=root, env=environment, check=False)
    if done.returncode:
        raise LabError(f"`make {target}` failed with status {done.returncode}", hint=f"cd {shlex.quote(str(root))}")


def dry_run(version: str, *, artifacts: Sequence[str], skips_tests: bool) -> None:
    """Prepare and check the release of `version` in a copy of the committed checkout, which is removed afterwards.

    :raises LabError: at the first thing that is wrong.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "mptcplab"
        run(["git", "clone", "--quiet", ROOT, copy])
        prepare(copy, version, datetime.now(UTC).replace(microsecond=0))
        author = ["-c", "user.name=release", "-c", "user.email=release@localhost"]
        run(["git", *author, "commit", "--quiet", "--all", "--message", f"Release {version}"], cwd=copy)
        check_release(copy, artifacts=artifacts, skips_tests=skips_tests)
    print(f"{version}: the dry run succeeded, and nothing was changed here")


def main() -> None:
    """Carry out what the command line says."""
    options = parse_arguments(sys.argv[1:])
    if options.action == "prepare":
        check_clean(ROOT)
        prepare(ROOT, options.version, datetime.now(UTC).replace(microsecond=0))
        print(f"{options.version} is written. Look at `git diff`, commit, and call `make release-check`.")
    elif options.action == "check":
        version = check_release(ROOT, artifacts=options.artifacts, skips_tests=False)
        print(f"{version} can be released: tag the commit as v{version}; the artifacts are in dist/")
    else:
        dry_run(options.version, artifacts=options.artifacts, skips_tests=options.skip_tests)


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options. Tests can be skipped in dry runs only. :raises InputError: for an unknown artifact."""
    parser = argparse.ArgumentParser(prog="scripts/release", description="Prepare and check a release.")
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("prepare", help="write the version to all files").add_argument("version")
    check = actions.add_parser("check", help="check the tree, build all artifacts and use them")
    trial = actions.add_parser("dry-run", help="do both in a copy of the checkout")
    trial.add_argument("version")
    trial.add_argument("--skip-tests", action="store_true", help="leave out `make test`, which takes an hour")
    for action in (check, trial):
        text = f"which to build, separated by commas: {','.join(ARTIFACTS)} (default), or none"
        action.add_argument("--artifacts", default=",".join(ARTIFACTS), help=text)
    options = parser.parse_args(arguments)
    if options.action != "prepare":
        options.artifacts = [] if options.artifacts == "none" else options.artifacts.split(",")
        unknown = [name for name in options.artifacts if name not in ARTIFACTS]
        if unknown:
            raise InputError(f"there is no artifact '{unknown[0]}'", hint=f"there are {', '.join(ARTIFACTS)}")
    return options


if __name__ == "__main__":
    run_main(main, name="release")
