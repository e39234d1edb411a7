# SPDX-License-Identifier: MIT
"""The transport of a node with sockets: protocol, algorithms, endpoints, buffers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from mptcplab.errors import Mistake
from mptcplab.fields import (
    Algorithm,
    Flag,
    LinkName,
    Misnomers,
    Part,
    Protocol,
    Scheduler,
    Whole,
    conflict,
    idle,
    unavailable,
    value_error,
)
from mptcplab.units import Size

_SYSCTL = re.compile(r"net\.[a-z0-9_.*/-]+\Z", re.IGNORECASE)


class Endpoint(Part):
    """One MPTCP endpoint, as for ``ip mptcp endpoint``."""

    misnomers: ClassVar[Misnomers] = {
        "link": ("interface", "iface", "device", "dev", "address"),
        "flags": ("flag", "type", "kind", "mode"),
        "port": ("listen_port",),
    }

    link: LinkName = Field(description="the link whose address on this node is the endpoint", examples=["link1"])
    flags: tuple[Flag, ...] = Field(
        default=("subflow",),
        description="signal: announce the address; subflow: open a subflow from it to the address connected to; "
        "fullmesh: open one from it to each announced address; backup: mark its subflows",
        examples=[["signal", "backup"]],
    )
    port: Whole | None = Field(default=None, ge=1, le=65535, description="port to announce; signal only", examples=[80])

    @property
    def caution(self) -> str | None:
        """A note about flags that look as if they opened a subflow: what the kernel does not do; None for others."""
        if "subflow" in self.flags or "signal" in self.flags:
            return None
        if "fullmesh" in self.flags:
            return "without subflow, it opens subflows only to addresses that the other side announces"
        return "it opens no subflow, and only marks subflows that have its address for another reason"

    @model_validator(mode="after")
    def _check(self) -> Endpoint:
        if self.port is not None and "signal" not in self.flags:
            raise conflict('needs the flag "signal"', 'add "signal" to the flags, or remove the port', "port")
        if self.port is not None and "subflow" in self.flags:
            hint = 'remove "subflow" or the port: the kernel refuses this pair'
            raise conflict('cannot be announced with the flag "subflow"', hint, "port")
        if "fullmesh" in self.flags and "signal" in self.flags:
            hint = "remove one of the two: the kernel refuses this pair"
            raise conflict("has both fullmesh and signal", hint, "flags")
        if not self.flags:
            raise idle("is empty: the endpoint does nothing", 'write for example flags = ["subflow"]', "flags")
        if len(set(self.flags)) != len(self.flags):
            raise value_error("names a flag twice", "name each flag once", "flags")
        return self


class Limits(Part):
    """Limits of additional subflows and announced addresses per connection; the kernel's own maximum is 8."""

    misnomers: ClassVar[Misnomers] = {
        "subflows": ("subflow", "max_subflows"),
        "add_addr_accepted": ("add_addr", "add_addr_accept", "add_addrs", "accepted"),
    }

    subflows: Whole = Field(default=8, ge=0, le=8, description="additional subflows per connection", examples=[2])
    add_addr_accepted: Whole = Field(
        default=8, ge=0, le=8, description="accepted announced addresses per connection", examples=[2]
    )


def _check_ascending(sizes: tuple[Size, Size, Size]) -> tuple[Size, Size, Size]:
    if not sizes[0] <= sizes[1] <= sizes[2]:
        hint = 'write minimum, default and maximum, like ["4 KiB", "128 KiB", "6 MiB"]'
        raise value_error("is not in ascending order", hint)
    return sizes


BufferSizes = Annotated[tuple[Size, Size, Size], AfterValidator(_check_ascending)]
_BUFFER_EXAMPLE = ["4 KiB", "128 KiB", "6 MiB"]


def _word_or_list(endpoints: Any) -> Any:
    if not isinstance(endpoints, (list, tuple)) and endpoints not in ("auto", "fullmesh", "none"):
        hint = 'use "auto", "fullmesh", "none" or a list like [{ link = "link1", flags = ["subflow"] }]'
        raise value_error("is neither a choice nor a list of endpoints", hint, kind=Mistake.TYPE)
    return endpoints


#: Distinguished before validation, so that an error in a list is not reported as a wrong word as well.
Endpoints = Annotated[
    Annotated[Literal["auto", "fullmesh", "none"], Tag("word")] | Annotated[tuple[Endpoint, ...], Tag("list")],
    Discriminator(lambda value: "list" if isinstance(value, (list, tuple)) else "word"),
    BeforeValidator(_word_or_list),
]


