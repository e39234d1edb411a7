# SPDX-License-Identifier: MIT
"""What is made of samples: shares, whether MPTCP was in use, warnings, means over seeds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.flow_recording import PLACES, FlowRecording, algorithms_seen

from mptcplab.errors import LabError
from mptcplab.metrics import subflows
from mptcplab.metrics.algorithms import seen_subflows
from mptcplab.metrics.measure import measure
from mptcplab.metrics.rows import result_rows, rows_of, run_result
from mptcplab.metrics.subflows import MptcpUse, SocketSample, mptcp_counts
from mptcplab.metrics.warnings import merge_similar_warnings
from mptcplab.report.html_build import _row_notices
from mptcplab.report.result_table import result_table


def test_a_kernel_that_does_not_number_subflows_still_tells_of_mptcp(tmp_path: Path) -> None:
    """As Debian's 6.1: its sockets have tokens."""
    (measured,) = measure(FlowRecording(tmp_path / "old", (3_000_000, 1_000_000), numbered=False).write())
    assert measured.sockets.use.text == "2 subflows"
    assert not any("plain TCP" in warning for warning in measured.warnings)
    made = FlowRecording(tmp_path / "fell", (1_000_000,), numbered=False, fallback=True)
    (fell,) = measure(made.write())
    assert fell.sockets.use.text == "fell back"


def test_goodput_shares_and_use(tmp_path: Path) -> None:
    (measured,) = measure(FlowRecording(tmp_path / "r", (3_000_000, 1_000_000)).write())
    # From the first SYN at 0 to the last byte at 2 s.
    assert measured.goodput_bps == 16e6
    assert measured.duration_s == 2
    assert measured.sockets.shares == {"access1>link1": 0.75, "access2>link2": 0.25}
    assert measured.sockets.use.text == "2 subflows"
    assert measured.sockets.retransmitted_bytes == 40_000
    assert measured.sockets.congestion == ("cubic",), "the sender's, not the receiver's"
    assert measured.scheduler == "default"
    assert measured.warnings == ()


@pytest.mark.parametrize(
    ("spans", "mbps"),
    [
        (((100, 1_600_000_100),), 20.0),
        # Two connections: from the first beginning to the last end, as `iperf -P` sums them.
        (((100, 1_000_000_000), (500_000_100, 1_600_000_100)), 20.0),
        # The receiver closed before all was written.
        (((100, None),), None),
        (((100, 1_600_000_100), (100, None)), None),
        # Writing took no time.
        (((100, 100),), None),
    ],
)
def test_what_the_sender_sent(tmp_path: Path, spans: tuple[tuple[int, int | None], ...], mbps: float | None) -> None:
    """4 MB that the sender wrote in 1.6 s, and the receiver had 2 s after the SYN."""
    (measured,) = measure(FlowRecording(tmp_path / "r", (3_000_000, 1_000_000), spans=spans).write())
    assert measured.metrics.get("sent_mbps") == (None if mbps is None else pytest.approx(mbps))
    assert measured.goodput_bps == 16e6, "goodput is read at the receiver"


def test_plain_tcp_says_no(tmp_path: Path) -> None:
    (measured,) = measure(FlowRecording(tmp_path / "r", (1_000_000,), mptcp=False).write())
    assert (measured.sockets.use.text, measured.scheduler, measured.warnings) == ("no", "", ())
    assert measured.mptcp_faults is None, "nobody asked for MPTCP"


def test_tcp_that_no_sample_shows_has_no_warning_about_mptcp(tmp_path: Path) -> None:
    (measured,) = measure(FlowRecording(tmp_path / "r", (), mptcp=False).write())
    assert (measured.sockets.use.text, measured.warnings) == ("no", ()), "short requests end between two samples"


