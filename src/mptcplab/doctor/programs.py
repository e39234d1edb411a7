# SPDX-License-Identifier: MIT
"""Checks that the programs which plans, captures, builds, gateways, radios and engines start are installed."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from mptcplab.cache import OTHER_CACHE
from mptcplab.doctor.model import Finding, Level, LinuxDistribution, finding_without_fix, words
from mptcplab.engine.process import LAUNCHERS
from mptcplab.engine.stock.machine import PACKAGE, QEMU
from mptcplab.engine.tools import BUILDERS, flow_program, has_program, needs_compiler, package_of, prebuilt_program
from mptcplab.errors import LabError, MissingError, reason
from mptcplab.gateway.proxy import Proxy
from mptcplab.gateway.registry import PROGRAMS
from mptcplab.kernel.build import TOOLS, compiler_version
from mptcplab.kernel.debian import TOOLS as DEBIAN_TOOLS
from mptcplab.kernel.process import CommandError
from mptcplab.kernel.stock import DEFAULT_STOCK, list_stock
from mptcplab.network.disciplines.registry import DISCIPLINES
from mptcplab.network.registry import BEHAVIOURS
from mptcplab.node.registry import NODE_KINDS
from mptcplab.plan.compile import compile_plan
from mptcplab.proxies.catalog import RECIPES, is_built
from mptcplab.scenario.record import Record
from mptcplab.scenario.schema import Scenario
from mptcplab.selftest.prepare import PROGRAMS as SELFTEST_PROGRAMS
from mptcplab.steps import OURS
from mptcplab.workload.registry import KINDS

# Checks that the programs which plans, captures and builds start are installed and not too old.

_EVERY_RUN = "every run"
_BUILD = "`mptcplab kernel build`"
_SELFTESTS = "`mptcplab selftest`"
#: Programs by which gateways redirect connections.
_FIREWALLS = get_args(Proxy.model_fields["firewall"].annotation)
#: Programs that no plan uses. :func:`_other_programs` adds the compilers of our programs.
_OTHERS = {
    "tshark": "`mptcplab capture`",
    "ping": "`ping` in a lab",
    **dict.fromkeys(("ethtool", "sysctl"), "other engines, and reasons why the kernel refuses a command"),
}
#: The minimum versions of Linux 7.2, scripts/min-tool-version.sh: program, arguments, version.
_MIN_VERSIONS = (("gcc", ("-dumpfullversion",), (8, 1)), ("ld", ("--version",), (2, 30)))


def check_programs(system: LinuxDistribution) -> Iterator[Finding]:
    """Check all programs that labs and their commands start."""
    yield from _lab_programs(system)
    yield from _launchers(system)
    yield from _old_programs(system)
    yield from _flow()


def check_build(system: LinuxDistribution) -> Iterator[Finding]:
    """Check all programs that a build of the lab kernel needs."""
    needed = {**TOOLS, **(DEBIAN_TOOLS if system.family == "debian" else {})}
    missing = [name for name in needed if shutil.which(name) is None]
    for name in missing:
        yield _missing_finding(name, needed[name], _BUILD, system)
    if not missing:
        yield from _compiler(system)
    if system.family != "debian":
        message = "Debian's source packages need apt and a Debian mirror"
        yield Finding("kernel source", Level.MISSING, message, _BUILD, "mptcplab kernel build --source linux.tar.xz")


def program_uses() -> dict[str, str]:
    """Return the use of each program, as compiled plans state it."""
    programs = dict.fromkeys(_programs(_build_scenario("flow")), _EVERY_RUN)
    workloads = _kinds_by_program("workloads", {kind: _build_scenario(kind) for kind in KINDS})
    nodes = _kinds_by_program(
        "nodes", {kind: _build_scenario("flow", **_surrounding_tables(kind)) for kind in NODE_KINDS}
    )
    parts = {name: part for part, scenario in _parts() for name in _programs(scenario)}
    firewalls = {name: f"gateways with firewall {name}" for name in _FIREWALLS}
    selftests = {
        name: f"{firewalls[name]} and {_SELFTESTS}" if name in firewalls else _SELFTESTS for name in SELFTEST_PROGRAMS
    }
    return dict(sorted((_other_programs() | firewalls | selftests | parts | nodes | workloads | programs).items()))


def _other_programs() -> dict[str, str]:
    """Return the use of each program that no plan has. A compiler is needed for every run unless ours are installed."""
    return _OTHERS | dict.fromkeys(BUILDERS, _EVERY_RUN if needs_compiler() else _BUILD)


def gateway_programs() -> dict[str, tuple[str, ...]]:
    """Return the programs that each kind of gateway adds to a plan."""
    without = set(_programs(_with_gateway()))
    texts = {
        name: _programs(_with_gateway(bond={"program": name, "entry": "near", "exit": "far"})) for name in PROGRAMS
    }
    return {name: tuple(sorted(set(programs) - without)) for name, programs in texts.items()}


def radio_programs() -> tuple[str, ...]:
    """Return the programs that radio links add to a plan."""
    hosts: dict[str, Any] = {"client": {"position": (0, 0)}, "server": {}}
    wire = {"between": ["ap", "server"]}
    programs = [
        set(_programs(_build_scenario("flow", hosts=hosts, access_points={"ap": {"position": (0, 0)}}, links=links)))
        for links in (
            {"link1": {"between": ["client", "ap"], "radio": {}}, "link2": wire},
            {"link1": {"between": ["client", "ap"]}, "link2": wire},
        )
    ]
    return tuple(sorted(programs[0] - programs[1] - set(program_uses())))


def missing_packages(programs: Iterable[str]) -> list[str]:
    """Return the Debian packages of the ``programs`` that this machine does not have."""
    return sorted({package_of(name) for name in missing_programs(programs)})


def _with_gateway(**gateways: Any) -> Scenario:
    """Return a scenario whose workload passes two routers that can be the sides of a gateway."""
    nodes = ("client", "near", "far", "server")
    links = {f"link{number}": {"between": list(ends)} for number, ends in enumerate(itertools.pairwise(nodes))}
    routers: dict[str, Any] = {"near": {"transport": {}}, "far": {"transport": {}}}
    return _build_scenario("flow", routers=routers, links=links, gateways=gateways)


def _parts() -> Iterator[tuple[str, Scenario]]:
    """Yield scenarios with other parts that may need programs: links' behaviours and disciplines, keys of [record]."""
    behaviours = (
        keys for behaviour in BEHAVIOURS for keys in (behaviour.example, behaviour.example_with_more_programs) if keys
    )
    for keys in (*behaviours, *({"rate": "1 Mbit/s", "discipline": name} for name in DISCIPLINES)):
        yield f"links with {' and '.join(keys)}", _build_scenario("flow", links=_link(**keys))
    for key, field in Record.model_fields.items():
        for example in field.examples or ():
            yield key, _build_scenario("flow", record={key: example})


