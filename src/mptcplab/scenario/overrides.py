# SPDX-License-Identifier: MIT
"""Settings of the command line: ``--set KEY=VALUE``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from mptcplab.errors import Mistake
from mptcplab.scenario import sweep
from mptcplab.scenario.document import ScenarioError, show, split_key
from mptcplab.scenario.place import SET, KeyPath, SourcePlace

_SET = SourcePlace(Path("--set"), 0, rank=SET)
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
#: A list of words, of which some may have lost their quotes to the shell.
_WORDS = re.compile(r"\[([^\[\]{}=\\]{1,200})\]?")
_EXAMPLE = '["4 KiB", "128 KiB"]'
_DECIMAL = re.compile(r"[+-]?[0-9]{1,18}\.[0-9]{1,18}")


def override(text: str) -> sweep.Setting:
    """Return the setting that ``KEY=VALUE`` stands for. :raises ScenarioError: if it cannot be read."""
    key, equals, value = text.partition("=")
    hint = "write --set links.link1.rate='10 Mbit/s'"
    if not equals:
        raise ScenarioError(Mistake.SYNTAX, _SET, "has no '='", hint=hint, key=show(text))
    pattern = split_key(key.strip())
    if pattern is None:
        raise ScenarioError(Mistake.SYNTAX, _SET, "is not a key", hint=hint, key=show(key))
    if pattern[0] in ("sweep", "extends", "without"):
        message, hint = "cannot be set on the command line", "edit the file"
        raise ScenarioError(Mistake.CONFLICT, _SET, message, hint=hint, key=key)
    return sweep.Setting(pattern, _parse_literal(value.strip(), pattern), replace(_SET, written=pattern))


def _parse_literal(text: str, pattern: KeyPath) -> Any:
    """Parse numbers, true, false, lists, tables and quoted text as in TOML; anything else is text without quotes.

    A key of the whole file that takes a decimal takes the version of a kernel: that is text.
    """
    if text in ("true", "false"):
        return text == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text) and len(pattern) > 1:
        return float(text)
    if text[:1] in ("[", "{", '"', "'"):
        try:
            return tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError) as error:
            hint = f"write '{_quote_words(text)}', in quotes for the shell"
            raise ScenarioError(Mistake.SYNTAX, _SET, f"{text!r} is not a TOML value", hint=hint) from error
    return text


def _quote_words(text: str) -> str:
    """Return the user's list of words without quotes as TOML; an example for anything else."""
    match = _WORDS.fullmatch(text)
    words = [word.strip().strip("\"'") for word in match[1].split(",")] if match else []
    return f"[{', '.join(map(show, filter(None, words)))}]" if any(words) else _EXAMPLE
