# SPDX-License-Identifier: MIT
"""One node's configuration for a real machine has all that plans give the node, and nothing of what links do."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.export_scenario import FAMILIES, NODES, configuration, files, full_scenario

from mptcplab.configuration import NftTable
from mptcplab.errors import InputError
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.export import export_formats, format_named
from mptcplab.plan.model import Plan
from mptcplab.plan.radios import FOLDER as RADIO_FILES
from mptcplab.plan.radios import WATCHER
from mptcplab.recording.captures import PREFIX as CAPTURE
from mptcplab.scenario.load import load
from mptcplab.scenario.schema import Scenario
from mptcplab.steps import Command
from mptcplab_export import sh
from mptcplab_export.collect import PREFIX, ExportMachine, collect
from mptcplab_export.model import Configuration, devices_of
from mptcplab_export.registry import FORMATS

ROOT = Path(__file__).resolve().parents[4]
EXAMPLES = sorted(file for file in (ROOT / "examples").rglob("*.toml") if "title = " in file.read_text())
CLAMP = ROOT / "tests" / "plugins" / "clamp.toml"


def _describe(configuration: Configuration) -> Iterator[tuple[str, ...]]:
    """Yield the commands of a plan that a configuration stands for."""
    node = configuration.node
    if configuration.settings:
        yield ("sysctl", "-qw", *(f"{name}={value}" for name, value in configuration.settings))
    for interface in configuration.interfaces:
        nodad = ("nodad",) if interface.address.version == 6 else ()
        yield ("ip", "address", "add", str(interface.address), "dev", interface.device, *nodad)
    yield from (route.command(node).argv for route in configuration.routes)
    yield from (rule.command(node).argv for rule in configuration.rules)
    if configuration.limits is not None:
        yield configuration.limits.command()
    yield from (endpoint.addition() for endpoint in configuration.endpoints)
    yield from (_without_prefix(table).command(node).argv for table in configuration.tables)


def _without_prefix(table: NftTable) -> NftTable:
    return replace(table, name=table.name.removeprefix(PREFIX))


def _is_of_the_lab(command: Command) -> bool:
    """Return whether a command makes links, neighbours or a radio's connection: a real machine has these."""
    is_of_radio = command.argv[0] == "iw" or any(RADIO_FILES in word for word in command.argv)
    return (
        command.argv[0] in ("tc", "ethtool") or command.argv[:2] in (("ip", "link"), ("ip", "neighbour")) or is_of_radio
    )


#: Of no effect on the node's addresses, and harmful where a machine has others.
_OTHER_FORWARDING = {"ipv4": "net.ipv6.conf.all.forwarding=1", "ipv6": "net.ipv4.ip_forward=1"}


def _export(argv: tuple[str, ...], family: str) -> tuple[str, ...]:
    """Return a command without what only lab kernels have: the CPU that a node is given."""
    return tuple(word for word in argv if word != _OTHER_FORWARDING[family] and not word.startswith("net.lab."))


def _programs(plan: Plan, scenario: Scenario, node: str) -> list[str]:
    workloads = {f"{name}.server" for name in scenario.workloads}
    servers = (program for program in plan.programs if program.role == "server" and program.node == node)
    others = {*workloads, WATCHER.format(node)}
    return [server.name for server in servers if server.name not in others and not server.name.startswith(CAPTURE)]


@pytest.mark.slow
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: str(file.relative_to(ROOT)))
def test_all_that_a_plan_gives_a_node_is_in_its_configuration(file: Path) -> None:
    points = load(file).points
    for scenario in {id(point): point.scenario for point in (points[0], points[-1])}.values():
        _check_complete(scenario)


@pytest.mark.parametrize("family", FAMILIES)
def test_so_it_is_for_nodes_with_everything(family: str) -> None:
    _check_complete(full_scenario(family))


def _check_complete(scenario: Scenario) -> None:
    plan = compile_plan(scenario, seed=1)
    tunnels = [gateway for gateway in scenario.gateways.values() if gateway.tunnel_device is not None]
    unable = {node for tunnel in tunnels for node in (tunnel.entry, tunnel.exit)}
    for node in unable:
        with pytest.raises(InputError, match="no format can express a command of the gateway"):
            collect(scenario, node, ExportMachine({}))
    for node in set(plan.nodes) - unable:
        exported = collect(scenario, node, ExportMachine({}))
        commands = (command.argv for command in plan.setup if command.node == node and not _is_of_the_lab(command))
        planned = [_export(argv, scenario.family) for argv in commands]
        assert sorted(_describe(exported)) == sorted(planned), node
        assert [service.name for service in exported.services] == [
            name.replace(".", "-") for name in _programs(plan, scenario, node)
        ]


