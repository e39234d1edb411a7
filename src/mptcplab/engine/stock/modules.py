# SPDX-License-Identifier: MIT
"""The modules of a stock kernel that a plan needs, in the order in which they can be loaded.

A distribution's kernel would load them by itself through a program of the machine (modprobe). The guest has none, so
that nothing else is started: the plan's commands name all that they use.
"""

from __future__ import annotations

import gzip
import lzma
import re
import struct
import subprocess
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from mptcplab.errors import MissingError
from mptcplab.kernel.stock import StockKernel
from mptcplab.plan.model import Plan

#: Modules of words of `tc` and `ip link` whose names differ.
_OTHER_NAMES = {"clsact": ("sch_ingress",), "drop": ("act_gact",), "vlan": ("8021q",)}
#: Queues that every kernel has, without a module.
_BUILT_IN = ("pfifo", "bfifo")
#: Modules of words of `nft`.
_OF_NFT = {
    "nft": ("nf_tables",),
    "ct": ("nft_ct",),
    "limit": ("nft_limit",),
    "masquerade": ("nft_chain_nat", "nft_masq"),
    "redirect": ("nft_chain_nat", "nft_redir"),
    "dnat": ("nft_chain_nat", "nft_nat"),
    "snat": ("nft_chain_nat", "nft_nat"),
    "reject": ("nft_reject_inet",),
}
#: Modules of programs that use more of the kernel than their command line shows.
_OF_PROGRAMS = {
    "openvpn": ("tun",),
    "iptables": ("nft_compat", "nft_chain_nat", "xt_REDIRECT", "xt_tcpudp"),
}
#: The recorder reads sockets by the first four, captures need `af_packet`, and results leave by the last two.
_ALWAYS = ("inet_diag", "tcp_diag", "udp_diag", "mptcp_diag", "af_packet", "virtio_pci", "virtio_console")
#: Other modules whose names begin with `tcp_`.
_NOT_CONTROLS = {"diag", "sigpool"}
#: The end of a signed module, and before it struct module_signature: the size of the signature is its last member.
_SIGNED, _SIGNATURE = b"~Module signature appended~\n", struct.Struct(">8xI")
_DEPENDS = re.compile(rb"\0depends=([^\0]*)\0")
#: Modules that it finds by an algorithm's name.
_SOFT = re.compile(rb"\0softdep=pre: ([^\0]*)\0")


class ModuleTree:
    """All modules of one kernel, and what it has built in."""

    def __init__(self, kernel: StockKernel) -> None:
        self._kernel = kernel

    @cached_property
    def _files(self) -> dict[str, Path]:
        folder = self._kernel.modules
        path = folder.rglob("*.ko*") if folder is not None else ()
        return {_module_name(file.name): file for file in path}

    @cached_property
    def _built_in(self) -> frozenset[str]:
        file = self._kernel.modules / "modules.builtin" if self._kernel.modules is not None else None
        lines = file.read_text().splitlines() if file is not None and file.is_file() else ()
        return frozenset(_module_name(Path(line).name) for line in lines)

    @cached_property
    def _wants_signatures(self) -> bool:
        """Return whether the kernel refuses modules without a signature: Debian's does not."""
        config = self._kernel.config
        return config is not None and "CONFIG_MODULE_SIG_FORCE=y" in config.read_text().splitlines()

    def has_module(self, name: str) -> bool:
        """Return whether the kernel has the module ``name``, built in or as a file."""
        return name in self._files or name in self._built_in

    @property
    def is_known(self) -> bool:
        """Whether anything is known about modules. Without, a kernel may have everything built in."""
        return self._kernel.modules is not None

    @property
    def congestion_controls(self) -> list[str]:
        """The names of all congestion controls, sorted."""
        names = {name.removeprefix("tcp_") for name in (*self._files, *self._built_in) if name.startswith("tcp_")}
        return sorted((names | {"reno"}) - _NOT_CONTROLS)

    def sort_by_dependency(self, names: Iterable[str]) -> list[tuple[str, bytes]]:
        """Return names and contents of the modules ``names`` that are files, each after its dependencies."""
        done: dict[str, bytes] = {}

        def add(name: str) -> None:
            name = name if name in self._files else f"{name}_generic"
            if name in done or name not in self._files:
                return
            content = _content(self._files[name])
            content = content if self._wants_signatures else strip_signature(content)
            for needed in depends(content):
                add(needed)
            done[name] = content

        for name in names:
            add(name)
        return list(done.items())