def _link(**forward: Any) -> dict[str, Any]:
    return {"link1": {"between": ["client", "server"], "forward": forward}}


def _kinds_by_program(noun: str, scenarios: Mapping[str, Scenario]) -> dict[str, str]:
    """Return by program the kinds whose scenarios use it."""
    kinds: dict[str, list[str]] = {}
    for kind, scenario in scenarios.items():
        for name in _programs(scenario):
            kinds.setdefault(name, []).append(kind)
    return {name: f"{noun} of kind {' and '.join(users)}" for name, users in kinds.items()}


def _programs(scenario: Scenario) -> Iterable[str]:
    """Return the machine's programs that a scenario needs."""
    plan = compile_plan(scenario, seed=1)
    return (name for name in plan.uses if not name.startswith(OURS) and name not in plan.dispensable)


def _build_scenario(workload: str, **tables: Any) -> Scenario:
    """Return a small scenario with a workload of this kind; ``tables`` replace its tables."""
    bulk = {"kind": workload, "from": "client", "to": "server", **KINDS[workload].example}
    return Scenario.model_validate(
        {
            "title": "doctor",
            "hosts": {"client": {}, "server": {}},
            "links": _link(rate="1 Mbit/s"),
            "workloads": {"bulk": bulk},
            **tables,
        }
    )


def _surrounding_tables(kind: str) -> dict[str, Any]:
    """Return tables with a node of this kind between the hosts."""
    nodes: dict[str, dict[str, Any]] = {"hosts": {"client": {}, "server": {}}}
    nodes.setdefault(NODE_KINDS[kind].table, {})["middle"] = NODE_KINDS[kind].example
    links = {"link1": {"between": ["client", "middle"]}, "link2": {"between": ["middle", "server"]}}
    to = "server" if NODE_KINDS[kind].forwards else "middle"
    return {
        **nodes,
        "links": links,
        "workloads": {"bulk": {"kind": "flow", "from": "client", "to": to, "size": "1 kB"}},
    }


def _lab_programs(system: LinuxDistribution) -> Iterator[Finding]:
    used = program_uses()
    missing = missing_programs(used)
    for name in missing:
        yield _missing_finding(name, package_of(name), used[name], system)
    yield finding_without_fix("programs in the lab", words([name for name in used if name not in missing]))


def missing_programs(programs: Iterable[str]) -> list[str]:
    """Return the ``programs`` that this machine does not have."""
    return [name for name in programs if not has_program(name)]


def _launchers(system: LinuxDistribution) -> Iterator[Finding]:
    """Check the programs that start the lab kernel; the words between them are their options and values."""
    names = [word for word in LAUNCHERS if re.fullmatch("[a-z]+", word)]
    missing = [name for name in names if shutil.which(name) is None]
    for name in missing:
        yield _missing_finding(name, "util-linux", _EVERY_RUN, system)
    if not missing:
        yield finding_without_fix("programs around the lab", words(names))


def _missing_finding(name: str, package: str, use: str, system: LinuxDistribution) -> Finding:
    level = Level.BROKEN if use == _EVERY_RUN else Level.MISSING
    return Finding(name, level, "is not installed", use, system.install([package]), (package,))


