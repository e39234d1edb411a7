# SPDX-License-Identifier: MIT
"""The pure parts of `python -m tests.smp`: events from a seed, what is built, and what counts as a complaint."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from tests.smp.complaints import KNOWN, complaints_in, known_complaints, unknown
from tests.smp.guest.choices import (
    CONGESTION_CONTROLS,
    COUPLED,
    COUPLED_SETTINGS,
    FIRST_ENDPOINTS,
    NODES,
    OUR_SCHEDULERS,
    SCHEDULERS,
)
from tests.smp.guest.events import WEIGHTS, Event, Events
from tests.smp.kernel import VARIANTS, WATCHED, inputs_of
from tests.smp.machine import Machine
from tests.smp.outcomes import load, outcome_of, record
from tests.smp.root import archive, files

from mptcplab.explain.catalog.low_sum import is_coupled
from mptcplab.kernel.data import load_inputs

SOURCES = Path(__file__).resolve().parents[3] / "kernel"
#: As many as half a minute of a run has.
MANY = 3000


def _events(seed: int, node: str, count: int = MANY) -> list[tuple[float, Event]]:
    return list(islice(Events(seed, node), count))


def _words(events: list[tuple[float, Event]]) -> Counter[str]:
    return Counter(text for _, event in events for _, text in event.writes)


def _list_registered(structure: str) -> set[str]:
    """The names in the definitions of `structure` in our sources."""
    text = "".join(file.read_text() for file in sorted((SOURCES / "net/mptcp").glob("*.c")))
    return set(re.findall(rf"struct {structure} \w+[^=]*= {{[^}}]*\.name\s*= \"(\w+)\"", text))


def test_every_algorithm_of_the_kernel_is_chosen_from() -> None:
    assert set(COUPLED) == _list_registered("tcp_congestion_ops")
    assert all(map(is_coupled, COUPLED)), "name it in mptcplab/explain/catalog/low_sum.py:_COUPLED"
    assert set(OUR_SCHEDULERS) == _list_registered("mptcp_sched_ops")


def test_every_setting_of_the_coupled_congestion_controls_is_changed() -> None:
    names = set(re.findall(r'\{ "(coupled_\w+)"', (SOURCES / "net/mptcp/coupled_sysctl.c").read_text()))
    known = {Path(file).name for file in COUPLED_SETTINGS}
    assert known == names, "give COUPLED_SETTINGS in tests/smp/guest/choices.py each setting, with values to try"


@pytest.mark.parametrize("node", NODES)
def test_equal_seeds_give_equal_events_and_others_do_not(node: str) -> None:
    assert _events(7, node) == _events(7, node)
    assert _events(7, node) != _events(8, node)


def test_nodes_have_events_of_their_own() -> None:
    client, server = (_events(7, node, 50) for node in NODES)
    assert [event.kind for _, event in client] != [event.kind for _, event in server]


@pytest.mark.parametrize("node", NODES)
def test_events_use_every_kind_and_every_algorithm(node: str) -> None:
    events = _events(1, node)
    kinds = Counter(event.kind for _, event in events)
    assert kinds.keys() == WEIGHTS.keys()
    written = _words(events)
    assert not {*CONGESTION_CONTROLS, *SCHEDULERS, "0", "1", "2", "3"} - written.keys()


@pytest.mark.parametrize("node", NODES)
def test_every_event_does_something(node: str) -> None:
    assert all(event.writes or event.commands or event.restarts for _, event in _events(2, node))


@pytest.mark.parametrize("node", NODES)
def test_endpoints_are_deleted_only_while_they_are_there(node: str) -> None:
    there = {str(number) for number in FIRST_ENDPOINTS[node]}
    for _, event in _events(3, node):
        for command in event.commands:
            if command[:3] != ("ip", "mptcp", "endpoint"):
                continue
            number = command[command.index("id") + 1] if "id" in command else ""
            if command[3] == "flush":
                there.clear()
            elif command[3] == "add":
                assert number not in there, command
                there.add(number)
            elif command[3] == "delete":
                there.remove(number)


def test_interfaces_go_down_and_up_in_turn() -> None:
    last: dict[str, str] = {}
    for _, event in _events(4, "client"):
        for command in event.commands:
            if command[:3] == ("ip", "link", "set"):
                name, state = command[4], command[5]
                assert last.get(name, "up") != state, command
                last[name] = state


def test_waits_have_the_mean_that_the_agent_multiplies() -> None:
    waits = [wait for wait, _ in _events(5, "client")]
    # The mean of 3000 exponential times lies within 1 / sqrt(3000) = 1.8 % of it, one standard deviation; here are 5.
    assert 0.91 < sum(waits) / len(waits) < 1.09


@pytest.mark.parametrize("variant", VARIANTS)
def test_kernel_has_all_of_ours_but_what_is_for_user_mode(variant: str) -> None:
    inputs, lab = inputs_of(variant), load_inputs("7.2")
    assert inputs.overlay == lab.overlay
    left_out = {patch.name for patch in lab.patches} - {patch.name for patch in inputs.patches}
    assert left_out
    for patch in lab.patches:
        touched = re.findall(rb"^\+\+\+ b/(\S+)", patch.content, re.MULTILINE)
        of_network = [
            file for file in touched if file.startswith((b"net/", b"include/net/", b"include/uapi/linux/mptcp"))
        ]
        assert of_network == ([] if patch.name in left_out else touched), patch.name


def test_plain_kernel_has_nothing_of_ours() -> None:
    assert inputs_of("kcsan", plain=True).patches == inputs_of("kcsan", plain=True).overlay == ()


def test_variants_differ_in_what_they_check() -> None:
    assert "CONFIG_KCSAN=y" in inputs_of("kcsan").fragment
    assert "CONFIG_PROVE_LOCKING=y" in inputs_of("lockdep").fragment
    for variant in VARIANTS:
        assert {"CONFIG_SMP=y", "CONFIG_PREEMPT=y"} <= set(inputs_of(variant).fragment.splitlines())
    assert "net/mptcp" in WATCHED


def test_machine_has_its_cpus_in_threads_and_shares_nothing(tmp_path: Path) -> None:
    command = Machine(Path("/k/bzImage"), Path("/tools/flow"), tmp_path, seed=3, seconds=90, cpus=4).command
    assert command[command.index("-accel") + 1] == "tcg,thread=multi"
    assert command[command.index("-smp") + 1] == "4"
    assert not {"-virtfs", "-drive", "-hda", "-nic", "-netdev"} & set(command)
    assert " /tools 3 90 " in command[command.index("-append") + 1]


def _unpack(data: bytes) -> dict[str, tuple[int, bytes]]:
    """Mode and content of every entry of a cpio archive, as the kernel reads it."""
    files: dict[str, tuple[int, bytes]] = {}
    at = 0
    while True:
        magic, fields = data[at : at + 6], [int(data[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        assert magic == b"070701", at
        name = data[at + 110 : at + 110 + fields[11] - 1].decode()
        start = (at + 110 + fields[11] + 3) // 4 * 4
        if name == "TRAILER!!!":
            return files
        files[name] = fields[1], data[start : start + fields[6]]
        at = (start + fields[6] + 3) // 4 * 4


def test_archive_has_files_and_their_folders_first(tmp_path: Path) -> None:
    program, text = tmp_path / "program", tmp_path / "deep" / "text"
    text.parent.mkdir()
    program.write_bytes(b"#!\n")
    program.chmod(0o755)
    text.write_bytes(b"12345")
    entries = _unpack(archive([str(program), str(text)]))
    assert entries[str(program).lstrip("/")] == (0o100755, b"#!\n")
    assert entries[str(text).lstrip("/")] == (0o100644, b"12345")
    seen: set[str] = set()
    for name, (mode, _) in entries.items():
        assert all(str(parent) in seen for parent in Path(name).parents if str(parent) != "."), name
        if mode & 0o40000:
            seen.add(name)
    assert {"dev", "proc", "run", "sys", "tmp"} <= seen


def test_guest_has_python_and_all_that_it_imports() -> None:
    names = {Path(name).name for name in files(Path("/bin/true"))}
    assert {"python3", "ip", "tc", "ss", "main.py", "agent.py", "talk.py", "system.py", "libc.so.6"} <= names


RACE = """\
[   41.201532][  T312] ==================================================================
[   41.203310][  T312] BUG: KCSAN: data-race in tcp_ack / mptcp_sched_room.isra.0
[   41.204000][  T312]
[   41.205000][  T312] write to 0xffff8880049c8f3c of 4 bytes by interrupt on cpu 1:
[   41.206000][  T312]  tcp_ack+0x6a1/0x1f10
[   41.207000][  T312]
[   41.208000][  T312] read to 0xffff8880049c8f3c of 4 bytes by task 312 on cpu 0:
[   41.209000][  T312]  mptcp_sched_room.isra.0+0x5d/0x120
[   41.210000][  T312]
[   41.211000][  T312] value changed: 0x00000009 -> 0x0000000a
[   41.212000][  T312] ==================================================================
[   41.213000][  T312] smp: more
"""


def test_race_is_read_with_its_functions_and_to_its_end() -> None:
    (complaint,) = complaints_in(RACE)
    assert complaint.signature == {"tcp_ack", "mptcp_sched_room"}
    assert complaint.text.endswith("value changed: 0x00000009 -> 0x0000000a")


@pytest.mark.parametrize(
    "line",
    [
        "WARNING: CPU: 1 PID: 44 at net/mptcp/protocol.c:1234 mptcp_close+0x1/0x2",
        "WARNING: possible circular locking dependency detected",
        "WARNING: inconsistent lock state",
        "WARNING: suspicious RCU usage",
        "BUG: sleeping function called from invalid context at kernel/locking/mutex.c:580",
        "BUG: scheduling while atomic: flow/312/0x00000202",
        "BUG: spinlock bad magic on CPU#1, flow/312",
        "BUG: kernel NULL pointer dereference, address: 0000000000000010",
        "BUG: workqueue leaked atomic, lock or RCU: kworker/1:1[33]",
        "BUG: KCSAN: data-race in mptcp_sched_room / tcp_ack",
        "INFO: possible recursive locking detected",
        "INFO: trying to register non-static key.",
        "INFO: task flow:312 blocked for more than 122 seconds.",
        "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
        "ODEBUG: free active (active state 0) object: 0 object type: timer_list",
        "refcount_t: underflow; use-after-free.",
        "list_del corruption. prev->next should be ffff8, but was dead000000000122",
        "kernel BUG at lib/list_debug.c:62!",
        "Oops: general protection fault, probably for non-canonical address: 0000 [#1] SMP",
        "Kernel panic - not syncing: Fatal exception in interrupt",
        "ref_tracker: netns refcnt@ff110 has 1/1 users at",
        "unregister_netdevice: waiting for c1 to become free. Usage count = 2",
        "Attempt to release TCP socket in state 1 ff1100",
    ],
)
def test_every_kind_of_complaint_is_seen(line: str) -> None:
    for prefix in ("[   12.345678][    C1] ", "[    0.100000][  T312] ", ""):
        complaints = complaints_in(f"smp: begin\n{prefix}{line}\n{prefix}Call Trace:\nsmp: end\n")
        assert [complaint.title for complaint in complaints] == [line]
    assert unknown(complaints, known_complaints()) == complaints


def test_what_a_healthy_kernel_prints_is_no_complaint() -> None:
    console = (
        "Linux version 7.2\n[    0.4][    T1] Spectre V2 : Vulnerable\n[    1.0][   T1] Lock dependency validator\n"
    )
    console += "[    0.1][    T0] kcsan: enabled early\n[    9.0][  T1] c1: renamed\nIncompatible debug info: BUGS\n"
    assert complaints_in(console) == []


def test_two_complaints_in_a_row_are_two() -> None:
    assert [complaint.signature for complaint in complaints_in(RACE + RACE)] == [{"tcp_ack", "mptcp_sched_room"}] * 2


def test_known_race_is_subtracted_and_nothing_else() -> None:
    known = {frozenset({"tcp_ack", "mptcp_sched_room"}): "for this test"}
    other = RACE.replace("mptcp_sched_room", "coupled_collect")
    warning = "WARNING: CPU: 1 PID: 44 at net/mptcp/protocol.c:1234 tcp_ack+0x1/0x2\n"
    left = unknown(complaints_in(RACE + other + warning), known)
    assert [complaint.title.split()[0] for complaint in left] == ["BUG:", "WARNING:"]
    assert left[0].signature == {"tcp_ack", "coupled_collect"}


def test_known_complaints_are_of_mainline_functions_and_say_how_that_is_known() -> None:
    """None of them is defined in our files, or in a line that a patch of ours adds."""
    ours = {name for file in (SOURCES / "net/mptcp").glob("*.[ch]") for name in _functions(file.read_text())}
    for patch in (SOURCES / "patches").glob("*.patch"):
        added = [line[1:] for line in patch.read_text().splitlines() if line.startswith("+")]
        ours |= _functions("\n".join(added))
    assert {"mptcp_sched_room", "mptcp_is_blocked", "__subflow_push_copies", "coupled_collect"} <= ours
    for signature, reason in known_complaints(KNOWN).items():
        assert signature
        assert not signature & ours, signature
        assert len(reason) > 20, signature


def test_known_warnings_are_in_files_that_no_patch_of_ours_touches() -> None:
    """A place is a file and a line of mainline's source, which a patch to that file would move."""
    patches = "".join(patch.read_text() for patch in (SOURCES / "patches").glob("*.patch"))
    touched = set(re.findall(r"^\+\+\+ b/(\S+)", patches, re.MULTILINE))
    assert "net/mptcp/protocol.c" in touched
    places = [place for signature in known_complaints(KNOWN) for place in signature if ":" in place]
    for place in places:
        assert place.partition(":")[0] not in touched, place


