# SPDX-License-Identifier: MIT
"""Read the traces that links name, and set the keys of each direction from them."""

from __future__ import annotations

from pydantic_core import PydanticCustomError

from mptcplab.errors import Mistake, reason
from mptcplab.network.registry import OWNERS, VARIABLE_KEYS
from mptcplab.scenario.document import Document, Table, lookup
from mptcplab.scenario.explain import validate
from mptcplab.scenario.links import DIRECTIONS
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.presets import is_of_preset
from mptcplab.scenario.trace import Trace, TraceError, TraceSeries, parse


def read_traces(document: Document) -> Document:
    """Return ``document`` with each trace's content in its table, and its values in the keys of its direction.

    A trace takes precedence over the keys of a link preset.
    :raises InputError: if a file cannot be read, is not a trace or does not match its digest, or if the link itself
        sets a key of the trace.
    """
    links = document.tables.get("links")
    for name, link in links.items() if isinstance(links, dict) else ():
        for direction in DIRECTIONS:
            settings = link.get(direction) if isinstance(link, dict) else None
            if isinstance(settings, dict) and settings.get("trace") is not None:
                document = document.with_value(
                    ("links", name, direction), _read(document, ("links", name, direction), settings)
                )
    return document


def _read(document: Document, path: KeyPath, settings: Table) -> Table:
    """Return the ``settings`` of the direction at ``path`` with the trace and its values."""
    at: KeyPath = (*path, "trace")
    value = settings["trace"]
    table = {"file": value} if isinstance(value, str) else value
    if not isinstance(table, dict):
        hint = 'write trace = "lte.down" or trace = { file = "lte.csv", end = "hold" }'
        raise document.error(at, "is neither a file name nor a table", hint=hint, kind=Mistake.TYPE)
    trace = validate(document, Trace, at, table)
    series = _content(document, at, trace)
    if trace.sha256 not in (None, series.sha256):
        hint = f"use the right file, or remove sha256: the file's digest is {series.sha256}"
        raise document.error((*at, "sha256"), f"is not the digest of {trace.file}", hint=hint, kind=Mistake.FILE)
    driven = {}
    for key in series.keys:
        if key in settings and not is_of_preset(document, (*path, key)):
            hint = f"remove `{key}`, or its column from the trace"
            raise document.error((*path, key), "is also set by the trace", hint=hint)
        driven[key] = _summary(document, at, series, key)
    return {**settings, **driven, "trace": {**table, "sha256": series.sha256, "series": series}}


def _content(document: Document, at: KeyPath, trace: Trace) -> TraceSeries:
    file = document.locate(at, trace.file)
    try:
        return parse(file.read_bytes(), window_ns=int(trace.window), columns=trace.columns)
    except OSError as error:
        hint = f"names are relative to the scenario: looked for {file}"
        raise document.error(at, f"cannot be read: {reason(error)}", hint=hint, kind=Mistake.FILE) from error
    except TraceError as error:
        # As a file name, the value is in the message; of a table, only this key's is.
        named = (*at, "file") if isinstance(lookup(document.tables, at), dict) else at
        raise document.error(named, str(error), hint=error.hint, kind=Mistake.FILE) from error


def _summary(document: Document, at: KeyPath, series: TraceSeries, key: str) -> str:
    """Return the direction's own value for a key that the trace drives."""
    try:
        value = OWNERS[key].base_value(key, series.values(key)[0], series.mean_of(key))
    except PydanticCustomError as error:
        raise document.to_error(at, error) from error
    return str(VARIABLE_KEYS[key].quantity(value))
