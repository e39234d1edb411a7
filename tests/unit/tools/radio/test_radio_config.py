# SPDX-License-Identifier: MIT
"""Mistakes in the medium's configuration end it with one sentence that names the line, and status 2."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mptcplab.engine.tools import radio_program

pytestmark = pytest.mark.slow

RADIO = "radio ap 02:00:00:00:00:01 at 0 0\n"


def run_to_end(path: Path, *options: str) -> tuple[int, str]:
    done = subprocess.run([radio_program(), str(path), *options], capture_output=True, text=True, timeout=20)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("radio ap 02:00:00:00:00:01\n", 1, "the radio 'ap' has no position: write 'at X Y'"),
        ("radio ap 02:00:00:00:00 at 0 0\n", 1, "'02:00:00:00:00' is not a MAC address"),
        ("radio ap 03:00:00:00:00:01 at 0 0\n", 1, "'03:00:00:00:00:01' is an address of a group"),
        ("radio ap 02:00:00:00:00:01 at 0\n", 1, "y in metres is missing after '0'"),
        ("radio ap 02:00:00:00:00:01 at 0 0 power 3\n", 1, "'power' is not a key of radios"),
        ("radio ap 02:00:00:00:00:01 at 0 0 power-dbm much\n", 1, "'much' is not a number: power-dbm is expected"),
        (RADIO + RADIO, 2, "the radio 'ap' is there already"),
        (RADIO + RADIO.replace("ap", "sta"), 2, "'ap' has this MAC address too"),
        (RADIO + "move sta 3 0 0\n", 2, "there is no radio 'sta' above"),
        (RADIO + "move ap 3 0 0\nmove ap 2 0 0\n", 3, "the positions of 'ap' are not in the order of time"),
        (RADIO + "off sta 3\n", 2, "there is no radio 'sta' above"),
        (RADIO + "power ap 3\n", 2, "a power in dBm is missing after '3'"),
        (RADIO + "off ap 3\non ap 2\n", 3, "the changes of 'ap' are not in the order of time"),
        ("path-loss two-ray\n", 1, "'two-ray' is not a model: free-space and log-distance are"),
        ("# nothing\n\nshadowing-db -1\n", 3, "a standard deviation is not negative"),
        ("basic-rates 1 7\n", 1, "7 Mbit/s is not a rate of 802.11b or g"),
        ("rts-bytes 100000\n", 1, "100000 is not a length in bytes up to 65535"),
        ("rts-bytes 0.5\n", 1, "0.5 is not a length in bytes up to 65535"),
        ("seed 1 2\n", 1, "'2' is one word too many"),
        ("seed -1\n", 1, "'-1' is not a seed"),
        ("radios 3\n", 1, "'radios' is not a statement"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, text: str, line: int, sentence: str) -> None:
    file = tmp_path / "medium.conf"
    file.write_text(text)
    assert run_to_end(file) == (2, f"radio: {file}:{line}: {sentence}\n")


def test_a_file_needs_a_radio(tmp_path: Path) -> None:
    file = tmp_path / "medium.conf"
    file.write_text("seed 1\n")
    assert run_to_end(file) == (2, f"radio: '{file}' has no radio\n")
    assert run_to_end(tmp_path / "absent") == (
        2,
        f"radio: '{tmp_path / 'absent'}' cannot be read: No such file or directory\n",
    )


def test_the_help_names_every_statement_and_key() -> None:
    done = subprocess.run([radio_program(), "--help"], capture_output=True, text=True, timeout=20, check=True)
    source = (Path(__file__).resolve().parents[4] / "tools" / "radio" / "config.c").read_text()
    words = [line.split('"')[1] for line in source.splitlines() if line.startswith(('\t{ "', '\t\t{ "'))]
    assert len(words) >= 14
    assert [word for word in words if word not in done.stdout] == []
