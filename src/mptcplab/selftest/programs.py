# SPDX-License-Identifier: MIT
"""The programs that selftests check for, and skip all their tests without."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mptcplab.engine.tools import find_program
from mptcplab.errors import combine, try_each
from mptcplab.selftest.prepare import SelftestTree

#: What the scripts that run by default check for. `doctor` looks for them where no selftests are prepared.
PROGRAMS = ("ip", "tc", "ss", "iptables", "ip6tables")
_CHECKED = re.compile(r"^\s*mptcp_lib_check_tools (.+)$", re.MULTILINE)
#: The message of a script that checks by itself, as all do in Linux 6.1.
_WITHOUT = re.compile(r"Could not run (?:all )?tests? without ([\w.-]+)")
_ASSIGNED = re.compile(r'^(\w+)="([\w.-]+)"$', re.MULTILINE)


def needed_programs(text: str) -> tuple[str, ...]:
    """Return the programs that a script with this ``text`` checks for, in its order."""
    variables = {f"${{{name}}}": value for name, value in _ASSIGNED.findall(text)}
    words = [word.strip('"') for line in _CHECKED.findall(text) for word in line.split()]
    return tuple(dict.fromkeys(variables.get(word, word) for word in (*words, *_WITHOUT.findall(text))))


def check_programs(prepared: SelftestTree, scripts: Sequence[str]) -> None:
    """Refuse ``scripts`` of which one would skip all its tests for want of a program.

    :raises MissingError: naming every program that is missing, its package, and the scripts that need none of them.
    """
    files = {script: prepared.find(script) for script in scripts}
    texts = {script: file.read_text() for script, file in files.items() if file is not None}
    lacking = {script: dict(try_each(find_program, needed_programs(text))) for script, text in texts.items()}
    needing: dict[str, list[str]] = {}
    for script, missing in lacking.items():
        for program in missing:
            needing.setdefault(program, []).append(script)
    errors = {program: error for missing in lacking.values() for program, error in missing.items()}
    for program, error in errors.items():
        names = needing[program]
        error.message += f", which {' and '.join(names)} {'needs' if len(names) == 1 else 'need'}"
    missing_error = combine(errors.values())
    if missing_error is None:
        return
    others = [script for script, missing in lacking.items() if not missing]
    if others:
        missing_error.hint = f"{missing_error.hint}\n  or without it: mptcplab selftest {' '.join(others)}"
    raise missing_error
