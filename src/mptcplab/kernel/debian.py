# SPDX-License-Identifier: MIT
"""Downloads from Debian: Linux sources of `linux-source-N.M`, and stock kernels of `linux-image-RELEASE`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TextIO

from mptcplab.cache import cache_root, hold_lock, make_work_folder, open_log
from mptcplab.errors import InputError, LabError, MissingError
from mptcplab.kernel.cache import source_record
from mptcplab.kernel.data import TESTED_VERSIONS
from mptcplab.kernel.process import CommandError, capture, require_tools, run_logged
from mptcplab.kernel.progress import Reporter, SilentProgress
from mptcplab.kernel.source import KernelSource, file_sha256
from mptcplab.kernel.stock import FORMAT, VERSION_PATTERN, StockKernel, find_stock, numbers, stock_folder, uncompress

# Downloads Linux sources from Debian's packages `linux-source-N.M`.
#
# The packages are in other suites than the machine's own, so apt gets a private configuration in our cache: the
# machine's own mirror, more suites, separate lists. The system's apt stays unchanged, and no privileges are needed.
# apt checks signatures and hashes as always.

# Older suites have the older long-term kernels. Not every mirror has every suite; apt only warns about suites that are
# missing.
SUITES = ("bookworm", "bookworm-backports", "trixie", "trixie-backports", "forky", "sid")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
TOOLS = {"apt-get": "apt", "apt-cache": "apt", "dpkg-deb": "dpkg", "tar": "tar"}
ALTERNATIVE = "give a Linux tarball or tree with --source"

# Machines have hooks for `apt-get update` that write to the system and must not run here. Hooks are lists, which only a
# file can clear, not -o.
_APT_CONF = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""


@dataclass(frozen=True)
class Apt:
    """A private apt in `directory`."""

    directory: Path

    @property
    def options(self) -> list[str]:
        """The command-line options that make apt use only this directory."""
        settings = {
            "Dir::Etc::SourceList": str(self.directory / "sources.list"),
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::State::Lists": str(self.directory / "lists"),
            "Dir::State::status": str(self.directory / "status"),
            "Dir::Cache": str(self.directory / "cache"),
            "Acquire::Languages": "none",
            "Acquire::PDiffs": "false",
            # As root, apt would otherwise switch to a user that cannot write here, and warn.
            "APT::Sandbox::User": "root",
        }
        pairs = (("-o", f"{name}={value}") for name, value in settings.items())
        return ["-c", str(self.directory / "apt.conf"), *(word for pair in pairs for word in pair)]

    def configure(self, mirror: str, suites: Sequence[str] = SUITES) -> None:
        """Write the configuration: `mirror` (a URI of this machine's apt) with these suites."""
        for name in ("lists/partial", "cache/archives/partial"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        (self.directory / "status").touch()
        (self.directory / "apt.conf").write_text(_APT_CONF)
        keys = f" signed-by={KEYRING}" if KEYRING.exists() else ""
        # Only the package lists: no translations, no application metadata.
        lines = [f"deb [target=Packages lang=none{keys}] {mirror} {suite} main\n" for suite in suites]
        (self.directory / "sources.list").write_text("".join(lines))


def debian_source(version: str, cache: Path, *, progress: Reporter, log: TextIO) -> KernelSource:
    """Return the source of `version` from the cache, or download it from Debian.

    :raises MissingError: if this machine's apt cannot provide it.
    """
    with hold_lock(f"source-{version}", cache, waiting=lambda: progress.stage("waiting for another download")):
        kept = _cached_source(version, cache)
        if kept is not None:
            return kept
        require_tools(TOOLS)
        package = f"linux-source-{version}"
        apt = Apt(cache / "apt")
        with hold_lock("apt", cache):
            for mirror in find_mirrors():
                progress.stage(f"looking for {package} in Debian's suites")
                apt.configure(mirror)
                update(apt, log)
                listed = parse_madison(capture(["apt-cache", *apt.options, "madison", package]), package)
                with make_work_folder("download", cache) as work:
                    for package_version in listed:
                        progress.stage(f"downloading {package} {package_version} (about 160 MB)")
                        if download(apt, package, package_version, work=work, log=log):
                            return _keep_source(version, package, package_version, work=work, cache=cache)
        tested = "" if version in TESTED_VERSIONS else f"; tested are {', '.join(TESTED_VERSIONS)}"
        raise MissingError(f"this machine's Debian mirror has no package {package}{tested}", hint=ALTERNATIVE)


def parse_targets(output: str) -> list[str]:
    """Return the URIs of Debian's main archive, from lines `origin|label|created by|URI` of apt's index targets."""
    uris: list[str] = []
    for line in output.splitlines():
        origin, label, created_by, uri = [*line.split("|", 3), "", "", ""][:4]
        if (origin, label, created_by) == ("Debian", "Debian", "Packages") and uri and uri not in uris:
            uris.append(uri)
    return uris


def parse_madison(output: str, package: str) -> list[str]:
    """Return the versions of `package` in the output of `apt-cache madison`: newest first, each once."""
    versions: list[str] = []
    for line in output.splitlines():
        name, version, origin = [*(field.strip() for field in line.split("|", 2)), "", "", ""][:3]
        if name == package and origin.endswith("Packages") and version not in versions:
            versions.append(version)
    return versions


def find_mirrors() -> list[str]:
    """Return the URIs of this machine's Debian mirrors. :raises MissingError: if apt knows none."""
    command = ["apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(CREATED_BY)|$(REPO_URI)"]
    try:
        targets = parse_targets(capture(command))
    except CommandError:
        targets = []
    if not targets:
        raise MissingError(
            "apt knows no Debian mirror on this machine",
            hint=f"run `sudo apt-get update` on Debian, or {ALTERNATIVE}",
        )
    return targets


def update(apt: Apt, log: TextIO) -> None:
    """Read the package lists of all suites that the mirror has."""
    try:
        run_logged(["apt-get", *apt.options, "--quiet", "update"], log=log)
    except CommandError:
        # apt fails for a suite that this mirror lacks, but still reads the other suites. If it reads none, it will
        # list no version.
        log.write("some suites could not be read\n")


def download(apt: Apt, package: str, package_version: str, *, work: Path, log: TextIO) -> bool:
    """Download one version of a package to `work`; return False if the mirror no longer has it."""
    try:
        run_logged(
            ["apt-get", *apt.options, "--quiet", "download", f"{package}={package_version}"],
            cwd=work,
            log=log,
        )
    except CommandError:
        # The version is listed, but the mirror no longer has it. The next older one may exist.
        return False
    return True


def _keep_source(version: str, package: str, package_version: str, *, work: Path, cache: Path) -> KernelSource:
    """Extract the tarball of the downloaded package to `sources/` and record it."""
    tarball = work / "source.tar.xz"
    extract_member(next(work.glob("*.deb")), f"./usr/src/{package}.tar.xz", tarball)
    sha256 = file_sha256(tarball)
    target = cache / "sources" / f"{package}_{package_version}.tar.xz"
    target.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "package": package,
        "package_version": package_version,
        "file": target.name,
        "size": tarball.stat().st_size,
        "sha256": sha256,
    }
    tarball.rename(target)
    written = work / "record.json"
    written.write_text(json.dumps(record, indent=2) + "\n")
    written.rename(source_record(version, cache))
    return KernelSource(kind="debian", name=package, path=target, sha256=sha256, package_version=package_version)


def extract_member(package: Path, member: str, target: Path) -> None:
    """Extract one file of a Debian package to `target`. :raises LabError: if the package lacks it."""
    with target.open("wb") as file:
        unpacking = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE)
        with unpacking:
            tar = subprocess.run(
                ["tar", "--extract", "--to-stdout", member], stdin=unpacking.stdout, stdout=file, check=False
            )
    if tar.returncode != 0 or unpacking.returncode != 0 or target.stat().st_size == 0:
        raise LabError(f"the package {package.name} does not contain {member}", hint=ALTERNATIVE)


