# SPDX-License-Identifier: MIT
"""The needs of a plan from a stock kernel: modules, in the order in which they can be loaded, and algorithms."""

from __future__ import annotations

import gzip
import lzma
import re
import struct
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from mptcplab.ebpf.controls import FIRST_VERSION, reason_of, verifier_lines, version_of
from mptcplab.ebpf.objects import CONGESTION_CONTROLS, find_tool, object_file
from mptcplab.ebpf.user_programs import CONGESTION_CONTROL, SCHEDULER, compile_user_programs, names_of
from mptcplab.engine.needs import general_settings
from mptcplab.engine.stock import start
from mptcplab.engine.stock.root import contents, program_files
from mptcplab.errors import InputError, LabError, MissingError
from mptcplab.kernel.stock import StockKernel, numbers
from mptcplab.plan.model import Plan

# The modules of a stock kernel that a plan needs, in the order in which they can be loaded.
#
# A distribution's kernel would load them by itself through a program of the machine (modprobe). The guest has none, so
# that nothing else is started: the plan's commands name all that they use.

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
        """True if anything is known about modules. Without, a kernel may have everything built in."""
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


# The algorithms of a plan on a stock kernel: the kernel's own, and eBPF programs that are loaded.

#: Linux 6.6 has the setting that chooses a scheduler.
_FIRST_SCHEDULERS = [6, 6]
#: The beginnings of the lab kernel's own settings (kernel/net/mptcp). Our eBPF programs have none of them.
SETTINGS_OF_LAB = ("net.mptcp.coupled_", "net.mptcp.scheduler_")
_HINT = "use --engine virtual, whose kernel has it"
_SUFFIX = ".bpf.o"


def check_algorithms(plan: Plan, kernel: StockKernel, tree: ModuleTree) -> None:
    """Check that a stock kernel can have what the plan needs. :raises InputError: naming what it lacks."""
    compiled = compile_user_programs(plan.bpf, kernel)
    _check_clashes(names_of(compiled, CONGESTION_CONTROL), kernel, tree)
    _check_congestion_controls(plan, kernel, tree, names_of(compiled, CONGESTION_CONTROL))
    needs = plan.needs
    has_schedulers = numbers(kernel.release)[:2] >= _FIRST_SCHEDULERS
    for name in needs.schedulers:
        if name not in ("default", *names_of(compiled, SCHEDULER)) or not has_schedulers:
            message = f"the stock kernel {kernel.release} cannot be given the MPTCP scheduler '{name}'"
            raise InputError(message, hint=_HINT)
    for needed, subject in (
        (needs.scheduler_per_socket, "choice of the scheduler for single sockets"),
        (needs.weights, "weights of paths"),
        (any(re.match(r"net\.lab\.", word) for step in plan.setup for word in step.argv), "CPU time of nodes"),
    ):
        if needed:
            raise InputError(f"the stock kernel {kernel.release} has no {subject}", hint=_HINT)
    names = (setting.partition("=")[0] for setting in general_settings(plan.setup))
    if absent := dict.fromkeys(name for name in names if name.startswith(SETTINGS_OF_LAB)):
        message = f"the stock kernel {kernel.release} has no setting {', '.join(absent)}"
        raise InputError(message, hint=f"{_HINT}, or remove it from sysctl")


def _check_clashes(names: Sequence[str], kernel: StockKernel, tree: ModuleTree) -> None:
    for name in names:
        if tree.is_known and name in tree.congestion_controls:
            message = f"the stock kernel {kernel.release} has a congestion control '{name}' already"
            raise InputError(message, hint=f'give your program another name, like .name = "my_{name}"')


def _check_congestion_controls(plan: Plan, kernel: StockKernel, tree: ModuleTree, built_in: Sequence[str]) -> None:
    programmed = _with_ebpf_program(plan, tree)
    for name in programmed:
        if version_of(kernel.release) < FIRST_VERSION:
            message = f"the stock kernel {kernel.release} is too old for '{name}' as an eBPF program"
            raise InputError(message, hint=f"{_HINT}, or --engine stock:6.12")
        find_tool("bpftool")
        object_file(name)
    for name in plan.needs.congestion_controls if tree.is_known else ():
        if name not in (*tree.congestion_controls, *programmed, *built_in):
            known = ", ".join((*built_in, *tree.congestion_controls))
            message = f"the stock kernel {kernel.release} has no congestion control '{name}'"
            raise InputError(message, hint=f"{_HINT}, or one of {known}")


def _with_ebpf_program(plan: Plan, tree: ModuleTree) -> list[str]:
    """Return the congestion controls of ``plan`` that the kernel lacks and that have an eBPF program."""
    needed = plan.needs.congestion_controls if tree.is_known else ()
    return [name for name in needed if name in CONGESTION_CONTROLS and name not in tree.congestion_controls]


def program_contents(plan: Plan, kernel: StockKernel, tree: ModuleTree) -> dict[str, tuple[bytes, bool]]:
    """Return the files of the algorithms that are loaded as eBPF programs, and of their loader."""
    objects = dict(_objects(plan, kernel, tree))
    if not objects:
        return {}
    loader = find_tool("bpftool")
    return {
        **contents(program_files({"bpftool": loader})),
        **{f"{start.CONTROLS}/{name}": (content, False) for name, content in objects.items()},
        start.LOADER: (str(loader).encode(), False),
    }


def _objects(plan: Plan, kernel: StockKernel, tree: ModuleTree) -> Iterator[tuple[str, bytes]]:
    for name in _with_ebpf_program(plan, tree):
        yield f"{name}{_SUFFIX}", object_file(name).read_bytes()
    for program in compile_user_programs(plan.bpf, kernel):
        yield f"{start.USER_PREFIX}{program.file}", program.content


def check_loaded(folder: Path, kernel: StockKernel) -> None:
    """Check that the machine could load all programs. :raises InputError: if its kernel refuses one of the user's."""
    try:
        log = (folder / start.REFUSED).read_text(errors="replace")
    except FileNotFoundError:
        return
    name, _, log = log.partition("\n")
    shown = verifier_lines(log)
    what = reason_of(log) or (shown[-1] if shown else "its loader gives no reason")
    lines = "\n".join(f"  {line}" for line in shown)
    file = name.removeprefix(start.USER_PREFIX)
    kind = LabError if file == name else InputError
    raise kind(f"the kernel {kernel.release} does not load '{file}': {what}", hint=f"bpftool reports:\n{lines}")