def test_only_the_version_of_ip_that_a_router_has_is_forwarded() -> None:
    four, six = (dict(configuration("r1", family).settings) for family in FAMILIES)
    assert (four.get("net.ipv4.ip_forward"), four.get("net.ipv6.conf.all.forwarding")) == ("1", None)
    assert (six.get("net.ipv4.ip_forward"), six.get("net.ipv6.conf.all.forwarding")) == (None, "1")


def test_the_scenario_with_everything_has_everything() -> None:
    configurations = [configuration(node) for node in NODES]
    for part in ("settings", "routes", "rules", "endpoints", "tables", "services"):
        assert any(getattr(each, part) for each in configurations), part
    assert any(each.limits is None for each in configurations)
    assert any(interface.mtu for each in configurations for interface in each.interfaces)
    assert any(rule.source is None for each in configurations for rule in each.rules)
    assert any("port" in endpoint.options for each in configurations for endpoint in each.endpoints)


def test_the_core_has_all_formats() -> None:
    assert export_formats() == list(FORMATS)
    assert all(format_named(name) is FORMATS[name] for name in FORMATS)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("family", FAMILIES)
def test_devices_take_the_places_of_links(form: str, family: str) -> None:
    """Only comments and names of sections still have the link's name, and the table of the device's settings."""
    texts = files(form, "client", family, a__1="eth0.7", b_1="wlan0")
    lines = [line for text in texts.values() for line in text.splitlines() if not line.startswith(("#", "\t#"))]
    assert [line for line in lines if "a-1" in line] == []
    assert any("eth0.7" in line for line in lines)
    setting = "net.ipv4.conf.eth0/7.rp_filter"
    assert any(setting in line for line in lines)
    router = "\n".join(files(form, "r1", family, core="wan").values())
    assert '"core"' not in router
    assert '"wan"' in router
    phone = "\n".join(files(form, "phone", family, c="wwan0").values())
    assert "wwan0" in next(line for line in phone.splitlines() if "guest.path_manager" in line)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("node", NODES)
def test_the_script_is_one(node: str, family: str) -> None:
    (text,) = files("sh", node, family).values()
    checked = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr
    up = text[text.index("\nup() {") : text.index("\ndown() {")]
    called = {line.split()[0] for line in up.splitlines() if line.startswith("\t") and line.split()}
    defined = {line.removesuffix("() {") for line in text.splitlines() if line.endswith("() {")}
    helpers = {"try", "keep", "write", "step", "after", "number", "up", "down"}
    assert defined - helpers <= called | {"setting", "address", "interface"}, "no function is there in vain"


def test_the_script_says_how_to_use_it(tmp_path: Path) -> None:
    script = tmp_path / "client.sh"
    script.write_text(files("sh", "client")["client.sh"])
    done = subprocess.run(["sh", script, "start"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"usage: sh {script} up | down\n")


def test_what_the_script_starts_is_declared() -> None:
    assert sh.programs(configuration("r1")) == ("ip", "rm", "sysctl", "nft")
    assert sh.programs(configuration("r2")) == ("ip", "rm", "sysctl", "setsid", "env")
    assert sh.programs(configuration("r3")) == ("ip", "rm", "sysctl", "nft", "setsid")


def test_notes_name_what_is_left_out_and_what_the_kernel_must_have() -> None:
    notes = "\n".join(configuration("client").notes)
    assert "Left out: the scenario's events." in notes
    assert "the congestion control `cubic`" in notes
    assert "mptcpize run" in notes
    assert "mptcpize" not in "\n".join(configuration("pc").notes)


def test_a_real_machine_asks_for_its_neighbours() -> None:
    scenario = load(ROOT / "examples/two-paths.toml", overrides=["neighbours=known"]).points[0].scenario
    assert any("known neighbours" in note for note in collect(scenario, "client", ExportMachine({})).notes)


@pytest.mark.slow
def test_a_kind_with_commands_of_its_own_is_refused() -> None:
    code = (
        "from pathlib import Path; from mptcplab_export.collect import ExportMachine, collect\n"
        "from mptcplab.scenario.load import load\n"
        f"collect(load(Path({str(CLAMP)!r})).points[0].scenario, 'tunnel', ExportMachine({{}}))"
    )
    environment = {**os.environ, "MPTCPLAB_PLUGINS": str(CLAMP.with_suffix(".py"))}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False, timeout=60
    )
    assert "InputError: a clamp runs a command of its own, which no format can express: nft add table" in done.stderr


