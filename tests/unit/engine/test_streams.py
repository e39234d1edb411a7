# SPDX-License-Identifier: MIT
"""The host's half of a program's streams; the tests simulate the guest's half."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mptcplab.engine.virtual.streams import _MAX_PIECES, _PIECE, Input, Output


def _read_pieces(folder: Path, start: int = 0) -> tuple[bytes, list[int]]:
    """Return the data that the guest would read, and the sizes of the pieces, and remove them as the guest does."""
    data, sizes = b"", list[int]()
    while (piece := folder / f"in.{start + len(sizes)}").exists():
        sizes.append(piece.stat().st_size)
        data += piece.read_bytes()
        piece.unlink()
    return data, sizes


@pytest.mark.slow
@given(st.lists(st.binary(min_size=1, max_size=3000).map(lambda part: part * 11), max_size=9))
def test_input_arrives_whole_and_in_even_pieces(parts: list[bytes]) -> None:
    """The pieces do not depend on the writes of the sender: the guest must not notice its speed."""
    with tempfile.TemporaryDirectory() as name:
        reader, writer = os.pipe()
        given_input = Input(reader, Path(name))
        for part in parts:
            os.write(writer, part)
            given_input.step()
        os.close(writer)
        given_input.step()
        os.close(reader)
        data, sizes = _read_pieces(Path(name))
        whole = b"".join(parts)
        assert data == whole
        full, rest = divmod(len(whole), _PIECE)
        assert sizes == [_PIECE] * full + [rest] * (rest > 0) + [0], sizes
        assert not given_input.starved
        assert given_input.watched_descriptors == []


def test_a_part_of_a_piece_waits_for_the_rest(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    given_input = Input(reader, tmp_path)
    os.write(writer, b"few")
    given_input.step()
    assert list(tmp_path.iterdir()) == []
    assert given_input.starved, "the lab would run on without its input"
    os.close(writer)
    given_input.step()
    assert not given_input.starved
    os.close(reader)


def test_the_number_of_waiting_pieces_is_limited(tmp_path: Path) -> None:
    with (tmp_path / "long").open("wb") as file:
        file.truncate((_MAX_PIECES + 5) * _PIECE)
    folder = tmp_path / "streams"
    folder.mkdir()
    with (tmp_path / "long").open("rb") as file:
        given_input = Input(file.fileno(), folder)
        given_input.step()
        assert len(list(folder.iterdir())) == _MAX_PIECES
        assert given_input.watched_descriptors == [], "a sender that is ahead must be left waiting"
        _, sizes = _read_pieces(folder)
        given_input.step()
        _, more = _read_pieces(folder, len(sizes))
    assert len(sizes) + len(more) == _MAX_PIECES + 5 + 1


def test_without_input(tmp_path: Path) -> None:
    given_input = Input(None, tmp_path)
    given_input.step()
    assert (given_input.starved, given_input.watched_descriptors, list(tmp_path.iterdir())) == (False, [], [])


@pytest.mark.slow
@given(st.lists(st.tuples(st.binary(max_size=9000), st.booleans()), max_size=12))
def test_output_arrives_whole(parts: list[tuple[bytes, bool]]) -> None:
    """The guest writes it to files; True begins the next file."""
    with tempfile.TemporaryDirectory() as name:
        folder, number = Path(name), 0
        with (folder / "target").open("w+b") as target:
            output = Output("out", folder, target.fileno())
            for data, ends in parts:
                with (folder / f"out.{number}").open("ab") as file:
                    file.write(data)
                number += ends
                assert output.step(), "a file takes everything"
            output.step()
            output.close()
            target.seek(0)
            assert target.read() == b"".join(data for data, _ in parts)
        left = sorted(path.name for path in folder.iterdir())
        assert len(left) <= 2, f"read files are not removed: {left}"


def test_a_slow_reader_blocks_the_output(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    output = Output("out", tmp_path, writer)
    with (tmp_path / "out.0").open("wb") as file:
        file.truncate(1 << 27)
    assert not output.step(), "a pipe does not hold 128 MB"
    assert output.behind, "the lab would fill the disk"
    os.close(reader)
    with pytest.raises(BrokenPipeError):
        output.step()
    output.close()
    os.close(writer)
