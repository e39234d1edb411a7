# SPDX-License-Identifier: MIT
"""Hints for values that people write in good faith: two rates in one, jitter of a path, half a program's name."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.scenario_files import PATHS, WORKLOAD, Write

from mptcplab.errors import InputError
from mptcplab.scenario.document import ScenarioError
from mptcplab.scenario.load import load
from mptcplab.scenario.template import parse_path
from mptcplab.scenario.trace import TraceError, parse
from mptcplab.units import QueueLength, Rate, Size, UnitError

EVENTS = """
[[events]]
at = "1 s"
type = "down"
link = "link1"
[[events]]
at = "2 s"
type = "up"
link = "link1"
"""
TUNNEL = '[gateways.bond]\nprogram = "{}"\nentry = "client"\nexit = "server"\n'


def _refusal(file: Path, *overrides: str) -> ScenarioError:
    with pytest.raises(ScenarioError) as caught:
        load(file, overrides=overrides)
    return caught.value


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("[default, blest]", '["default", "blest"]'),
        ('["default", "blest"', '["default", "blest"]'),
        ("[default", '["default"]'),
        ("{x", '["4 KiB", "128 KiB"]'),
        ("[[a], [b]]", '["4 KiB", "128 KiB"]'),
        ("[,]", '["4 KiB", "128 KiB"]'),
    ],
)
def test_a_list_of_words_without_quotes_is_shown_with_them(write: Write, value: str, wanted: str) -> None:
    error = _refusal(write(PATHS + WORKLOAD), f"transport.scheduler={value}")
    assert error.hint == f"write '{wanted}', in quotes for the shell"


def test_two_rates_are_for_two_directions() -> None:
    with pytest.raises(UnitError, match="is two values of a rate") as caught:
        Rate.parse("10/50 Mbit/s")
    # Which of the two is the download follows from the order of ends. It was said to be the first one, and was not.
    assert "in a preset backward.rate is the download and forward.rate the upload" in caught.value.hint
    with pytest.raises(UnitError, match="is not a unit"):
        Rate.parse("10/50 parsec")


@pytest.mark.parametrize("kind", [Size, QueueLength])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("200 MBytes", "200 MB"),
        ("200 Mbytes", "200 MB"),
        ("200megabytes", "200 MB"),
        ("1 Megabyte", "1 MB"),
        ("1.5 KBytes", "1.5 kB"),
        ("2 giga bytes", "2 GB"),
        ("64 kibibytes", "64 KiB"),
        ("3 MiBytes", "3 MiB"),
    ],
)
def test_units_of_size_in_words_keep_their_prefix(kind: type[Size | QueueLength], text: str, wanted: str) -> None:
    """The hint was to write bytes, a millionth of it."""
    with pytest.raises(UnitError) as caught:
        kind.parse(text)
    assert caught.value.hint == f'write "{wanted}"'
    assert kind.parse(wanted)


@pytest.mark.parametrize(
    ("part", "hint"),
    [("jitter 10 ms", 'jitter = "10 ms"'), ("queue", 'queue = "..."'), ("delay 45 ms", "only the value")],
)
def test_a_path_has_no_other_keys_of_links(part: str, hint: str) -> None:
    with pytest.raises(InputError, match="is not a part of a path") as caught:
        parse_path(f"20/8 Mbit/s, 45 ms, {part}")
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("50 Mbit/s 10 ms", "lacks a comma", "50 Mbit/s, 10 ms"),
        ("50/10 Mbit/s 10 ms 0.1 %", "lacks a comma", "50/10 Mbit/s, 10 ms, 0.1 %"),
        ("50 Mbit/s; 10 ms", "lacks a comma", "50 Mbit/s, 10 ms"),
        ("12,5 Mbit/s, 10 ms", "has a decimal comma", "12.5 Mbit/s, 10 ms"),
        ("50 Mbit/s, 10,5 ms, 0,1 %", "has a decimal comma", "50 Mbit/s, 10.5 ms, 0.1 %"),
        # Neither correction makes these right: the message is about the part.
        ("50,10 ms", "needs a unit", "50 Mbit/s"),
        ("50 Mbit/s 10 parsec", "is not a unit", "Mbit/s"),
    ],
)
def test_a_path_with_wrong_commas_says_how_to_write_it(text: str, message: str, hint: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        parse_path(text)
    assert hint in str(caught.value.hint)


def test_a_part_of_several_choices_names_all(write: Write) -> None:
    hint = str(_refusal(write(PATHS + WORKLOAD + TUNNEL.format("shadowsocks"))).hint)
    assert hint == 'did you mean "go-shadowsocks2", "shadowsocks-libev" or "shadowsocks-rust"?'
    assert _refusal(write(PATHS + WORKLOAD + TUNNEL.format("xrray"))).hint == 'did you mean "xray"?'


@pytest.mark.parametrize(("mark", "name"), [(";", "semicolons"), ("\t", "tabs")])
def test_columns_are_separated_by_commas(mark: str, name: str) -> None:
    text = "time_s,rate_mbit_s\n0,1\n1,2\n".replace(",", mark)
    with pytest.raises(TraceError, match=f"columns that {name} separate") as caught:
        parse(text.encode(), window_ns=10**9)
    assert "commas" in str(caught.value.hint)


def test_a_setting_that_makes_the_file_wrong_is_named(write: Write) -> None:
    """The line of the file is right, and was until the setting moved the event before it."""
    file = write(PATHS + WORKLOAD + EVENTS)
    error = _refusal(file, "links.link1.delay=5 ms", "events.1.at=0.5 s")
    assert error.message.startswith("--set: events.1.at = 0.5 s: leads to a mistake at "), error.message
    assert "which is not down" in error.message
    wrong = write(PATHS + WORKLOAD + EVENTS.replace('"down"', '"up"'))
    assert str(_refusal(wrong, "links.link1.delay=5 ms").place).startswith(str(wrong)), "the file's own mistake"


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        (('delay = "10 ms"', 'ping = "16 ms"'), 'write delay = "8 ms", one-way: half of the round-trip time'),
        (('delay = "10 ms"', "RTT = 16"), "write delay = ..., one-way: half of the round-trip time"),
        (('kind = "flow"', 'kind = "call"'), 'did you mean "voip"?'),
        (('kind = "flow"', 'kind = "bulk"'), 'did you mean "flow"?'),
    ],
)
def test_words_that_newcomers_try(write: Write, change: tuple[str, str], hint: str) -> None:
    text = PATHS + '[links.link1]\nrate = "10 Mbit/s"\ndelay = "10 ms"\n' + WORKLOAD
    assert change[0] in text
    assert _refusal(write(text.replace(*change, 1))).hint == hint


def test_a_pattern_of_a_misspelled_table(write: Write) -> None:
    refused = _refusal(write(PATHS + WORKLOAD + '[sweep]\n"workload.*.via" = ["link1", "link2"]\n'))
    assert refused.hint == "did you mean `workloads`?"


def test_names_of_a_zip_outside_of_one(write: Write) -> None:
    zipped = '[sweep]\nname = ["a", "b"]\n"transport.protocol" = ["tcp", "mptcp"]\n'
    refused = _refusal(write(PATHS + WORKLOAD + zipped))
    assert refused.hint == "write it and the keys that vary together in [[sweep.zip]]"


@pytest.mark.parametrize("name", ["my-lines", "my_lines.toml", "my-lines.tml"])
def test_a_file_with_a_name_like_another(tmp_path: Path, name: str) -> None:
    (tmp_path / "my-lines.toml").write_text(PATHS + WORKLOAD)
    assert _refusal(tmp_path / name).hint == f"did you mean {tmp_path / 'my-lines.toml'}?"
    assert _refusal(tmp_path / "no" / name).hint == "name a scenario file in TOML, like scenario.toml"


def test_an_example_that_comes_with_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages and posts name files of a checkout; who has installed a wheel has none. Others forget the @."""
    assert _refusal(tmp_path / "examples/two-paths.toml").hint == "did you mean @two-paths?"
    assert _refusal(tmp_path / "examples/gateways/home-and-vps").hint == "did you mean @gateways/home-and-vps?"
    for other in ("examples/nosuch.toml", "examples/../two-paths.toml", "two-paths.toml"):
        assert _refusal(tmp_path / other).hint == "name a scenario file in TOML, like scenario.toml"
    monkeypatch.chdir(tmp_path)
    assert _refusal(Path("two-paths")).hint == "did you mean @two-paths?"
    assert _refusal(Path("gateways/home-and-vps.toml")).hint == "did you mean @gateways/home-and-vps?"
    for other in ("nosuch", "../two-paths", "x" * 300):
        assert _refusal(Path(other)).hint == "name a scenario file in TOML, like scenario.toml"


