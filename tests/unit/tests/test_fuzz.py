# SPDX-License-Identifier: MIT
"""The short form of `python -m tests.fuzz`: its targets, with inputs that hypothesis makes of their seeds.

Scenario files and captures have more of it in scenario/test_fuzz.py and capture/test_fuzz.py.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz import __main__ as command
from tests.fuzz.counts import Counts
from tests.fuzz.judge import Target, judge, signature
from tests.fuzz.targets import TARGETS

from mptcplab.errors import InputError

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
#: Inputs of each target: about 20 s of CPU in all.
EXAMPLES = {
    "units": 1500,
    "scenario": 150,
    "recording": 60,
    "capture": 150,
    "pcap": 6,
    "steering": 400,
    "explain": 300,
    "fit": 150,
    "import": 150,
    "programs": 300,
    "pack": 150,
}
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.integers(-2, 3),
        st.floats(),
        st.text(max_size=5),
        st.sampled_from(["flow", "tcp", "client", "10 ms", "99 Mbit/s", "link1"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=4,
)


@cache
def target(name: str) -> Target:
    """Made once: some make files."""
    return TARGETS[name]()


@cache
def seeds(name: str) -> list[bytes]:
    """Good inputs."""
    return list(target(name).seeds())


@st.composite
def damage(draw: st.DrawFn, name: str) -> bytes:
    """A seed with some pieces changed, removed, repeated or taken from another one."""
    content = draw(st.sampled_from(seeds(name)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = start + draw(st.sampled_from([0, 0, 1, 1, 2, 4, 8, 100, 10_000]))
        other = draw(st.sampled_from(seeds(name)))
        piece = draw(st.one_of(st.binary(max_size=8), st.just(content[start:end] * 2), st.just(other[start:end])))
        content = content[:start] + piece + content[end:]
    return content


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, below in members for place in _places(below, (*path, key)))]


@st.composite
def restructure(draw: st.DrawFn) -> bytes:
    """A JSON document, or one line of many, with one value that is something else or not there."""
    structured = [seed for seed in seeds("recording") if seed[1:2] == b"{"]
    seed = draw(st.sampled_from(structured))
    try:
        lines, number = [json.loads(seed[1:])], 0
    except ValueError:
        lines = [json.loads(line) for line in seed[1:].splitlines()]
        number = draw(st.integers(0, len(lines) - 1))
    place = draw(st.sampled_from(_places(lines[number])))
    holder: Any = {"": lines[number]}
    for key in ("", *place)[:-1]:
        holder = holder[key]
    key = ("", *place)[-1]
    if draw(st.booleans()) or not place:
        holder[key] = draw(JSON)
        lines[number] = lines[number] if place else holder[""]
    else:
        del holder[key]
    return seed[:1] + "\n".join(map(json.dumps, lines)).encode()


def limit_examples(examples: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run this number of examples, without limits of time: the machine may be busy."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    return settings(max_examples=examples, suppress_health_check=checks)


@pytest.mark.parametrize("name", list(TARGETS))
def test_seeds_are_good(name: str) -> None:
    """Most are read: a target that refuses everything searches nothing."""
    taken = [judge(target(name), seed) for seed in seeds(name)[:40]]
    # Half of the scenario's are inputs that tests want refused; text is a quantity of one kind of six.
    assert any(taken) or name == "units", f"{sum(taken)} of {len(taken)}"


@pytest.mark.parametrize("name", list(TARGETS))
def test_damaged_input(name: str) -> None:
    @limit_examples(EXAMPLES[name])
    @given(damage(name))
    def search(data: bytes) -> None:
        judge(target(name), data)

    search()


@limit_examples(150)
@given(restructure())
def test_restructured_recordings(data: bytes) -> None:
    judge(target("recording"), data)


class _ToldTarget:
    """A target that ends with what it is given."""

    name = "told"

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def seeds(self) -> Any:
        """None."""
        return iter(())

    def read(self, data: bytes) -> None:  # noqa: ARG002
        """Only fail."""
        raise self._error


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"),
        InputError("two\nlines", hint="there"),
        InputError("fine"),
        InputError("x" * 2000, hint="there"),
        InputError("fine", hint="Traceback (most recent call last)"),
    ],
)
def test_what_the_judge_finds(error: BaseException) -> None:
    with pytest.raises((KeyError, AssertionError)) as raised:
        judge(_ToldTarget(error), b"")
    assert Path(__file__).name in signature(raised.value)


def test_counts_are_shared_through_a_file(tmp_path: Path) -> None:
    """A worker that dies has written them."""
    counts = Counts.create(tmp_path / "counts")
    for is_accepted in (True, False, True):
        Counts.open(tmp_path / "counts").add(is_accepted=is_accepted)
    assert (counts.executions, counts.accepted) == (3, 2)
    assert counts.cpu_s > 0


def _call_fuzz(*arguments: str, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.fuzz", "--out", str(out), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.mark.parametrize(
    ("arguments", "limits"),
    [
        ([], dict.fromkeys(TARGETS, (3600 / len(TARGETS), None))),
        (["--minutes", "1", "--only", "fit", "--only", "units"], {"fit": (30, None), "units": (30, None)}),
        (["--runs", "7", "--only", "fit"], {"fit": (math.inf, 7)}),
        (["--runs", "fit=7", "--runs", "units=9"], {"fit": (math.inf, 7), "units": (math.inf, 9)}),
        (
            ["--runs", "5", "--runs", "fit=7", "--only", "fit", "--only", "units"],
            {"fit": (math.inf, 7), "units": (math.inf, 5)},
        ),
        (["--runs", "fit=7", "--runs", "units=9", "--minutes", "2"], {"fit": (120, 7), "units": (120, 9)}),
    ],
)
def test_limits_of_each_target(
    arguments: list[str], limits: dict[str, tuple[float, int | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["fuzz", *arguments])
    searches = command.plan_searches(command.parse_arguments())
    assert {search.name: (search.max_seconds, search.max_executions) for search in searches} == limits


@pytest.mark.parametrize("wrong", [["--runs", "0"], ["--runs", "nothing=5"], ["--seed", "0"]])
def test_arguments_that_are_refused(wrong: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["fuzz", *wrong])
    with pytest.raises(SystemExit) as ended:
        command.parse_arguments()
    assert ended.value.code == 2


def test_one_call_at_a_time_uses_the_folder_of_a_seed(tmp_path: Path) -> None:
    with command.lock_folder(tmp_path), pytest.raises(SystemExit) as ended, command.lock_folder(tmp_path):
        pass
    assert ended.value.code == 2


@pytest.mark.skipif(find_spec("atheris") is None, reason="needs atheris: pip install -e '.[fuzz]'")
def test_an_exact_number_of_inputs(tmp_path: Path) -> None:
    done = _call_fuzz("--runs", "units=500", "--runs", "fit=300", out=tmp_path)
    assert done.returncode == 0, done.stderr
    (summary,) = (tmp_path / "seed-1").glob("summary-*.json")
    document = json.loads(summary.read_text())
    assert (document["state"], document["executions"]) == ("complete", 800)
    assert [(target["target"], target["executions"], target["findings"]) for target in document["targets"]] == [
        ("units", 500, []),
        ("fit", 300, []),
    ]
    assert "800 executions in all" in done.stdout


def test_what_the_judge_takes() -> None:
    assert not judge(_ToldTarget(InputError("this is not what it should be", hint="write something else")), b"")
