# SPDX-License-Identifier: MIT
"""Reads the Containerfile, whose steps can then be executed without a container engine.

It knows the instructions that ours has, and refuses others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mptcplab.errors import LabError


@dataclass(frozen=True)
class Instruction:
    """One instruction, such as ``RUN``, and the text after it."""

    name: str
    text: str


def parse(file: Path) -> list[Instruction]:
    """Return the instructions of a Containerfile without continuation lines."""
    lines = (line.strip() for line in file.read_text().splitlines())
    words = (line.partition(" ") for line in lines if line and not line.startswith("#"))
    return [Instruction(name.upper(), text.strip()) for name, _, text in words]


@dataclass(frozen=True)
class Image:
    """What the instructions say: base image, steps, and how the image's program starts.

    ``copies`` are pairs of a path in the checkout and one in the image. All of them come before the ``commands``.
    """

    base: str
    copies: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    user: str
    folder: str
    entry: tuple[str, ...]

    @classmethod
    def from_instructions(cls, instructions: Iterable[Instruction]) -> Image:
        """Return the image of these instructions. :raises LabError: for an instruction that is not known here."""
        arguments: dict[str, str] = {}
        copies: list[tuple[str, str]] = []
        commands: list[str] = []
        base, user, folder = "", "root", "/"
        entry: tuple[str, ...] = ()
        for instruction in instructions:
            match instruction.name:
                case "ARG":
                    name, _, value = instruction.text.partition("=")
                    arguments[name] = value
                case "FROM":
                    base = instruction.text
                    for name, value in arguments.items():
                        base = base.replace(f"${{{name}}}", value)
                case "COPY":
                    source, target = instruction.text.split()
                    copies.append((source, target))
                case "RUN":
                    commands.append(instruction.text)
                case "USER":
                    user = instruction.text
                case "WORKDIR":
                    folder = instruction.text
                case "ENTRYPOINT":
                    entry = tuple(json.loads(instruction.text))
                case "CMD":
                    pass
                case other:
                    raise LabError(f"the Containerfile has '{other}', which cannot be executed without an engine")
        return cls(base, tuple(copies), tuple(commands), user, folder, entry)
