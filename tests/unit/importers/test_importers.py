# SPDX-License-Identifier: MIT
"""``mptcplab import``: scenarios of files in each format, which load; what is not imported is listed."""

from __future__ import annotations

import contextlib
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mptcplab.cli.main import commands
from mptcplab.errors import InputError
from mptcplab.importers.files import ImportedScenario, import_files, import_texts
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.script import script
from mptcplab.scenario.load import load

FOLDER = Path(__file__).parents[1] / "imports"
#: A network of two machines for lines that a test adds.
NETWORK = """
ip link add veth0 netns a type veth peer name veth0 netns b
ip -n a addr add 192.0.2.1/24 dev veth0
ip -n b addr add 192.0.2.2/24 dev veth0
"""


def run_import(*names: str) -> tuple[dict[str, Any], ImportedScenario]:
    """Return the tables of an imported scenario, and what was said about it."""
    result = import_files([FOLDER / name for name in names])
    return tomllib.loads(result.text), result


def tables_of(text: str, name: str = "setup.sh") -> dict[str, Any]:
    """Return the tables of a scenario of one text."""
    return tomllib.loads(import_texts({name: text}).text)


def unread_of(text: str) -> list[str]:
    """Return the lines of a text that are not imported, each with its number."""
    return [f"{entry.origin.line}: {entry.reason}" for entry in import_texts({"setup.sh": text}).unread]


def test_a_script_with_namespaces() -> None:
    tables, result = run_import("report.sh")
    assert set(tables["hosts"]) == {"client", "server"}
    first, second = tables["links"]["veth1"], tables["links"]["veth2"]
    assert (first["rate"], first["delay"], first["queue"]) == ("20 Mbit/s", "10 ms", "100 packets")
    # netem below a shaper is its queue; the way back has no shaper, so its rate is assumed.
    assert second["forward"] == {"rate": "10 Mbit/s", "delay": "30 ms", "loss": "0.1 %", "queue": "1000 packets"}
    assert second["backward"] == {"rate": "100 Mbit/s"}
    assert "ASSUMED" in result.text
    assert first["addresses"] == ["10.0.1.1/24", "10.0.1.2/24"]
    client, server = (tables["hosts"][name]["transport"] for name in ("client", "server"))
    assert client["endpoints"] == [{"link": "veth2", "flags": ["subflow"]}]
    assert server["endpoints"] == [{"link": "veth2", "flags": ["signal"]}]
    assert client["limits"] == {"subflows": 2, "add_addr_accepted": 2}
    # No command sets it at the server: the kernel's default, which is not the lab's.
    assert server["limits"] == {"subflows": 2, "add_addr_accepted": 0}
    assert client["tcp_rmem"] == ["4 KiB", "128 KiB", "32 MiB"]
    assert tables["workloads"]["transfer1"] == {
        "kind": "flow", "from": "client", "to": "server", "duration": "12 s", "reverse": True,
    }  # fmt: skip
    assert [(event["at"], event["type"], event["link"]) for event in tables["events"]] == [
        ("4 s", "down", "veth1"),
        ("6 s", "up", "veth1"),
    ]
    lines = (FOLDER / "report.sh").read_text().splitlines()
    for entry in result.unread:
        assert any(word in lines[entry.origin.line - 1] for word in ("iptables", "$STARTED")), entry
    assert len(result.unread) == 2


