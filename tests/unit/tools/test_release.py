# SPDX-License-Identifier: MIT
"""What a release checks: versions, changelog, tree, licences; and the steps of image and package, without building."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tools.release.__main__ import ARTIFACTS, check_clean, check_release, dry_run, parse_arguments
from tools.release.command import check_first_run, check_numbers, run
from tools.release.containerfile import Image, Instruction, parse
from tools.release.deb import find_package
from tools.release.versions import PLACES, check_changelog, check_versions, prepare

from mptcplab import __version__
from mptcplab.errors import Exit, InputError, LabError, MissingError
from mptcplab.kernel.data import load_inputs

ROOT = Path(__file__).resolve().parents[3]
DATE = datetime(2027, 1, 2, 3, 4, 5, tzinfo=UTC)
NEXT = "99.0.0"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the files that name the version, in git."""
    for name in (*(place.file for place in PLACES), "CHANGELOG.md", "debian/control"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    commit(tmp_path)
    return tmp_path


def commit(checkout: Path) -> None:
    """Commit everything there."""
    run(["git", "init", "--quiet"], cwd=checkout)
    run(["git", "add", "--all"], cwd=checkout)
    run(["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "--quiet", "--message", "t"], cwd=checkout)


def test_all_files_name_the_version_of_the_package() -> None:
    assert check_versions(ROOT) == __version__


def test_a_version_is_written_to_all_files(checkout: Path) -> None:
    with pytest.raises(LabError, match=rf"CHANGELOG.md has no section of version {re.escape(NEXT)}"):
        check_changelog(checkout, NEXT)
    before = (checkout / "debian" / "changelog").read_text()
    prepare(checkout, NEXT, DATE)
    assert check_versions(checkout) == NEXT
    check_changelog(checkout, NEXT)
    changes = (checkout / "CHANGELOG.md").read_text()
    assert f"## [Unreleased]\n\n## [{NEXT}] - 2027-01-02\n\n### Added\n" in changes
    assert "No version has been released" not in changes
    assert f"\nversion: {NEXT}\ndate-released: 2027-01-02\n" in (checkout / "CITATION.cff").read_text()
    workflows = "".join((checkout / name).read_text() for name in ("docs/ci.md", "action.yml", "ci/install"))
    assert f"OWNER/mptcplab@v{NEXT}\n" in workflows
    assert __version__ not in workflows
    debian = (checkout / "debian" / "changelog").read_text()
    assert debian.startswith(f"mptcplab ({NEXT}) bookworm; urgency=medium\n")
    assert "  Sat, 02 Jan 2027 03:04:05 +0000\n" in debian
    assert debian.endswith(before), "earlier entries stay"
    maintainers = re.findall(r"^ -- (.+?)  ", debian, re.M)
    control = (checkout / "debian" / "control").read_text()
    assert {f"Maintainer: {name}" for name in maintainers} == {control.splitlines()[3]}, "the same in all entries"


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("0.0.1", "0.0.1 is not later than"),
        (__version__, "is not later than"),
        ("0.2", "'0.2' is not a version"),
        ("v0.2.0", "'v0.2.0' is not a version"),
        ("0.02.0", "'0.02.0' is not a version"),
    ],
)
def test_a_wrong_version_changes_nothing(checkout: Path, version: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        prepare(checkout, version, DATE)
    check_clean(checkout)


def test_versions_are_compared_as_numbers(checkout: Path) -> None:
    prepare(checkout, "99.9.0", DATE)
    prepare(checkout, "99.10.0", DATE)
    assert check_versions(checkout) == "99.10.0"


def test_files_that_disagree_are_named(checkout: Path) -> None:
    citation = checkout / "CITATION.cff"
    citation.write_text(citation.read_text().replace(f"version: {__version__}", "version: 8.0.0"))
    with pytest.raises(LabError, match=r"versions differ: .*CITATION\.cff has 8\.0\.0"):
        check_versions(checkout)


def test_a_section_without_changes_is_refused(checkout: Path) -> None:
    (checkout / "CHANGELOG.md").write_text(
        f"## [Unreleased]\n\n- later\n\n## [{NEXT}] - 2027-01-02\n\n## [0.0.1] - x\n"
    )
    with pytest.raises(LabError, match="names no change"):
        check_changelog(checkout, NEXT)


def test_the_tree_has_to_be_committed(checkout: Path) -> None:
    check_clean(checkout)
    (checkout / "forgotten.py").touch()
    with pytest.raises(LabError, match=r"changes that are not committed: forgotten\.py$"):
        check_release(checkout, artifacts=[], skips_tests=True)


def test_only_dry_runs_skip_tests(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse_arguments(["dry-run", NEXT, "--skip-tests", "--artifacts", "none"]).skip_tests
    with pytest.raises(SystemExit) as ended:
        parse_arguments(["check", "--skip-tests"])
    assert ended.value.code == 2
    assert "--skip-tests" in capsys.readouterr().err
    with pytest.raises(InputError, match="there is no artifact 'rpm'"):
        parse_arguments(["check", "--artifacts", "wheels,rpm"])


@pytest.mark.slow
def test_a_dry_run_changes_nothing_here(capsys: pytest.CaptureFixture[str]) -> None:
    """It prepares a copy of what is committed; building artifacts is left to `make release-check`."""
    pytest.importorskip("reuse", reason="the extra `release` is not installed")
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a checkout of git")
    before = run(["git", "status", "--porcelain"])
    dry_run(NEXT, artifacts=[], skips_tests=True)
    assert f"{NEXT}: the dry run succeeded, and nothing was changed here" in capsys.readouterr().out
    assert run(["git", "status", "--porcelain"]) == before
    assert check_versions(ROOT) == __version__


def test_each_artifact_has_its_target() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(ARTIFACTS.values()) <= targets


@pytest.mark.slow
def test_every_file_has_a_licence() -> None:
    pytest.importorskip("reuse", reason="the extra `release` is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "reuse", "--root", ROOT, "lint", "--lines"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_licences_are_those_of_the_parts() -> None:
    for name, original in (("MIT", "LICENSE"), ("GPL-2.0-only", "kernel/LICENSE")):
        assert (ROOT / "LICENSES" / f"{name}.txt").read_bytes() == (ROOT / original).read_bytes()


def test_a_table_of_both_protocols_is_expected() -> None:
    good = "  protocol  goodput\n  tcp  86.5  no\n  mptcp  161  2 subflows\n"
    check_first_run(good, artifact="the image")
    for bad in ("", good.replace("2 subflows", "no"), good.replace("  tcp", "  udp")):
        with pytest.raises(LabError, match="the first experiment in the image printed no table"):
            check_first_run(bad, artifact="the image")


def test_an_artifact_has_to_measure_the_bytes_of_the_checkout() -> None:
    check_numbers("The numbers of 2 runs are the same bytes as those in the pack.\n", artifact="the image")
    for said in ("The numbers of 1 of 2 runs differ from those in the pack:\n  protocol mptcp", "None of these runs"):
        with pytest.raises(LabError, match="the image measures other numbers than this checkout"):
            check_numbers(said, artifact="the image")


def test_a_command_that_fails_is_reported_with_its_output() -> None:
    with pytest.raises(LabError, match="`sh -c 'echo so; echo bad >&2; exit 3'` failed with status 3") as caught:
        run(["sh", "-c", "echo so; echo bad >&2; exit 3"])
    assert caught.value.hint == "so\n  bad"
    with pytest.raises(MissingError, match="no 'no-such-program'"):
        run(["no-such-program"])


def test_the_image_is_of_debian_and_its_program_is_not_root() -> None:
    image = Image.from_instructions(parse(ROOT / "Containerfile"))
    assert image.base == "docker.io/library/debian:bookworm-slim"
    assert image.copies == (("build/wheelhouse", "/tmp/wheelhouse"),)
    assert (image.user, image.folder, image.entry) == ("lab", "/home/lab", ("mptcplab",))
    assert any("--no-index" in command for command in image.commands), "the image needs no index of packages"
    ignored = (ROOT / ".containerignore").read_text()
    assert ignored == (ROOT / ".dockerignore").read_text() == "*\n!build/wheelhouse\n"


def test_an_unknown_instruction_is_refused() -> None:
    with pytest.raises(LabError, match="the Containerfile has 'HEALTHCHECK'"):
        Image.from_instructions([Instruction("FROM", "x"), Instruction("HEALTHCHECK", "CMD true")])


def test_the_package_of_the_version_is_found(tmp_path: Path) -> None:
    (tmp_path / "mptcplab_0.1.0_amd64.deb").touch()
    assert find_package(tmp_path, "0.1.0").name == "mptcplab_0.1.0_amd64.deb"
    with pytest.raises(MissingError, match=r"no Debian package of version 0\.2\.0"):
        find_package(tmp_path, "0.2.0")


def test_the_package_is_built_with_what_builds_a_kernel() -> None:
    """`dpkg-buildpackage` builds one in a clean clone; gcc and make are essential for builds."""
    script = (ROOT / "scripts" / "install-packages").read_text()
    words = re.search(r'^packages="\n(.*?)"', script, re.M | re.S)
    assert words is not None
    source = (ROOT / "debian" / "control").read_text().partition("\n\n")[0]
    missing = set(words[1].split()) - set(re.findall(r"[\w.+-]+", source)) - {"gcc", "make", "util-linux"}
    assert missing == set()


#: Stands for Python, and for pip: it writes what it is asked for, and installs what the library `contents` has.
_PYTHON = """#!/bin/sh
echo "$*" >>"$LOG"
case "$*" in
*"kernel path"*) exit 1 ;;
*tools.wheels*)
    mkdir -p dist && cd dist
    touch mptcplab-0.1.0-py3-none-any.whl mptcplab_kernel-0.1.0-any.whl mptcplab_ssh-0.1.0-any.whl ;;
*"pip download"*) mkdir -p build/wheelhouse && cp dist/*.whl build/wheelhouse ;;
*--target*) mkdir -p build/deb && cp -r contents/. build/deb ;;
esac
"""


@pytest.fixture
def package_source(tmp_path: Path) -> Path:
    """Return a folder with the scripts that collect what is in the Debian package, and a Python that does nothing."""
    for name in ("debian/collect", "scripts/collect-wheels"):
        (tmp_path / name).parent.mkdir()
        shutil.copy(ROOT / name, tmp_path / name)
    package = tmp_path / "packages" / "mptcplab-ssh" / "pyproject.toml"
    package.parent.mkdir(parents=True)
    package.touch()
    python = tmp_path / "build" / "deb-python" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(_PYTHON)
    python.chmod(0o755)
    files = ["bin/f2py", "share/man/a.1", "numpy/tests/test_a.py", "numpy/core.py", "numpy/.gitignore"]
    for name in (*files, "mptcplab/tests/kept.py", "mptcplab_kernel/manifest.json"):
        file = tmp_path / "contents" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return tmp_path


def _collect(folder: Path) -> list[str]:
    """Run debian/collect in a folder, and return the words of each call of its Python."""
    log = folder / "log"
    log.write_text("")
    environment = {"PATH": os.environ["PATH"], "LOG": str(log)}
    subprocess.run(["debian/collect", "build/deb"], cwd=folder, env=environment, check=True)
    return log.read_text().splitlines()


def test_the_package_has_neither_commands_nor_tests_of_libraries(package_source: Path) -> None:
    _collect(package_source)
    target = package_source / "build" / "deb"
    names = {str(file.relative_to(target)) for file in target.rglob("*") if file.is_file()}
    assert names == {"numpy/core.py", "mptcplab/tests/kept.py", "mptcplab_kernel/manifest.json"}


def test_the_package_builds_wheels_in_a_clean_clone_and_only_there(package_source: Path) -> None:
    """And it has the libraries of the live page: pip may not add any to Debian's Python."""
    first = _collect(package_source)
    commands = [line.partition("-m ")[2] for line in first]
    steps = ["mptcplab kernel build", "mptcplab kernel build --hz 250 --fix window", "tools.wheels"]
    assert [command for command in commands if command in steps] == steps
    assert commands.index("tools.wheels") < next(n for n, command in enumerate(commands) if "download" in command)
    assert "dist/mptcplab-0.1.0-py3-none-any.whl[serve]" in next(line for line in first if "pip download" in line)
    (install,) = _collect(package_source)
    assert "--no-index" in install
    assert install.endswith("mptcplab[all,serve]")


def test_wheels_of_libraries_are_collected_again_only_for_other_wheels(package_source: Path) -> None:
    _collect(package_source)
    command = ["scripts/collect-wheels", "build/deb-python/bin/python", "build/wheelhouse"]
    environment = {"PATH": os.environ["PATH"], "LOG": str(package_source / "log")}
    (package_source / "log").write_text("")
    subprocess.run(command, cwd=package_source, env=environment, check=True)
    assert (package_source / "log").read_text() == ""
    (package_source / "dist" / "mptcplab-0.1.0-py3-none-any.whl").write_text("other")
    subprocess.run(command, cwd=package_source, env=environment, check=True)
    assert "pip download" in (package_source / "log").read_text()


def _announce(folder: Path, kernels: str, *wheels: str) -> list[str]:
    """Return what `make demo` says first on a machine with these kernels; without any, nothing is installed.

    The system's Python then looks for kernels in the cache folder FOLDER/cache/mptcplab.
    """
    programs = folder / "venv" / "bin"
    programs.mkdir(parents=True)
    if kernels:
        mptcplab = programs / "mptcplab"
        mptcplab.write_text(f'#!/bin/sh\ncase " {kernels} " in *" ${{3:-7.2}} "*) ;; *) exit 3 ;; esac\n')
        mptcplab.chmod(0o755)
    script: list[str | Path] = [ROOT / "scripts" / "announce-demo", programs.parent, *wheels]
    environment = {"PATH": os.environ["PATH"], "PYTHON": sys.executable, "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run(script, capture_output=True, text=True, check=True, env=environment)
    return re.findall(r"^  \d\. (\w+)", done.stdout, re.M)


@pytest.mark.parametrize(
    ("kernels", "steps"),
    [
        ("", ["Install", "Build", "Make", "After"]),
        ("7.2", ["Build", "Make"]),
        ("7.2-hz250-window", ["Make", "After"]),
        ("7.2 7.2-hz250-window", ["Make"]),
    ],
)
def test_the_demonstration_says_what_it_will_do(tmp_path: Path, kernels: str, steps: list[str]) -> None:
    assert _announce(tmp_path, kernels) == steps


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernels", "steps"),
    [
        (["7.2-hz250-window"], ["Install", "Make", "After"]),
        (["7.2", "7.2-hz250-window"], ["Install", "Make"]),
        # built from other patches
        (["stale"], ["Install", "Build", "Make", "After"]),
    ],
)
def test_the_demonstration_finds_kernels_before_anything_is_installed(
    tmp_path: Path, kernels: list[str], steps: list[str]
) -> None:
    """A fresh clone on a machine with a warm cache builds none, and does not say that it does."""
    for name in kernels:
        variant = "" if name == "7.2" else "hz250-window"
        inputs = "of other patches" if name == "stale" else load_inputs("7.2", variant=variant).digest
        entry = tmp_path / "cache" / "mptcplab" / "kernels" / f"{name}-{'a' * 12}"
        entry.mkdir(parents=True)
        (entry / "linux").touch()
        facts = {"format": 1, "version": "7.2", "release": "7.2.1", "key": "a" * 64, "config_sha256": "c"}
        facts |= {"variant": variant, "inputs": inputs, "source": {"sha256": "s"}, "built": "", "lost_options": []}
        (entry / "entry.json").write_text(json.dumps(facts))
    assert _announce(tmp_path, "") == steps


def test_the_demonstration_builds_no_kernel_where_it_gets_a_wheel(tmp_path: Path) -> None:
    (tmp_path / f"mptcplab_kernel-0.1.0-py3-none-manylinux_2_35_{os.uname().machine}.whl").touch()
    assert _announce(tmp_path, "", str(tmp_path)) == ["Install", "Install", "Make"]


@pytest.mark.parametrize("wheel", ["mptcplab_kernel-0.1.0-py3-none-manylinux_2_35_s390x.whl", "", "mptcplab-0.1.0.whl"])
def test_wheels_of_another_architecture_are_refused_before_anything_is_done(tmp_path: Path, wheel: str) -> None:
    (tmp_path / "wheels").mkdir()
    if wheel:
        (tmp_path / "wheels" / wheel).touch()
    script = [ROOT / "scripts" / "announce-demo", tmp_path / "venv", tmp_path / "wheels"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"WHEELS={tmp_path}/wheels has no lab kernels for this machine: ")
    assert len(done.stderr.splitlines()) == 2


def test_the_demonstration_ends_at_once_on_another_processor(tmp_path: Path) -> None:
    uname = tmp_path / "uname"
    uname.write_text("#!/bin/sh\necho aarch64\n")
    uname.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    script = [ROOT / "scripts" / "announce-demo", tmp_path / "venv"]
    done = subprocess.run(script, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout) == (Exit.MISSING, "")
    assert done.stderr.startswith(
        "The lab kernel (User-Mode Linux) needs x86-64, and this machine is aarch64\n  hint: "
    )