@pytest.mark.parametrize(
    ("facts", "received", "text", "warning"),
    [
        ({}, (1_000_000,), "1 subflow", "only one subflow carried data"),
        ({}, (1_000_000, 0), "1 of 2 subflows", "only one subflow carried data"),
        ({}, (1_000_000, 0), "1 of 2 subflows", "access2>link2 carried less than 1 %"),
        ({}, (1_000_000, 5_000), "2 subflows", "access2>link2 carried less than 1 %"),
        ({"fallback": True}, (1_000_000,), "fell back", "1 of 1 connections fell back to TCP"),
        ({"mptcp": False, "asked": True}, (1_000_000,), "no", "1 of 1 connections are plain TCP"),
        ({"mptcp": False, "asked": True, "offered": False}, (1_000_000,), "no", "MPTCP was requested, but 1 of 1"),
        (
            {"mptcp": False, "asked": False, "offered": True},
            (1_000_000,),
            "no",
            "1 of 1 connections are plain TCP, since client is set to TCP",
        ),
        (
            {"fallback": True, "asked": False, "offered": True},
            (1_000_000,),
            "no",
            "1 of 1 connections are plain TCP, since client is set to TCP",
        ),
        ({}, (), "no", "no connection was seen carrying data"),
        (
            {"counted": {"MPTcpExtMPCapableACKRX": 0}},
            (1_000_000, 1_000_000),
            "2 subflows",
            "the kernel accepted only 0",
        ),
    ],
)
def test_warnings(tmp_path: Path, facts: dict[str, Any], received: tuple[int, ...], text: str, warning: str) -> None:
    (measured,) = measure(FlowRecording(tmp_path / "r", received, **facts).write())
    assert measured.sockets.use.text == text
    assert any(warning in text for text in measured.warnings), measured.warnings
    if "set to TCP" in warning:
        assert measured.mptcp_faults is None, "only the side that connects can ask for MPTCP"
    else:
        is_fault = any(warning in fault for fault in measured.mptcp_faults or ())
        assert is_fault == ("the kernel accepted" not in warning), measured.mptcp_faults


def test_mptcp_on_all_paths_has_no_fault(tmp_path: Path) -> None:
    (measured,) = measure(FlowRecording(tmp_path / "r", (1_000_000, 1_000_000)).write())
    assert measured.mptcp_faults == ()


def test_damaged_payload_is_an_error(tmp_path: Path) -> None:
    made = FlowRecording(tmp_path / "r", (1_000_000,), checksums=("aa", "bb"))
    with pytest.raises(LabError, match="payload is corrupt"):
        measure(made.write())


def test_rows_reduce_seeds_and_keep_points_apart(tmp_path: Path) -> None:
    recordings = [
        FlowRecording(
            tmp_path / f"{size}-{seed}", (size + seed * 1000,), seed=seed, settings=[["size", str(size)]]
        ).write()
        for size in (2_000_000, 1_000_000)
        for seed in (1, 2, 3)
    ]
    first, second = result_rows(recordings)
    assert [first.settings, second.settings] == [{"size": "2000000"}, {"size": "1000000"}], "in the order of the sweep"
    assert first.seeds == (1, 2, 3)
    assert first.goodput_mbps.n == 3
    assert first.goodput_mbps.mean == pytest.approx(8.008)
    # Student's t for 2 degrees of freedom is 4.3027; the standard error of 8.004, 8.008, 8.012 is 0.004 / sqrt(3).
    assert first.goodput_mbps.half_width == pytest.approx(4.302653 * 0.004 / 3**0.5, rel=1e-5)
    assert first.metrics["retransmitted_percent"].mean == pytest.approx(1, rel=0.001)
    document = first.to_json()
    assert json.loads(json.dumps(document)) == document
    assert document["goodput_mbps"]["n"] == 3


