# SPDX-License-Identifier: MIT
"""``mptcplab init``: what it writes loads, whatever was answered; what it asks, it asks until the answer is good."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from mptcplab.cli.main import main
from mptcplab.kernel.data import congestion_controls, schedulers
from mptcplab.plan.compile import compile_plan
from mptcplab.scenario.jsonschema import scenario_schema
from mptcplab.scenario.load import load
from mptcplab.scenario.presets import LINK_PRESETS
from mptcplab.scenario.template import KINDS, parse_path, path_text

GOLDEN = Path(__file__).parent / "golden"
CASES: dict[str, tuple[str, ...]] = {
    "init-default": (),
    "init-unequal": ("--path", "50 Mbit/s, 10 ms", "--path", "20 Mbit/s, 30 ms, 0.1 %", "--repeats", "5"),
    "init-iperf3": ("--paths", "3", "--workload", "iperf3", "--duration", "20 s", "--title", 'He said "fast"'),
    "init-asymmetric": ("--path", "50/10 Mbit/s, 8 ms", "--path", "lte-2014", "--direction", "download"),
    "init-call": ("--workload", "voip", "--event", "link1 down 4 s", "--event", "link1 up at 9 s"),
    "init-web": ("--workload", "web", "--duration", "20 s"),
    "init-transfer": ("--path", "1 Gbit/s,1ms", "--paths", "1", "--workload", "transfer", "--compare", "mptcp"),
}


def init(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """``mptcplab init`` in this process; its status."""
    monkeypatch.setattr(sys, "argv", ["mptcplab", "init", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize(("delay", "is_said"), [("30 ms", True), ("10 ms", False)])
def test_it_says_what_the_points_are(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    delay: str,
    *,
    is_said: bool,
) -> None:
    """Who asks for tcp,mptcp expects two points; different paths give three."""
    paths = ("--path", "50 Mbit/s, 10 ms", "--path", f"50 Mbit/s, {delay}")
    assert init(monkeypatch, tmp_path / "my.toml", *paths) == 0
    assert ("It has TCP on each path, and MPTCP on all. `run` prints" in capsys.readouterr().out) == is_said


@pytest.mark.parametrize("name", CASES)
def test_golden_file(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert init(monkeypatch, "-", *CASES[name]) == 0
    output = capsys.readouterr()
    file = GOLDEN / f"{name}.toml"
    if os.environ.get("WRITE_GOLDEN"):
        file.write_text(output.out)
    assert output.out == file.read_text(), f"if this is wanted: WRITE_GOLDEN=1 pytest {__file__}"
    assert output.err == ""
    for point in load(file).points:
        assert compile_plan(point.scenario, seed=1).programs


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_every_suggestion_in_a_comment_can_be_used(name: str, tmp_path: Path) -> None:
    text = (GOLDEN / f"{name}.toml").read_text()
    suggestions = re.findall(r'^# ("?[a-z0-9_.]+"? = .*)$', text, re.MULTILINE)
    assert len(suggestions) >= 4
    for suggestion in suggestions:
        file = tmp_path / "used.toml"
        file.write_text(text.replace(f"# {suggestion}", suggestion))
        assert load(file).points
    file.write_text(re.sub(r'^# ("?[a-z0-9_.]+"? = .*)$', r"\1", text, flags=re.MULTILINE))
    assert load(file).points, "all together"


@pytest.mark.parametrize("name", CASES)
def test_each_path_alone_is_an_axis_to_uncomment(name: str, tmp_path: Path) -> None:
    """Whoever asks whether a second path is worth it needs TCP on each path beside MPTCP on all."""
    text = (GOLDEN / f"{name}.toml").read_text()
    paths, protocols = text.count("[links.link"), re.search(r'^"transport.protocol" = .*\n', text, re.MULTILINE)
    assert ("[[sweep.zip]]" in text) == (paths > 1 and protocols is not None)
    if protocols is None or paths == 1:
        return
    file = tmp_path / "alone.toml"
    file.write_text(text)
    if "\n[[sweep.zip]]" not in text:
        before, after = text.split("# [[sweep.zip]]\n")
        file.write_text(before.replace(protocols[0], "") + "[[sweep.zip]]\n" + after.replace("#   ", ""))
    named = [point.settings["name"] for point in load(file).points]
    assert named == [*(f"link{number}" for number in range(1, paths + 1)), "all"]


UNEQUAL = ("--path", "16 Mbit/s, 12 ms", "--path", "80 Mbit/s, 20 ms")
EQUAL = ("--path", "16 Mbit/s, 12 ms", "--paths", "2")


@pytest.mark.parametrize(
    ("arguments", "columns"),
    [
        (UNEQUAL, {"name": ["link1", "link2", "all"]}),
        (EQUAL, {"transport.protocol": ["tcp", "mptcp"]}),
        # TCP on the link that fails could only fail.
        ((*UNEQUAL, "--event", "link2 down 4 s"), {"transport.protocol": ["tcp", "mptcp"]}),
        ((*UNEQUAL, "--compare", "mptcp"), {}),
    ],
)
def test_mptcp_is_compared_with_each_line_if_these_differ(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: tuple[str, ...], columns: dict[str, list[str]]
) -> None:
    """A gain over the slower line alone would say nothing about the faster one."""
    file = tmp_path / "made.toml"
    assert init(monkeypatch, file, *arguments) == 0
    points = load(file).points
    settings = {key: [point.settings[key] for point in points] for key in columns}
    assert (settings, len(points)) == (columns, max(map(len, columns.values()), default=1))


def test_the_other_comparison_is_in_the_file_too(tmp_path: Path) -> None:
    text = (GOLDEN / "init-unequal.toml").read_text()
    file = tmp_path / "once.toml"
    file.write_text(text.partition("[[sweep.zip]]")[0].replace('#   "transport.protocol"', '"transport.protocol"'))
    assert [point.settings["transport.protocol"] for point in load(file).points] == ["tcp", "mptcp"]


@pytest.mark.parametrize(("more", "said"), [((), True), (("--paths", "1"), False), (UNEQUAL[2:], False)])
def test_says_that_one_description_is_of_all_paths(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    more: tuple[str, ...],
    said: bool,
) -> None:
    assert init(monkeypatch, tmp_path / "s.toml", *UNEQUAL[:2], *more) == 0
    assert ("with 2 paths like the one of --path" in capsys.readouterr().out) == said


def test_says_what_next_and_keeps_what_is_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "s.toml"
    assert init(monkeypatch, file, "--paths", "1") == 0
    assert f"mptcplab run {file}" in capsys.readouterr().out
    first = file.read_text()
    assert init(monkeypatch, file, "--paths", "2") == 2
    output = capsys.readouterr().err
    assert output == f"mptcplab: {file} already exists\n  hint: name another file, or replace it with --force\n"
    assert file.read_text() == first
    assert init(monkeypatch, file, "--paths", "2", "--force") == 0
    assert "paths = 2" in file.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["s.toml"]


@pytest.mark.parametrize("more", [(), ("--force",)])
def test_a_folder_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, more: tuple[str, ...]
) -> None:
    folder = tmp_path / "my lab"
    assert init(monkeypatch, folder / "s.toml", "--paths", "1", *more) == 2
    sentence = f"there is no folder '{folder}' for s.toml"
    assert capsys.readouterr().err == f"mptcplab: {sentence}\n  hint: mkdir -p '{folder}'\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--path", "100 MB/s"), "\"100 MB/s\": 'MB/s' is not a unit of a rate"),
        (("--path", "100 Mbit/s, 10"), '"10": a time needs a unit'),
        (("--path", "100 Mbit/s, 10 ms, 100 %"), '"100 %" loses every packet'),
        (("--path", "100 Mbit/s, 10 ms, 3 ms"), '"3 ms" is a time, but the third part of a path is its loss'),
        (("--path", "1, 2, 3, 4"), '"1, 2, 3, 4" has more than three parts'),
        (("--path", "1 bit/s"), '"1 bit/s" is too slow to simulate'),
        (("--paths", "3", "--path", "1 Mbit/s", "--path", "2 Mbit/s"), "2 paths are described, but 3 are requested"),
        (("--paths", "17"), "17"),
        (("--workload", "transfer", "--duration", "5 s"), "workloads of kind transfer have no duration"),
        (("--workload", "voip", "--size", "5 MB"), "workloads of kind voip have no size"),
        (("--workload", "http", "--direction", "upload"), "workloads of kind http only download"),
        (("--path", "50/ten Mbit/s"), '"ten Mbit/s"'),
        (("--path", "50/10"), '"10": a rate needs a unit'),
        (("--path", "lte-2041"), '"lte-2041" is not a link preset'),
        (("--event", "link3 down 4 s"), "there is no link 'link3'"),
        (("--event", "link1 falls 4 s"), '"falls" is not down or up'),
        (("--event", "link1 down"), '"link1 down" is not an event'),
        (("--event", "link1 down soon"), '"soon"'),
        (("--event", "link1 down 4 s"), "link1, the only path of TCP, stays down after 4 s: the run could only fail"),
        (("--event", "link1 down 4 s", "--paths", "1", "--compare", "mptcp"), "every path stays down after 4 s"),
        (("--event", "link2 down 20 s"), "is too late to have an effect"),
        (("--size", "1 GB", "--duration", "5 s"), "a workload ends by a duration or a size, not both"),
        (("--workload", "iperf3", "--duration", "1.5 s"), '"1.5 s" is not a whole number of seconds'),
        (("--duration", "0 s"), '"0 s" would transfer nothing'),
        (("--compare", "tcp,quic"), '"tcp,quic" is not a list of protocols'),
        (("--title", " "), '" " is not a line of text'),
        (("--title", "\udcff"), "is not UTF-8 text"),
    ],
)
def test_bad_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], sentence: str
) -> None:
    assert init(monkeypatch, "-", *arguments) == 2
    output = capsys.readouterr()
    assert sentence in output.err
    assert "hint: " in output.err
    assert output.out == ""


@pytest.mark.parametrize("place", ["no/such/s.toml", "folder"])
def test_place_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, place: str
) -> None:
    (tmp_path / "folder").mkdir()
    for force in ((), ("--force",)):
        assert init(monkeypatch, tmp_path / place, "--paths", "1", *force) == 2
        assert "hint: " in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--event", "link1 down 4 s", "--event", "link1 up 5 s"),
        ("--event", "link1 down 4 s", "--compare", "mptcp"),
        ("--event", "link2 down 4 s"),
        ("--event", "link1 down 4 s", "--workload", "transfer", "--size", "1 MB"),
    ],
)
def test_failure_that_a_run_may_survive_is_accepted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert init(monkeypatch, "-", *arguments) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["50/10 Mbit/s, 8 ms", "1000/0.5 Mbit/s, 8 ms, 0.1 %", "5/20 Mbit/s", "1 Gbit/s", "lte-2014"]
)
def test_path_as_text_is_the_same_path(text: str) -> None:
    path = parse_path(text)
    assert parse_path(path_text(path)) == path, path_text(path)


def test_comments_name_every_algorithm_of_the_lab() -> None:
    text = " ".join(line.removeprefix("# ") for line in (GOLDEN / "init-default.toml").read_text().splitlines())
    for name in congestion_controls() | schedulers():
        assert re.search(rf"\b{name}\b", text), name


_NUMBERS = st.one_of(st.integers(0, 2000).map(str), st.decimals(0, 2000, places=2).map(str))
_LINES = st.one_of(
    st.builds(
        "{} {}, {} {}, {} %".format,
        _NUMBERS,
        st.sampled_from(["kbit/s", "Mbit/s", "Gbit/s", "bit/s"]),
        _NUMBERS,
        st.sampled_from(["us", "ms", "s", "min"]),
        _NUMBERS,
    ),
    st.builds("{} Mbit/s".format, _NUMBERS),
    st.builds("{}/{} Mbit/s, {} ms".format, _NUMBERS, _NUMBERS, _NUMBERS),
    st.sampled_from(sorted(LINK_PRESETS)),
    st.text(max_size=10),
)
_FLAGS: dict[str, st.SearchStrategy[str]] = {
    "--title": st.text(max_size=20),
    "--paths": st.integers(-1, 20).map(str),
    "--workload": st.sampled_from(sorted(KINDS)),
    "--direction": st.sampled_from(["download", "upload"]),
    "--event": st.builds("link{} {} {} s".format, st.integers(0, 3), st.sampled_from(["down", "up"]), _NUMBERS),
    "--duration": st.builds("{} {}".format, _NUMBERS, st.sampled_from(["ms", "s", "min", "h"])),
    "--size": st.builds("{} {}".format, _NUMBERS, st.sampled_from(["B", "MB", "GiB"])),
    "--compare": st.sampled_from(["tcp", "mptcp", "tcp,mptcp", "mptcp, tcp", "", "tcp,tcp"]),
    "--repeats": st.integers(-1, 12_000).map(str),
}
_VALIDATOR = Draft7Validator(scenario_schema())


@st.composite
def _arguments(draw: st.DrawFn) -> list[str]:
    words: list[str] = []
    for _ in range(draw(st.integers(0, 3))):
        words += [f"--path={draw(_LINES)}"]
    for flag in draw(st.lists(st.sampled_from(sorted(_FLAGS)), unique=True)):
        words.append(f"{flag}={draw(_FLAGS[flag])}")
    return words


@pytest.mark.slow
@settings(max_examples=250)
@given(arguments=_arguments())
def test_accepted_flags_give_a_file_that_loads(tmp_path_factory: Any, arguments: list[str]) -> None:
    file = Path(tmp_path_factory.getbasetemp()) / "made.toml"
    with pytest.MonkeyPatch.context() as patched:
        status = init(patched, file, "--force", *arguments)
    assert status in (0, 2)
    if status == 0:
        experiment = load(file)
        assert compile_plan(experiment.points[0].scenario, seed=experiment.seed).programs
        assert list(_VALIDATOR.iter_errors(tomllib.loads(file.read_text()))) == []


class Terminal:
    """``mptcplab init`` on a terminal of its own, as a person sees it."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mptcplab", "init", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=folder,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that Ctrl-C is a signal
        )
        os.close(slave)
        self.text, self.at = "", 0

    def read_until(self, word: str) -> str:
        """Read until ``word`` is there; what was read since the last word, with plain line ends."""
        deadline = time.monotonic() + 30
        while word not in self.text[self.at :]:
            ready = select.select([self.master], [], [], max(deadline - time.monotonic(), 0))[0]
            try:
                data = os.read(self.master, 4096) if ready else b""
            except OSError:  # the other side is closed
                data = b""
            assert data, f"no {word!r} in {self.text[self.at :]!r}"
            self.text += data.decode().replace("\r\n", "\n")
        begun, self.at = self.at, self.text.index(word, self.at) + len(word)
        return self.text[begun : self.at]

    def answer(self, text: str, *, end: str = "\n") -> None:
        os.write(self.master, f"{text}{end}".encode())

    def status(self) -> int:
        status = self.process.wait(timeout=30)
        os.close(self.master)
        return status


