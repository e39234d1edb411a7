# SPDX-License-Identifier: MIT
"""Every case in ``bad/`` has a mistake that a user may make; its head has the expected place and kind of error.

Messages may be reworded; ``bad/messages.txt`` has some twenty complete ones, for review. See
:mod:`tests.unit.scenario.bad_cases`.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from tests.unit.scenario.bad_cases import CASES, describe, head, read_blocks, refusal, summary, unpack_cases

from mptcplab.errors import Exit, InputError, Mistake
from mptcplab.scenario.load import load

GOOD = """
title = "Two paths"
topology = { preset = "disjoint-paths" }
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
size = "10 MB"
"""
_JARGON = re.compile(
    r"input should|valid (string|integer|dictionary|tuple)|validation error|pydantic|extra inputs|none is not|"
    r"see docs|literal|instance of|traceback|NoneType|\bdict\b|\btuple\b",
    re.IGNORECASE,
)


def _refusal(file: Path, *overrides: str, seed: int | None = None, repeats: int | None = None) -> InputError:
    with pytest.raises(InputError) as caught:
        load(file, overrides=overrides, seed=seed, repeats=repeats)
    return caught.value


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all cases as files."""
    folder = tmp_path_factory.mktemp("bad")
    unpack_cases(folder)
    return folder


@pytest.mark.parametrize("name", CASES)
def test_a_mistake(folder: Path, name: str) -> None:
    """Check place, key and kind, the beginning of the message, and that the line has the quoted text."""
    file = folder / f"{name}.toml"
    error = refusal(file)
    assert summary(file, error) == head(name)["expect"]
    assert error.message.startswith(f"{error.place}: {error.key}")
    assert error.hint
    assert error.status == Exit.BAD_INPUT
    assert not _JARGON.search(f"{error.message.removeprefix(str(file))} {error.hint}")
    _, equals, value = error.message.removeprefix(f"{error.place}: {error.key}").partition(" = ")
    if equals and error.place.file == file and error.place.line:
        line = file.read_text().splitlines()[error.place.line - 1]
        key = re.sub(r"\[\d+\]", "", error.key).rsplit(".", 1)[-1].strip('"')
        assert key in line or value.split(": ")[0] in line


@pytest.mark.parametrize(("name", "text"), read_blocks().items(), ids=read_blocks())
def test_a_message_word_for_word(folder: Path, name: str, text: str) -> None:
    file = folder / f"{name}.toml"
    assert describe(file, refusal(file)) == text


def test_there_are_many_mistakes() -> None:
    assert len(CASES) >= 350
    kinds = Counter(head(name)["expect"].rsplit(": ", 1)[-1] for name in CASES)
    print(kinds.most_common())
    assert set(kinds) == set(Mistake)
    assert {head(name)["expect"].rsplit(": ", 1)[-1] for name in read_blocks()} == set(Mistake)


def test_missing_file(tmp_path: Path) -> None:
    error = _refusal(tmp_path / "none.toml")
    assert error.message == f"{tmp_path}/none.toml: no such file or directory"
    assert error.hint == "name a scenario file in TOML, like scenario.toml"


def test_directory(tmp_path: Path) -> None:
    assert _refusal(tmp_path).message == f"{tmp_path}: is a directory"


def test_not_a_file_name() -> None:
    assert _refusal(Path("a\0b")).message == "a\\x00b: is not a file name"


def test_not_utf8(tmp_path: Path) -> None:
    file = tmp_path / "latin.toml"
    file.write_bytes('title = "größer"'.encode("latin-1"))
    error = _refusal(file)
    assert error.message == f"{file}: is not UTF-8 text"
    assert error.hint == "save it as UTF-8, or name a scenario file in TOML, like scenario.toml"


def test_too_large(tmp_path: Path) -> None:
    file = tmp_path / "large.toml"
    file.write_text("#" * (5 << 20))
    assert _refusal(file).message == f"{file}: is too large for a scenario"


def test_a_device_without_end() -> None:
    assert _refusal(Path("/dev/zero")).message == "/dev/zero: is too large for a scenario"


def test_number_beyond_python(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(f"seed = {'9' * 5000}")
    assert _refusal(file).message == f"{file}: a number has too many digits"
    file.write_text(f"seed = 0x{'f' * 5000}")
    assert _refusal(file).message == f"{file}:1: seed: the number has too many digits"


def test_long_chain_of_extends(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number}.toml").write_text(f'extends = "{number + 1}.toml"')
    (tmp_path / "30.toml").write_text("")
    error = _refusal(tmp_path / "0.toml")
    assert error.message.endswith('20.toml:1: extends = "21.toml": makes the chain of files too long')


def test_control_characters_do_not_break_the_line(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(GOOD + '"a\\nb\\u2028c" = "x\\u001by"\n')
    assert _refusal(file).message == f'{file}:9: workloads.bulk."a\\nb\\u2028c" = "x\\x1by": is not a known key'


def test_seed_and_repeats_of_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(GOOD)
    assert _refusal(file, seed=-1).message == "--seed: seed = -1: is out of range"
    assert _refusal(file, repeats=0).message == "--repeats: repeats = 0: is out of range"


def test_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert load(file).title == "Two paths"
