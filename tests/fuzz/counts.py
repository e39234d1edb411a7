# SPDX-License-Identifier: MIT
"""Counts of inputs that a worker shares with the process that started it, through a file that both map."""

from __future__ import annotations

import mmap
import time
from dataclasses import dataclass
from pathlib import Path

_WORDS, _WORD_BYTES = 3, 8
_NS = 1e9


@dataclass(frozen=True)
class Counts:
    """The number of executed inputs, how many of them the reader accepted, and the CPU time of the process."""

    _words: memoryview

    @classmethod
    def create(cls, file: Path) -> Counts:
        """Return counts in a new file, all zero."""
        file.write_bytes(bytes(_WORDS * _WORD_BYTES))
        return cls.open(file)

    @classmethod
    def open(cls, file: Path) -> Counts:
        """Return the counts in an existing file."""
        with file.open("r+b") as opened:
            return cls(memoryview(mmap.mmap(opened.fileno(), _WORDS * _WORD_BYTES)).cast("Q"))

    @property
    def executions(self) -> int:
        """Inputs that were executed."""
        return self._words[0]

    @property
    def accepted(self) -> int:
        """Inputs of which the reader made a result. It refused the others, or they are findings."""
        return self._words[1]

    @property
    def cpu_s(self) -> float:
        """CPU time of the worker until its last input, with its start."""
        return self._words[2] / _NS

    def add(self, *, is_accepted: bool) -> None:
        """Count one input."""
        self._words[0] += 1
        if is_accepted:
            self._words[1] += 1
        self._words[2] = time.process_time_ns()
