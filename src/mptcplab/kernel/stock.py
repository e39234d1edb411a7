# SPDX-License-Identifier: MIT
"""Stock kernels: images of a distribution or a user, with their modules; and the kernel inside of an image."""

from __future__ import annotations

import json
import lzma
import re
import struct
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

from mptcplab.cache import cache_root
from mptcplab.errors import InputError, MissingError, reason
from mptcplab.files import expand_home
from mptcplab.kernel.config import timer_frequency
from mptcplab.kernel.source import file_sha256

# Stock kernels: images of a distribution or a user, with their modules, as they boot on any x86-64 machine.
#
#     ~/.cache/mptcplab/stock/RELEASE/   vmlinuz, vmlinux, config, modules/, entry.json
#
# An image is selected by a version (6.12), by a release that was obtained (6.12.95+deb12-amd64), or by the path of a
# bzImage. Modules of a path are searched beside it, as `make modules_install` and packages place them.

FORMAT = 1
#: The version that runs use if they name none: the long-term one.
DEFAULT_STOCK = "6.12"
#: The command that obtains a version, before the version.
STOCK_COMMAND = "mptcplab kernel stock"
VERSION_PATTERN = re.compile(r"\d+\.\d+")
#: The boot protocol's fields: magic, pointer to the release (Documentation/arch/x86/boot.rst).
_MAGIC, _RELEASE_POINTER = 0x202, 0x20E
_SECTOR = 512
_HEAD_BYTES = 64 * _SECTOR


@dataclass(frozen=True)
class StockKernel:
    """A kernel image with its modules."""

    release: str
    """The output of `uname -r`."""
    image: Path
    """The file that the machine boots: an ELF kernel with a PVH entry, or a bzImage."""
    sha256: str
    """Hash of the bzImage."""
    modules: Path | None
    """The folder of this release in `lib/modules`; None if there are no modules."""
    config: Path | None = None
    version: str = ""
    """The version by which a user selects it; empty for a user's own image."""
    package_version: str = ""

    @property
    def hz(self) -> int | None:
        """Timer frequency in ticks per second; None without a configuration."""
        return timer_frequency(self.config.read_text()) if self.config else None

    def to_json(self) -> dict[str, object]:
        """Return what ``mptcplab kernel stock --json`` has of it."""
        return {
            "version": self.version,
            "release": self.release,
            "hz": self.hz,
            "package_version": self.package_version,
            "sha256": self.sha256,
            "image": str(self.image),
        }

    @property
    def config_sha256(self) -> str:
        """Hash of the configuration; empty without one."""
        return file_sha256(self.config) if self.config else ""


def stock_folder(cache: Path | None = None) -> Path:
    """Return the folder with all obtained stock kernels."""
    return (cache or cache_root()) / "stock"


def list_stock(cache: Path | None = None) -> list[StockKernel]:
    """Return the obtained kernels, the oldest release first."""
    kernels = (_read_entry(folder) for folder in stock_folder(cache).glob("*/"))
    return sorted((kernel for kernel in kernels if kernel), key=lambda kernel: numbers(kernel.release))


def find_stock(name: str = "", cache: Path | None = None) -> StockKernel:
    """Return the kernel that `name` selects: a version, a release or a path; empty: the default version.

    :raises MissingError: if it was not obtained. :raises InputError: if it is not a kernel.
    """
    name = name or DEFAULT_STOCK
    if "/" in name:
        return kernel_at(expand_home(name).absolute())
    kernels = [kernel for kernel in list_stock(cache) if name in (kernel.version, kernel.release)]
    if kernels:
        return kernels[-1]
    if not VERSION_PATTERN.match(name):
        hint = "name a version such as 6.12, or a path with a slash: stock:./bzImage"
        raise InputError(f"'{name}' is neither the version nor the path of a stock kernel", hint=hint)
    message = f"no stock kernel {name} was obtained"
    raise MissingError(message, subject=f"stock kernel {name}", command=f"{STOCK_COMMAND} {name}")


def kernel_at(path: Path) -> StockKernel:
    """Return the kernel of a bzImage at `path`. :raises InputError: if there is none."""
    try:
        release = read_release(path)
        sha256 = file_sha256(path)
    except OSError as error:
        hint = "name a readable file, such as /boot/vmlinuz-6.12"
        raise InputError(f"the kernel image '{path}' cannot be read: {reason(error)}", hint=hint) from error
    configs = (path.with_name(f"config-{release}"), path.with_name("config"))
    folders = (path.parent / "lib/modules", path.parent.parent / "lib/modules", Path("/lib/modules"))
    return StockKernel(
        release=release,
        image=path,
        sha256=sha256,
        modules=next((folder / release for folder in folders if (folder / release).is_dir()), None),
        config=next((file for file in configs if file.is_file()), None),
    )


def read_release(path: Path) -> str:
    """Return the release in the header of a bzImage. :raises InputError: if the file is none."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    hint = "give an x86-64 bzImage, such as arch/x86/boot/bzImage of a built tree or /boot/vmlinuz-…"
    if head[_MAGIC : _MAGIC + 4] != b"HdrS":
        raise InputError(f"'{path}' is not an x86 kernel image", hint=hint)
    (pointer,) = struct.unpack_from("<H", head, _RELEASE_POINTER)
    words = head[pointer + _SECTOR :].split(b"\0", 1)[0].split()
    if not pointer or not words:
        raise InputError(f"the kernel image '{path}' does not tell its release", hint=hint)
    return words[0].decode("ascii", errors="replace")


def numbers(text: str) -> list[int]:
    """Return all numbers in `text`, by which releases are ordered."""
    return [int(number) for number in re.findall(r"\d+", text)]


def _read_entry(folder: Path) -> StockKernel | None:
    try:
        entry = json.loads((folder / "entry.json").read_text())
        if entry["format"] != FORMAT or not (folder / entry["image"]).is_file():
            return None
        return StockKernel(
            release=entry["release"],
            image=folder / entry["image"],
            sha256=entry["sha256"],
            modules=folder / "modules",
            config=folder / "config",
            version=entry["version"],
            package_version=entry["package_version"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


# The kernel inside of a bzImage, uncompressed (Documentation/arch/x86/boot.rst).

#: The header's fields: the number of sectors of the set-up code, and offset and length of the compressed kernel.
_SETUP_SECTORS, _PAYLOAD = 0x1F1, 0x248
#: The last four bytes of the payload are the size of the uncompressed kernel.
_SIZE_BYTES = 4
_ZSTD, _XZ, _GZIP = b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"\x1f\x8b"
_GZIP_BITS = 16 + zlib.MAX_WBITS


def uncompress(image: Path) -> bytes | None:
    """Return the ELF kernel inside a bzImage; None if its compression is another one.

    :raises MissingError: without the program that uncompresses it.
    """
    content = image.read_bytes()
    offset, length = struct.unpack_from("<II", content, _PAYLOAD)
    start = ((content[_SETUP_SECTORS] or 4) + 1) * _SECTOR + offset
    payload = content[start : start + length - _SIZE_BYTES]
    if payload.startswith(_ZSTD):
        command = ["zstd", "--decompress", "--stdout"]
        try:
            done = subprocess.run(command, input=payload, capture_output=True, check=False)
        except FileNotFoundError as error:
            raise MissingError("this machine has no 'zstd'", hint="sudo apt-get install zstd") from error
        return done.stdout if done.returncode == 0 else None
    if payload.startswith(_GZIP):
        return zlib.decompress(payload, _GZIP_BITS)
    return lzma.decompress(payload) if payload.startswith(_XZ) else None
