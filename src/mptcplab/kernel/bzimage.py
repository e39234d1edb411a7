# SPDX-License-Identifier: MIT
"""The kernel inside of a bzImage, uncompressed (Documentation/arch/x86/boot.rst)."""

from __future__ import annotations

import lzma
import struct
import subprocess
import zlib
from pathlib import Path

from mptcplab.errors import MissingError

#: The header's fields: the number of sectors of the set-up code, and offset and length of the compressed kernel.
_SETUP_SECTORS, _PAYLOAD = 0x1F1, 0x248
_SECTOR = 512
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
