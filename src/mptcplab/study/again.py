# SPDX-License-Identifier: MIT
"""Tables that measure the published values of another table once more, in another test bed.

``study.toml`` names only what is different: ``again`` is the other table, and all that is left out is as there. Its
claims are judged once more, too, with the reasons of ``claim_reasons``, by the text of the claim. A table with columns
or rows that ``published`` names itself has claims of its own.
"""

from __future__ import annotations

from typing import Any

_INHERITED = ("place", "along", "along_label", "across_label", "columns", "value", "unit", "tolerance", "why_tolerance")
_ROWS = ("published", "rows")
#: At the end of the title of such a table.
_SUFFIX = ", through the gateways"


def expand_remeasured_tables(study: Any) -> Any:
    """Return the data of a study with all keys of tables that say ``again``. What is damaged is left to the checks."""
    tables = study.get("tables") if isinstance(study, dict) else None
    if not isinstance(tables, dict):
        return study
    beds = {table["again"]: name for name, table in tables.items() if isinstance(table, dict) and table.get("again")}
    whole, claims = dict(tables), list(study.get("claims", ()))
    for first, name in beds.items():
        if first not in tables:
            raise ValueError(f"table {name} measures table {first} again, which the study does not have")
        own_tables = dict(tables[name])
        reasons = own_tables.pop("claim_reasons", {})
        if not any(key in own_tables for key in _ROWS):
            claims += _claims(study.get("claims", ()), first, name, reasons)
        elif reasons:
            raise ValueError(f"table {name} has claims of its own, which have their reasons")
        whole[name] = _table(tables[first], own_tables, beds)
    return study | {"tables": whole, "claims": claims}


def _table(first: dict[str, Any], own_entry: dict[str, Any], beds: dict[str, str]) -> dict[str, Any]:
    rows = () if any(key in own_entry for key in _ROWS) else _ROWS
    entry = {key: first[key] for key in (*_INHERITED, *rows, "kind") if key in first} | own_entry
    entry.setdefault("title", f"{first['title']}{_SUFFIX}")
    if rows and "same_as" in first:
        entry["same_as"] = [item | {"table": beds[item["table"]]} for item in first["same_as"]]
    return entry


def _claims(claims: Any, first: str, name: str, reasons: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the claims about ``first`` as claims about ``name``."""
    own_claims = [claim for claim in claims if claim["table"] == first]
    unknown = set(reasons) - {claim["text"] for claim in own_claims}
    if unknown:
        raise ValueError(f"table {name} has a reason for a claim that table {first} does not have: {min(unknown)}")
    entries = []
    for claim in own_claims:
        kept = {key: value for key, value in claim.items() if key != "because"}
        because = {"because": reasons[claim["text"]]} if claim["text"] in reasons else {}
        entries.append(kept | {"table": name} | because)
    return entries
