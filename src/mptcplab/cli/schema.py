# SPDX-License-Identifier: MIT
"""``mptcplab schema``."""

from __future__ import annotations

import json

import click

_EPILOG = """\b
Examples:
  mptcplab schema > mptcplab.schema.json
  (echo '#:schema ./mptcplab.schema.json'; cat my.toml) > with-schema.toml

\b
docs/editors.md says how an editor comes to use it.
"""


@click.command(epilog=_EPILOG)
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors that complete, explain and check keys.

    It is made from the types that check a scenario. It never refuses what mptcplab accepts; what lies between keys,
    as an address used twice, only mptcplab sees: `mptcplab show FILE` checks everything.
    """
    from mptcplab.scenario.jsonschema import scenario_schema  # pydantic, which `schema --help` does not need

    click.echo(json.dumps(scenario_schema(), indent=1, ensure_ascii=False))