def depends(module: bytes) -> list[str]:
    """Return the names of the modules that the module with this content depends on.

    Among them can be an algorithm's (``crc32c``), whose module has the same name or one with ``_generic``.
    """
    lists = [
        match[1].decode().replace(",", " ").split()
        for pattern in (_SOFT, _DEPENDS)
        if (match := pattern.search(module))
    ]
    return [_module_name(name) for names in lists for name in names]


def modules_of(plan: Plan, tree: ModuleTree) -> list[str]:
    """Return the names of the modules that ``plan`` needs, sorted; built-in ones are among them.

    :raises MissingError: if the kernel has no module for one of its features or links.
    """
    needed = {name for name in _ALWAYS if tree.has_module(name)}
    for feature in plan.features:
        _require(feature, tree, f"'{feature}', which a link or router uses")
    for command in plan.commands:
        if command.argv[:3] == ("ip", "link", "add"):
            kind = command.argv[command.argv.index("type") + 1]
            _require(kind, tree, f"links of type '{kind}'")
            needed |= {name for name in _OTHER_NAMES.get(kind, (kind,)) if tree.has_module(name)}
        if command.argv[0] == "tc":
            needed |= {name for word in command.argv for name in _tc_modules(word) if tree.has_module(name)}
        if "nft" in command.uses:
            words = re.findall(r"\w+", " ".join(command.argv))
            needed |= {name for word in ("nft", *words) for name in _OF_NFT.get(word, ()) if tree.has_module(name)}
    needed |= {name for program in plan.uses for name in _OF_PROGRAMS.get(program, ()) if tree.has_module(name)}
    needed |= {f"tcp_{name}" for name in plan.needs.congestion_controls}
    return sorted(needed)


def _require(word: str, tree: ModuleTree, subject: str) -> None:
    if (
        tree.is_known
        and word not in _BUILT_IN
        and not any(tree.has_module(name) for name in (word, *_tc_modules(word), *_OF_NFT.get(word, ())))
    ):
        hint = "use another kernel (--engine stock:VERSION), or --engine virtual"
        raise MissingError(f"the stock kernel has no module for {subject}", hint=hint)


def _tc_modules(word: str) -> Iterator[str]:
    yield from _OTHER_NAMES.get(word, ())
    yield from (f"{prefix}_{word}" for prefix in ("sch", "cls", "act"))


def _module_name(file: str) -> str:
    """Return the name of a module in the kernel: its file's name without endings, and with underscores."""
    return file.partition(".ko")[0].replace("-", "_")


def strip_signature(module: bytes) -> bytes:
    """Return a module without the signature at its end (kernel/module_signature.c): checking it takes 33 ms each."""
    if not module.endswith(_SIGNED):
        return module
    end = len(module) - len(_SIGNED) - _SIGNATURE.size
    (size,) = _SIGNATURE.unpack_from(module, end)
    return module[: end - size]


def _content(file: Path) -> bytes:
    """Return a module's content, uncompressed. :raises MissingError: without the program that does it."""
    content = file.read_bytes()
    if file.suffix == ".xz":
        return lzma.decompress(content)
    if file.suffix == ".gz":
        return gzip.decompress(content)
    if file.suffix == ".zst":
        try:
            return subprocess.run(["zstd", "-dc"], input=content, capture_output=True, check=True).stdout
        except FileNotFoundError as error:
            raise MissingError("this machine has no 'zstd'", subject="zstd", packages=("zstd",)) from error
    return content
