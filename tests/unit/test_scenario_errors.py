# SPDX-License-Identifier: MIT
"""Every file in ``bad/`` is a mistake that a user may make; its head says what we answer, to the letter.

``# expect:`` the message without the file's name, ``# hint:`` the hint (``DIR`` for the folder of the file). Optional:
``# file:`` when another file is to blame, ``# set:`` an argument of ``--set``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mptcplab.errors import Exit, InputError
from mptcplab.scenario.load import load

BAD = Path(__file__).parent / "bad"
GOOD = """
title = "Two lines"
topology = { preset = "disjoint-lines" }
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


def _fields(file: Path) -> dict[str, str]:
    return dict(re.findall(r"^# (expect|hint|file|set): (.*)$", file.read_text(), re.MULTILINE))


def _refusal(file: Path, *overrides: str, seed: int | None = None, repeats: int | None = None) -> InputError:
    with pytest.raises(InputError) as caught:
        load(file, overrides=overrides, seed=seed, repeats=repeats)
    return caught.value


@pytest.mark.parametrize("file", sorted(BAD.glob("*.toml")), ids=lambda file: file.stem)
def test_answer_to_a_mistake(file: Path) -> None:
    fields = _fields(file)
    error = _refusal(file, *([fields["set"]] if "set" in fields else []))
    expected = fields["expect"]
    if not expected.startswith("--set"):
        place = file.parent / fields.get("file", file.name)
        expected = f"{place}:{expected}" if re.match(r"\d+: ", expected) else f"{place}: {expected}"
    assert error.message == expected
    assert error.hint == fields["hint"].replace("DIR", str(file.parent))
    assert error.status == Exit.BAD_INPUT
    assert not _JARGON.search(f"{error.message.removeprefix(str(file))} {error.hint}")


def test_line_named_is_the_line_of_the_key() -> None:
    """Where a message shows ``key = value``, the line it names begins with that key or value."""
    for file in sorted(BAD.glob("*.toml")):
        fields = _fields(file)
        match = re.match(r"(\d+): ([^:]+?) = ", fields["expect"])
        if match is None or "file" in fields or "set" in fields:
            continue
        key = re.sub(r"\[\d+\]", "", match[2]).rsplit(".", 1)[-1].strip('"')
        line = file.read_text().splitlines()[int(match[1]) - 1]
        value = fields["expect"].split(" = ", 1)[1].split(": ")[0]
        assert key in line or value in line, f"{file.name}: {line}"


def test_there_are_many_mistakes() -> None:
    assert len(list(BAD.glob("*.toml"))) >= 150


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
    assert error.hint == "save the file as UTF-8"


def test_too_large(tmp_path: Path) -> None:
    file = tmp_path / "large.toml"
    file.write_text("#" * (5 << 20))
    assert _refusal(file).message == f"{file}: is too large for a scenario"


def test_number_beyond_python(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(f"seed = {'9' * 5000}")
    assert _refusal(file).message == f"{file}: a number has too many digits"
    file.write_text(f"seed = 0x{'f' * 5000}")
    assert _refusal(file).message == f"{file}:1: seed: the number has too many digits"


def test_long_row_of_extends(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number}.toml").write_text(f'extends = "{number + 1}.toml"')
    (tmp_path / "30.toml").write_text("")
    error = _refusal(tmp_path / "0.toml")
    assert error.message.endswith('20.toml:1: extends = "21.toml": is one file too many')


def test_control_characters_do_not_break_the_line(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(GOOD + '"a\\nb\\u2028c" = "x\\u001by"\n')
    assert _refusal(file).message == f'{file}:9: workloads.bulk."a\\nb\\u2028c" = "x\\x1by": is not a known key'


def test_seed_and_repeats_of_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(GOOD)
    assert _refusal(file, seed=-1).message == "--seed: seed = -1: is out of range"
    assert _refusal(file, repeats=0).message == "--repeats: repeats = 0: is out of range"


def test_byte_order_mark_and_windows_lines_are_fine(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert load(file).title == "Two lines"
