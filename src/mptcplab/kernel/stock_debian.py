# SPDX-License-Identifier: MIT
"""Downloads stock kernels from Debian's packages `linux-image-RELEASE`, with a private apt like `debian`.

Up to Linux 6.x one package has image and modules; later `linux-binary-RELEASE`, `linux-modules-RELEASE` and
`linux-base-RELEASE` have them. Only the modules that networks need are kept.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import TextIO

from mptcplab.cache import cache_root, hold_lock, make_work_folder
from mptcplab.errors import InputError, LabError, MissingError
from mptcplab.kernel.bzimage import uncompress
from mptcplab.kernel.debian import Apt, download, find_mirrors, parse_madison, update
from mptcplab.kernel.process import capture, require_tools
from mptcplab.kernel.progress import Reporter, SilentProgress
from mptcplab.kernel.source import file_sha256
from mptcplab.kernel.stock import FORMAT, VERSION_PATTERN, StockKernel, find_stock, numbers, stock_folder

TOOLS = {"apt-get": "apt", "apt-cache": "apt", "dpkg-deb": "dpkg", "zstd": "zstd"}
#: The parts of a release in separate packages, see above.
_PARTS = ("image", "binary", "modules", "base")
_PORT = "drivers/char/virtio_console"
#: The modules that are kept, below `kernel/`: networks, and the port for results. Of `drivers/net`, only the virtual
#: devices directly in it.
_KEPT = (
    "net/",
    "lib/",
    "crypto/",
    "arch/x86/crypto/",
    "drivers/net/",
    "drivers/virtio/",
    "drivers/char/virtio_console",
)
_NOT_KEPT = re.compile(r"drivers/net/[^/]+/.*|net/(?:bluetooth|wireless|mac80211|ceph|rds|tipc|sunrpc|nfc|can|atm)/.*")


def obtain_stock(version: str, *, progress: Reporter | None = None, cache: Path | None = None) -> StockKernel:
    """Return the newest stock kernel of `version` from Debian's suites, downloading it if it is not cached.

    :raises InputError: for a wrong version. :raises MissingError: if this machine's apt cannot provide it.
    """
    cache = cache or cache_root()
    (cache / "logs").mkdir(parents=True, exist_ok=True)
    with (cache / "logs" / "stock.log").open("w") as log:
        return _obtain(version, cache, progress=progress or SilentProgress(), log=log)


def _obtain(version: str, cache: Path, *, progress: Reporter, log: TextIO) -> StockKernel:
    if not VERSION_PATTERN.fullmatch(version):
        raise InputError(f"'{version}' is not a kernel version", hint="name a version such as 6.12")
    require_tools(TOOLS)
    apt = Apt(cache / "apt-stock")
    with hold_lock("apt-stock", cache, waiting=lambda: progress.stage("waiting for another download")):
        for mirror in find_mirrors():
            progress.stage(f"looking for Linux {version} in Debian's suites")
            apt.configure(mirror)
            update(apt, log)
            names = capture(["apt-cache", *apt.options, "pkgnames", f"linux-image-{version}"]).split()
            for release in releases(names, version):
                if (stock_folder(cache) / release).is_dir():
                    return find_stock(release, cache)
                with make_work_folder("stock", cache) as work:
                    progress.stage(f"downloading Linux {release} (about 100 MB)")
                    package_version = _download_parts(apt, release, work=work, log=log)
                    if package_version:
                        progress.stage(f"unpacking Linux {release}")
                        return _keep(version, release, package_version, work=work, cache=cache)
    hint = "`apt-cache search linux-image` shows versions; or use an image's path: --engine stock:PATH"
    raise MissingError(f"this machine's Debian mirror has no stock kernel {version}", hint=hint)


def releases(names: Iterable[str], version: str) -> list[str]:
    """Return the releases of `version` among names of packages, newest first, without special flavours."""
    pattern = re.compile(rf"linux-image-({re.escape(version)}[.+-][\d.+-]*(?:deb[\d.]+)?-amd64)")
    matches = [match[1] for name in names if (match := pattern.fullmatch(name))]
    return sorted(matches, key=numbers, reverse=True)


def _download_parts(apt: Apt, release: str, *, work: Path, log: TextIO) -> str:
    """Download all packages of a release; return their version, empty if the mirror lacks one."""
    newest = ""
    for part in _PARTS:
        package = f"linux-{part}-{release}"
        versions = parse_madison(capture(["apt-cache", *apt.options, "madison", package]), package)
        if not versions:
            continue
        newest = versions[0]
        if not download(apt, package, newest, work=work, log=log):
            return ""
    return newest


def _keep(version: str, release: str, package_version: str, *, work: Path, cache: Path) -> StockKernel:
    """Unpack the downloaded packages into an entry of the cache."""
    entry = work / "entry"
    for package in work.glob("*.deb"):
        _unpack(package, entry, lambda name: place_of(name, release))
    image = entry / "vmlinuz"
    if not image.is_file():
        raise LabError(f"the packages of Linux {release} have no image", hint="name another version")
    kernel = uncompress(image)
    if kernel is not None:
        (entry / "vmlinux").write_bytes(kernel)
    record = {
        "format": FORMAT,
        "version": version,
        "release": release,
        "package_version": package_version,
        "image": "vmlinuz" if kernel is None else "vmlinux",
        "sha256": file_sha256(image),
    }
    (entry / "entry.json").write_text(json.dumps(record, indent=2) + "\n")
    target = stock_folder(cache) / release
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    entry.rename(target)
    return find_stock(release, cache)


def place_of(name: str, release: str) -> PurePosixPath | None:
    """Return the place in an entry of the file `name` of a package; None if it is not kept."""
    path = PurePosixPath(name.removeprefix("./").removeprefix("usr/"))
    for kept in ("vmlinuz", "config"):
        if str(path) in (f"boot/{kept}-{release}", f"lib/modules/{release}/{kept}"):
            return PurePosixPath(kept)
    if not path.is_relative_to(f"lib/modules/{release}"):
        return None
    inside = path.relative_to(f"lib/modules/{release}")
    if str(inside) == "modules.builtin":
        return PurePosixPath("modules", inside)
    below = str(inside).removeprefix("kernel/")
    is_kept = ".ko" in inside.name and below.startswith(_KEPT)
    return PurePosixPath("modules", inside) if is_kept and not _NOT_KEPT.fullmatch(below) else None


def _unpack(package: Path, target: Path, place: Callable[[str], PurePosixPath | None]) -> None:
    """Extract the files of a package that `place` gives a place. :raises LabError: if it is damaged."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE) as unpacking:
        assert unpacking.stdout is not None
        with tarfile.open(fileobj=unpacking.stdout, mode="r|") as archive:
            for member in archive:
                kept = place(member.name) if member.isfile() else None
                content = archive.extractfile(member) if kept is not None else None
                if kept is None or content is None:
                    continue
                file = target / kept
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.read())
        unpacking.stdout.read()
    if unpacking.returncode:
        raise LabError(f"the package {package.name} is damaged", hint="repeat the command")
