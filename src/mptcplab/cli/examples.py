# SPDX-License-Identifier: MIT
"""``mptcplab examples``."""

from __future__ import annotations

import json

import click

from mptcplab import api
from mptcplab.cli.common import console, print_table
from mptcplab.report.table import Table
from mptcplab.scenario.examples import MARK, find_example


def examples(name: str | None, as_json: bool) -> None:
    """Print the file of the example ``name``, or list examples."""
    listed = api.list_examples()
    if name is None:
        _show_list(listed, as_json=as_json)
        return
    word = name.removeprefix(MARK)
    matching = [example for example in listed if word in example.name]
    if any(example.name == word for example in matching) or not matching:
        file = find_example(word)
        if as_json:
            click.echo(json.dumps({"name": word, "file": str(file), "text": file.read_text()}))
        else:
            click.echo(file.read_text(), nl=False)
        return
    _show_list(matching, as_json=as_json)


def _show_list(listed: list[api.Example], *, as_json: bool) -> None:
    if as_json:
        documents = [{"name": example.name, "title": example.title, "file": str(example.file)} for example in listed]
        click.echo(json.dumps({"examples": documents}))
        return
    rows = ((f"{MARK}{example.name}", example.title) for example in listed)
    print_table(Table.build("Scenarios that come with mptcplab", ("name", "about"), rows))
    text = "Run one: mptcplab run @NAME. Copy one: mptcplab examples NAME > my.toml"
    console(stderr=True).print(text, markup=False, soft_wrap=True)
