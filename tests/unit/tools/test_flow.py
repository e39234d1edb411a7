# SPDX-License-Identifier: MIT
"""The workload program `flow`, built from its source and run over loopback."""

from __future__ import annotations

import itertools
import json
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from tests.unit.tools.loopback import DEADLINE_S, ESTABLISHED, Event, Lab, free_port, wait_for_socket

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).resolve().parents[3] / "tools" / "flow"
IPPROTO_MPTCP = 262
# Published XXH64 values with seed 0, of less and of more than one 32-byte stripe.
XXH64 = {
    b"": "ef46db3751d8e999",
    b"abc": "44bc2cf5ad770999",
    b"Nobody inspects the spammish repetition": "fbcea83c8a378bf1",
}

# Refuses MPTCP_FULL_INFO, as kernels before 6.5 do.
OLD_KERNEL = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>
typedef int (*next_t)(int, int, int, void *, socklen_t *);
int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
    if (level == 284 && name == 4) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return ((next_t)dlsym(RTLD_NEXT, "getsockopt"))(fd, level, name, value, len);
}
"""


def select_events(events: list[Event], kind: str) -> list[Event]:
    return [event for event in events if event["event"] == kind]


def checksums(events: list[Event]) -> dict[int, str]:
    """Checksum by the client's number of the connection, which both ends know."""
    client_conn = {event["conn"]: event["client_conn"] for event in select_events(events, "start")}
    return {client_conn[event["conn"]]: event["checksum"] for event in select_events(events, "end")}


def mptcp_missing() -> str | None:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP).close()
    except OSError as error:
        return f"this kernel gives no MPTCP socket: {error.strerror}"
    return None


needs_mptcp = pytest.mark.skipif(mptcp_missing() is not None, reason=str(mptcp_missing()))


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (shutil.which("make") and shutil.which("gcc")):
        pytest.skip("make and gcc are needed to build flow")
    out = tmp_path_factory.mktemp("flow")
    subprocess.run(["make", "-s", "-C", str(SOURCE), f"OUT={out}/"], check=True)
    return out / "flow"


@pytest.fixture
def lab(flow: Path, tmp_path: Path) -> Lab:
    return Lab(flow=flow, directory=tmp_path)


@pytest.mark.parametrize("direction", ["upload", "download"])
@pytest.mark.parametrize("to", ["127.0.0.1", "::1"])
def test_bytes_arrive_as_sent(lab: Lab, direction: str, to: str) -> None:
    if to == "::1" and not Path("/proc/net/if_inet6").exists():
        pytest.skip("no IPv6 here")
    options = ["--bytes", "3000001", "--checksum"]
    if direction == "download":
        options.append("--download")
    run = lab.run(*options, to=to)
    for events in (run.server, run.client):
        (start,), (end,) = select_events(events, "start"), select_events(events, "end")
        assert (start["protocol"], start["direction"]) == ("tcp", direction)
        assert (end["bytes"], end["error"]) == (3000001, None)
        last = {
            key: value for key, value in select_events(events, "interval")[-1].items() if not key.startswith("pause")
        }
        assert last | {"bytes": None} == {
            "event": "interval",
            "conn": 0,
            "role": start["role"],
            "t_ns": end["t_ns"],
            "final": True,
            "bytes": None,
            "total": 3000001,
        }
    assert select_events(run.server, "start")[0]["local"] == select_events(run.client, "start")[0]["remote"]
    assert checksums(run.server) == checksums(run.client)


def test_subflow_of_tcp_is_the_socket_itself(lab: Lab) -> None:
    run = lab.run("--bytes", "1000000")
    (start,), (subflow,) = select_events(run.client, "start"), select_events(run.client, "subflow")
    assert subflow["id"] == f"{start['local']}>{start['remote']}"
    assert subflow["bytes_acked"] >= 1000000
    assert not select_events(run.client, "mptcp")