def test_tc_commands_of_one_machine() -> None:
    tables, result = run_import("access-lines.sh")
    assert list(tables["links"]) == ["eth0", "wlan0", "eth2"]
    eth0, wlan0, eth2 = (link["forward"] for link in tables["links"].values())
    # A discipline below tbf replaces tbf's own queue: 200 packets, not 50 ms.
    assert (eth0["rate"], eth0["burst"], eth0["queue"], eth0["delay"]) == ("10 Mbit/s", "4 KiB", "200 packets", "20 ms")
    assert (wlan0["delay"], wlan0["jitter"], wlan0["distribution"], wlan0["loss"]) == (
        "40 ms",
        "10 ms",
        "normal",
        "1 %",
    )
    # With a rate of its own, netem keeps packets in order.
    assert "overtake" not in wlan0
    assert (eth2["rate"], eth2["discipline"], eth2["aqm"]) == ("20 Mbit/s", "cake", {"interval": "50 ms"})
    assert tables["hosts"]["client"]["transport"]["congestion_control"] == "bbr"
    said = {f"{entry.origin}: {entry.reason}" for entry in result.unread}
    assert said == {
        "access-lines.sh:5: the correlation of loss: the lab draws for each packet independently",
        "access-lines.sh:6: options that the lab has not: nat",
        "access-lines.sh:8: the lab's nodes do not have this setting each for themselves",
    }


def test_mininet() -> None:
    tables, result = run_import("two-paths.mininet")
    assert set(tables["hosts"]) == {"client", "server"}
    assert list(tables["routers"]) == ["s1", "s2"]
    first = tables["links"]["client-eth0"]
    assert first["between"] == ["client", "s1"]
    # A default of the program's command line, an argument of the call, and a keyword.
    assert (first["rate"], first["delay"], first["queue"]) == ("8 Mbit/s", "15 ms", "50 packets")
    assert tables["links"]["s2-eth1"]["loss"] == "0.1 %"
    assert "loss" not in tables["links"]["s1-eth1"]
    assert tables["hosts"]["client"]["transport"]["endpoints"] == [{"link": "client-eth1", "flags": ["subflow"]}]
    assert tables["workloads"]["transfer1"]["to"] == "server"
    assert [(entry.origin.line, entry.reason) for entry in result.unread] == [
        (36, "the command is only known when the program runs")
    ]
    assert (FOLDER / "two-paths.mininet").read_text().splitlines()[35].strip() == 'client.cmd(input("command? "))'


def test_conditions_of_mininet() -> None:
    """Comprehensions leave out what their conditions do, and a chained comparison is true if all parts are."""
    program = """
    import mininet
    names = [f"h{i}{side}" for i in range(4) for side in ("a", "b") if 1 <= i < 3 if side == "b"]
    for name in names:
        net.addHost(name)
    net.addLink(*[name for name in names if name != "h3b"])
    """
    assert set(tables_of(textwrap.dedent(program), "a.py")["hosts"]) == {"h1b", "h2b"}


def test_unknown_conditions_of_mininet_are_taken_as_true() -> None:
    program = "import mininet\nfor name in [n for n in ('a', 'b') if input(n)]:\n    net.addHost(name)\n"
    result = import_texts({"a.py": program + "net.addLink('a', 'b')\n"})
    assert set(tomllib.loads(result.text)["hosts"]) == {"a", "b"}
    assert "a.py:2: the condition is not known; it is taken as true" in result.text


@pytest.mark.parametrize(
    ("discipline", "options"),
    [
        ("fq_codel limit 1000p flows 1024 ce_threshold 1ms memory_limit 32Mb drop_batch 64", "ce_threshold"),
        ("cake bandwidth 20Mbit diffserv4 split-gso no-ack-filter overhead 0", "diffserv4"),
        ("cake bandwidth 20Mbit ack-filter-aggressive", "ack-filter-aggressive"),
        ("cake bandwidth 20Mbit triple-isolate nonat nowash raw", ""),
    ],
)
def test_options_that_the_lab_has_not(discipline: str, options: str) -> None:
    unread = unread_of(f"{NETWORK}tc -n a qdisc add dev veth0 root {discipline}\n")
    assert unread == ([f"5: options that the lab has not: {options}"] if options else [])


