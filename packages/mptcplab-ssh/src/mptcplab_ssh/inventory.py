# SPDX-License-Identifier: MIT
"""The inventory: which machine is which node of a scenario, and which of its interfaces is which end of a link."""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from mptcplab.errors import InputError, reason
from mptcplab.fields import Boolean, Line, LinkName, NodeName, Part, text_matching, value_error
from mptcplab.files import expand_home
from mptcplab.units import Duration

_EXAMPLE = "docs/engine-ssh.md has an example"
#: As for `ssh`: no leading hyphen, which would be an option.
_HOST = re.compile(r"[A-Za-z0-9_\[][A-Za-z0-9_.:%@\[\]-]*\Z")
#: IFNAMSIZ - 1; the kernel also allows other characters, which no one uses.
_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,14}\Z")
_PATH = re.compile(r"/[^\x00-\x1f]*\Z")
_MIN_LEASE, _MAX_LEASE = Duration(5 * 10**9), Duration(600 * 10**9)

Host = Annotated[
    str, text_matching(_HOST, "is not a host for ssh", 'write what `ssh` takes: "router1" or "root@192.0.2.1"')
]
Device = Annotated[str, text_matching(_DEVICE, "is not the name of an interface", "`ip link` lists the machine's")]
RemotePath = Annotated[str, text_matching(_PATH, "is not a path on the machine", "write a path that begins with /")]


class InventoryInterface(Part):
    """One end of a link: the machine's interface, and whether ``tc`` may shape it."""

    device: Device
    shape: Boolean = False


def _expand_interface(value: Any) -> Any:
    """Return the table that a bare name of an interface stands for."""
    return {"device": value} if isinstance(value, str) else value


class InventoryMachine(Part):
    """A machine that is a node: how `ssh` reaches it, and its interfaces by the names of links.

    ``flow`` is the path of our workload program there, for machines that cannot run this machine's.
    """

    host: Host
    interfaces: dict[LinkName, Annotated[InventoryInterface, BeforeValidator(_expand_interface)]] = Field(
        default_factory=dict
    )
    flow: RemotePath | None = None

    @model_validator(mode="after")
    def _check_devices(self) -> InventoryMachine:
        used: dict[str, str] = {}
        for link, interface in self.interfaces.items():
            other = used.setdefault(interface.device, link)
            if other != link:
                message = f"'{interface.device}' is the end of two links, {other} and {link}"
                raise value_error(
                    message, "a link needs an interface of its own, for example a VLAN's", "interfaces", link
                )
        return self


class MachineInventory(Part):
    """Machines by the names of nodes. ``lease`` is the time without a sign of us after which a machine puts itself
    back; ``ssh_config`` a configuration file for `ssh` in place of the user's, relative to the inventory."""

    nodes: dict[NodeName, InventoryMachine]
    ssh_config: Line | None = None
    lease: Duration = Duration(20 * 10**9)

    @model_validator(mode="after")
    def _check_lease_and_devices(self) -> MachineInventory:
        if not _MIN_LEASE <= self.lease <= _MAX_LEASE:
            raise value_error("is not plausible", f"write a time from {_MIN_LEASE} to {_MAX_LEASE}", "lease")
        used: dict[tuple[str, str], str] = {}
        for name, machine in self.nodes.items():
            for interface in machine.interfaces.values():
                other = used.setdefault((machine.host, interface.device), name)
                if other != name:
                    message = f"'{interface.device}' of {machine.host} belongs to two nodes, {other} and {name}"
                    raise value_error(message, "a node needs interfaces of its own", "nodes", name, "interfaces")
        return self


def load_inventory(file: Path) -> MachineInventory:
    """Read an inventory. :raises InputError: with the file and the key."""
    try:
        document = tomllib.loads(file.read_text())
    except (OSError, UnicodeDecodeError) as error:
        text = reason(error) if isinstance(error, OSError) else "it is not text"
        raise InputError(f"the inventory {file} cannot be read: {text}", hint=_EXAMPLE) from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the inventory {file} is not TOML: {str(error).lower()}", hint=_EXAMPLE) from error
    try:
        inventory = MachineInventory.model_validate(document)
    except ValidationError as error:
        raise _mistake(file, error.errors()[0]) from error
    if inventory.ssh_config is None:
        return inventory
    path = (file.parent / expand_home(inventory.ssh_config)).resolve()
    if not path.is_file():
        raise InputError(f"{file}: ssh_config: there is no file {path}", hint="its path is relative to the inventory")
    return inventory.model_copy(update={"ssh_config": str(path)})


def _mistake(file: Path, detail: ErrorDetails) -> InputError:
    """Return one sentence for one of pydantic's findings."""
    context = detail.get("ctx", {})
    path = [*detail["loc"], *context.get("key", ())]
    # The tags of pydantic's own validators are not keys.
    keys = [str(part) for part in path if not str(part).startswith(("function-", "[key"))]
    where, kind = f"{file}: {'.'.join(keys)}", detail["type"]
    if kind in ("scenario", "unit"):
        return InputError(f"{where}: {context['text']}", hint=str(context["hint"]))
    if kind == "missing":
        return InputError(f"{where}: the key is missing", hint=_EXAMPLE)
    if kind == "extra_forbidden":
        known = _known_keys(keys)
        near = difflib.get_close_matches(keys[-1], known, n=1)
        return InputError(f"{where}: unknown key", hint=f"did you mean {near[0]}?" if near else ", ".join(known))
    return InputError(f"{where}: {detail['msg'][:1].lower()}{detail['msg'][1:]}", hint=_EXAMPLE)


def _known_keys(keys: list[str]) -> list[str]:
    """Return the keys of the table in which the last of ``keys`` is unknown."""
    tables: dict[int, type[Part]] = {1: MachineInventory, 3: InventoryMachine, 5: InventoryInterface}
    return list(tables.get(len(keys), MachineInventory).model_fields)