def test_connections_have_payload_of_their_own(lab: Lab) -> None:
    run = lab.run("--bytes", "500000", "--checksum", connections=5)
    sums = checksums(run.client)
    assert sorted(sums) == [0, 1, 2, 3, 4]
    assert len(set(sums.values())) == 5
    assert checksums(run.server) == sums


def test_many_connections_are_all_sampled(lab: Lab, tmp_path: Path) -> None:
    """More than the usual limit of open files allows, which the program raises by itself."""
    limited, many = tmp_path / "limited", 256
    limited.write_text(f'#!/bin/sh\nulimit -S -n 64\nexec {lab.flow} "$@"\n')
    limited.chmod(0o755)
    interval = ("--interval-ms", "100")
    few_files = Lab(flow=limited, directory=tmp_path)
    run = few_files.run("--seconds", "2", *interval, server=("--quantum-us", "2000", *interval), connections=many)
    for end in (run.server, run.client):
        assert {event["conn"] for event in select_events(end, "end")} == set(range(many))
        sampled = {event["conn"] for event in select_events(end, "interval") if not event["final"]}
        assert sampled == set(range(many)), "each connection has a timer of its own"


def test_seed_decides_the_payload_of_downloads_too(lab: Lab) -> None:
    def checksum(*options: str) -> str:
        return checksums(lab.run("--bytes", "100000", "--checksum", *options).server)[0]

    assert checksum("--seed", "7") == checksum("--seed", "7", "--download")
    assert checksum("--seed", "7") != checksum("--seed", "8")


@pytest.mark.parametrize("content", XXH64)
def test_file_and_checksum(lab: Lab, content: bytes) -> None:
    path = lab.directory / "payload"
    path.write_bytes(content)
    run = lab.run("--file", str(path), "--checksum")
    assert checksums(run.server) == checksums(run.client) == {0: XXH64[content]}


def test_time_bound_run_has_intervals(lab: Lab) -> None:
    interval = ("--interval-ms", "100")
    run = lab.run("--seconds", "0.35", *interval, server=interval)
    for events in (run.server, run.client):
        intervals, (end,) = select_events(events, "interval"), select_events(events, "end")
        assert len(intervals) >= 2
        assert [event["final"] for event in intervals].index(True) == len(intervals) - 1
        assert sum(event["bytes"] for event in intervals) == end["bytes"] > 0
    (end,) = select_events(run.client, "end")
    assert end["last_ns"] - end["first_ns"] >= 350_000_000


def test_a_receiver_tells_its_longest_pause(lab: Lab) -> None:
    interval = ("--interval-ms", "50")
    run = lab.run("--seconds", "0.2", *interval, server=interval)
    assert not any("pause_ns" in event for event in select_events(run.client, "interval")), (
        "a sender does not wait for data"
    )
    described = [event for event in select_events(run.server, "interval") if "pause_ns" in event]
    assert described
    first = select_events(run.server, "end")[0]["first_ns"]
    assert all(
        first <= event["pause_at_ns"] < event["pause_at_ns"] + event["pause_ns"] <= event["t_ns"] for event in described
    )


@pytest.mark.parametrize("direction", ["upload", "download"])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_messages_come_at_their_times(lab: Lab, protocol: str, direction: str) -> None:
    options = ["--seconds", "0.3", "--message-bytes", "100", "--message-ns", "10000000", "--log"]
    options += ["--download"] if direction == "download" else []
    udp = ("--udp",) if protocol == "udp" else ()
    run = lab.run(*options, *udp, server=udp)
    sender, receiver = (run.client, run.server) if direction == "upload" else (run.server, run.client)
    (sent,), (arrived,), (packets,) = (
        select_events(sender, "end"),
        select_events(receiver, "end"),
        select_events(receiver, "packets"),
    )
    assert (sent["messages"], arrived["messages"], arrived["bytes"]) == (30, 30, 3000)
    assert packets["seq"] == list(range(30))
    gaps = {b - a for a, b in itertools.pairwise(packets["sent_ns"])}
    assert gaps == {10_000_000}, "the intended instants are exact"
    assert sum(packets["delay_ns"]) == arrived["delay_sum_ns"]
    assert max(packets["delay_ns"]) == arrived["delay_max_ns"]
    assert min(packets["delay_ns"]) >= 0, "nothing is sent before its time"
    assert select_events(sender, "start")[0]["protocol"] == protocol


