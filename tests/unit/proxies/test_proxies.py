# SPDX-License-Identifier: MIT
"""Programs built from registries: what is pinned, which toolchain builds them, and what a build leaves behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.command_output import Output, output_of

from mptcplab.doctor import Level
from mptcplab.doctor.model import LinuxDistribution
from mptcplab.doctor.programs import check_proxies
from mptcplab.engine import tools
from mptcplab.errors import InputError, LabError, MissingError
from mptcplab.proxies import build, catalog
from mptcplab.proxies.catalog import RECIPES, Recipe

ROOT = Path(__file__).resolve().parents[3]
BINARIES = {binary: recipe for recipe in RECIPES.values() for binary in recipe.binaries}
TRIVIAL = Recipe("trivial", "go", "example.invalid/trivial", "1.0.0", ("trivial",), (1, 0), "MIT", "the-package")
MAIN = 'package main\n\nfunc main() { println("hello from", "Go") }\n'
#: A Go compiler that creates half of its program, says so, and does not end.
HANGING = "touch ../out/trivial; echo compiling; touch $HOME/ready; sleep 60 & wait"
KILLED = """
import sys
from pathlib import Path
from mptcplab.kernel.process import sigterm_as_interrupt
from mptcplab.proxies import build, catalog
from tests.unit.proxies.test_proxies import TRIVIAL

catalog.find_shipped_folder = lambda *_, **__: Path(sys.argv[1])
with sigterm_as_interrupt():
    build.build(TRIVIAL, print)
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "mptcplab"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that pins the trivial program, a Go module without dependencies."""
    folder = tmp_path / "pinned"
    folder.mkdir()
    (folder / "go.mod").write_text(f"module {TRIVIAL.source}\n\ngo 1.19\n")
    (folder / "go.sum").touch()
    (folder / "main.go").write_text(MAIN)
    monkeypatch.setattr(catalog, "find_shipped_folder", lambda *_, **__: folder)
    return folder


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a shell script that stands for Go: ``fake`` writes it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path / "bin" / "go"


def fake(program: Path, version: str, script: str = "exit 1") -> None:
    """Write a compiler of this version, which builds by ``script``."""
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\ncase $1 in *version) echo '{version}';; *) {script};; esac\n")
    program.chmod(0o755)


def remains(cache: Path) -> list[str]:
    """Return what unfinished builds have left in the cache."""
    return [path.name for folder in ("tmp", "tools") for path in (cache / folder).glob("*")]


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)
def test_the_pinned_files_have_the_catalogs_version_and_hashes(recipe: Recipe) -> None:
    if recipe.language == "go":
        module = (recipe.folder / "go.mod").read_text()
        assert f"{recipe.source} v{recipe.version}\n" in module
        oldest = re.findall(r"^go (\d+)\.(\d+)", module, re.MULTILINE)
        assert [tuple(map(int, version)) for version in oldest] == [recipe.compiler]
        assert recipe.package.startswith(recipe.source)
        sums = (recipe.folder / "go.sum").read_text().splitlines()
        needed = re.findall(r"^(?:require |\t)(\S+ v\S+)", module, re.MULTILINE)
        assert [name for name in needed if not any(line.startswith(f"{name} h1:") for line in sums)] == []
        return
    manifest = tomllib.loads((recipe.folder / "Cargo.toml").read_text())
    assert manifest["dependencies"][recipe.source]["version"] == f"={recipe.version}"
    assert tuple(map(int, manifest["package"]["rust-version"].split("."))) == recipe.compiler
    packages = tomllib.loads((recipe.folder / "Cargo.lock").read_text())["package"]
    assert recipe.version in [package["version"] for package in packages if package["name"] == recipe.source]
    assert [package["name"] for package in packages if "checksum" not in package] == [manifest["package"]["name"]]


@pytest.mark.parametrize("binary", BINARIES)
def test_a_missing_program_names_the_command(
    binary: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program of the machine that has this name does not take its place."""
    fake(tmp_path / "bin" / binary, "another version")
    monkeypatch.setattr(tools, "_SEARCH", str(tmp_path / "bin"))
    recipe = BINARIES[binary]
    assert catalog.built_program(recipe, binary) is None, cache
    with pytest.raises(MissingError) as error:
        tools.find_programs([binary], {})
    assert error.value.message == f"this machine has no '{binary}'"
    assert error.value.hint == f"mptcplab gateways build {recipe.name}"
    fake(catalog.folder_of(recipe) / binary, "the pinned version")
    assert tools.find_programs([binary], {}) == {binary: catalog.folder_of(recipe) / binary}