def test_warnings_that_differ_in_numbers_are_told_once(tmp_path: Path) -> None:
    recordings = [FlowRecording(tmp_path / f"{n}", (1_000_000, 1_000_000), seed=n).write() for n in range(3)]
    described = [
        ("10 of 90 connections fell back to TCP", "the subflow on access1>link1 carried less than 1 % of the data"),
        ("8 of 112 connections fell back to TCP", "the subflow on access2>link2 carried less than 1 % of the data"),
        ("10 of 90 connections fell back to TCP",),
    ]
    results = [
        replace(recording, measured=(replace(recording.measured[0], warnings=warnings),))
        for recording, warnings in zip(map(run_result, recordings), described, strict=True)
    ]
    (row,) = rows_of(results)
    assert row.warnings == (
        "8 to 10 of 90 to 112 connections fell back to TCP",
        "the subflow on access1>link1 carried less than 1 % of the data",
        "the subflow on access2>link2 carried less than 1 % of the data",
    )


def test_rows_say_when_runs_differ(tmp_path: Path) -> None:
    good, bad = (1_000_000, 1_000_000), (1_000_000,)
    recordings = [
        FlowRecording(tmp_path / f"{n}", received, seed=n).write() for n, received in enumerate((good, bad, good))
    ]
    (row,) = result_rows(recordings)
    assert row.mptcp == "1 to 2 subflows"
    assert len(row.warnings) == 1, row.warnings


@pytest.mark.parametrize(
    ("others", "text", "warning"),
    [
        (((1_000_000,), (1_000_000,)), "1 to 2 subflows", "only one subflow carried data in 2 of 3 connections"),
        (((1_000_000, 0), (1_000_000, 1_000_000)), "1 to 2 subflows", "in 1 of 3 connections"),
        (((1_000_000, 1_000_000),), "2 subflows", None),
    ],
)
def test_connections_that_use_a_different_number_of_subflows(
    tmp_path: Path, others: tuple[tuple[int, ...], ...], text: str, warning: str | None
) -> None:
    """The share of the second path is not zero, so the text does not say that there was one subflow."""
    made = FlowRecording(tmp_path / "r", (1_000_000, 1_000_000), others=others, spans=())
    (measured,) = measure(made.write())
    assert measured.sockets.shares["access2>link2"] > 0
    assert measured.sockets.use.text == text
    assert [text for text in measured.warnings if warning and warning in text] == list(measured.warnings)
    assert len(measured.warnings) == (warning is not None)


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (MptcpUse(1, 1, 0, 2, {2: 1}), "2 subflows"),
        (MptcpUse(1, 1, 0, 1, {1: 1}), "1 subflow"),
        (MptcpUse(1, 1, 0, 4, {3: 1}), "3 of 4 subflows"),
        (MptcpUse(200, 200, 0, 2, {1: 199, 2: 1}), "1 to 2 subflows"),
        (MptcpUse(200, 200, 0, 2, {1: 200}), "1 of 2 subflows"),
        (MptcpUse(200, 200, 0, 4, {1: 100, 3: 100}), "1 to 3 of 4 subflows"),
        (MptcpUse(200, 200, 0, 2, {2: 200}), "2 subflows"),
        (MptcpUse(2, 1, 0, 2, {2: 1}), "partly"),
        (MptcpUse(2, 0, 2), "fell back"),
        (MptcpUse(2, 1, 1, 2, {2: 1}), "partly fell back"),
        (MptcpUse(1, 0, 0), "no"),
    ],
)
def test_text_of_use(use: MptcpUse, text: str) -> None:
    assert use.text == text


def test_control_connection_is_left_out() -> None:
    samples = [
        SocketSample("a", "b", token=1, bytes_received=1_000_000),
        SocketSample("c", "d", token=1, bytes_received=500_000),
        SocketSample("e", "f", token=2, bytes_received=300),
    ]
    (connection,) = subflows.data_connections(samples, "bytes_received")
    assert [sample.local for sample in connection] == ["a", "c"]


def test_groups_of_subflows() -> None:
    samples = [
        SocketSample("a", "b", conn=0),
        SocketSample("c", "d", conn=0),
        SocketSample("e", "f", token=5),
        SocketSample("g", "h", token=5),
        SocketSample("i", "j", token=0),
        SocketSample("k", "l"),
    ]
    assert [len(group) for group in subflows.group_by_connection(samples).values()] == [2, 2, 1, 1]


