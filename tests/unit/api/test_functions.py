# SPDX-License-Identifier: MIT
"""The functions of ``mptcplab.api`` beside running, comparing and reproducing: results, errors, wrong arguments.

Most commands only print what these return, so tests of commands cover the rest. Nothing here runs a lab.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.example_studies import Labs
from tests.unit.results_folders import TWO_LINES, make_results, write_run
from tests.unit.scenario_files import Write

from mptcplab import api
from mptcplab.api import commands, twins
from mptcplab.calibrate import session as calibrate_session
from mptcplab.calibrate.measure import Costs, LoadSample
from mptcplab.campaign.rounds import Rounds
from mptcplab.engine.virtual.session import Session
from mptcplab.errors import Exit
from mptcplab.kernel.source import KernelSource
from mptcplab.metrics.rows import run_result
from mptcplab.plan.model import USUAL_MEMORY_BYTES, Plan
from mptcplab.proxies import build as proxies
from mptcplab.proxies.catalog import Recipe
from mptcplab.scenario.load import Run
from mptcplab.selftest.prepare import SelftestTree
from mptcplab.selftest.suite import PartOutcome, SocketDefaults, SuitePart
from mptcplab.selftest.tap import Result

UNIT = Path(__file__).parents[1]
COLLECTION = sorted((UNIT / "collections/not-accepted").iterdir())
LTE = "lte: 40 Mbit/s down, ping 45 ms, loss 0.1 %"
KERNEL = api.KernelBuild("7.2", "7.2.1-mptcplab", "0" * 64, Path("/cache/7.2"), "0" * 64)


@pytest.fixture(autouse=True)
def _prints_nothing(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """No function of the API prints."""
    yield
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def two(write: Write) -> api.Experiment:
    """Six points with three runs each."""
    return api.load(write(TWO_LINES))


# Scenarios: what they take, and what is made of them.


def test_an_estimate_is_of_all_runs(two: api.Experiment) -> None:
    whole, half = api.estimate(two, jobs=1), api.estimate(api.load(two.file, repeats=1), jobs=1)
    assert whole.seconds == pytest.approx(3 * half.seconds), "three seeds in place of one"
    assert whole.bytes == pytest.approx(3 * half.bytes)
    assert api.estimate(two, jobs=3).seconds == pytest.approx(whole.seconds / 3)
    assert api.estimate(two, jobs=1000).seconds == pytest.approx(whole.seconds / 18), "no more labs than runs"
    assert (whole.lab_memory_bytes, whole.has_usual_memory) == (USUAL_MEMORY_BYTES, True)
    larger = api.estimate(api.load(two.file, set={"memory": "2 GiB"}))
    assert (larger.lab_memory_bytes, larger.has_usual_memory) == (2 << 30, False)
    with pytest.raises(api.InputError, match="0 labs in parallel are not possible"):
        api.estimate(two, jobs=0)


def test_a_description_is_data(two: api.Experiment) -> None:
    document = json.loads(json.dumps(api.describe(two)))
    assert (document["runs"], document["repeats"], document["seeds"]) == (18, 3, [1, 2, 3])
    assert document["points"][1]["settings"] == two.points[1].settings
    assert document["points"][0]["scenario"]["links"]["link1"]["forward"]["rate"] == "50 Mbit/s"
    assert document["estimate_bytes"] == round(api.estimate(two).bytes)


def test_a_script_is_of_one_point(two: api.Experiment) -> None:
    first, third = api.plan_script(two), api.plan_script(two, "3")
    assert "Two lines (transport.protocol = tcp, links.link2.delay = 10 ms), seed 1" in first
    assert "links.link2.delay = 100 ms" in third
    assert third == api.plan_script(two, ["transport.protocol=tcp", "links.link2.delay=100 ms"])
    for point, message in (
        ("7", "the sweep has 6"),
        ("transport.protocol=tcp", "3 points"),
        ("transport.protocol=x", "use one of tcp, mptcp"),
    ):
        with pytest.raises(api.InputError) as refused:
            api.plan_script(two, point)
        assert message in f"{refused.value.message} {refused.value.hint}"


def test_a_node_is_exported_in_each_format(two: api.Experiment) -> None:
    scenario = two.points[0].scenario
    (script,) = api.export_node(scenario, "client", devices=["access1=eth0", "access2=wlan0"])
    assert (script.path, script.mode) == ("client.sh", 0o700)
    assert "dev wlan0" in script.text
    assert {file.path.split("/")[0] for file in api.export_node(scenario, "client", "networkd")} == {"etc"}


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("client", "shell"), "'shell' is not a format", "use sh, networkd, uci"),
        (("clinet",), "the scenario has no node 'clinet'", "did you mean `client`?"),  # codespell:ignore
    ],
)
def test_what_cannot_be_exported(two: api.Experiment, arguments: tuple[str, ...], message: str, hint: str) -> None:
    with pytest.raises(api.InputError) as refused:
        api.export_node(two.points[0].scenario, *arguments)
    assert (refused.value.message, refused.value.hint) == (message, hint)


def test_options_of_an_export_that_do_nothing(two: api.Experiment, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("0123456789abcdef\n")
    (tmp_path / "password").chmod(0o600)
    with pytest.raises(api.InputError, match="'client' has no gateway"):
        api.export_node(two.points[0].scenario, "client", password_file=tmp_path / "password")
    with pytest.raises(api.InputError, match="has no link 'wan'"):
        api.export_node(two.points[0].scenario, "client", devices=["wan=eth0"])


def test_files_of_others_become_a_scenario(write: Write) -> None:
    script = UNIT / "imports/report.sh"
    imported = api.import_files(script, title="Theirs")
    assert imported.text == api.import_files([str(script)], title="Theirs").text
    assert api.load(write(imported.text)).title == "Theirs"
    assert [line.text.split()[0] for line in imported.unread if "iptables" in line.text] != []
    with pytest.raises(api.InputError, match=r"nothing\.sh"):
        api.import_files("nothing.sh")


def test_a_pack_is_written_with_its_digest(
    two: api.Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    packed = api.write_pack(two.file)
    assert packed.file == Path("scenario.mptcplab.zip")
    assert packed.sha256 == subprocess.check_output(["sha256sum", packed.file], text=True).split()[0]
    assert packed.document["title"] == "Two lines"
    assert api.write_pack(two.file, out=tmp_path / "other.mptcplab.zip").sha256 == packed.sha256
    with api.open_source(packed.file) as source:
        assert source.experiment.points[0].settings == two.points[0].settings
    with pytest.raises(api.InputError, match="is a pack already"):
        api.write_pack(packed.file)
    with pytest.raises(api.LabError, match="nothing/here"):
        api.write_pack(two.file, out=tmp_path / "nothing/here.mptcplab.zip")


def test_algorithms_are_checked_wherever_a_scenario_is_opened(two: api.Experiment, tmp_path: Path) -> None:
    """So that `mptcplab plan` and `doctor --for` refuse a name as `run` and `show` do, also in a pack."""
    packed = api.write_pack(two.file, out=tmp_path / "two.mptcplab.zip")
    for file in (two.file, packed.file):
        with (
            pytest.raises(api.InputError, match="no MPTCP scheduler 'blesst'"),
            api.open_source(file, overrides=["transport.scheduler=blesst"]),
        ):
            pass


# Engines and programs in virtual time.


def test_engines_have_names_and_capabilities() -> None:
    assert api.DEFAULT_ENGINE in api.engine_names()
    assert api.engine_kind("virtual")[1].capabilities.virtual_time
    assert api.engine_kind("stock:6.12")[0] == "stock"
    assert not api.engine_kind("local")[1].capabilities.virtual_time
    with pytest.raises(api.InputError, match="there is no engine 'vritual'") as refused:  # codespell:ignore
        api.engine_kind("vritual")  # codespell:ignore
    assert "virtual" in (refused.value.hint or "")


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[Session]:
    """The programs that would run, in a lab kernel that is not there. Each prints its input and ends with status 3."""
    made: list[Session] = []

    def run(_kernel: object, _plan: Plan, session: Session, streams: api.Streams, **_: object) -> api.ProgramExit:
        made.append(session)
        text = b"" if streams.stdin is None else os.read(streams.stdin, 1 << 16)
        os.write(streams.stdout, b"read " + text)
        return api.ProgramExit(3, 1_500_000_000)

    monkeypatch.setattr(commands, "find_kernel", lambda _: KERNEL)
    monkeypatch.setattr(commands, "run_session", run)
    return made


def test_a_program_has_its_output_and_status(sessions: list[Session], tmp_path: Path) -> None:
    command = api.prepare_command(
        ["cat"], environment={"A": "b"}, timeout="2 s", stall="1 s", out=tmp_path / "new", expose=["/tmp"]
    )
    assert command.execute(b"text") == api.CommandResult(3, b"read text", b"", 1.5)
    assert command.execute().stdout == b"read ", "without input, standard input is closed"
    (session, _) = sessions
    assert (session.argv, session.node, session.environment) == (("cat",), None, {"A": "b"})
    assert (session.timeout_ns, session.stall_seconds) == (2_000_000_000, 1.0)
    assert (session.out, session.exposed) == (tmp_path / "new", (Path("/tmp"),))
    assert (tmp_path / "new").is_dir()
    assert (command.seed, command.is_shell) == (1, False)
    assert api.prepare_command().is_shell, "without a program it is a shell"


@pytest.mark.usefixtures("sessions")
def test_a_program_on_a_node(two: api.Experiment) -> None:
    command = api.prepare_command(["true"], scenario=two.file, seed=5, set={"links.link1.rate": "1 Mbit/s"})
    assert (command.session.node, command.seed) == ("client", 5)
    assert any("1000000bit" in " ".join(step.argv) for step in command.plan.setup)
    assert api.prepare_command(["true"], scenario="@two-paths", node="server").session.node == "server"


@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize(
    ("argv", "options", "message"),
    [
        ("ls -l", {}, "a command is a list of words, not a text"),
        (["ls"], {"node": "client"}, "without a scenario there are no nodes and no keys"),
        (["ls"], {"set": {"seed": 1}}, "without a scenario there are no nodes and no keys"),
        (["ls"], {"scenario": "@two-paths", "node": "clinet"}, "has no node 'clinet'"),  # codespell:ignore
        (["ls"], {"scenario": "@nothing"}, "no example 'nothing'"),
        (["ls"], {"timeout": "soon"}, "--timeout"),
        (["ls"], {"stall": "3"}, "--stall"),
        (["ls"], {"out": "/proc/nothing"}, "/proc/nothing"),
    ],
)
def test_a_program_that_cannot_be_prepared(argv: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(api.InputError) as refused:
        api.prepare_command(argv, **options)
    assert message in refused.value.message
    assert refused.value.hint


# What happened on real machines.


def test_files_are_explained(tmp_path: Path) -> None:
    explained = api.explain(COLLECTION)
    assert explained.answers[""].explanations[0].finding.reason == "announcement-not-accepted"
    assert explained.document["reasons"][0]["reason"] == "announcement-not-accepted"
    assert not explained.is_run
    alone = api.explain(str(COLLECTION[0]))
    assert alone.answers[""].hosts != explained.answers[""].hosts, "one file is one host"
    with pytest.raises(api.InputError, match=r"nothing\.txt"):
        api.explain(tmp_path / "nothing.txt")


def test_a_run_is_explained_by_itself(two: api.Experiment, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "made", two.runs[-1]).folder
    explained = api.explain(folder)
    assert explained.is_run
    assert list(explained.document["workloads"]) == ["bulk"]
    with pytest.raises(api.InputError, match="a run is explained by itself"):
        api.explain([folder, COLLECTION[0]])


@pytest.mark.slow
def test_captures_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "text.pcap").write_text("no capture\n")
    for analyse in (api.analyse_captures, api.measure_captures):
        for file in (tmp_path / "text.pcap", str(tmp_path / "nothing.pcap")):
            with pytest.raises(api.InputError) as refused:
                analyse(file)
            assert Path(file).name in refused.value.message, "the whole name, not its first letter"
    for read in (api.analyse_captures, api.measure_captures, api.explain, api.import_files):
        with pytest.raises(api.InputError, match="no file is named"):
            read([])
    with pytest.raises(api.InputError):
        api.measure_captures(UNIT / "captures/any-sll2.pcap", ends=["nowhere:x"])


@pytest.mark.slow
def test_captures_are_analysed_and_written(tmp_path: Path) -> None:
    report = api.analyse_captures(UNIT / "captures/any-sll2.pcap")
    assert [connection.data_bytes for connection in report.largest] == [(1_374_616, 0)], "see test_capture_files.py"
    assert report.left_out == 0
    written = report.write(out=tmp_path / "out", figure=tmp_path / "data.svg")
    assert {file.suffix for file in written} >= {".svg", ".json"}
    assert all(file.is_file() for file in written)
    with pytest.raises(api.InputError, match="connection"):
        report.write(figure=tmp_path / "data.svg", connection=7)
    measured = api.measure_captures([UNIT / "captures/any-sll2.pcap"])
    assert measured.document == json.loads(json.dumps(measured.document))
    assert measured.write(tmp_path / "statistics")
    measured.check_whole()


def test_the_collector_gets_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []

    def run(command: list[str], *, input: str, **_: object) -> subprocess.CompletedProcess[str]:
        assert input == api.collector_script()
        calls.append(command)
        return subprocess.CompletedProcess(command, 4)

    monkeypatch.setattr("mptcplab.explain.collector.subprocess.run", run)
    assert api.run_collector() == 4, "the script's own status"
    api.run_collector(seconds=3, interval=1, name="home", hide=True, packets=True, count=50)
    assert calls[0][3:] == ["-t", "10", "-i", "2"]
    assert calls[1][3:] == ["-t", "3", "-i", "1", "-o", "home", "-a", "-p", "-n", "50"]


def test_a_twin_of_typed_lines(tmp_path: Path) -> None:
    twin = api.fit(lines=LTE, out=tmp_path / "twin.toml", repeats=4)
    assert api.load(twin.file).repeats == 4
    assert twin.document["lines"][0]["name"] == "lte"
    assert "41.82 Mbit/s" in twin.table.rows[0], "a speed test counts payload, a rate whole frames"
    assert twin.file.read_text() == (api.fit(lines=[LTE], out=twin.file, repeats=4).file).read_text()
    words = [change.words for change in twin.list_changes(tried={"transport.congestion_control": "bbr"})]
    assert words[-1] == "transport.congestion_control bbr"
    assert len(words) == len(set(words))
    plain = len(twin.list_changes())
    assert plain < len(twin.list_changes(sample=3)) <= plain + 3, "equal combinations count once"
    with pytest.raises(api.InputError):
        twin.list_changes(tried=["nonsense"])


def test_a_twin_replaces_no_file_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("# mine\n")
    with pytest.raises(api.InputError, match="mptcplab fit did not write it"):
        api.fit(lines=LTE, out=tmp_path / "mine.toml")
    with pytest.raises(api.InputError, match="cannot write"):
        api.fit(lines=LTE, out=tmp_path / "nothing/twin.toml")
    with pytest.raises(api.InputError):
        api.fit(out=tmp_path / "twin.toml")
    with pytest.raises(api.InputError):
        api.fit(str(tmp_path / "nothing.pcap"), out=tmp_path / "twin.toml")
    with pytest.raises(api.InputError, match="0 runs of the twin"):
        api.fit(lines=LTE, repeats=0, out=tmp_path / "twin.toml")
    assert not (tmp_path / "twin.toml").exists()


def test_changes_of_a_twin_are_ranked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made runs of all points are alike, so no change helps; changes that no scenario allows are left out."""
    warnings: list[str] = []

    def execute(rounds: Rounds, _out: Path, _options: object, **_: object) -> list[api.CompletedRun]:
        done = []
        for run in rounds.first():
            recording = write_run(tmp_path / "made", run)
            result = run_result(recording, tuple(run.point.settings.items()))
            done.append(api.CompletedRun(run, recording.folder, result, None, 0.1))
        return done

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(twins, "check_machine", lambda *_: None)
    monkeypatch.setattr(twins, "execute", execute)
    twin = api.fit(lines=LTE, repeats=2)
    changes = twin.list_changes(tried=["transport.congestion_control=reno", "transport.scheduler=nothing"])[-2:]
    outcome = api.run_twin(twin, changes, warn=warnings.append)
    assert [advice.words for advice in outcome.advice if advice.n == 2] == [
        advice.words for advice in outcome.advice
    ], "each seed counts once"
    assert outcome.comparisons == (), "no transfer was observed"
    assert outcome.goodput_bps == pytest.approx(sum(run.goodput_bps for run in outcome.runs) / 2)
    assert outcome.document["advice"] == [advice.to_json() for advice in outcome.advice]
    assert [table.title for table in outcome.tables()] != []