def test_the_callers_toolchain_comes_first_if_it_is_new_enough(tmp_path: Path) -> None:
    recipe = replace(TRIVIAL, compiler=(1, 19))
    fake(tmp_path / "old/go", "go version go1.15.15 linux/amd64")
    fake(tmp_path / "new/go", "go version go1.22.1 linux/amd64")
    fake(tmp_path / "sdk/go1.99.1/bin/go", "go version go1.99.1 linux/amd64")
    base = {"HOME": str(tmp_path), "RUSTFLAGS": "-O", "GOAMD64": "v3", "GOPROXY": "a-proxy"}
    toolchain = build.toolchain_of(recipe, {**base, "PATH": f"{tmp_path}/old:{tmp_path}/new"})
    assert (toolchain.path, toolchain.version) == (tmp_path / "new/go", (1, 22))
    assert not {"RUSTFLAGS", "GOAMD64"} & set(toolchain.environment), "a user's flags would change the program"
    assert toolchain.environment["GOPROXY"] == "a-proxy"
    assert toolchain.environment["GOTOOLCHAIN"] == "local", "nothing downloads another toolchain"
    newest = build.toolchain_of(replace(recipe, compiler=(1, 99)), {**base, "PATH": f"{tmp_path}/old"})
    assert newest.path == tmp_path / "sdk/go1.99.1/bin/go"


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let only PATH have toolchains."""
    without = {language: replace(kind, folders=()) for language, kind in build._KINDS.items()}
    monkeypatch.setattr(build, "_KINDS", without)


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize(
    ("version", "message"), [("go version go1.15.15 linux/amd64", "is 1.15"), (None, "is missing")]
)
def test_a_toolchain_that_is_too_old_is_one_sentence(version: str | None, message: str, tmp_path: Path) -> None:
    if version is not None:
        fake(tmp_path / "go", version)
    with pytest.raises(MissingError) as error:
        build.toolchain_of(RECIPES["xray"], {"PATH": str(tmp_path)})
    assert error.value.message == f"xray needs Go 1.24 or later, and this machine's Go {message}"
    assert "make gateways" in str(error.value.hint)


@pytest.mark.usefixtures("nowhere")
def test_cargo_without_a_compiler_is_not_a_toolchain(tmp_path: Path) -> None:
    recipe = RECIPES["shadowsocks-rust"]
    for name in ("cargo", "cc"):
        fake(tmp_path / name, f"{name} 1.99.0")
    with pytest.raises(MissingError, match="lacks one of cargo, rustc, cc"):
        build.toolchain_of(recipe, {"PATH": str(tmp_path)})
    fake(tmp_path / "rustc", "rustc 1.90.0 (abc 2025-01-01)")
    assert build.toolchain_of(recipe, {"PATH": str(tmp_path)}).version == (1, 90)


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize(
    ("offered", "packages"),
    [
        ("cargo:\n  Installed: (none)\n  Candidate: 1.85.0+dfsg3-1\n", ["cargo"]),
        ("cargo:\n  Installed: (none)\n  Candidate: 0.66.0+ds1-1\ncargo-web:\n  Candidate: 1.96.0-1\n", ["cargo-web"]),
        ("cargo:\n  Installed: (none)\n  Candidate: 0.66.0+ds1-1\n", []),
        ("", ["cargo"]),
    ],
)
def test_debians_packages(offered: str, packages: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_output_of", lambda *_: offered)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert build.missing_toolchain_packages([RECIPES["shadowsocks-rust"]]) == packages


def test_a_failed_build_keeps_only_its_log(cache: Path, files: Path, compiler: Path) -> None:
    fake(compiler, "go1.30", "touch ../out/trivial; echo 'go.sum: mismatch'; exit 3")
    with pytest.raises(LabError, match=r"trivial could not be built: \S+/go failed with status 3") as error:
        build.build(TRIVIAL, print)
    hint = str(error.value.hint)
    assert hint.endswith("go.sum: mismatch"), files
    assert "mismatch" in Path(re.findall("see (.*), which", hint)[0]).read_text()
    assert remains(cache) == []


@pytest.mark.slow
def test_a_build_that_hangs_ends_at_its_limit(
    cache: Path, files: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(compiler, "go1.30", HANGING)
    monkeypatch.setattr(build, "LIMIT_SECONDS", 0.5)
    started = time.monotonic()
    with pytest.raises(LabError, match=r"did not end within 0\.5 s"):
        build.build(TRIVIAL, print)
    seconds = time.monotonic() - started
    print(f"ended after {seconds:.1f} s")
    assert seconds < 30, f"half of the minute that it sleeps, for a busy machine ({files})"
    assert remains(cache) == []


@pytest.fixture
def no_orphans(tmp_path: Path) -> Iterator[None]:
    """End what builds below the test's folder that got SIGKILL have left running."""
    yield
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if tmp_path in (entry / "cwd").readlink().parents:
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue


@pytest.mark.slow
@pytest.mark.usefixtures("no_orphans")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_build_leaves_nothing(
    number: signal.Signals, cache: Path, tmp_path: Path, files: Path, compiler: Path
) -> None:
    """After SIGKILL, which lets nobody clean up, the next build removes what is left."""
    fake(compiler, "go1.30", HANGING)
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(files)], env={**os.environ, "PYTHONPATH": path})
    deadline = time.monotonic() + 60
    try:
        while not (tmp_path / "ready").exists():
            assert child.poll() is None, "it ended too early"
            assert time.monotonic() < deadline
            time.sleep(0.05)
        child.send_signal(number)
        assert child.wait(timeout=30) != 0
    finally:
        child.kill()
        child.wait()
    assert not (cache / "tools").exists()
    assert bool(remains(cache)) == (number == signal.SIGKILL)
    fake(compiler, "go1.30", "touch ../out/trivial")
    whole = build.build(TRIVIAL, print)
    assert remains(cache) == [whole.name]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not on PATH")
def test_go_builds_the_same_bytes_twice(
    cache: Path, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In two caches, whose folders have names of different lengths, and without what the first has compiled."""
    recipe = replace(TRIVIAL, package=TRIVIAL.source)
    first = build.build(recipe, print) / "trivial"
    assert first.is_relative_to(cache)
    stamp = first.stat().st_mtime_ns
    assert build.build(recipe, print) / "trivial" == first
    assert first.stat().st_mtime_ns == stamp, "not built again"
    assert re.match(r"go version go1\.\d+", catalog.compiler_of(recipe)), "the build says which compiler made it"
    assert build.build(recipe, print, fresh=True) / "trivial" == first
    assert first.stat().st_mtime_ns > stamp, "built again"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another-cache-folder"))
    second = build.build(recipe, print) / "trivial"
    assert second != first
    assert second.read_bytes() == first.read_bytes()
    done = subprocess.run([first], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == "hello from Go\n"
    (files / "main.go").write_text('package main\n\nimport _ "example.invalid/other"\n\nfunc main() {}\n')
    with pytest.raises(LabError, match="trivial could not be built") as error:
        build.build(recipe, print)
    assert "example.invalid/other" in str(error.value.hint), "a module without a pinned hash"


def _run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> Output:
    return output_of(monkeypatch, capsys, "gateways", *words)


@pytest.mark.usefixtures("nowhere")
def test_the_command_line(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = _run(capsys, monkeypatch, "list")
    assert status == 0, cache
    for recipe in RECIPES.values():
        assert re.search(rf"^{recipe.name} +{re.escape(recipe.version)} +not built$", out, re.MULTILINE)
    status, out, _ = _run(capsys, monkeypatch, "list", "--json")
    assert {row["name"]: row["folder"] for row in json.loads(out)} == dict.fromkeys(RECIPES)
    status, _, err = _run(capsys, monkeypatch, "build", "nginx")
    assert (status, err.splitlines()[0]) == (2, "mptcplab: 'nginx' is not a program that is built")
    monkeypatch.setenv("PATH", str(tmp_path))
    status, out, err = _run(capsys, monkeypatch, "build")
    assert (status, out) == (3, "")
    for recipe in RECIPES.values():
        assert f"{recipe.name} needs " in err, "a program that cannot be built does not hide the others"


def test_a_wrong_name_names_the_right_ones() -> None:
    with pytest.raises(InputError) as error:
        build.select_recipes(("xray", "ss-local"))
    assert error.value.hint == "use one of go-shadowsocks2, go-shadowsocks2-0.0.11, shadowsocks-rust, xray"


def test_doctor_names_them_without_a_complaint(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that has none: Debian's programs are to be installed, the others to be built."""
    monkeypatch.setattr(tools, "_SEARCH", str(cache / "no programs"))
    (finding,) = check_proxies(LinuxDistribution("debian", "Debian", is_root=True))
    assert finding.level == Level.FINE
    install, build_others = finding.message.removeprefix("none there; for others: ").split("; ")
    assert {"mptcpize", "nftables", "openssl", "openvpn", "shadowsocks-libev"} <= {*install.split()[2:]}
    assert build_others == f"mptcplab gateways build {' '.join(RECIPES)}"
