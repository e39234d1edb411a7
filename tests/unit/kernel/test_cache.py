# SPDX-License-Identifier: MIT
"""The kernel cache: which kernels are found and refused, and that no partial entry remains."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mptcplab.cache import make_work_folder
from mptcplab.errors import InputError, MissingError
from mptcplab.kernel.cache import (
    find_by_key,
    find_kernel,
    install_entry,
    is_current,
    list_kernels,
    source_record,
)
from mptcplab.kernel.data import KernelInputs, NamedFile, load_inputs

INPUTS = KernelInputs(fragment="CONFIG_NET=y\n", patches=(NamedFile("0001-a.patch", b"a"),))
NOON = "2026-01-01T12:00:00+00:00"


def fill(
    directory: Path, *, key: str, version: str = "7.2", built: str = NOON, source: str = "s1", **more: str | int
) -> Path:
    """Write an entry in the form of a finished build."""
    directory.mkdir(parents=True)
    (directory / "linux").write_bytes(b"ELF")
    manifest = {
        "format": 1,
        "version": version,
        "release": f"{version}.1-mptcplab",
        "key": key,
        "inputs": INPUTS.digest,
        "source": {"sha256": source},
        "config_sha256": "c",
        "built": built,
        "lost_options": ["CONFIG_X=y"],
        **more,
    }
    (directory / "entry.json").write_text(json.dumps(manifest))
    return directory


def add(
    cache: Path, *, key: str, version: str = "7.2", built: str = NOON, source: str = "s1", **more: str | int
) -> Path:
    """Write an entry into the cache."""
    place = cache / "kernels" / f"{version}-{key[:12]}"
    return fill(place, key=key, version=version, built=built, source=source, **more)


def test_find_gives_the_entry_of_the_version(tmp_path: Path) -> None:
    path = add(tmp_path, key="a" * 64)
    add(tmp_path, key="b" * 64, version="6.12")
    kernel = find_kernel(cache=tmp_path, inputs=INPUTS)
    assert (kernel.version, kernel.release, kernel.path) == ("7.2", "7.2.1-mptcplab", path)
    assert kernel.executable == path / "linux"
    assert kernel.system_map == path / "System.map"
    assert kernel.lost_options == ("CONFIG_X=y",)
    assert find_kernel("6.12", tmp_path, inputs=INPUTS).key == "b" * 64


def test_find_prefers_the_newest(tmp_path: Path) -> None:
    add(tmp_path, key="a" * 64, built="2026-01-01T12:00:00+00:00")
    add(tmp_path, key="b" * 64, built="2026-01-02T12:00:00+00:00")
    assert find_kernel(cache=tmp_path, inputs=INPUTS).key == "b" * 64


def test_find_prefers_the_source_that_build_would_take(tmp_path: Path) -> None:
    add(tmp_path, key="a" * 64, built="2026-01-01T12:00:00+00:00", source="debian")
    add(tmp_path, key="b" * 64, built="2026-01-02T12:00:00+00:00", source="tree")
    record = source_record("7.2", tmp_path)
    record.parent.mkdir()
    record.write_text('{"sha256": "debian"}')
    assert find_kernel(cache=tmp_path, inputs=INPUTS).key == "a" * 64


def test_find_without_a_kernel_hints_at_the_build(tmp_path: Path) -> None:
    with pytest.raises(MissingError) as caught:
        find_kernel(cache=tmp_path, inputs=INPUTS)
    assert caught.value.hint == "mptcplab kernel build"
    with pytest.raises(MissingError) as caught:
        find_kernel("6.12", tmp_path, inputs=INPUTS)
    assert caught.value.hint == "mptcplab kernel build 6.12"


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("7.2-hz100", "mptcplab kernel build --hz 100"),
        ("6.12-hz250-debug", "mptcplab kernel build 6.12 --hz 250 --debug"),
        ("7.2-hz1000", "mptcplab kernel build"),
        ("7.2-plain", "mptcplab kernel build --plain"),
        ("6.12-plain-hz1000-debug", "mptcplab kernel build 6.12 --plain --debug"),
    ],
)
def test_find_knows_variants_by_name(tmp_path: Path, name: str, command: str) -> None:
    with pytest.raises(MissingError) as caught:
        find_kernel(name, tmp_path, inputs=INPUTS)
    assert caught.value.hint == command


def test_find_gives_the_variant_that_is_named(tmp_path: Path) -> None:
    """A name can include the default frequency, so that a sweep can list all three."""
    add(tmp_path, key="a" * 64)
    add(tmp_path, key="b" * 64, variant="hz100", hz=100)
    assert find_kernel("7.2-hz1000", tmp_path, inputs=INPUTS).key == "a" * 64
    kernel = find_kernel("7.2-hz100", tmp_path, inputs=INPUTS)
    assert (kernel.key, kernel.name, kernel.hz) == ("b" * 64, "7.2-hz100", 100)
    assert find_kernel("7.2", tmp_path, inputs=INPUTS).hz is None, "an entry that predates the field says nothing"


def test_find_refuses_a_kernel_of_other_patches(tmp_path: Path) -> None:
    add(tmp_path, key="a" * 64)
    changed = KernelInputs(fragment=INPUTS.fragment, patches=(NamedFile("0001-a.patch", b"b"),))
    with pytest.raises(MissingError, match="other patches or options") as caught:
        find_kernel(cache=tmp_path, inputs=changed)
    command, way_on = (caught.value.hint or "").splitlines()
    assert command == "mptcplab kernel build"
    assert way_on == "  or go on with the old one, by its name: --set kernel=7.2-aaaaaaaaaaaa"
    assert find_kernel(way_on.partition("kernel=")[2], tmp_path, inputs=changed).key == "a" * 64


def test_only_a_kernel_of_the_present_inputs_is_current(tmp_path: Path) -> None:
    """`kernel list` calls the others stale: a run refuses them by their version."""
    digest = load_inputs("7.2", variant="window").digest
    add(tmp_path, key="a" * 64, variant="window", inputs=digest, built="2026-01-03")
    add(tmp_path, key="b" * 64, variant="window", built="2026-01-02")
    add(tmp_path, key="c" * 64, variant="gone", built="2026-01-01")
    states = {kernel.key[0]: is_current(kernel) for kernel in list_kernels(tmp_path)}
    assert states == {"a": True, "b": False, "c": False}


@pytest.mark.parametrize("name", ["", "linux"])
def test_find_takes_a_path(tmp_path: Path, name: str) -> None:
    path = add(tmp_path, key="a" * 64)
    assert find_kernel(str(path / name), tmp_path).key == "a" * 64


@pytest.mark.parametrize(
    "version", ["7", "latest", "/nowhere/linux", "~nobody-here/linux", "7.2.11", "7.2-", "7.2-debug-plain"]
)
def test_find_refuses_what_is_neither_version_nor_kernel(tmp_path: Path, version: str) -> None:
    with pytest.raises(InputError, match="neither a kernel version"):
        find_kernel(version, tmp_path)


@pytest.mark.parametrize("name", ["7.2", "7.2-plain"])
def test_another_frequency_than_there_is_gets_a_hint(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError) as caught:
        find_kernel(f"{name}-hz300", tmp_path)
    assert caught.value.hint == f"timers tick 100, 250 or 1000 times a second: write {name}-hz100"


def test_list_is_ordered_by_version_then_newest(tmp_path: Path) -> None:
    add(tmp_path, key="a" * 64, built="2026-01-01T12:00:00+00:00")
    add(tmp_path, key="b" * 64, built="2026-01-02T12:00:00+00:00")
    add(tmp_path, key="c" * 64, version="6.12")
    add(tmp_path, key="d" * 64, version="6.9")
    assert [entry.key[0] for entry in list_kernels(tmp_path)] == ["d", "c", "b", "a"]


def test_damaged_entries_do_not_count(tmp_path: Path) -> None:
    (add(tmp_path, key="a" * 64) / "linux").unlink()
    (add(tmp_path, key="b" * 64) / "entry.json").write_text("{")
    (add(tmp_path, key="c" * 64) / "entry.json").write_text('{"format": 99}')
    assert list_kernels(tmp_path) == []
    assert find_by_key("a" * 64, tmp_path) is None


def test_install_moves_a_complete_entry(tmp_path: Path) -> None:
    with make_work_folder("job", tmp_path) as work:
        kernel = install_entry(fill(work / "entry", key="a" * 64), tmp_path)
    assert kernel.path == tmp_path / "kernels" / ("7.2-" + "a" * 12)
    assert list_kernels(tmp_path) == [kernel]
    assert find_by_key("a" * 64, tmp_path) == kernel


def test_install_replaces_a_damaged_entry_and_keeps_a_good_one(tmp_path: Path) -> None:
    (add(tmp_path, key="a" * 64) / "linux").unlink()
    good = install_entry(fill(tmp_path / "new", key="a" * 64), tmp_path)
    assert good.executable.is_file()
    again = install_entry(fill(tmp_path / "newer", key="a" * 64, built="2026-02-02T12:00:00+00:00"), tmp_path)
    assert again == good


def test_install_refuses_a_half_entry(tmp_path: Path) -> None:
    half = fill(tmp_path / "half", key="a" * 64)
    (half / "linux").unlink()
    with pytest.raises(ValueError, match="complete"):
        install_entry(half, tmp_path)
    assert list_kernels(tmp_path) == []