def test_minitopo() -> None:
    tables, result = run_import("topo", "xp")
    first, second = tables["links"]["c2r0"], tables["links"]["c2r1"]
    assert (first["rate"], first["delay"], first["queue"]) == ("5 Mbit/s", "10 ms", "10 packets")
    assert (second["rate"], second["loss"]) == ("4 Mbit/s", "1.5 %")
    client = tables["hosts"]["client"]["transport"]
    assert client["modes"] == {"c2r1": "backup"}
    assert (client["congestion_control"], client["scheduler"]) == ("olia", "minrtt_v09")
    assert tables["workloads"]["transfer1"]["size"] == "10 MiB"
    assert [(event["at"], event["link"], event.get("delay")) for event in tables["events"]] == [
        ("3 s", "c2r1", "20 ms"),
        ("5 s", "c2r0", None),
    ]
    assert [(str(entry.origin), entry.text) for entry in result.unread] == [("xp:9", "foo:bar")]


def test_old_minitopo_without_queues() -> None:
    tables = tables_of("path_0:10,5\ntopoType:MultiIf\n", "para")
    # 5 Mbit/s for 20 ms are 12,500 bytes: nine packets of 1500 bytes.
    assert tables["links"]["c2r0"]["queue"] == "9 packets"


@pytest.mark.parametrize("names", [("network", "sqm"), ("sqm", "network")])
def test_uci_in_any_order(names: tuple[str, ...]) -> None:
    tables, result = run_import(*names)
    assert set(tables["hosts"]) == {"router", "vps"}
    first = tables["links"]["wan1"]
    assert (first["discipline"], first["forward"], first["backward"]) == (
        "cake",
        {"rate": "10 Mbit/s"},
        {"rate": "85 Mbit/s"},
    )
    transport = tables["hosts"]["router"]["transport"]
    assert (transport["congestion_control"], transport["modes"]) == ("bbr", {"wan2": "backup"})
    assert [entry.text for entry in result.unread] == ["config interface 'lan'"]


def test_what_uci_shows() -> None:
    shown = (
        "network.globals.mptcp_scheduler='bpf_rr'\nnetwork.wan1=interface\nnetwork.wan1.multipath='on'\n"
        "network.wan1.proto='dhcp'\nnetwork.wan2=interface\nnetwork.wan2.multipath='on'\n"
        "openmptcprouter.wan1=interface\nopenmptcprouter.wan1.uploadspeed='9000'\n"
    )
    tables = tables_of(shown, "uci.txt")
    assert tables["hosts"]["router"]["transport"]["scheduler"] == "roundrobin"
    assert tables["links"]["wan1"]["forward"]["rate"] == "9 Mbit/s"
    assert list(tables["links"]) == ["wan1", "wan2"]


def test_two_machines_meet_where_their_networks_are_the_same() -> None:
    texts = {
        "client.sh": "ip addr add 10.1.0.1/24 dev eth0\nip addr add 10.2.0.1/24 dev eth1\n"
        "ip mptcp endpoint add 10.2.0.1 dev eth1 subflow",
        "server.sh": "ip addr add 10.1.0.2/24 dev ens1\nip addr add 10.2.0.2/24 dev ens2\n"
        "ip mptcp limits set subflows 2",
    }
    tables = tomllib.loads(import_texts(texts).text)
    assert [link["between"] for link in tables["links"].values()] == [["client", "server"]] * 2
    assert tables["links"]["eth1"]["addresses"] == ["10.2.0.1/24", "10.2.0.2/24"]
    assert tables["hosts"]["client"]["transport"]["endpoints"] == [{"link": "eth1", "flags": ["subflow"]}]


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        # mbps are bytes, a time without unit is in microseconds, k of a size is 1024.
        ("tc -n a qdisc add dev veth0 root tbf rate 1mbps burst 2k limit 64k", "rate", "8 Mbit/s"),
        ("tc -n a qdisc add dev veth0 root tbf rate 1mbps burst 2k limit 64k", "queue", "64 KiB"),
        ("tc -n a qdisc add dev veth0 root tbf rate 8mbit burst 2k latency 50ms", "queue", "52048 B"),
        ("tc -n a qdisc add dev veth0 root netem delay 2500", "delay", "2.5 ms"),
        ("tc -n a qdisc add dev veth0 root netem delay 10ms", "delay_limit", "1000 packets"),
        ("tc -n a qdisc add dev veth0 root netem loss gemodel 1% 20%", "burst_loss", {"p": "1 %", "r": "20 %"}),
        ("tc -n a qdisc add dev veth0 root netem delay 10ms reorder 25% 50%", "reorder", "25 %"),
        ("tc -n a qdisc add dev veth0 root netem delay 10ms 4ms", "overtake", True),
    ],
)
def test_one_direction(line: str, key: str, value: object) -> None:
    link = tables_of(f"{NETWORK}{line}\n")["links"]["veth0"]
    assert {**link, **link.get("forward", {})}[key] == value


