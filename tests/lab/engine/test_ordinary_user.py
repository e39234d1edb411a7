# SPDX-License-Identifier: MIT
"""Labs need no privileges, and write nowhere but into the results and the cache."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from tests.lab.bench import CLI, Bench, bare_plan, client

import mptcplab
from mptcplab.cache import cache_root

NOBODY = 65534
PREFIX = "mptcplab-user-"
SCENARIO = """
title = "as an ordinary user"
topology = { preset = "disjoint-paths", paths = 2 }
links.link1.rate = "10 Mbit/s"
links.link2.rate = "10 Mbit/s"
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "1 s" }
"""


@dataclass(frozen=True)
class User:
    """A home, a cache with our kernels, and a way to run commands as an unprivileged user."""

    folder: Path
    uid: int
    words: tuple[str, ...]

    @property
    def home(self) -> Path:
        """The user's home."""
        return self.folder / "home"

    def run(self, *arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """``mptcplab`` as this user."""
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "PYTHONPATH": str(Path(__file__).parents[3] / "src"),
        }
        command = [*self.words, *CLI, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd or self.home, timeout=120)
        assert "Traceback" not in done.stderr, done.stderr
        return done


@cache
def _words() -> tuple[int, tuple[str, ...]]:
    if os.geteuid() != 0:
        return os.geteuid(), ()
    if shutil.which("setpriv") is None:
        pytest.skip("root cannot become an ordinary user here: no setpriv")
    words = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups")
    if subprocess.run([*words, *CLI, "--version"], capture_output=True, cwd="/").returncode:
        pytest.skip("root's checkout is closed to other users, below /root for example")
    return NOBODY, words


@pytest.fixture(params=["/tmp", "/run", "/var/tmp"])
def user(request: pytest.FixtureRequest) -> Iterator[User]:
    """Everything of the user's, below /tmp and /run too: the guest has folders of its own there."""
    uid, words = _words()
    if not os.access(request.param, os.W_OK):
        pytest.skip(f"{request.param} is not writable")
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=request.param))
    try:
        folder.chmod(0o755)
        (folder / "home").mkdir()
        for part in ("kernels", "tools"):
            shutil.copytree(cache_root() / part, folder / "cache" / "mptcplab" / part)
        (folder / "home" / "scenario.toml").write_text(SCENARIO)
        if os.geteuid() == 0:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, uid, uid)
        yield User(folder, uid, words)
    finally:
        shutil.rmtree(folder)


def _files_of(uid: int) -> set[str]:
    """Everything that belongs to ``uid`` where programs use to leave things, but not in these tests' own folders."""
    files: set[str] = set()
    for top in ("/tmp", "/var/tmp", "/dev/shm", "/run"):
        files |= set(_list_owned(top, uid, os.stat(top).st_dev))
    return files


def _list_owned(folder: str, uid: int, device: int, depth: int = 3) -> Iterator[str]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            about = entry.stat(follow_symlinks=False)
            if about.st_uid == uid and not entry.name.startswith(PREFIX):
                yield entry.path
            if depth and entry.is_dir(follow_symlinks=False) and about.st_dev == device and PREFIX not in entry.name:
                yield from _list_owned(entry.path, uid, device, depth - 1)


def _state(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in folder.rglob("*")}


def test_a_run_writes_only_into_results_and_cache(user: User) -> None:
    cache = user.folder / "cache" / "mptcplab"
    before = _state(user.home), _state(cache / "kernels"), _state(cache / "tools")
    files = _files_of(user.uid)
    done = user.run("run", "scenario.toml", "--out", user.folder / "results")
    assert done.returncode == 0, done.stderr
    assert "2 subflows" in done.stdout, done.stdout
    after = _state(user.home), _state(cache / "kernels"), _state(cache / "tools")
    extra = _files_of(user.uid) - files
    assert not extra, f"left behind: {extra}"
    names = ("the home", "the kernels", "the tools")
    for name, old, new in zip(names, before, after, strict=True):
        assert old == new, f"{name} changed: {old} became {new}"


def test_a_relative_results_folder(user: User) -> None:
    """The default one: results/NAME below the working directory."""
    done = user.run("run", "scenario.toml")
    assert done.returncode == 0, done.stderr
    assert len(list(user.home.glob("results/scenario/runs/*/manifest.json"))) == 1


def test_an_unwritable_results_folder(user: User) -> None:
    out = user.folder / "results"
    for made in ("", "runs", ".work"):
        (out / made).mkdir()
        (out / made).chmod(0o555 if os.geteuid() else 0o755)
    if os.geteuid() == 0:
        for path in (out, *out.rglob("*")):
            os.chown(path, 0, 0)
    done = user.run("run", "scenario.toml", "--out", out)
    assert done.returncode == 2, f"status {done.returncode}: {done.stderr}"
    assert "permission denied" in done.stderr, done.stderr


def test_the_guest_cannot_write_to_the_host(bench: Bench) -> None:
    """As root on the host, which could: the root is mounted read-only, /tmp, /run and /dev/shm are private."""
    mark = f"mptcplab-mark-{os.getpid()}"
    places = ["/", "/usr", "/etc", "/root", "/var/tmp", str(Path(__file__).parent), str(bench.folder)]
    private = ["/tmp", "/run", "/dev/shm"]
    lines = [f"touch {place}/{mark} 2>/dev/null && echo wrote {place}" for place in places]
    lines += [f"touch {place}/{mark} && echo private {place}" for place in private]
    said = bench.live(bare_plan(client("try", "sh", "-c", "; ".join([*lines, "true"]))), fresh=True).text("try")
    assert said.splitlines() == [f"private {place}" for place in private], said
    there = [place for place in (*places, *private) if (Path(place) / mark).exists()]
    assert not there, f"on the host there is a {mark} in {there}"
    hidden = bench.live(bare_plan(client("look", "ls", "-A", "/tmp", "/run")), fresh=True).text("look").split()
    # And what of ours lies below them: a checkout or a cache.
    ours = {part for path in (mptcplab.__file__, str(cache_root())) for part in Path(path).parts}
    assert set(hidden) - ours == {"/run:", "lab", "netns", "programs", "/tmp:"}, f"the guest sees {hidden}"