# This machine, and what is built on it.


def test_names_of_experiments_whose_needs_are_unknown() -> None:
    for name, message in (
        ("nothing", "'nothing' is neither a scenario file nor a study"),
        ("nothing.toml", "nothing.toml"),
        ("@nothing", "no example 'nothing'"),
    ):
        for names in (name, [name]):
            with pytest.raises(api.InputError) as refused:
                api.find_lacks(names)
            assert message in refused.value.message
    with pytest.raises(api.InputError, match="--beds is for studies"):
        api.find_lacks("examples/two-paths.toml", beds=2)


def test_lacks_know_the_command_that_gets_them(
    two: api.Experiment, monkeypatch: pytest.MonkeyPatch, debian: None
) -> None:
    assert debian is None
    lacking = [api.MissingError("there is no xyz", subject="xyz", packages=("xyz",))]
    monkeypatch.setattr("mptcplab.api.machine.find_missing", lambda *_, **__: lacking)
    lacks = api.find_lacks(two.file, set={"links.link1.loss": "1 %"})
    assert lacks
    assert lacks.packages == ["xyz"]
    assert lacks.install_command == f"mptcplab doctor --for {two.file} --set 'links.link1.loss=1 %' --install"
    assert lacks.to_error().message == "there is no xyz"
    monkeypatch.setattr("mptcplab.api.machine.find_missing", lambda *_, **__: [])
    assert not api.find_lacks(two.file)