@pytest.mark.parametrize("percent", [25, 100])
def test_a_gap_of_reordering_is_listed(percent: int) -> None:
    script = f"{NETWORK}tc -n a qdisc add dev veth0 root netem delay 10ms reorder {percent}% gap 5\n"
    link = tables_of(script)["links"]["veth0"]
    assert "reorder" not in {**link, **link.get("forward", {})}
    assert [line for line in unread_of(script) if "every Nth" in line], "the file is read but for this option"


def test_queues_of_several_classes() -> None:
    lines = """
tc -n a qdisc add dev veth0 root handle 1: htb default 20
tc -n a class add dev veth0 parent 1: classid 1:1 htb rate 50mbit
tc -n a class add dev veth0 parent 1:1 classid 1:10 htb rate 5mbit ceil 50mbit
tc -n a class add dev veth0 parent 1:1 classid 1:20 htb rate 5mbit ceil 30mbit
tc -n a qdisc add dev veth0 parent 1:20 fq_codel limit 500 target 10ms
tc -n a filter add dev veth0 parent 1: protocol ip u32 match ip dport 22 0xffff flowid 1:10
"""
    forward = tables_of(NETWORK + lines)["links"]["veth0"]["forward"]
    assert forward["rate"] == "30 Mbit/s"
    assert (forward["discipline"], forward["queue"]) == ("fq_codel", "500 packets")
    # Unlike the lab's, tc's fq_codel marks packets unless it is told not to.
    assert forward["aqm"] == {"target": "10 ms", "ecn": True}
    assert [line.partition(":")[0] for line in unread_of(NETWORK + lines)] == ["11", "8"]


def test_an_ifb_shapes_what_arrives() -> None:
    lines = """
ip -n b link add ifb0 type ifb
tc -n b qdisc add dev veth0 handle ffff: ingress
tc -n b filter add dev veth0 parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev ifb0
tc -n b qdisc add dev ifb0 root tbf rate 7mbit burst 2k limit 30000
"""
    tables = tables_of(NETWORK + lines)
    assert tables["links"]["veth0"]["forward"]["rate"] == "7 Mbit/s"
    assert "shape" not in tables["links"]["veth0"]


def test_changes_while_a_transfer_runs() -> None:
    lines = """
tc -n a qdisc add dev veth0 root netem rate 10mbit delay 20ms
ip netns exec a mptcpize run iperf3 -c 192.0.2.2 -t 20 &
sleep 5
tc -n a qdisc change dev veth0 root netem rate 2mbit delay 20ms loss 1%
ip -n a mptcp endpoint add 192.0.2.1 dev veth0 backup
"""
    tables = tables_of(NETWORK + lines)
    assert tables["links"]["veth0"]["forward"]["rate"] == "10 Mbit/s"
    changes = [{key: event[key] for key in event if key not in ("link", "node")} for event in tables["events"]]
    assert changes == [
        {"at": "5 s", "type": "change", "direction": "forward", "rate": "2 Mbit/s", "loss": "1 %"},
        {"at": "5 s", "type": "endpoint-added", "flags": ["backup"]},
    ]