@pytest.mark.parametrize(
    ("local", "remote", "name"),
    [
        ("10.0.2.2:5001", "10.0.1.1:4000", "access1>link1"),
        ("10.0.2.2:5001", "10.0.2.2:4000", "link1"),
        ("10.0.2.2:5001", "[fd00::9]:4000", "fd00::9>link1"),
    ],
)
def test_path_names(local: str, remote: str, name: str) -> None:
    assert subflows.path_name(remote, local, PLACES) == name


def test_shares_of_nothing() -> None:
    assert subflows.compute_shares([], PLACES) == {}
    assert subflows.compute_shares([[SocketSample("10.0.2.2:1", "10.0.1.1:1", bytes_received=0)]], PLACES) == {}


def test_kernel_s_counters() -> None:
    client = {"MPTcpExtMPCapableFallbackACK": 1, "MPTcpExtMPJoinAckRx": 0}
    server = {"MPTcpExtMPCapableACKRX": 3, "MPTcpExtMPJoinAckRx": 4, "MPTcpExtMPFallbackFailed": 9, "TcpOther": 7}
    counts = mptcp_counts([client, server])
    assert (counts.mp_capable, counts.joins, counts.fallbacks) == (3, 4, 1)
    assert counts.opportunistic_retransmissions is None, "this kernel does not count them"
    nothing = mptcp_counts([{"TcpOther": 7}, {}])
    assert (nothing.mp_capable, nothing.joins, nothing.fallbacks) == (None, None, None), (
        "it was not asked, or has no MPTCP"
    )
    assert mptcp_counts([{"MPTcpExtMPFallbackTokenInit": 0}]).fallbacks == 0


def test_opportunistic_counters() -> None:
    """They are where data was sent; the other host's zeros say that its kernel counts them too."""
    client = {"MPTcpExtOppRetrans": 5, "MPTcpExtOppRetransBytes": 7000, "MPTcpExtOppPenalties": 2}
    counts = mptcp_counts([client, dict.fromkeys(client, 0)])
    assert (counts.opportunistic_retransmissions, counts.opportunistic_bytes, counts.penalties) == (5, 7000, 2)
    assert counts.dropped_beyond_window is None
    assert mptcp_counts([client, {"MPTcpExtNoDSSInWindow": 3}]).dropped_beyond_window == 3


def _dropped_counts(segments: int) -> dict[str, int]:
    return {"MPTcpExtMPCapableACKRX": 1, "MPTcpExtNoDSSInWindow": segments}


def test_drops_beyond_the_window_are_a_warning(tmp_path: Path) -> None:
    """Each row says so once, with the range of its runs; a workload that asked for TCP has none."""
    both = 9_000, 9_000
    runs = [
        FlowRecording(tmp_path / f"{seed}", both, counted=_dropped_counts(drops), seed=seed)
        for seed, drops in ((1, 317), (2, 1))
    ]
    (row,) = result_rows([run.write() for run in runs])
    (warning,) = row.warnings
    assert "of which these hosts dropped 1 to 317: a bug of mainline" in warning
    assert [counts["dropped_beyond_window"] for counts in row.to_json()["kernel_counts"]] == [317, 1]
    assert any("dropped 1 to 317" in note for note in result_table("t", [row]).notes)
    for name, run in {
        "none": FlowRecording(tmp_path / "none", both, counted=_dropped_counts(0)),
        "tcp": FlowRecording(tmp_path / "tcp", (9_000,), mptcp=False, counted=_dropped_counts(5)),
    }.items():
        (measured,) = measure(run.write())
        assert measured.warnings == (), name


