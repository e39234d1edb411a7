# SPDX-License-Identifier: MIT
"""Write a resolved scenario as a readable file that runs unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from mptcplab.scenario.schema import Scenario

#: A list that tomli-w has spread over lines. Line ends in text are escaped, so these can only be its own.
_SHORT_LIST = re.compile(r"= \[\n((?:    [^\n\[{ ]{1,40},\n){1,4})\]")


def tables_without_defaults(scenario: Scenario) -> dict[str, Any]:
    """Return the scenario's tables without defaults, except the kernel, whose default may change with the version."""
    tables = scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)
    return {"kernel": scenario.kernel, **tables}


def leave_to_traces(tables: dict[str, Any], steps: Iterable[tuple[str, str, str]]) -> None:
    """Remove keys that traces set, as files require; steps are link, direction and ``rate 5 Mbit/s, ...``."""
    for link, direction, value in steps:
        keys = tables["links"].get(link, {}).get(direction, {})
        for words in value.split(", "):
            keys.pop(words.partition(" ")[0], None)


def scenario_toml(tables: dict[str, Any], *, first: dict[str, Any]) -> str:
    """Return the tables as TOML after ``first``, with equal directions of a link written once."""
    import tomli_w  # late: few commands write TOML

    links = {name: _merge_directions(link) for name, link in tables["links"].items()}
    text = tomli_w.dumps({**first, **tables, "links": links})
    return _SHORT_LIST.sub(lambda match: f"= [{' '.join(match[1].split())[:-1]}]", text)


def _merge_directions(link: dict[str, Any]) -> dict[str, Any]:
    forward, backward = link.get("forward", {}), link.get("backward", {})
    if forward != backward:
        return link
    return {**{key: value for key, value in link.items() if key not in ("forward", "backward")}, **forward}