def test_a_source_that_is_on_and_off(lab: Lab) -> None:
    """20 ms of every 50 ms, in steps of 5 ms: 4 messages, 6 times in 0.3 s."""
    messages = ("--message-bytes", "16", "--message-ns", "5000000", "--log")
    run = lab.run("--seconds", "0.3", *messages, "--on-us", "20000", "--off-us", "30000")
    (packets,) = select_events(run.server, "packets")
    begin = packets["sent_ns"][0]
    assert [(at - begin) // 1_000_000 for at in packets["sent_ns"]] == [
        50 * cycle + step for cycle in range(6) for step in (0, 5, 10, 15)
    ]


def test_requests_are_answered(lab: Lab) -> None:
    ask = ("--ask", "--requests", "3", "--request-bytes", "70000", "--response-bytes", "500000", "--connections", "2")
    run = lab.run(*ask, server=("--connections", "2"))
    answers = select_events(run.client, "request")
    assert [(answer["request"], answer["response"]) for answer in answers] == [(70000, 500000)] * 6
    assert all(answer["asked_ns"] <= answer["first_ns"] <= answer["t_ns"] for answer in answers)
    for events in (run.client, run.server):
        assert [(end["requests"], end["bytes"], end["error"]) for end in select_events(events, "end")] == [
            (3, 1500000, None)
        ] * 2


def test_flows_arrive_one_by_one(lab: Lab) -> None:
    flows = ("--connections", "1000", "--arrival-us", "20000", "--sizes", "pareto", "--shape-milli", "1500")
    seeded = ("--ask", "--seconds", "0.2", "--response-bytes", "3000", "--largest-bytes", "20000", *flows)
    run = lab.run(*seeded, server=("--connections", "10"))
    sizes = [event["response"] for event in select_events(run.client, "request")]
    assert len(sizes) == len(select_events(run.server, "end")) == 10
    assert all(1000 <= size <= 20000 for size in sizes), "a mean of 3000 with alpha 1.5 begins at 1000"
    assert len(set(sizes)) > 5


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--message-bytes", "100", "--seconds", "1"), "--message-bytes and --message-ns belong together"),
        (("--message-bytes", "15"), "is not a whole number of bytes"),
        (("--udp", "--seconds", "1"), "only with --message-bytes"),
        (("--ask", "--seconds", "1"), "--response-bytes is missing"),
        (("--ask", "--response-bytes", "1"), "say how long with --seconds"),
        (("--ask", "--sizes", "gauss"), "is not fixed, exponential, pareto or lognormal"),
        (("--ask", "--seconds", "1", "--response-bytes", "1", "--sizes", "pareto"), "needs a --shape-milli"),
    ],
)
def test_messages_and_requests_refuse_what_makes_no_sense(lab: Lab, options: tuple[str, ...], complaint: str) -> None:
    done = lab.client(*options, port=1)
    assert done.returncode == 2
    assert complaint in done.stderr


def test_interval_0_gives_only_final_samples(lab: Lab) -> None:
    interval = ("--interval-ms", "0")
    run = lab.run("--seconds", "0.1", *interval, server=interval)
    assert [event["final"] for event in select_events(run.server, "interval")] == [True]


@pytest.mark.parametrize("checksum", [(), ("--checksum",)])
def test_quantum_loses_nothing(lab: Lab, checksum: tuple[str, ...]) -> None:
    run = lab.run("--bytes", "5000000", *checksum, server=("--quantum-us", "2000"), connections=3)
    assert [event["bytes"] for event in select_events(run.server, "end")] == [5000000] * 3
    assert checksums(run.server) == checksums(run.client)


