# SPDX-License-Identifier: MIT
"""Scenarios that programs write: what is read again equals the tables, and comments stand where they belong."""

from __future__ import annotations

import tomllib

import pytest

from mptcplab.scenario.writing import CommentedValue, format_value, uncomment, write_scenario

TABLES = {
    "title": "A twin",
    "topology": {"preset": "disjoint-paths"},
    "links": {
        "link1": CommentedValue(
            {"delay": CommentedValue("10 ms", "half of the lowest RTT"), "forward": {"rate": "5 Mbit/s"}},
            "the LTE line",
        ),
        "a b": {},
    },
    "hosts": {"client": {"endpoints": [{"link": "link1", "flags": ["subflow", "backup"]}]}},
    "events": CommentedValue(
        [{"at": "1 s", "type": "down"}, CommentedValue({"at": "2 s", "type": "up"}, "again")], "an outage"
    ),
}


def test_what_is_read_again_equals_the_tables() -> None:
    assert tomllib.loads(write_scenario(TABLES, heading="Made\nby a test")) == uncomment(TABLES)


def test_comments_stand_behind_values_and_above_tables() -> None:
    lines = write_scenario(TABLES, heading="Made\nby a test").splitlines()
    assert lines[:2] == ["# Made", "# by a test"]
    assert 'delay = "10 ms"  # half of the lowest RTT' in lines
    assert lines[lines.index("[links.link1]") - 1] == "# the LTE line"
    assert lines[lines.index("# again") + 1] == "[[events]]"


def test_a_long_comment_is_wrapped_above_its_value() -> None:
    text = write_scenario({"title": CommentedValue("x", "word " * 60)})
    lines = text.splitlines()
    assert lines[-1] == 'title = "x"'
    assert len(lines) >= 4
    assert all(len(line) <= 110 for line in lines)


@pytest.mark.parametrize("value", ['a"b\\c\n\x7f\x01é', True, 3, 0.5, [1, 2], {"a": [{"b": "c"}]}, {}])
def test_values_are_read_again(value: object) -> None:
    assert tomllib.loads(f"x = {format_value(value)}") == {"x": value}


def test_control_characters_of_strangers_stay_in_the_comment() -> None:
    text = write_scenario({"title": CommentedValue("x", "name\r[links]\x1b")}, heading="a\rb")
    assert tomllib.loads(text) == {"title": "x"}


def test_what_toml_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="TOML has no value like NoneType"):
        format_value(None)
