# SPDX-License-Identifier: MIT
"""``mptcplab schema``."""

from __future__ import annotations

import click

from mptcplab.cli.deferred import defer_to

_EPILOG = """\b
Examples:
  mptcplab schema > mptcplab.schema.json
  (echo '#:schema ./mptcplab.schema.json'; cat my.toml) > with-schema.toml

\b
docs/editors.md describes how to set up an editor.
"""


@click.command(epilog=_EPILOG)
@defer_to("mptcplab.cli.schema:schema")
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors that complete, explain and check keys.

    It is generated from the types that check a scenario, and accepts every scenario that mptcplab accepts. It cannot
    check relations between keys, such as an address that is used twice; `mptcplab show FILE` checks everything.
    """