WARNING = """\
[  162.860451][  T114] WARNING: net/mptcp/pm_kernel.c:1079 at mptcp_pm_nl_set_flags+0x359/0x3d0, CPU#1: ip/114
[  162.862523][  T114] CPU: 1 UID: 0 PID: 114 Comm: ip Not tainted 7.2.13-mptcplab-smp #1 PREEMPT
[  162.890111][  T114] ---[ end trace 0000000000000000 ]---
"""


def test_warning_is_identified_by_its_place() -> None:
    complaints = complaints_in(WARNING)
    assert [complaint.signature for complaint in complaints] == [{"net/mptcp/pm_kernel.c:1079"}]
    assert unknown(complaints, {frozenset({"net/mptcp/pm_kernel.c:1079"}): "for this test"}) == []
    assert unknown(complaints, {frozenset({"net/mptcp/pm_kernel.c:1080"}): "for this test"}) == complaints


REPORT = {
    "kernel": "7.2.13-mptcplab-smp",
    "cpus": 4,
    "seconds": 3601,
    "done": {
        "event: path": 1200,
        "event: flags": 34,
        "connections: flow": 20,
        "connections: talk": 3,
        "socket: control": 7,
        "socket: scheduler": 8,
        "seen: scheduler ecf": 99,
    },
    "counters": {"client": {"MPTcpExtMPCapableSYNACKRX": 21, "MPTcpExtMPJoinSynAckRx": 5}},
    "processes killed": 0,
}


def test_outcome_of_a_run_is_recorded_and_makes_a_row(tmp_path: Path) -> None:
    file = tmp_path / "outcomes.json"
    file.write_text("[]")
    titles = [complaint.title for complaint in complaints_in(WARNING + WARNING.replace("0x359", "0x35a"))]
    clean = outcome_of(REPORT, variant="lockdep", is_plain=False, seed=4, complaints=[], known=2)
    plain = outcome_of(REPORT, variant="kcsan", is_plain=True, seed=5, complaints=titles, known=0)
    record(clean, file)
    record(plain, file)
    assert load(file) == [clean, plain]
    assert clean.row == "| 7.2.13, lockdep | 4 | 60 | 1,234 | 23 | 21 | 5 | 15 | 2 of mainline's, listed |"
    assert plain.row.endswith("| 2 × `WARNING: net/mptcp/pm_kernel.c:1079 at mptcp_pm_nl_set_flags` |")
    assert plain.row.startswith("| 7.2.13, kcsan, plain | 5 |")


def _functions(source: str) -> set[str]:
    """Names that a definition begins with: at the start of a line, followed by a parenthesis."""
    return set(re.findall(r"^(?!\s|#|\*|/)[\w \t*]*?\b(\w+)\(", source, re.MULTILINE))
