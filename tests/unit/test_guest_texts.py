# SPDX-License-Identifier: MIT
"""JSON and words for a shell as the standard library writes them."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest

from mptcplab.guest import json_text
from mptcplab.guest.json_text import parse_json, to_json
from mptcplab.guest.shell_words import join

DATA = {"b": [1, -2.5, 1e300, None, True, {'ä\n"\\': "\u2028"}], "a": {}, "c": [], "n": float("inf")}


@pytest.mark.parametrize("has_core", [True, False])
def test_json_is_that_of_the_standard_library(monkeypatch: pytest.MonkeyPatch, has_core: bool) -> None:
    assert json_text._core, "this Python has a core that the guest does not know"
    if not has_core:
        monkeypatch.setattr(json_text, "_core", None)
    assert to_json(DATA) == json.dumps(DATA)
    assert to_json(DATA, sort_keys=True) == json.dumps(DATA, sort_keys=True)
    assert to_json(DATA, compact=True) == json.dumps(DATA, separators=(",", ":"))
    for text in (json.dumps(DATA), json.dumps(DATA, indent=1), "[]", ' {"a": NaN}\n', "-Infinity"):
        assert json.dumps(parse_json(text)) == json.dumps(json.loads(text))
    for text in ("", "{", "[1,]", '{"a" 1}', "[] x"):
        with pytest.raises(ValueError, match="line 1"):
            parse_json(text)


@pytest.mark.parametrize("words", [["a", "b-c=d/e:1,2@%+_.0"], ["a b", "", "it's", "$x", "ä", "*"]])
def test_words_are_quoted_as_by_shlex(words: list[str]) -> None:
    assert join(words) == shlex.join(words)


def test_a_short_run_loads_few_modules() -> None:
    """Regular expressions, enumerations and ctypes' package took longer to load than all work of a short run."""
    used = "from mptcplab.guest import algorithms, init, queues, sockets"
    code = f"import sys; sys.path.insert(0, sys.argv[1]); {used}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-IS", "-c", code, _source()], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    slow = {"re", "enum", "json", "ctypes", "typing", "dataclasses", "collections", "functools", "shlex", "signal"}
    assert not loaded & (slow | {"subprocess", "socket", "pathlib", "traceback", "contextlib", "heapq"})
    assert len(loaded) < 80, sorted(loaded)


def _source() -> str:
    return json_text.__file__.removesuffix("/mptcplab/guest/json_text.py")