@needs_mptcp
@pytest.mark.parametrize("direction", [(), ("--download",)])
def test_mptcp(lab: Lab, direction: tuple[str, ...]) -> None:
    run = lab.run("--mptcp", "--bytes", "2000000", "--checksum", *direction, server=("--mptcp",))
    assert checksums(run.server) == checksums(run.client)
    for events in (run.server, run.client):
        assert select_events(events, "start")[0]["protocol"] == "mptcp"
        mptcp = select_events(events, "mptcp")[-1]
        assert (mptcp["final"], mptcp["fallback"]) == (True, False)
        assert mptcp["bytes_sent"] + mptcp["bytes_received"] >= 2000000
        assert select_events(events, "subflow")[-1]["subflow_id"] is not None


@needs_mptcp
def test_mptcp_on_a_kernel_without_full_info(lab: Lab) -> None:
    shim = lab.directory / "old_kernel.so"
    (lab.directory / "old_kernel.c").write_text(OLD_KERNEL)
    source = str(lab.directory / "old_kernel.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(shim), source, "-ldl"], check=True)
    options = ("--mptcp", "--bytes", "2000000", "--download")
    run = lab.run(*options, server=("--mptcp",), env={"LD_PRELOAD": str(shim)})
    (start,), (subflow,) = select_events(run.client, "start"), select_events(run.client, "subflow")
    assert subflow["id"] == f"{start['local']}>{start['remote']}"
    assert (subflow["subflow_id"], subflow["bytes_received"] >= 2000000) == (None, True)
    assert select_events(run.client, "mptcp")[0]["fallback"] is False


@needs_mptcp
def test_fallback_is_told(lab: Lab) -> None:
    run = lab.run("--bytes", "2000000", "--download", "--mptcp")
    (mptcp,) = select_events(run.client, "mptcp")
    assert (mptcp["fallback"], mptcp["token"]) == (True, None)
    assert select_events(run.client, "subflow")[0]["bytes_received"] >= 2000000
    run = lab.run("--bytes", "2000000", server=("--mptcp",))
    assert select_events(run.server, "start")[0]["protocol"] == "tcp"
    assert select_events(run.server, "mptcp")[0]["fallback"] is True


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("", "say 'server' or 'client' first (see flow --help)"),
        ("peer", "'peer' is not server, client, pattern, sum or with (see flow --help)"),
        ("server", "--port is missing"),
        ("server --port", "--port: a value is missing"),
        ("server --port 70000", "--port: '70000' is not a port (1 to 65535)"),
        ("server --port 5x", "--port: '5x' is not a port (1 to 65535)"),
        ("server --port -5", "--port: '-5' is not a port (1 to 65535)"),
        ("server --port 5 --download", "--download: not for 'server' (see flow --help)"),
        ("server --port 5 --por 5", "unknown option '--por' (see flow --help)"),
        ("server --port 5 --mptcp=1", "--mptcp: takes no value"),
        ("server --port 5 --bind a", "--bind: 'a' is not a numeric IPv4 or IPv6 address"),
        ("client --port 5", "--connect is missing"),
        (
            "client --port 5 --connect ::1 --seconds 1 --bytes 1",
            "give exactly one of --seconds, --bytes and --file",
        ),
        (
            "client --port 5 --connect ::1 --seconds 1e3",
            "--seconds: '1e3' is not a time in seconds (above 0, to 100000000, at most 9 decimals)",
        ),
        (
            "client --port 5 --connect ::1 --bytes 18446744073709551616",
            "--bytes: '18446744073709551616' is not a whole number of bytes (0 to 1000000000000000000)",
        ),
    ],
)
def test_bad_arguments(flow: Path, arguments: str, sentence: str) -> None:
    done = subprocess.run([flow, *arguments.split()], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, f"flow: {sentence}\n")