def test_rows_share_a_warning_with_the_range_of_all(tmp_path: Path) -> None:
    """A sweep with a kernel's bug would otherwise begin with a page of warnings, one for each number."""
    counts = {("a", 1): 14, ("a", 2): 15, ("b", 1): 2, ("b", 2): 2, ("c", 1): 0, ("c", 2): 0}
    runs = [
        FlowRecording(
            tmp_path / f"{x}{seed}", (9_000, 9_000), counted=_dropped_counts(drops), seed=seed, settings=[["x", x]]
        )
        for (x, seed), drops in counts.items()
    ]
    rows = result_rows([run.write() for run in runs])
    table = result_table("t", rows)
    (note,) = (note for note in table.notes if "dropped" in note)
    assert note.startswith("[1] Warning: ")
    assert "dropped 2 to 15:" in note
    assert [row[-1] for row in table.rows] == ["2 [1]", "2 [1]", "2"]
    (notice,) = _row_notices(rows)
    assert "dropped 2 to 15:" in notice.text
    assert notice.where == ("x a", "x b")


def test_names_and_addresses_are_no_numbers_of_warnings() -> None:
    texts = [
        "the subflow on access1>link1 at 10.0.1.1 needs 7.2-wifi",
        "the subflow on access2>link2 at 10.0.1.1 needs 7.2-wifi",
    ]
    assert merge_similar_warnings(texts) == {text: text for text in texts}
    assert merge_similar_warnings(["lost 9.5 %", "lost 10 %"]) == dict.fromkeys(
        ["lost 9.5 %", "lost 10 %"], "lost 9.5 to 10 %"
    )
    assert merge_similar_warnings(["lost 1 to 3 %", "lost 2 %"])["lost 2 %"] == "lost 1 to 3 %"


# -- what the sockets really used


def test_every_subflow_has_a_congestion_control(tmp_path: Path) -> None:
    warnings = algorithms_seen(("lia", "cubic"), "redundant")
    wanted = {"congestion_control": "lia", "scheduler": "redundant"}
    (measured,) = measure(FlowRecording(tmp_path / "r", (9_000, 9_000), algorithms=warnings, wanted=wanted).write())
    assert measured.sockets.congestion == ("cubic", "lia")
    assert measured.scheduler == "redundant"
    assert measured.warnings == ("lia was requested, but the subflow on access2>link2 used cubic",)


def test_another_scheduler_than_asked_for_is_told(tmp_path: Path) -> None:
    warnings = algorithms_seen(("cubic", "cubic"), "default")
    (measured,) = measure(
        FlowRecording(tmp_path / "r", (9_000, 9_000), algorithms=warnings, wanted={"scheduler": "redundant"}).write()
    )
    assert measured.scheduler == "default"
    assert measured.warnings == ("the scheduler redundant was requested, but the connection used default",)


def test_a_kernel_that_does_not_tell_schedulers(tmp_path: Path) -> None:
    warnings = algorithms_seen(("cubic", "cubic"))
    (measured,) = measure(
        FlowRecording(tmp_path / "r", (9_000, 9_000), algorithms=warnings, wanted={"scheduler": "redundant"}).write()
    )
    assert (measured.scheduler, measured.warnings) == ("not known", ())


def test_connections_that_nobody_saw_are_told_by_flow(tmp_path: Path) -> None:
    sample: dict[str, Any] = {"sockets": []}
    (measured,) = measure(FlowRecording(tmp_path / "r", (9_000, 9_000), algorithms=sample).write())
    assert measured.sockets.congestion == ("cubic",)
    assert measured.scheduler == "not known"


def test_samples_have_the_congestion_control_of_short_connections(tmp_path: Path) -> None:
    """Connections of ``http`` often end between two looks at algorithms, but not between two samples."""
    recording = FlowRecording(tmp_path / "r", (9_000,), algorithms={"sockets": []}).write()
    sample = SocketSample("10.0.1.1:5001", "10.0.2.2:40000", congestion="bbr")
    [[subflow]] = seen_subflows(recording, "client", [[sample]], [])
    assert (subflow.congestion, subflow.schedulers) == (("bbr",), ())


