# SPDX-License-Identifier: MIT
"""The types of a kernel image, from its type information (BTF): as a header for programs, and which it can register."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from mptcplab.cache import KEY_CHARS, cache_root, hold_lock, make_work_folder
from mptcplab.ebpf.objects import find_tool
from mptcplab.errors import MissingError
from mptcplab.kernel.bzimage import uncompress
from mptcplab.kernel.stock import StockKernel

#: The name by which programs include all types of a kernel.
HEADER = "vmlinux.h"
_ELF = b"\x7fELF"
#: A kernel that can register a struct has a type for it.
_REGISTERED = re.compile(r"^struct bpf_struct_ops_(\w+) \{$", re.MULTILINE)


@dataclass(frozen=True)
class KernelTypes:
    """The types of one kernel, in a header."""

    header: Path

    @cached_property
    def registered(self) -> frozenset[str]:
        """The names of structs that eBPF programs can register, among a few others."""
        return frozenset(_REGISTERED.findall(self.header.read_text()))


@cache
def types_of(kernel: StockKernel) -> KernelTypes:
    """Return the types of ``kernel``, from its image. :raises MissingError: if that has none, or without bpftool."""
    tool = find_tool("bpftool")
    version = subprocess.run([tool, "version"], capture_output=True, check=False).stdout
    digest = hashlib.sha256(version + kernel.sha256.encode()).hexdigest()
    header = cache_root() / "tools" / f"btf-{digest[:KEY_CHARS]}" / HEADER
    with hold_lock("btf", cache_root()):
        if not header.is_file():
            with make_work_folder("btf", cache_root()) as work:
                (work / HEADER).write_bytes(_dump_types(tool, kernel, work))
                header.parent.mkdir(parents=True, exist_ok=True)
                os.rename(work / HEADER, header)
    return KernelTypes(header)


def _dump_types(tool: Path, kernel: StockKernel, work: Path) -> bytes:
    image = kernel.image
    with image.open("rb") as file:
        is_plain = file.read(len(_ELF)) == _ELF
    if not is_plain:
        content = uncompress(image)
        if content is None:
            hint = "compress the kernel with gzip, xz or zstd (CONFIG_KERNEL_ZSTD=y)"
            raise MissingError(f"the image of the kernel {kernel.release} cannot be uncompressed", hint=hint)
        image = work / "vmlinux"
        image.write_bytes(content)
    command = [str(tool), "btf", "dump", "file", str(image), "format", "c"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode or not done.stdout:
        hint = "use a kernel with CONFIG_DEBUG_INFO_BTF=y, as distributions' kernels have it"
        raise MissingError(f"the stock kernel {kernel.release} has no type information (BTF)", hint=hint)
    return done.stdout