@pytest.mark.parametrize("size", [0, 1, 65_536, 1_000_003])
def test_pattern_and_sum_agree(flow: Path, size: int) -> None:
    made = subprocess.run([flow, "pattern", "--bytes", str(size), "--seed", "3"], capture_output=True, check=True)
    summed = subprocess.run([flow, "sum"], input=made.stdout, capture_output=True, check=True)
    assert len(made.stdout) == size
    assert json.loads(summed.stderr) == json.loads(made.stderr)
    other = subprocess.run([flow, "pattern", "--bytes", str(size), "--seed", "4"], capture_output=True, check=True)
    assert (other.stdout == made.stdout) is (size == 0)


def test_help(flow: Path) -> None:
    done = subprocess.run([flow, "--help"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "EXIT STATUS" in done.stdout


def test_refused_connection(lab: Lab) -> None:
    done = lab.client("--bytes", "1", port=free_port())
    assert (done.returncode, done.stderr) == (3, "flow: connection 0 failed: refused\n")
    (end,) = lab.events("client")
    assert (end["event"], end["error"], end["errno"]) == ("end", "refused", "ECONNREFUSED")


def test_what_the_system_refuses_has_another_status(lab: Lab) -> None:
    """A run goes on if a connection fails, and must not if the program cannot do what it was asked."""
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        done = lab.client("--bytes", "1", "--bind", "192.0.2.1", port=port)
    assert (done.returncode, "cannot use" in done.stderr) == (1, True)


def test_sigterm_ends_with_final_samples(lab: Lab) -> None:
    port = free_port()
    server = lab.server("--connections", "1", port=port)
    output = lab.directory / "client.json"
    command: list[str | Path] = [lab.flow, "client", "--connect", "127.0.0.1", "--port", str(port)]
    client = subprocess.Popen([*command, "--seconds", "60", "--output", output], stderr=subprocess.PIPE, text=True)
    wait_for_socket(port, ESTABLISHED, client)
    client.send_signal(signal.SIGTERM)
    assert client.communicate(timeout=DEADLINE_S)[1] == "flow: connection 0 failed: interrupted\n"
    assert client.returncode == 3
    assert select_events(lab.events("client"), "interval")[-1]["final"] is True
    assert select_events(lab.events("client"), "end")[0]["error"] == "interrupted"
    assert server.communicate(timeout=DEADLINE_S)[1] == ""
    assert server.returncode == 0


def test_sigterm_ends_an_idle_server(lab: Lab) -> None:
    server = lab.server(port=free_port())
    server.send_signal(signal.SIGTERM)
    assert server.communicate(timeout=DEADLINE_S)[1] == ""
    assert server.returncode == 0


def test_a_mode_is_one_file(tmp_path: Path) -> None:
    """It is found in the help text and among the options, and both ends know it."""
    source = shutil.copytree(SOURCE, tmp_path / "source", ignore=shutil.ignore_patterns("build"))
    shutil.copy(SOURCE.parents[1] / "tests" / "plugins" / "mode_bounce.c", source)
    subprocess.run(["make", "-s", "-C", source, f"OUT={tmp_path}/out/"], check=True)
    lab = Lab(flow=tmp_path / "out" / "flow", directory=tmp_path)
    assert "--bounces N" in subprocess.run([lab.flow, "--help"], capture_output=True, text=True).stdout
    run = lab.run("--bounces", "7")
    for events in (run.client, run.server):
        assert [(end["returns"], end["error"]) for end in select_events(events, "end")] == [(7, None)]
    done = lab.client("--bounces", "7", "--seconds", "1", port=1)
    assert (done.returncode, done.stderr) == (2, "flow: --bounces: not with --seconds\n")
    done = lab.client("--bounces", "7", "--ask", port=1)
    assert (done.returncode, "of two modes" in done.stderr) == (2, True)


def test_a_header_of_an_unknown_mode_is_refused(lab: Lab) -> None:
    port = free_port()
    server = lab.server("--connections", "1", port=port)
    with socket.create_connection(("127.0.0.1", port)) as peer:
        peer.sendall(b"FLOW" + (1).to_bytes(4, "big") + (64).to_bytes(4, "big") + bytes(28))
        assert server.communicate(timeout=DEADLINE_S)[1] == "flow: connection 0 failed: header\n"
    assert server.returncode == 3
