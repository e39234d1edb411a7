# SPDX-License-Identifier: MIT
"""`mptcplab fit`: typed lines, the scenario with its comments, the ranking of changes, and mistakes of users."""

from __future__ import annotations

import json
import tarfile
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mptcplab.cli.main import commands
from mptcplab.errors import InputError
from mptcplab.fit.advise import Algorithms, Change, TransferOutcome, list_changes, rank, sample_changes
from mptcplab.fit.observation import Observation
from mptcplab.fit.twin import build_twin, set_key
from mptcplab.fit.typed import complete_lines, line_of, parse_line
from mptcplab.scenario.load import load
from mptcplab.scenario.writing import uncomment, write_scenario

COLLECTIONS = Path(__file__).parents[1] / "collections"
LTE = "lte: 40 Mbit/s down, 10 Mbit/s up, ping 45 ms, loaded ping 300 ms, loss 0.1 %"
DSL = "dsl: 8 Mbit/s down, ping 20 ms, queue 80 ms"
ALGORITHMS = Algorithms(["bbr", "cubic", "lia"], ["default", "roundrobin"])


def command(*words: str | Path) -> Result:
    """Run ``mptcplab fit`` in this process."""
    return CliRunner().invoke(commands, ["fit", *map(str, words)])


def parse_typed(*texts: str) -> Observation:
    """Return what somebody typed about lines, for a download."""
    lines = tuple(line_of(parse_line(text), "down") for text in texts)
    return Observation(name="home", lines=lines)


def test_words_and_tables_say_the_same(tmp_path: Path) -> None:
    table = 'down = "40 Mbit/s"\nup = "10 Mbit/s"\nping = "45 ms"\nloaded_ping = "300 ms"\nloss = "0.1 %"\n'
    (tmp_path / "lines.toml").write_text(f"[lines.lte]\n{table}")
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    assert command("--line", LTE, "--no-run", "--out", first).exit_code == 0
    assert command(tmp_path / "lines.toml", "--no-run", "--out", second).exit_code == 0
    assert first.read_text() == second.read_text()


def test_typed_lines_become_a_scenario_with_origins(tmp_path: Path) -> None:
    out = tmp_path / "twin.toml"
    result = command("--line", LTE, "--line", DSL, "--no-run", "--out", out)
    assert result.exit_code == 0, result.output
    text, document = out.read_text(), tomllib.loads(out.read_text())
    link = document["links"]["link1"]
    # A speed test counts payload, of which a frame of 1514 bytes has 1448.
    assert (link["backward"]["rate"], link["forward"]["rate"]) == ("41.82 Mbit/s", "10.46 Mbit/s")
    assert (link["delay"], link["backward"]["loss"]) == ("22.5 ms", "1000 ppm")
    assert "881 full packets at this rate; stated: loaded ping 300 ms less ping" in text
    assert "Not identified: loss of dsl." in text
    assert document["workloads"]["transfer"]["reverse"] is True
    experiment = load(out)
    assert experiment.repeats == 8
    assert len(experiment.points[0].scenario.links) == 4


def test_an_upload_uses_the_other_rate(tmp_path: Path) -> None:
    out = tmp_path / "twin.toml"
    assert command("--line", LTE, "--direction", "up", "--no-run", "--out", out).exit_code == 0
    document = tomllib.loads(out.read_text())
    assert document["links"]["link1"]["forward"]["rate"] == "10.46 Mbit/s"
    assert "reverse" not in document["workloads"]["transfer"]