@pytest.mark.parametrize(
    ("count", "warnings"),
    [
        (None, ()),
        (0, ()),
        (1, ("the kernel had no memory to couple the congestion control of 1 subflow of client: uncoupled, like TCP",)),
        (
            3,
            ("the kernel had no memory to couple the congestion control of 3 subflows of client: uncoupled, like TCP",),
        ),
    ],
)
def test_uncoupled_subflows_are_a_warning(tmp_path: Path, count: int | None, warnings: tuple[str, ...]) -> None:
    state = {**algorithms_seen(("lia", "lia"), "default"), "uncoupled": count}
    (measured,) = measure(FlowRecording(tmp_path / "r", (9_000, 9_000), algorithms=state).write())
    assert measured.warnings == warnings


def test_complaints_of_the_kernel_are_warnings(tmp_path: Path) -> None:
    log = (
        "[    1.000000] WARNING: net/mptcp/protocol.c:7 at f+0x1/0x2, CPU#0: flow/3\n"
        "[    1.100000] WARNING: net/mptcp/protocol.c:7 at f+0x1/0x2, CPU#0: flow/3\n"
        "[    2.000000] INFO: rcu tasks\n[    3.000000] INFO: possible recursive locking detected\n"
    )
    (measured,) = measure(FlowRecording(tmp_path / "r", (9_000, 9_000), complaints=log).write())
    assert measured.warnings == (
        "the kernel reported an error, so the results may be wrong: WARNING: net/mptcp/protocol.c:7 at f+0x1/0x2, "
        "CPU#0: flow/3 (see kernel.txt of the recording)",
        "the kernel reported an error, so the results may be wrong: INFO: possible recursive locking detected "
        "(see kernel.txt of the recording)",
    )


# -- the machine that all hosts share

ACCEPTED = {"MPTcpExtMPCapableACKRX": 1}


@pytest.mark.parametrize(
    ("counted", "machine", "said"),
    [
        (
            {"TcpExtTCPMemoryPressures": 2, "UdpMemErrors": 1},
            None,
            (
                "UdpMemErrors 1. Separate hosts would not share this limit, so the result is one of the lab's "
                "memory: raise the scenario's key `memory`",
            ),
        ),
        (
            {},
            {"tcp_pages_peak": 101, "tcp_mem_pages": [75, 100, 150]},
            ("used 101 pages of its memory: more than the 100 of",),
        ),
        ({}, {"tcp_pages_peak": 100, "tcp_mem_pages": [75, 100, 150]}, ()),
        ({}, {"tcp_pages_peak": None, "tcp_mem_pages": [75, 100, 150]}, ()),
        # A socket's own buffer was full: no sign of the machine.
        ({"TcpExtPruneCalled": 9, "TcpExtTCPRcvCollapsed": 9, "TcpExtTCPMemoryPressures": 0}, None, ()),
        ({}, {"softirq_rounds_delayed": 7}, ("delayed 7 rounds of softirqs by 1 ms each",)),
        # A kernel that does not count them.
        ({}, {"softirq_rounds_delayed": None}, ()),
        ({}, {"softirq_rounds_delayed": 0}, ()),
    ],
)
def test_what_the_machine_did_is_a_warning(
    tmp_path: Path, counted: dict[str, int], machine: dict[str, Any] | None, said: tuple[str, ...]
) -> None:
    made = FlowRecording(tmp_path / "r", (9_000, 9_000), counted={**ACCEPTED, **counted}, machine=machine)
    (measured,) = measure(made.write())
    assert len(measured.warnings) == len(said), measured.warnings
    for warning, text in zip(measured.warnings, said, strict=True):
        assert text in warning


def test_a_row_names_the_kernel_with_its_frequency(tmp_path: Path) -> None:
    names = []
    for hz in (None, 250):
        (row,) = result_rows([FlowRecording(tmp_path / str(hz), (9_000, 9_000), hz=hz).write()])
        names.append((row.kernel_name, row.to_json()["hz"]))
    assert names == [("7.2.1-test", None), ("7.2.1-test, HZ 250", 250)]
