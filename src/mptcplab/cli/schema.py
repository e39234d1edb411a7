# SPDX-License-Identifier: MIT
"""``mptcplab schema``."""

from __future__ import annotations

import json

import click

from mptcplab.scenario.jsonschema import scenario_schema


def schema() -> None:
    """Print the JSON Schema."""
    click.echo(json.dumps(scenario_schema(), indent=1, ensure_ascii=False))
