# SPDX-License-Identifier: MIT
"""The wheels of a release: what is in `mptcplab-kernel`, its tag, and what would go unnoticed if a check failed."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="the extra `wheels` is not installed")
pytest.importorskip("elftools", reason="the extra `wheels` is not installed")

from tests.unit.kernel.test_cache import INPUTS as OF_ENTRIES
from tests.unit.kernel.test_cache import fill
from tools.wheels import contents
from tools.wheels.build import build_kernel_wheel, build_pure_wheel
from tools.wheels.command import PACKAGES, wheels_in
from tools.wheels.compare import compare
from tools.wheels.contents import ReleasedKernel
from tools.wheels.elf import elf_files, machine_of, needed_glibc, wheel_tag
from tools.wheels.install import check_results

from mptcplab import __version__, prebuilt
from mptcplab.errors import InputError, LabError, MissingError
from mptcplab.kernel.cache import KernelBuild, find_kernel, read_entry
from mptcplab.kernel.data import KernelInputs, NamedFile, load_inputs

INPUTS = KernelInputs(
    fragment="CONFIG_NET=y\n",
    patches=(NamedFile("0002-b.patch", b"b"), NamedFile("7.2/0001-a.patch", b"a")),
    overlay=(NamedFile("net/mptcp/x.c", b"x"),),
)
DEBIAN = {"kind": "debian", "name": "linux-source-7.2", "package_version": "7.2.13-1", "sha256": "5" * 64}
Compile = Callable[..., Path]


@pytest.fixture
def compile_program(tmp_path: Path) -> Compile:
    """Compile a program of one function, and return its path."""

    def compile_text(text: str, *options: str, name: str = "program") -> Path:
        path = tmp_path / name
        command = ["gcc", "-x", "c", "-", *options, "-o", str(path)]
        subprocess.run(command, input=text, text=True, check=True, timeout=60)
        return path

    return compile_text


@pytest.fixture
def kernel(tmp_path: Path, compile_program: Compile) -> KernelBuild:
    """An entry as after a build, with a program in place of Linux."""
    entry = fill(tmp_path / "7.2-aaaaaaaaaaaa", key="a" * 64, compiler="gcc 12", tree="t", jobs=2, build_seconds=256)
    rewrite(entry, source=DEBIAN)
    (entry / "linux").write_bytes(compile_program("int main(void) { return 0; }").read_bytes())
    (entry / "System.map").write_text("map\n")
    (entry / "config").write_text("CONFIG_NET=y\n")
    build = read_entry(entry)
    assert build is not None
    return build


def rewrite(entry: Path, **facts: object) -> None:
    """Change facts of an entry."""
    file = entry / "entry.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | facts))


def test_a_program_needs_the_c_library_of_its_newest_symbol(compile_program: Compile) -> None:
    """`getrandom` came with glibc 2.25; a program without libraries needs none."""
    newer = compile_program("#include <sys/random.h>\nint main(void) { return (int)getrandom(0, 0, 0); }", name="newer")
    none = compile_program("int main(void) { return 0; }", "-static", name="none")
    assert needed_glibc([newer]) >= (2, 25)
    assert needed_glibc([none]) == (2, 0)
    assert needed_glibc([none, newer]) == needed_glibc([newer])
    major, minor = needed_glibc([newer])
    assert wheel_tag([none, newer]) == f"py3-none-manylinux_{major}_{minor}_{machine_of([newer])}"


def test_executables_are_for_one_machine(compile_program: Compile) -> None:
    here = compile_program("int main(void) { return 0; }")
    other = here.with_name("other")
    content = bytearray(here.read_bytes())
    content[18:20] = (8).to_bytes(2, "little")  # e_machine of MIPS
    other.write_bytes(content)
    assert elf_files(here.parent) == [other, here]
    with pytest.raises(ValueError, match="EM_MIPS"):
        machine_of([here, other])
    with pytest.raises(ValueError, match="no machine"):
        machine_of([])


def test_a_release_runs_on_debian_12() -> None:
    contents.check_glibc((2, 36))
    with pytest.raises(InputError, match=r"need glibc 2\.41, and a release has to run with 2\.36"):
        contents.check_glibc((2, 41))


@pytest.mark.slow
def test_two_builds_give_the_same_bytes_and_what_mptcplab_finds(
    tmp_path: Path, kernel: KernelBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Facts of the entry that differ between two builds of the same kernel are not in the wheel."""
    monkeypatch.setattr(contents, "PROGRAMS", ("flow",))  # others would take the compiler's time only
    monkeypatch.setattr(contents, "check_glibc", lambda _: None)  # this machine may be newer than a release's
    first = build_kernel_wheel(tmp_path / "first", [ReleasedKernel(kernel, INPUTS)])
    rewrite(kernel.path, jobs=64, build_seconds=9, tree="u", built="2030-01-01T00:00:00+00:00")
    for file in kernel.path.iterdir():
        file.chmod(0o700)
    second = build_kernel_wheel(tmp_path / "elsewhere" / "second", [ReleasedKernel(kernel, INPUTS)])
    compare([first], [second])

    site = tmp_path / "site"
    with zipfile.ZipFile(first) as wheel:
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in wheel.infolist()}
        wheel.extractall(site)
    package = "mptcplab_kernel"
    runnable = {name for name, mode in modes.items() if mode & 0o111}
    programs = {f"{package}/programs/flow/{name}" for name in ("flow", "flow-sockopt.so")}
    assert runnable == {f"{package}/kernels/{kernel.path.name}/linux", *programs}
    source = {str(path.relative_to(site / package / "source")) for path in site.rglob("source/**/*") if path.is_file()}
    files = {"lab.config", "files/net/mptcp/x.c", "patches/01-0002-b.patch", "patches/02-0001-a.patch"}
    assert source == {"README.md", *(f"7.2/{name}" for name in files)}
    readme = (site / package / "source" / "README.md").read_text()
    for fact in (DEBIAN["sha256"], DEBIAN["package_version"], "linux-source-7.2", "gcc 12"):
        assert fact in readme, fact
    (metadata,) = site.glob("*.dist-info/METADATA")
    assert "License-Expression: GPL-2.0-only AND MIT" in metadata.read_text()
    assert len(list(site.glob("*.dist-info/licenses/LICENSES/*"))) == 2

    monkeypatch.setattr(prebuilt, "MODULE", package)
    monkeypatch.syspath_prepend(str(site))
    built = find_kernel(cache=tmp_path / "cache", inputs=OF_ENTRIES)
    assert (built.key, built.tree, built.built) == ("a" * 64, "", "2020-02-02T00:00:00+00:00")
    assert built.package.startswith("mptcplab-kernel ")


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_needs_the_core_of_its_release(tmp_path: Path, name: str) -> None:
    module = name.replace("-", "_")
    with zipfile.ZipFile(build_pure_wheel(contents.ROOT / "packages" / name, tmp_path)) as wheel:
        files = set(wheel.namelist())
        metadata = wheel.read(f"{module}-{__version__}.dist-info/METADATA").decode()
        points = wheel.read(f"{module}-{__version__}.dist-info/entry_points.txt").decode()
    source = contents.ROOT / "packages" / name / "src"
    expected = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    packed = {path for path in files if ".dist-info/" not in path}
    assert packed == {path for path in expected if "__pycache__" not in path}
    assert f"Requires-Dist: mptcplab=={__version__}\n" in metadata
    assert f"= {module}." in points