def test_functions_and_loops_of_a_script() -> None:
    text = """
make_link() {
    ip link add $1 netns $2 type veth peer name $1 netns $3
    ip -n $2 addr add $4.1/24 dev $1
    ip -n $3 addr add $4.2/24 dev $1
}
for n in $(seq 1 3); do make_link "wire$n" left right 10.9.$n; done
"""
    tables = tables_of(text)
    assert list(tables["links"]) == ["wire1", "wire2", "wire3"]
    assert tables["links"]["wire3"]["addresses"] == ["10.9.3.1/24", "10.9.3.2/24"]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"a.txt": "hello\nworld\n"}, "nothing in a.txt is recognised"),
        ({"a.py": "import mininet\nprint 'x'\n"}, "a.py is not valid Python 3"),
        ({"a.sh": "\0\0"}, "'a.sh' is not a text"),
        ({"a.conf": "net.ipv4.tcp_ecn = 1\n"}, "nothing in the files describes a link"),
        ({"a.py": "import mininet\n"}, "nothing in the files describes a link"),
    ],
)
def test_what_cannot_be_imported(texts: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as refused:
        import_texts(texts)
    assert said in refused.value.message
    assert refused.value.hint


def test_nothing_of_a_file_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    shell = f"{NETWORK}touch {mark}\nX=$(touch {mark})\nsh -c 'touch {mark}'\n"
    python = f"import mininet, os\nos.system('touch {mark}')\nopen('{mark}', 'w')\nnet.addHost('a')\nnet.addHost('b')\n"
    import_texts({"a.sh": shell})
    import_texts({"a.py": f"{python}net.addLink('a', 'b', bw=eval('open(1)'))\n"})
    assert not mark.exists()


@pytest.mark.parametrize(
    "text",
    [
        "import mininet\nx = 'a'\nwhile True:\n    pass\nfor i in range(10**9):\n    x = x + x\n",
        "import mininet\ndef f():\n    return f()\nf()\n",
        "import mininet\nx = "
        + "[" * 50
        + "]" * 50
        + "\nfor i in range(1000):\n  for j in range(1000):\n    y = i * j\n",
    ],
)
def test_endless_programs_end(text: str) -> None:
    text += "net.addHost('a')\nnet.addHost('b')\nnet.addLink('a', 'b')\n"
    with contextlib.suppress(InputError):  # what follows the endless part may not be reached
        import_texts({"a.py": text})


def test_a_scenario_names_its_sources_and_loads(tmp_path: Path) -> None:
    out = tmp_path / "made.toml"
    words = ["import", str(FOLDER / "report.sh"), "-o", str(out), "--title", "From a report"]
    result = CliRunner().invoke(commands, words)
    assert result.exit_code == 0, result.output
    assert "Not imported: report.sh:43: " in result.stderr
    text = out.read_text()
    for line in (
        'title = "From a report"',
        'rate = "20 Mbit/s"  # report.sh:24',
        "# Not imported:",
        "# - report.sh:43: ",
    ):
        assert line in text
    assert load(out).title == "From a report"
    again = CliRunner().invoke(commands, words)
    assert isinstance(again.exception, InputError)
    assert again.exception.message.endswith("already exists")


@pytest.mark.parametrize("name", ["access-lines.sh", "topo"])
def test_the_page_shows_these_files(name: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "import.md").read_text()
    assert f"\n{(FOLDER / name).read_text()}```" in page


TWO_NAMESPACES = """
ip netns add a
ip netns add b
ip link add va netns a type veth peer name vb netns b
ip -n a addr add 10.0.0.1/24 dev va
ip -n b addr add 10.0.0.2/24 dev vb
"""
RATES = st.integers(10**5, 10**9)
TIMES = st.integers(0, 10**6).map(lambda count: f"{count} us")
SHARES = st.integers(0, 500_000).map(lambda count: f"{count} ppm")


@st.composite
def directions(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the keys of one direction of a link."""
    keys: dict[str, Any] = {"rate": f"{draw(RATES)} bit/s", "delay": draw(TIMES)}
    discipline = draw(st.sampled_from(["tail-drop", "cake", "codel", "fq_codel", "pie", "red"]))
    if discipline != "tail-drop":
        keys["discipline"] = discipline
    if discipline != "cake":
        keys["queue"] = draw(st.sampled_from(["20 packets", "100 packets", "200 kB", "1 MB"]))
    if draw(st.booleans()):
        keys["loss"] = draw(SHARES)
    elif draw(st.booleans()):
        keys["burst_loss"] = {"p": "1 %", "r": "25 %", "1-h": "60 %", "1-k": "0.5 %"}
    if keys["delay"] != "0 us" and draw(st.booleans()):
        keys["jitter"] = f"{int(keys['delay'].split()[0]) // 2 + 1} us"
        keys["overtake"] = draw(st.booleans())
    for name in ("duplicate", "corrupt"):
        if draw(st.booleans()):
            keys[name] = draw(SHARES)
    if draw(st.booleans()):
        keys["batch"] = draw(st.sampled_from(["5 us", "2 ms", "1 s"]))
    return keys


def plan_of(file: Path) -> str:
    """Return the commands of a scenario's only run."""
    (point,) = load(file).points
    return script(compile_plan(point.scenario, seed=1), title="plan")


def commands_of(file: Path) -> list[str]:
    """Return the lines of ``tc`` that a scenario's plan has."""
    text = plan_of(file)
    return sorted(line for line in text.splitlines() if " tc qdisc add " in line and "clsact" not in line)


def table(keys: dict[str, Any]) -> str:
    """Return keys as an inline table of TOML."""
    words = []
    for key, value in keys.items():
        text = (
            table(value) if isinstance(value, dict) else str(value).lower() if isinstance(value, bool) else f'"{value}"'
        )
        words.append(f"{key} = {text}")
    return "{ " + ", ".join(words) + " }"


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("slot 5ms", 'batch = "5 ms"'),
        ("slot 5ms 5ms", 'batch = "5 ms"'),
        ("slot 5ms 6ms", "its slots vary"),
        ("slot 5ms packets 3", "its slots vary"),
        ("slot distribution normal 5ms 1ms", "its slots vary"),
    ],
)
def test_slots_of_netem(words: str, wanted: str) -> None:
    text = f"{TWO_NAMESPACES}tc -n a qdisc add dev va root netem delay 20ms {words}\n"
    assert wanted in import_texts({"a.sh": text}).text


@pytest.mark.slow
@settings(max_examples=20, phases=[Phase.explicit, Phase.generate])
@given(forward=directions(), backward=directions())
def test_the_commands_of_a_plan_import_to_the_same_links(
    tmp_path_factory: pytest.TempPathFactory, forward: dict[str, Any], backward: dict[str, Any]
) -> None:
    """Rates, delays, queues, losses: what the plan of the imported scenario asks of tc is the same, word for word."""
    folder = tmp_path_factory.mktemp("plan")
    written = folder / "written.toml"
    written.write_text(
        'title = "x"\nphases = "fixed"\ntopology = { preset = "disjoint-paths" }\n'
        f"links.link1 = {{ forward = {table(forward)}, backward = {table(backward)} }}\n"
        'links.link2 = { rate = "5 Mbit/s", delay = "7 ms" }\n'
        'workloads.bulk = { kind = "iperf3", from = "client", to = "server", duration = "5 s" }\n'
    )
    made = folder / "made.toml"
    made.write_text('phases = "fixed"\n' + import_texts({"plan.sh": plan_of(written)}).text)
    assert commands_of(made) == commands_of(written)