def _check_setting(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        hint = 'write text or a whole number, like "net.ipv4.tcp_ecn" = 1'
        raise value_error("is neither text nor a whole number", hint, kind=Mistake.TYPE)
    if isinstance(value, str) and not value.isprintable():
        raise value_error("is not one line of text", 'separate values with spaces, like "4096 131072 6291456"')
    return value


#: Settings that a kernel has once, for all of its network namespaces.
_OF_ALL_HOSTS = ("net.ipv4.tcp_mem", "net.ipv4.udp_mem")


def _check_network_setting(name: str) -> str:
    if name == "net":
        hint = 'write the whole name in quotes, like "net.ipv4.tcp_ecn" = 1'
        raise value_error("is a table, not a setting", hint, kind=Mistake.TYPE)
    if not _SYSCTL.match(name):
        raise value_error("is not a setting of one node", "use a setting that begins with net., like net.ipv4.tcp_ecn")
    if name.replace("/", ".") in _OF_ALL_HOSTS:
        hint = "it follows the lab's `memory`: docs/machine.md says how, and what a run that reaches it counts"
        raise value_error("is one limit for all hosts of a lab", hint)
    return name


#: The JSON Schema of a setting's name.
_SYSCTL_SHAPE = {
    "type": "string",
    "pattern": r"^(?!net\.ipv4[./](tcp|udp)_mem$)[Nn][Ee][Tt]\.[A-Za-z0-9_.*/-]+$",
}
Sysctl = dict[
    Annotated[str, AfterValidator(_check_network_setting), WithJsonSchema(_SYSCTL_SHAPE)],
    Annotated[str | int, BeforeValidator(_check_setting)],
]
SYSCTL_EXAMPLE = [{"net.ipv4.tcp_ecn": 1}]


#: Schedulers that use weights.
WEIGHTED_SCHEDULERS = ("weighted", "priority")
MAX_WEIGHTS = 16
_MAX_WEIGHT = 255


def _weight(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MAX_WEIGHT:
        raise value_error("is not a weight", f"use a whole number from 1 to {_MAX_WEIGHT}")
    return value


_WEIGHT_SHAPE = {"type": "integer", "minimum": 1, "maximum": _MAX_WEIGHT}
Weights = dict[LinkName, Annotated[int, BeforeValidator(_weight), WithJsonSchema(_WEIGHT_SHAPE)]]


Mode = Literal["on", "master", "backup", "handover", "off"]
Modes = dict[LinkName, Mode]
#: The modes that the kernel's path manager lacks, and why.
_NOT_IN_KERNEL: dict[Mode, str] = {
    "handover": "it does not watch interfaces",
    "off": "it opens subflows to announced addresses from whatever address routing selects",
}
_KERNEL_MODES = " or ".join(mode for mode in get_args(Mode) if mode not in _NOT_IN_KERNEL)


class Transport(Part):
    """The transport of a node with sockets of its own. Missing keys keep the kernel's default."""

    misnomers: ClassVar[Misnomers] = {
        "protocol": ("proto", "type", "kind", "socket", "sockets"),
        "congestion_control": ("cc", "cca", "congestion", "tcp_congestion_control"),
        "scheduler": ("sched", "packet_scheduler"),
        "weights": ("weight", "ratio", "split"),
        "path_manager": ("pm", "manager"),
        "modes": ("mode", "priorities"),
        "subflows_per_pair": ("ndiffports", "subflows_per_path", "num_subflows"),
        "endpoints": ("endpoint", "addresses", "interfaces"),
        "limits": ("limit",),
        "tcp_rmem": ("rmem", "rcvbuf", "receive_buffer", "recv_buffer"),
        "tcp_wmem": ("wmem", "sndbuf", "send_buffer"),
        "sysctl": ("sysctls", "settings"),
    }

    protocol: Protocol = Field(default="mptcp", description="the sockets that the node's programs open: mptcp or tcp")
    congestion_control: Algorithm | None = Field(
        default=None, description="net.ipv4.tcp_congestion_control", examples=["cubic"]
    )
    scheduler: Scheduler | None = Field(default=None, description="net.mptcp.scheduler", examples=["default"])
    weights: Weights = Field(
        default_factory=dict,
        description="weights of paths, 1 to 255, by links of this node or of the other side; for the schedulers "
        + " and ".join(WEIGHTED_SCHEDULERS),
        examples=[{"link1": 3, "link2": 1}],
    )
    path_manager: Literal["kernel", "userspace"] = Field(
        default="kernel", description="the kernel's path manager, with endpoints, or the lab's own program"
    )
    modes: Modes = Field(
        default_factory=dict,
        description="modes of this node's links: on (default), master, backup; with path_manager userspace also "
        + " and ".join(_NOT_IN_KERNEL),
        examples=[{"link1": "master", "link2": "backup"}],
    )
    subflows_per_pair: Whole = Field(
        default=1,
        ge=1,
        le=8,
        description="subflows per pair of addresses, for path_manager userspace",
        examples=[2],
    )
    endpoints: Endpoints = Field(default="auto", description="auto: every address that can reach the other side")
    limits: Limits = Field(default_factory=Limits)
    tcp_rmem: BufferSizes | None = Field(
        default=None, description="receive buffer: minimum, default, maximum", examples=[_BUFFER_EXAMPLE]
    )
    tcp_wmem: BufferSizes | None = Field(
        default=None, description="send buffer: minimum, default, maximum", examples=[_BUFFER_EXAMPLE]
    )
    sysctl: Sysctl = Field(default_factory=dict, description="any net.* setting of the node", examples=SYSCTL_EXAMPLE)

    @model_validator(mode="after")
    def _check_path_manager(self) -> Transport:
        """Refuse what the path manager lacks."""
        if self.path_manager == "kernel":
            self._check_kernel()
        elif isinstance(self.endpoints, tuple):
            hint = 'use modes, like modes = { link2 = "backup" }, or path_manager = "kernel"'
            raise unavailable("is a list, which only the kernel's path manager uses", hint, "endpoints")
        if self.endpoints == "none" and self.modes:
            raise idle('do nothing with endpoints = "none"', "remove endpoints, or modes", "modes")
        if list(self.modes.values()).count("master") > 1:
            raise conflict("name two masters", "use at most one master: its routes come first", "modes")
        return self

    def _check_kernel(self) -> None:
        if self.subflows_per_pair > 1:
            hint = 'add path_manager = "userspace", or remove the key'
            raise unavailable("is always 1 with the kernel's path manager", hint, "subflows_per_pair")
        for link, mode in self.modes.items():
            if mode in _NOT_IN_KERNEL:
                hint = f'add path_manager = "userspace", or use {_KERNEL_MODES}'
                message = f"is not a mode of the kernel's path manager: {_NOT_IN_KERNEL[mode]}"
                raise unavailable(message, hint, "modes", link)
        if isinstance(self.endpoints, tuple) and self.modes:
            hint = 'remove endpoints, which then is "auto", or mark the endpoint itself: flags = ["subflow", "backup"]'
            raise conflict("are given beside a list of endpoints", hint, "modes")

    @model_validator(mode="after")
    def _check_sysctl(self) -> Transport:
        for key, name in _OWN_SETTINGS.items():
            if name in self.sysctl and self.is_set(key):
                raise conflict(f"is also set by `{key}`", "remove one of the two", "sysctl", name)
        return self

    def key_of(self, setting: str) -> str | None:
        """Return the key by which this transport sets a ``setting`` of the kernel; None if it leaves it alone."""
        if setting in self.sysctl:
            return "sysctl"
        return next((key for key, name in _OWN_SETTINGS.items() if name == setting and self.is_set(key)), None)


#: Settings with a key of their own.
_OWN_SETTINGS = {
    "congestion_control": "net.ipv4.tcp_congestion_control",
    "scheduler": "net.mptcp.scheduler",
    "weights": "net.mptcp.scheduler_weights",
    "path_manager": "net.mptcp.pm_type",
    "tcp_rmem": "net.ipv4.tcp_rmem",
    "tcp_wmem": "net.ipv4.tcp_wmem",
}


def transport_words(described: Mapping[str, Any]) -> str:
    """Return a transport in a resolved scenario in a few words: ``MPTCP (roundrobin, olia)``."""
    algorithms = [described[key] for key in ("scheduler", "congestion_control") if described.get(key)]
    words = f" ({', '.join(algorithms)})" if algorithms else ""
    return f"{described['protocol'].upper()}{words}"