def _old_programs(system: LinuxDistribution) -> Iterator[Finding]:
    """Check that ``ip`` supports the options that plans use."""
    path = shutil.which("ip", path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    if path is not None and "fullmesh" not in _output_of(path, "mptcp", "help"):
        command = system.install(["iproute2"])
        message = "is too old for MPTCP endpoints with the flag fullmesh, which need iproute2 5.16"
        yield Finding("ip", Level.MISSING, message, 'endpoints = "fullmesh"', command, ("iproute2",))


def _compiler(system: LinuxDistribution) -> Iterator[Finding]:
    try:
        compiler_version()
    except CommandError as error:
        yield Finding("compiler", Level.MISSING, error.message, _BUILD, system.install(["gcc", "binutils"]))
        return
    except MissingError:
        message = "does not find the C library's headers"
        yield Finding("compiler", Level.MISSING, message, _BUILD, system.install(["libc6-dev"]), ("libc6-dev",))
        return
    versions: list[str] = []
    for name, arguments, min_version in _MIN_VERSIONS:
        match = re.search(r"(\d+)\.(\d+)[\d.]*(?=\s|$)", _output_of(name, *arguments))
        if match is None:
            continue
        versions.append(f"{name} {match[0]}")
        if (int(match[1]), int(match[2])) < min_version:
            message = f"{match[0]} is too old: Linux 7.2 needs {min_version[0]}.{min_version[1]}"
            yield Finding(name, Level.MISSING, message, _BUILD, system.install([TOOLS[name]]), (TOOLS[name],))
    yield finding_without_fix("programs of kernel builds", f"{words(TOOLS)} ({words(versions)})")


def _flow() -> Iterator[Finding]:
    """Check our own workload program, which is installed, or compiled on first use."""
    try:
        flow_program()
    except MissingError:
        return  # the missing compiler has its own finding
    except LabError as error:
        yield Finding("workload program", Level.BROKEN, error.message, _EVERY_RUN, error.hint or "")
    except OSError as error:
        message = f"cannot be compiled: {reason(error)}"
        yield Finding("workload program", Level.BROKEN, message, _EVERY_RUN, OTHER_CACHE)
    else:
        yield finding_without_fix(
            "workload program", f"flow is {'installed' if prebuilt_program('flow') else 'compiled'}"
        )


def _output_of(*command: str) -> str:
    """Return standard output and standard error of a command that ends at once; empty if it fails to."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


# Reports which programs of gateways are installed or built. Only a gateway that names one needs it.

_GATEWAY_SUBJECT = "programs of gateways"


def debian_programs() -> dict[str, tuple[str, ...]]:
    """Return the programs that each kind of gateway uses; without those kinds that are built."""
    built = {recipe.name for recipe in RECIPES.values()}
    return {name: programs for name, programs in gateway_programs().items() if name not in built}


def check_proxies(system: LinuxDistribution) -> Iterator[Finding]:
    """List the programs that are installed or built, and the commands for the others."""
    try:
        built = {recipe.name: is_built(recipe) for recipe in RECIPES.values()}
    except LabError as error:
        yield Finding(_GATEWAY_SUBJECT, Level.MISSING, error.message, "gateways", error.hint or "")
        return
    packaged = debian_programs()
    ready = [name for name, programs in packaged.items() if not missing_programs(programs)]
    ready += [f"{name} {RECIPES[name].version}" for name, is_there in built.items() if is_there]
    packages = missing_packages(itertools.chain.from_iterable(packaged.values()))
    others = [name for name, is_there in built.items() if not is_there]
    commands = [system.install(packages)] if packages else []
    commands += [f"mptcplab gateways build {' '.join(others)}"] if others else []
    message = f"{words(ready) or 'none'} there"
    # Most scenarios have no gateway, so this is not among what should be fixed.
    yield finding_without_fix(
        _GATEWAY_SUBJECT, f"{message}; for others: {'; '.join(commands)}" if commands else message
    )


# Reports whether the programs of radio links are installed. Only a scenario with an access point needs them.

_RADIO_SUBJECT = "programs of radio links"


def check_radios(system: LinuxDistribution) -> Iterator[Finding]:
    """List the programs that are installed, and the command for the others."""
    programs = radio_programs()
    missing = missing_programs(programs)
    message = f"{words([name for name in programs if name not in missing]) or 'none'} there"
    # Most scenarios have no radio, so this is not among what should be fixed.
    command = f"; for others: {system.install(missing_packages(missing))}" if missing else ""
    yield finding_without_fix(_RADIO_SUBJECT, f"{message}{command}")


# Reports what `--engine stock` needs: QEMU, and a kernel image. Only runs with this engine need them.

_STOCK_SUBJECT = "engine stock"


def check_stock(system: LinuxDistribution) -> Iterator[Finding]:
    """Say whether the engine is ready, and the commands that make it so."""
    kernels = [kernel.release for kernel in list_stock()]
    commands = [] if shutil.which(QEMU) else [system.install([PACKAGE])]
    commands += [] if kernels else [f"mptcplab kernel stock {DEFAULT_STOCK}"]
    # Most experiments use the lab kernel, so this is not among what should be fixed.
    yield finding_without_fix(
        _STOCK_SUBJECT, f"needs: {'; '.join(commands)}" if commands else f"QEMU, with {words(kernels)}"
    )