def _cached_source(version: str, cache: Path) -> KernelSource | None:
    try:
        record = json.loads(source_record(version, cache).read_text())
        path = cache / "sources" / record["file"]
        if path.stat().st_size != record["size"]:
            return None
        return KernelSource(
            kind="debian",
            name=record["package"],
            path=path,
            sha256=record["sha256"],
            package_version=record["package_version"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


# Downloads stock kernels from Debian's packages `linux-image-RELEASE`, with a private apt, as sources of kernels.
#
# Up to Linux 6.x one package has image and modules; later `linux-binary-RELEASE`, `linux-modules-RELEASE` and `linux-
# base-RELEASE` have them. Only the modules that networks need are kept.

STOCK_TOOLS = {"apt-get": "apt", "apt-cache": "apt", "dpkg-deb": "dpkg", "zstd": "zstd"}
#: The parts of a release in separate packages, see above.
_PARTS = ("image", "binary", "modules", "base")
#: The modules that are kept, below `kernel/`: networks, the port for results, and what machines of `tests/pku` need to
#: read files of the machine around them. Of `drivers/net`, only the virtual devices directly in it.
_KEPT = (
    "net/",
    "lib/",
    "crypto/",
    "arch/x86/crypto/",
    "drivers/net/",
    "drivers/virtio/",
    "drivers/char/virtio_console",
    *("fs/9p/", "fs/fscache/", "fs/netfs/", "fs/overlayfs/"),
)
_NOT_KEPT = re.compile(r"drivers/net/[^/]+/.*|net/(?:bluetooth|wireless|mac80211|ceph|rds|tipc|sunrpc|nfc|can|atm)/.*")


def obtain_stock(version: str, *, progress: Reporter | None = None, cache: Path | None = None) -> StockKernel:
    """Return the newest stock kernel of `version` from Debian's suites, downloading it if it is not cached.

    :raises InputError: for a wrong version. :raises MissingError: if this machine's apt cannot provide it.
    """
    cache = cache or cache_root()
    with open_log("stock", cache) as log:
        return _obtain(version, cache, progress=progress or SilentProgress(), log=log)


def _obtain(version: str, cache: Path, *, progress: Reporter, log: TextIO) -> StockKernel:
    if not VERSION_PATTERN.fullmatch(version):
        raise InputError(f"'{version}' is not a kernel version", hint="name a version such as 6.12")
    require_tools(STOCK_TOOLS)
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
                        return _keep_stock(version, release, package_version, work=work, cache=cache)
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


def _keep_stock(version: str, release: str, package_version: str, *, work: Path, cache: Path) -> StockKernel:
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
    damaged = LabError(f"the package {package.name} is damaged", hint="repeat the command")
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE) as unpacking:
        assert unpacking.stdout is not None
        try:
            with tarfile.open(fileobj=unpacking.stdout, mode="r|") as archive:
                for member in archive:
                    kept = place(member.name) if member.isfile() else None
                    content = archive.extractfile(member) if kept is not None else None
                    if kept is None or content is None:
                        continue
                    file = target / kept
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(content.read())
        except tarfile.TarError as error:
            raise damaged from error
        unpacking.stdout.read()
    if unpacking.returncode:
        raise damaged
