# SPDX-License-Identifier: MIT
"""JSON by the core of Python's module ``json``.

The module around this core loads regular expressions, which takes longer than all work of a short run. Without the
core, the module is used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Options:
    """The options of the core's scanner, as ``json.loads`` sets them."""

    strict, object_hook, object_pairs_hook = True, None, None
    parse_float, parse_int, parse_constant = float, int, float


def _encoder(make: Any, quote: Any, separators: tuple[str, str], *, sort_keys: bool) -> Any:
    comma, colon = separators
    return make(None, None, quote, None, colon, comma, sort_keys, False, True)


_BLANKS, _COMPACT = (", ", ": "), (",", ":")
_core: Any = None
try:
    import _json

    _scan: Any = _json.make_scanner(_Options)  # type: ignore[arg-type]
    _core = {
        (separators, sort_keys): _encoder(
            _json.make_encoder, _json.encode_basestring_ascii, separators, sort_keys=sort_keys
        )
        for separators in (_BLANKS, _COMPACT)
        for sort_keys in (False, True)
    }
except (ImportError, TypeError, AttributeError):  # not CPython, or a version with another core
    _core = None


def parse_json(text: str) -> Any:
    """Return the data in ``text``, as ``json.loads`` does. :raises ValueError: if it is not JSON."""
    if _core is not None:
        try:
            data, end = _scan(text, 0)
            if end == len(text):
                return data
        except StopIteration:
            pass  # the module json raises an error that says what is wrong
    import json

    return json.loads(text)


def to_json(data: Any, *, sort_keys: bool = False, compact: bool = False) -> str:
    """Return ``data`` as JSON in one line, as ``json.dumps`` does; ``compact`` is without blanks."""
    separators = _COMPACT if compact else _BLANKS
    if _core is not None:
        return "".join(_core[separators, sort_keys](data, 0))
    import json

    return json.dumps(data, sort_keys=sort_keys, separators=separators)