def test_wheels_of_a_release_are_all_there_and_no_others(tmp_path: Path) -> None:
    names = ["mptcplab", "mptcplab-kernel", *PACKAGES]
    for name in names:
        (tmp_path / f"{name.replace('-', '_')}-1-py3-none-any.whl").touch()
    assert len(wheels_in(tmp_path)) == len(names)
    other = tmp_path / "mptcplab_other-1-py3-none-any.whl"
    other.touch()
    with pytest.raises(MissingError, match="not the wheels of one release"):
        wheels_in(tmp_path)
    other.unlink()
    wheels_in(tmp_path)[0].unlink()
    with pytest.raises(MissingError, match="not the wheels of one release"):
        wheels_in(tmp_path)


def test_a_difference_of_a_byte_is_found(tmp_path: Path) -> None:
    wheels = [tmp_path / folder / "a.whl" for folder in ("one", "other")]
    for wheel in wheels:
        wheel.parent.mkdir()
        wheel.write_bytes(b"same")
    compare(wheels[:1], wheels[1:])
    wheels[1].write_bytes(b"Same")
    with pytest.raises(LabError, match="differ"):
        compare(wheels[:1], wheels[1:])


def test_a_release_has_a_kernel_of_the_present_inputs_and_of_debians_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kernels = tmp_path / "mptcplab" / "kernels"
    fill(kernels / "stale", key="a" * 64)
    with pytest.raises(MissingError, match=r"no current lab kernel 7\.2 is built"):
        contents.choose_kernels()
    for name, kind in (("tree", "tree"), ("debian", "debian")):
        entry = fill(kernels / name, key=name[0] * 64, inputs=load_inputs("7.2").digest)
        rewrite(entry, source=DEBIAN | {"kind": kind})
        if kind == "tree":
            with pytest.raises(InputError, match="a source that only this machine has"):
                contents.choose_kernels()
    with pytest.raises(MissingError, match=r"no current lab kernel 7\.2-hz250-window is built") as missing:
        contents.choose_kernels()
    assert missing.value.hint == "mptcplab kernel build --hz 250 --fix window"
    inputs = load_inputs("7.2", variant="hz250-window")
    rewrite(fill(kernels / "studies", key="s" * 64, variant="hz250-window", inputs=inputs.digest), source=DEBIAN)
    assert [kernel.build.path.name for kernel in contents.choose_kernels()] == ["debian", "studies"]


def test_an_installation_that_compiles_or_uses_another_kernel_fails(tmp_path: Path) -> None:
    entry = tmp_path / "venv/lib/python3.11/site-packages/mptcplab_kernel/kernels/7.2-a/entry.json"
    manifest = tmp_path / "results/runs/1/manifest.json"
    for file in (entry, manifest):
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"key": "a" * 64}))
    check_results(tmp_path)
    manifest.write_text(json.dumps({"key": "b" * 64}))
    with pytest.raises(LabError, match="a kernel that was not installed"):
        check_results(tmp_path)
    manifest.unlink()
    with pytest.raises(LabError, match="no recordings"):
        check_results(tmp_path)
    (tmp_path / "cache" / "mptcplab" / "tools").mkdir(parents=True)
    with pytest.raises(LabError, match="tools: something was compiled"):
        check_results(tmp_path)