def test_events_with_one_bracket(write: Write) -> None:
    refused = _refusal(write(PATHS + WORKLOAD + EVENTS.replace("[[events]]", "[events]")))
    assert refused.hint == "write [[events]] with two brackets for each of them"


def test_a_largest_response_below_their_mean(write: Write) -> None:
    """All responses would have had the size `largest`, which nobody asked for."""
    objects = '[workloads.a]\nkind = "web"\nfrom = "client"\nto = "server"\nduration = "1 s"\ninterval = "100 ms"\n'
    sizes = 'sizes = "pareto"\nresponse = "300 kB"\nlargest = "200 kB"\n'
    refused = _refusal(write(PATHS + objects + sizes))
    assert "is less than response, their mean" in str(refused)
    assert load(write(PATHS + objects + sizes.replace("200 kB", "300 kB"))).points


def test_the_end_of_a_key_is_not_taken_for_a_table(write: Write) -> None:
    """Tables of results call ``hosts.client.transport.modes.access2`` so; the hint was `access_points`."""
    file = write(PATHS + '[hosts.client.transport]\nmodes = { access2 = "on" }\n' + WORKLOAD)
    assert _refusal(file, "access2=backup").hint == "did you mean `hosts.client.transport.modes.access2`?"
    assert _refusal(file, "acess2=backup").hint != "", "a name of nothing still has a hint"


def test_a_time_of_a_queue_has_the_hints_of_times() -> None:
    with pytest.raises(UnitError) as caught:
        QueueLength.parse("200 msec")
    assert caught.value.hint == "write ms", "it was 'write sec', a thousand times as long"


@pytest.mark.parametrize("links", ["[links]\nlink1 = 3\n", "[links.link1]\nbetween = 3\n", "[[links]]\nrate = 1\n"])
def test_a_link_name_that_is_none_beside_links_that_are_wrong(write: Write, links: str) -> None:
    """Looking for a hint ended in a traceback."""
    text = f"title = 't'\n[hosts.client]\n[hosts.server]\n{links}{WORKLOAD}"
    error = _refusal(write(text), 'workloads.bulk.via="a b"')
    assert error.message


def test_a_number_of_a_list_member_is_written_in_ascii(write: Write) -> None:
    error = _refusal(write(PATHS + WORKLOAD + EVENTS), 'events."\u00b2".at=1 s')
    assert "\u00b2" in error.message