@pytest.mark.slow
def test_questions_on_a_terminal(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "asked.toml")
    for question, answer in (
        ("How many paths", "two"),
        ('"two" is not a whole number from 1 to 16', "2"),
        ("Path 1", "100 MB/s"),
        ("'MB/s' is not a unit of a rate (write rates in bits: 1 MB/s is 8 Mbit/s)", "50 Mbit/s, 10 ms"),
        ("Path 2", "20 Mbit/s, 30 ms, 0.1 %"),
        ("Which kind of workload", "torrent"),
        ("is not a workload", "iperf3"),
        ("Download or upload", "sideways"),
        ("is not a direction", "download"),
        ("For how long", "1.5 s"),
        ("is not a whole number of seconds", "5 s"),
        ("What fails", ""),
        ("Which protocols", ""),
        ("How many runs", ""),
        ("Which title", ""),
    ):
        terminal.read_until(question)
        terminal.read_until("]")
        terminal.answer(answer)
    terminal.read_until("Wrote ")
    assert terminal.status() == 0
    experiment = load(tmp_path / "asked.toml")
    assert (len(experiment.points), experiment.repeats) == (3, 3)
    assert experiment.title == "Two different paths, TCP against MPTCP"


@pytest.mark.slow
@pytest.mark.parametrize("end", ["\x04", "\x03"], ids=["end of input", "Ctrl-C"])
def test_leaving_in_the_middle(tmp_path: Path, end: str) -> None:
    terminal = Terminal(tmp_path, "left.toml")
    terminal.read_until("]")
    # readline prints the prompt before it waits for keys, and Python misses a signal in between.
    time.sleep(0.5)
    terminal.answer("", end=end)
    output = terminal.read_until("interrupted\n")
    assert terminal.status() == 130
    assert output.endswith("\nmptcplab: interrupted\n"), "on a line of its own"
    assert "Traceback" not in terminal.text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_without_a_terminal_nothing_is_asked(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mptcplab", "init", "quiet.toml"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert load(tmp_path / "quiet.toml").points
