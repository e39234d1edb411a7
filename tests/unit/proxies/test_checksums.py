# SPDX-License-Identifier: MIT
"""Parts of a built program that differ from what is pinned: Go and Cargo refuse them, and no program is left.

The registries are folders that the tests make, so that nothing is downloaded.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from mptcplab.errors import LabError
from mptcplab.proxies import build, catalog
from mptcplab.proxies.catalog import Recipe

pytestmark = pytest.mark.slow

_GO = Recipe(
    "trivial", "go", "example.invalid/trivial", "1.0.0", ("trivial",), (1, 0), "MIT", "example.invalid/trivial"
)
_RUST = Recipe("trivial", "rust", "trivial", "1.0.0", ("trivial",), (1, 0), "MIT")
#: A part as its registry has it, and the same part after somebody has changed it on the way.
_GENUINE, _FORGED = "genuine", "forged"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache folder. The compilers' own caches are empty, too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GOMODCACHE", str(tmp_path / "modules"))
    monkeypatch.setenv("GOPROXY", f"file://{tmp_path / 'registry'}")
    monkeypatch.setenv("GOFLAGS", "-modcacherw")
    return tmp_path / "cache" / "mptcplab"


@pytest.fixture
def pinned_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that pins the trivial program."""
    folder = tmp_path / "pinned"
    folder.mkdir()
    monkeypatch.setattr(catalog, "find_shipped_folder", lambda *_, **__: folder)
    return folder


def _tools(cache: Path) -> list[str]:
    return [path.name for path in (cache / "tools").glob("*")]


# -- Go


def _go_part(text: str) -> dict[str, str]:
    return {"go.mod": "module example.invalid/part\n\ngo 1.19\n", "part.go": f'package part\n\nconst Text = "{text}"\n'}


def _go_hash(files: dict[str, str], prefix: str) -> str:
    """Return the hash in go.sum: the hash of the list of the files' hashes."""
    lines = [f"{hashlib.sha256(files[name].encode()).hexdigest()}  {prefix}{name}\n" for name in sorted(files)]
    return "h1:" + base64.b64encode(hashlib.sha256("".join(lines).encode()).digest()).decode()


def _publish_go(registry: Path, files: dict[str, str]) -> None:
    folder = registry / "example.invalid" / "part" / "@v"
    folder.mkdir(parents=True)
    (folder / "v1.0.0.info").write_text('{"Version": "v1.0.0"}')
    (folder / "v1.0.0.mod").write_text(files["go.mod"])
    with zipfile.ZipFile(folder / "v1.0.0.zip", "w") as archive:
        for name, text in files.items():
            archive.writestr(f"example.invalid/part@v1.0.0/{name}", text)


def _pin_go(folder: Path) -> None:
    """Pin the genuine part."""
    files = _go_part(_GENUINE)
    (folder / "go.mod").write_text(f"module {_GO.source}\n\ngo 1.19\n\nrequire example.invalid/part v1.0.0\n")
    (folder / "main.go").write_text(
        'package main\n\nimport "example.invalid/part"\n\nfunc main() { println(part.Text) }\n'
    )
    go_hash = _go_hash({"go.mod": files["go.mod"]}, "")
    module = "example.invalid/part v1.0.0"
    (folder / "go.sum").write_text(
        f"{module} {_go_hash(files, 'example.invalid/part@v1.0.0/')}\n{module}/go.mod {go_hash}\n"
    )


@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not on PATH")
@pytest.mark.parametrize("text", [_GENUINE, _FORGED])
def test_go_refuses_a_module_with_another_checksum(text: str, cache: Path, pinned_folder: Path, tmp_path: Path) -> None:
    _publish_go(tmp_path / "registry", _go_part(text))
    _pin_go(pinned_folder)
    if text == _GENUINE:
        assert build.build(_GO, print).parent == cache / "tools", "the same files, published as they were pinned"
        return
    with pytest.raises(LabError, match="trivial could not be built") as error:
        build.build(_GO, print)
    log = (cache / "logs" / "trivial.log").read_text()
    assert "checksum mismatch" in log, log
    assert "SECURITY ERROR" in log
    assert str(cache / "logs" / "trivial.log") in str(error.value.hint)
    assert _tools(cache) == []


# -- Rust


def _crate(text: str) -> bytes:
    """Return the archive of a crate."""
    files = {
        "Cargo.toml": '[package]\nname = "part"\nversion = "1.0.0"\nedition = "2021"\n',
        "src/lib.rs": f'pub const TEXT: &str = "{text}";\n',
    }
    archived = io.BytesIO()
    with tarfile.open(fileobj=archived, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"part-1.0.0/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content.encode()))
    return archived.getvalue()


def _publish_crate(registry: Path, crate: bytes, listed: str) -> None:
    """Put the archive into a registry whose index lists it with the hash ``listed``."""
    (registry / "index" / "pa" / "rt").mkdir(parents=True)
    (registry / "part-1.0.0.crate").write_bytes(crate)
    entry = {"name": "part", "vers": "1.0.0", "deps": [], "cksum": listed, "features": {}, "yanked": False}
    (registry / "index" / "pa" / "rt" / "part").write_text(json.dumps(entry) + "\n")


def _pin_crate(folder: Path, checksum: str) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "main.rs").write_text('fn main() { println!("{}", part::TEXT); }\n')
    package = '[package]\nname = "trivial"\nversion = "1.0.0"\nedition = "2021"\n'
    (folder / "Cargo.toml").write_text(f'{package}\n[dependencies]\npart = "=1.0.0"\n')
    source = "registry+https://github.com/rust-lang/crates.io-index"
    part = f'[[package]]\nname = "part"\nversion = "1.0.0"\nsource = "{source}"\nchecksum = "{checksum}"\n'
    checked = '[[package]]\nname = "trivial"\nversion = "1.0.0"\ndependencies = [\n "part",\n]\n'
    (folder / "Cargo.lock").write_text(f"version = 3\n\n{part}\n{checked}")


@pytest.mark.skipif(shutil.which("cargo") is None, reason="Cargo is not on PATH")
@pytest.mark.parametrize(
    ("forged", "listed_as_forged", "message"),
    [
        (False, False, None),
        (True, False, "failed to verify the checksum of `part"),
        (True, True, "checksum for `part v1.0.0` changed between lock files"),
    ],
    ids=["genuine", "another archive", "another archive, whose index agrees"],
)
def test_cargo_refuses_a_crate_with_another_checksum(
    forged: bool,
    listed_as_forged: bool,
    message: str | None,
    cache: Path,
    pinned_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    genuine, other = _crate(_GENUINE), _crate(_FORGED)
    checksum, of_other = (hashlib.sha256(content).hexdigest() for content in (genuine, other))
    _publish_crate(tmp_path / "registry", other if forged else genuine, of_other if listed_as_forged else checksum)
    _pin_crate(pinned_folder, checksum)
    home = tmp_path / "cargo"
    home.mkdir()
    sources = f'[source.crates-io]\nreplace-with = "made"\n[source.made]\nlocal-registry = "{tmp_path / "registry"}"\n'
    (home / "config.toml").write_text(sources)
    monkeypatch.setenv("CARGO_HOME", str(home))
    if message is None:
        assert build.build(_RUST, print).parent == cache / "tools"
        return
    with pytest.raises(LabError, match="trivial could not be built"):
        build.build(_RUST, print)
    log = (cache / "logs" / "trivial.log").read_text()
    assert message in log, log
    assert _tools(cache) == []
