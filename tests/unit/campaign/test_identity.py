# SPDX-License-Identifier: MIT
"""The part of a run's identity that is our own code: words for people may change, and nothing else."""

from __future__ import annotations

import pytest

from mptcplab.campaign.identity import _syntax

CODE = '''
"""Count packets."""

class Counter:
    """A counter."""

    def add(self, number: int) -> int:
        """Return the sum."""
        return self.total + number  # in packets
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Count packets."""', ""),
        ('"""A counter."""', '"""Another text."""'),
        ('"""Return the sum."""', '"""Return the sum.\n\n        In packets.\n        """'),
        ("  # in packets", ""),
        ("self.total + number", "(self.total\n                + number)"),
    ],
)
def test_words_make_no_other_run(old: str, new: str) -> None:
    assert old in CODE
    assert _syntax(CODE.replace(old, new)) == _syntax(CODE)


@pytest.mark.parametrize(
    ("old", "new"), [("+", "-"), ("number", "count"), ("int:", "float:"), ("self.total", '"""text""" and self.total')]
)
def test_what_runs_makes_another(old: str, new: str) -> None:
    assert old in CODE
    assert _syntax(CODE.replace(old, new)) != _syntax(CODE)