@pytest.mark.parametrize(
    ("program", "starts"),
    [
        ("shadowsocks-libev", ("mptcpize", "ss-redir")),
        ("go-shadowsocks2", ("go-shadowsocks2",)),
        ("shadowsocks-rust", ("sslocal",)),
        ("xray", ("xray",)),
    ],
)
def test_programs_of_gateways(program: str, starts: tuple[str, ...]) -> None:
    """Without the shell that prepares them in the lab; with the operator's password, everywhere."""
    bonding = load(ROOT / "examples/gateways/bonding.toml", overrides=[f"gateways.bond.program={program}"])
    scenario = bonding.points[0].scenario
    exported = {
        node: collect(scenario, node, ExportMachine({}, "/etc/x", "Secret-1")) for node in ("home", "vps", "web")
    }
    (service,) = exported["home"].services
    assert (service.name, service.programs) == ("gateway-entry-bond", starts)
    assert service.argv[0] == starts[0]
    assert {path.rpartition("/")[0] for path, _ in service.files} <= {"/etc/x"}
    for node, role in (("home", "entry"), ("vps", "exit")):
        text = repr(exported[node].services)
        assert "Secret-1" in text, role
        assert "lab-password" not in text, role
    notes = "\n".join(exported["home"].notes)
    assert f"Programs to install: {', '.join(sorted(starts))}." in notes
    assert "listens on port 1080" in notes
    assert "password" not in notes
    assert "public" in "\n".join(collect(scenario, "vps", ExportMachine({})).notes)
    assert exported["web"].services == ()
    assert [table.name for table in exported["home"].tables] == ["mptcplab_gateway-bond"]
    assert exported["vps"].tables == ()


@pytest.mark.parametrize(
    ("setting", "command"),
    [("gateways.bond.program=openvpn", "ip tuntap add"), ("gateways.bond.firewall=iptables", "iptables -w -t nat -N")],
)
def test_gateways_with_commands_of_their_own_are_refused(setting: str, command: str) -> None:
    scenario = load(ROOT / "examples/gateways/bonding.toml", overrides=[setting]).points[0].scenario
    with pytest.raises(InputError, match=f"no format can express a command of the gateway 'bond': {command}"):
        collect(scenario, "home", ExportMachine({}))


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("link1",), "'link1' is not LINK=DEVICE"),
        (("link1=eth0,",), "'' is not LINK=DEVICE"),
        (("link1x=eth0",), "no link 'link1x' (did you mean `link1`?)"),
        (("link1=",), "'' is not the name of an interface"),
        (("link1=eth 0",), "'eth 0' is not the name of an interface"),
        (("link1=averyveryverylong",), "is not the name of an interface"),
        (("link1=eth0", "link1=eth1"), "the link 'link1' has two devices"),
        (("link1=eth0,link2=eth0",), "'eth0' is the device of two links"),
        (("link1=link2",), "'link2' is the device of two links"),
    ],
)
def test_devices_that_cannot_be(words: tuple[str, ...], error: str) -> None:
    with pytest.raises(InputError) as caught:
        devices_of(words, ["link1", "link2"])
    assert error in f"{caught.value.message} ({caught.value.hint})"


def test_devices_may_be_exchanged() -> None:
    assert devices_of(["link1=link2, link2=link1"], ["link1", "link2"]) == {"link1": "link2", "link2": "link1"}


def test_quoting_of_the_script() -> None:
    """The path manager's configuration is JSON, with quotes of its own."""
    line = next(line for line in files("sh", "phone")["phone.sh"].splitlines() if line.startswith("\tservice "))
    words = shlex.split(line)
    assert words[:5] == ["service", "path-manager-host-phone", "env", "PYTHONPATH=/usr/local/lib/mptcplab", "python3"]
    assert words[-1].startswith('{"paths":[{"link":"c"')