def test_a_calibration_is_of_each_cipher(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    side = api.SideCalibration("client", Costs(3600.0, 0.05), (LoadSample("bulk", 1.2, 0.0003, 2.0),))

    def calibrate(_program: object, cipher: str, *, seconds: float, repeats: int, report: Callable[[str], None]) -> Any:
        report(f"{cipher} for {seconds} s, {repeats} times")
        return [side]

    monkeypatch.setattr(calibrate_session, "calibrate", calibrate)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    (calibration,) = api.calibrate_program(
        "shadowsocks-libev", ciphers=["aes-256-gcm"] * 2, seconds=2, repeats=1, progress=steps.append
    )
    assert (calibration.title, calibration.sides) == ("shadowsocks-libev, aes-256-gcm", (side,))
    assert steps == ["shadowsocks-libev, aes-256-gcm: aes-256-gcm for 2 s, 1 times"]
    (entry,) = calibration.to_json()
    assert entry["cpu"] == side.cpu
    assert len(api.calibrate_program("shadowsocks-libev")) > 1, "by default all ciphers"
    assert [made.cipher for made in api.calibrate_program("iperf3")] == [""]
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(api.MissingError, match="needs root"):
        api.calibrate_program("iperf3")
    with pytest.raises(api.InputError, match="'none' is not a program that is calibrated"):
        api.calibrate_program("none")
    with pytest.raises(api.InputError, match="'des' is not a cipher of shadowsocks-libev"):
        api.calibrate_program("shadowsocks-libev", ciphers=["des"])
    for seconds, repeats in ((1, 0), (0, 1)):
        with pytest.raises(api.InputError, match="cannot be measured"):
            api.calibrate_program("iperf3", seconds=seconds, repeats=repeats)


def test_programs_are_built_although_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []

    def build(recipe: Recipe, report: Callable[[str], None], *, fresh: bool) -> Path:
        report(f"compiling {recipe.name}")
        if recipe.name == "xray":
            raise api.MissingError("Go is too old", hint="get another")
        return tmp_path / f"{recipe.name}{'-fresh' * fresh}"

    monkeypatch.setattr(proxies, "build", build)
    monkeypatch.setattr(proxies, "is_built", lambda recipe: recipe.name == "go-shadowsocks2")
    folders = api.build_proxies(["go-shadowsocks2"], line=heard.append, begin=lambda recipe: heard.append(recipe.name))
    assert folders == {"go-shadowsocks2": tmp_path / "go-shadowsocks2"}
    assert heard == ["compiling go-shadowsocks2"], "it is there already, so that no build begins"
    built: list[str] = []
    with pytest.raises(api.MissingError, match="Go is too old"):
        api.build_proxies(fresh=True, built=lambda recipe, folder: built.append(f"{recipe.name} {folder.name}"))
    assert "go-shadowsocks2 go-shadowsocks2-fresh" in built
    assert not [text for text in built if text.startswith("xray")]
    with pytest.raises(api.InputError, match="'openvpn' is not a program that is built"):
        api.build_proxies(["openvpn"])


def test_kernels_by_wrong_names() -> None:
    with pytest.raises(api.InputError, match="'seven' is not a kernel version"):
        api.build_kernel("seven")
    with pytest.raises(api.InputError, match="'new' is not a kernel version"):
        api.obtain_stock("new")
    with pytest.raises(api.LabError):
        api.find_kernel("/nothing/linux")


@pytest.fixture
def suite(tmp_path: Path) -> api.SelftestSuite:
    source = KernelSource(kind="tarball", name="linux.tar", path=Path("linux.tar"), sha256="s")
    parts = (SuitePart("diag"), SuitePart("mptcp_join", "add_tests", "-a"))
    return api.SelftestSuite(KERNEL, SelftestTree(tmp_path, source), parts, SocketDefaults(scheduler="blest"), ())


def test_results_of_selftests_are_counted(suite: api.SelftestSuite) -> None:
    passed = PartOutcome(suite.parts[0], (Result("a", "ok"), Result("b", "skip", "no tool")), 0, 2_000_000_000)
    known = PartOutcome(suite.parts[1], (Result("c", "flaky", "timing"),), 1, 500_000_000)
    report = api.SelftestReport(suite, 7, (passed, known), 4.0)
    assert report.is_good
    assert report.counts == {"ok": 1, "not ok": 0, "skip": 1, "flaky": 1}
    assert report.virtual_s == 2.5
    assert report.document["scheduler"] == "blest"
    assert "congestion_control" not in report.document, "the kernel's default"
    assert [case.verdict for case in report.suites[1].cases] == ["skipped"]
    broken = PartOutcome(suite.parts[1], (), 1, 0, "the lab did not boot")
    report = api.SelftestReport(suite, 7, (passed, broken), 4.0)
    assert not report.is_good, "a lab that fails has no results, and yet it has not succeeded"
    assert report.counts["not ok"] == 1
    with pytest.raises(api.InputError, match="0 labs in parallel"):
        suite.run(jobs=0)


# Results and studies.


def _is_first(run: Run) -> bool:
    return run.seed == 1 and set(run.point.settings.values()) == {"mptcp", "10 ms"}


def test_a_page_about_results(tmp_path: Path) -> None:
    make_results(tmp_path / "two", keep=_is_first)
    report = api.write_report(tmp_path / "two")
    assert report.file == tmp_path / "two/report.html"
    assert (report.title, report.scoreboard) == ("Two lines", None)
    assert report.bytes == report.file.stat().st_size
    assert report.document == {
        "file": str(report.file),
        "bytes": report.bytes,
        "title": "Two lines",
        "warnings": report.warnings,
    }


@pytest.mark.parametrize(
    ("folder", "out", "message"),
    [
        ("two", "page.pdf", "does not end with .html"),
        ("two", "nothing/page.html", "cannot be written"),
        ("empty", "page.html", "empty"),
        ("nothing", "page.html", "nothing"),
    ],
)
def test_pages_that_cannot_be_written(tmp_path: Path, folder: str, out: str, message: str) -> None:
    make_results(tmp_path / "two", keep=_is_first)
    (tmp_path / "empty").mkdir()
    with pytest.raises(api.InputError) as refused:
        api.write_report(tmp_path / folder, tmp_path / out)
    assert message in refused.value.message
    assert refused.value.status == Exit.BAD_INPUT
    assert not (tmp_path / out).exists()


BEDS = """
[[axes]]
name = "queue"
values = ["10 packets", "100 packets"]
set = { "links.link*.queue" = "{value}" }
why = "w"
"""


@pytest.mark.slow
def test_studies_on_test_beds(labs: Labs, studies: Path, tmp_path: Path) -> None:
    for study in ("made", "other"):
        (studies / study / "beds.toml").write_text(BEDS)
    labs.lacks["other"] = [api.MissingError("there is no xyz", subject="xyz", packages=("xyz",))]
    warnings: list[str] = []
    (report,) = api.reproduce_beds(None, 2, out=tmp_path / "out", warn=warnings.append)
    assert warnings == ["study 'other' cannot be measured: there is no xyz"]
    assert report.problem is None
    assert report.folder == tmp_path / "out/made"
    assert [bed["bed"] for bed in report.document["beds"]] == [1, 2]
    assert report.values.rows
    assert all(file.is_file() for file in report.figures)
    with pytest.raises(api.MissingError, match="xyz"):
        api.reproduce_beds("other", 2, out=tmp_path / "out")
    with pytest.raises(api.InputError, match="beds decide this key"):
        api.reproduce_beds("made", 2, set={"links.link1.queue": "5 packets"}, out=tmp_path / "out")
    with pytest.raises(api.InputError, match="--beds and --engine"):
        api.reproduce_beds("made", 2, engine="local", out=tmp_path / "out")
    for count, jobs, message in ((0, 1, "0 test beds cannot be drawn"), (1, 0, "0 labs in parallel")):
        with pytest.raises(api.InputError, match=message):
            api.reproduce_beds("made", count, jobs=jobs, out=tmp_path / "out")
    (studies / "made/beds.toml").unlink()
    with pytest.raises(api.InputError):
        api.reproduce_beds("made", 2, out=tmp_path / "out")