def test_typed_values_complete_lines_that_were_found() -> None:
    first_lines = [line_of(parse_line("line1: 8 Mbit/s down, ping 20 ms"), "down")]
    lines, others = complete_lines(first_lines, [parse_line("line1: queue 300 ms"), parse_line(LTE)])
    assert (lines[0].queue.kind, lines[0].queue.value, lines[0].rate) == ("stated", 0.3, first_lines[0].rate)
    assert [line.name for line in others] == ["lte"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "there is nothing to fit"),
        (("--line", "lte 40 Mbit/s down"), "does not begin with a name and a colon"),
        (("--line", "lte: fast"), "'fast' is not understood"),
        (("--line", "lte: 40 down"), "down '40'"),
        (("--line", "lte: 40 Mbit/s down, 3 Mbit/s down"), "two values of 'down'"),
        (("--line", "lte: ping 45 ms"), "has no rate down"),
        (("--line", "lte: 9 Mbit/s down, ping 45 ms, loaded ping 30 ms"), "loaded ping is not above the ping"),
        (("--line", "lte: 9 Mbit/s down, loss 100 %"), "loses everything"),
        (("--line", "lte: 9 Mbit/s down, ping 0 ms"), "not between 0 and 60 s"),
        (("--line", LTE, "--line", LTE), "line 'lte' is described twice"),
        (("--line", LTE, "--no-run", "--advise"), "exclude each other"),
        (("--line", LTE, "--try", "kernel=6.12"), "--try does nothing without --advise"),
        (("no-such.tar.gz",), "does not exist"),
        (("bad.toml",), "is not valid TOML"),
        (("empty.toml",), "describes no line"),
        (("key.toml",), "'speed' is not a known key"),
        (("other.toml",), "'hosts' is not a known key"),
        (("number.toml",), "down '40'"),
        (("words.txt",), "the files show no line"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_mistakes_have_one_sentence_and_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {
        "bad.toml": "[lines",
        "empty.toml": "",
        "key.toml": '[lines.lte]\nspeed = "1 Mbit/s"',
        "other.toml": "[hosts.a]",
        "number.toml": "[lines.lte]\ndown = 40",
        "words.txt": "hello",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    result = command(*words)
    assert isinstance(result.exception, InputError), result.output
    assert message in result.exception.message
    assert "\n" not in result.exception.message
    assert result.exception.hint
    assert not (tmp_path / "twin.toml").exists(), "nothing is written"


def test_an_own_file_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "mine.toml"
    out.write_text("title = 'mine'\n")
    result = command("--line", LTE, "--no-run", "--out", out)
    assert isinstance(result.exception, InputError)
    assert "did not write it" in result.exception.message
    assert out.read_text() == "title = 'mine'\n"
    out.unlink()
    assert command("--line", LTE, "--no-run", "--out", out).exit_code == 0
    assert command("--line", DSL, "--no-run", "--out", out).exit_code == 0, "its own file is written again"


def test_a_collection_with_little_traffic_gives_bounds(tmp_path: Path) -> None:
    """Two looks at one socket: what they do not show is not guessed silently, neither in the table nor in the file."""
    out = tmp_path / "twin.toml"
    result = command(COLLECTIONS / "not-accepted" / "client.tar.gz", "--no-run", "--out", out)
    assert result.exit_code == 0, result.output
    assert ">= 20.83 Mbit/s" in result.stdout
    assert "rate of line1 not identifiable: lower bound" in result.stdout
    assert "# Not identified: rate of line1, queue of line1, loss of line1." in out.read_text()


def test_a_text_without_traffic_shows_no_line(tmp_path: Path) -> None:
    text = tmp_path / "endpoints.txt"
    text.write_text("10.0.1.1 id 1 subflow dev eth0\n")
    result = command(text, "--no-run", "--out", tmp_path / "twin.toml")
    assert isinstance(result.exception, InputError)
    assert "the files show no line" in result.exception.message


def test_settings_of_hosts_go_into_the_twin() -> None:
    settings = {
        "congestion_control": ("bbr", "net.ipv4.tcp_congestion_control of a"),
        "scheduler": ("unknown", "net.mptcp.scheduler of a"),
        "tcp_rmem": ("4096 131072 6291456", "net.ipv4.tcp_rmem of a"),
        "tcp_wmem": ("9 8 7", "net.ipv4.tcp_wmem of a"),
    }
    base = parse_typed(LTE, DSL)
    observation = Observation(name="home", lines=base.lines, settings=settings, backups=frozenset({"dsl"}))
    text = write_scenario(
        build_twin(observation, controls=ALGORITHMS.congestion_controls, schedulers=ALGORITHMS.schedulers)
    )
    transport = tomllib.loads(text)["transport"]
    assert transport["congestion_control"] == "bbr"
    assert transport["scheduler"] == "default"
    assert "assumed: the lab has no unknown" in text
    assert transport["tcp_rmem"] == ["4096 B", "131072 B", "6291456 B"]
    assert "tcp_wmem" not in transport, "sizes that are not in order are left out"
    endpoints = tomllib.loads(text)["hosts"]["server"]["transport"]["endpoints"]
    assert endpoints == [{"link": "link2", "flags": ["signal", "backup"]}]


def test_every_change_is_a_scenario_that_loads(tmp_path: Path) -> None:
    observation = parse_typed(LTE, DSL)
    tables = uncomment(build_twin(observation))
    changes = list_changes(observation, tables, ALGORITHMS) + sample_changes(observation, tables, ALGORITHMS, 12)
    words = [change.words for change in changes]
    assert len(words) == len(set(words)) >= 12
    for expected in ("congestion control bbr", "scheduler roundrobin", "fq_codel at every bottleneck", "dsl as backup"):
        assert expected in words
    unchanged = load(_file(tmp_path, tables)).points[0].scenario
    for change in changes:
        assert load(_file(tmp_path, change.apply(tables))).points[0].scenario != unchanged, change.words


def _file(folder: Path, tables: dict[str, object]) -> Path:
    file = folder / "changed.toml"
    file.write_text(write_scenario(tables))
    return file


def test_a_sample_is_the_same_every_time() -> None:
    observation = parse_typed(LTE, DSL)
    tables = uncomment(build_twin(observation))
    first, second = (sample_changes(observation, tables, ALGORITHMS, 8) for _ in range(2))
    assert first == second
    assert all(" and " in change.words for change in first)


def test_keys_are_set_and_removed() -> None:
    tables = {"a": {"b": 1, "c": 2}}
    assert set_key(tables, "a.b", 3) == {"a": {"b": 3, "c": 2}}
    assert set_key(tables, "a.b", None) == {"a": {"c": 2}}
    assert set_key(tables, "x.y", 1) == {"a": {"b": 1, "c": 2}, "x": {"y": 1}}
    assert tables == {"a": {"b": 1, "c": 2}}, "the tables themselves stay"
    assert Change("x", (("a.b", 3), ("a.c", None))).apply(tables) == {"a": {"b": 3}}


def outcome(mbps: float, rtt_s: float = 0.1) -> TransferOutcome:
    return TransferOutcome(goodput_bps=mbps * 1e6, retransmitted=0.0, shares={}, rtt_s={"line1": rtt_s})


def test_changes_are_ranked_and_chance_is_called_chance() -> None:
    before = [outcome(10.0), outcome(10.4), outcome(9.6), outcome(10.0)]
    tried = {
        "harmful": [outcome(5.0), outcome(5.3), outcome(4.7), outcome(5.1)],
        "chance": [outcome(10.5), outcome(9.9), outcome(9.9), outcome(10.1)],
        "useful": [outcome(15.0, 0.05), outcome(15.4, 0.05), outcome(14.6, 0.05), outcome(15.1, 0.05)],
        "tiny": [outcome(10.05), outcome(10.45), outcome(9.65), outcome(10.0501)],
    }
    ranked = rank(before, tried)
    assert [(row.words, row.verdict) for row in ranked] == [
        ("useful", "helps"),
        ("chance", "no difference beyond chance"),
        ("tiny", "no difference that matters"),
        ("harmful", "harms"),
    ]
    assert ranked[0].gain == pytest.approx(0.5025)
    assert ranked[0].low < 0.5025 < ranked[0].high
    assert ranked[0].rtt_change_s == pytest.approx(-0.05)
    # More changes at once need wider intervals for each.
    alone = rank(before, {"chance": tried["chance"]})[0]
    assert alone.high - alone.low < ranked[1].high - ranked[1].low


def test_one_seed_shows_no_chance() -> None:
    assert rank([outcome(10)], {"a": [outcome(20)]})[0].verdict == "one seed shows no chance: use more"


def test_the_document_has_every_estimate(tmp_path: Path) -> None:
    result = command("--line", LTE, "--no-run", "--json", "--out", tmp_path / "twin.toml")
    line = json.loads(result.stdout)["lines"][0]
    assert line["rate_bps"]["kind"] == "stated"
    assert line["rtt_s"]["value"] == 0.045


def test_an_archive_of_a_stranger_runs_nothing(tmp_path: Path) -> None:
    """A member that leads out of the archive is not written, and a member that could be a program is text."""
    archive = tmp_path / "x.tar.gz"
    evil = tmp_path / "evil.sh"
    evil.write_text("touch /tmp/x; $(touch y)")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(evil, arcname="../../evil.sh")
        tar.add(evil, arcname="x/index.txt")
    result = command(archive, "--no-run", "--out", tmp_path / "twin.toml")
    assert isinstance(result.exception, InputError)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evil.sh", "x.tar.gz"]
