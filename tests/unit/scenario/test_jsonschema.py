# SPDX-License-Identifier: MIT
"""The schema for editors is never stricter than ``load``, and as strict as a schema can be."""

from __future__ import annotations

import copy
import fnmatch
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from tests.unit.scenario.bad_cases import CASES, head, unpack_cases
from tests.unit.scenario.test_fuzz import VALID, document, mutants

from mptcplab.errors import InputError
from mptcplab.prebuilt import STUDY_DESCRIPTIONS
from mptcplab.scenario.jsonschema import scenario_schema
from mptcplab.scenario.keys import Written, fields_of
from mptcplab.scenario.load import load
from mptcplab.units import Duration, Packets, Probability, Quantity, QueueLength, Rate, Size, UnitError

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = scenario_schema()
VALIDATOR = Draft7Validator(SCHEMA)
SCENARIOS = sorted([*(ROOT / "examples").glob("*.toml"), *(ROOT / "src/mptcplab/studies").glob("*/*.toml")])
#: Mistakes that no schema can detect, by the knowledge that this would need.
BEYOND = {
    "files of eBPF programs": "bpf-missing-file bpf-only-headers bpf-other-kind",
    "copies, whose contents are checked where they are made": (
        "copies-no-number copies-nothing copies-same-name copies-wrong-value"
    ),
    "arithmetic of quantities": (
        "aqm-red-never aqm-target-zero burst-loss-for-ever burst-loss-no-burst extra-delay-constant "
        "extra-delay-descending extra-delay-of-minutes extra-delay-of-one mtu-tiny reorder-everything reorder-too-rare "
        "offload-too-large burst-small delay-limit-zero delay-of-a-day start-spread-too-long "
        "iperf3-fraction-of-seconds loss-150-percent loss-of-everything memory-odd memory-too-little "
        "queue-half-packets queue-of-hours queue-shorter-than-frame queue-zero rate-too-fast rate-too-slow "
        "record-capture-snaplen record-too-often record-zero repeats-until-nothing value-huge cpu-below-picosecond "
        "cpu-takes-nothing cpu-too-slow value-too-fine workload-timeout-zero workload-zero-bytes workload-zero-seconds "
        "loopback-packet-time-short"
    ),
    "workloads of one kind": (
        "http-file-too-large http-more-connections-than-files requests-shape-of-fixed requests-that-never-pass "
        "requests-two-goals stream-packet-for-udp stream-scheduler-over-udp udp-congestion-control udp-on-without-off "
        "udp-packet-of-two-frames udp-times-without-on udp-too-fast voip-interval voip-interval-of-us "
        "web-pareto-without-mean web-too-many-flows"
    ),
    "one key against another": (
        "cpu-of-another-kernel aqm-of-another-discipline aqm-red-not-in-order aqm-without-discipline "
        "burst-less-than-jumbo burst-loss-incomplete burst-loss-too-much burst-loss-twice burst-loss-without-length "
        "cake-with-queue discipline-without-rate distribution-without-jitter jitter-beside-extra-delay loss-twice "
        "middlebox-all-and-more middlebox-option-twice middlebox-out-alone middlebox-strip-and-drop nat-twice "
        "overtake-without-jitter reorder-beside-jitter reorder-without-delay mtu-small-for-ipv6 burst-without-rate "
        "jitter-above-delay queue-without-rate link-to-itself host-and-router link-too-many-of-a-node "
        "topology-paths-of-chain topology-routers-of-paths transport-buffer-descending transport-endpoint-twice "
        "transport-fullmesh-signal transport-no-flags transport-port-without-signal transport-sysctl-of-own-key "
        "workload-longer-than-timeout workload-that-never-passes workload-to-itself zip-different-lengths "
        "sweep-names-too-few sweep-same-meaning sweep-preset-hidden sweep-too-many-points record-capture-twice "
        "record-capture-loopback-twice record-capture-filter-option repeats-min-above-max weights-also-by-sysctl "
        "weights-of-another-scheduler weights-without-scheduler router-sysctl-twice router-sysctl-inherited "
        "router-sysctl-of-own-key offload-with-codel offload-with-loss offload-with-short-queue"
    ),
    "events in their order": (
        "event-address-there event-address-twice event-between-routers event-changes-nothing event-change-of-nothing "
        "event-delay-below-jitter event-direction-of-interface event-down-twice event-mode-of-up "
        "event-jitter-above-delay event-loss-of-everything event-node-elsewhere event-node-of-silent "
        "event-rate-of-down event-rate-too-slow event-rate-without-rate event-too-late event-too-late-for-a-spread "
        "offload-with-loss-later event-unknown-link event-without-link event-up-of-one-direction event-up-without-down "
        "trace-and-change"
    ),
    "events of path managers": (
        "endpoint-port-of-subflow event-endpoint-backup-and-not event-endpoint-both event-endpoint-changes-nothing "
        "event-endpoint-cleared-flag event-endpoint-exists event-endpoint-fullmesh-of-signal "
        "event-endpoint-lasting-flag event-endpoint-missing event-endpoint-no-flags event-endpoint-of-router "
        "event-endpoint-of-tcp event-endpoint-of-userspace event-endpoint-port-of-subflow event-endpoint-removed-twice "
        "event-endpoint-unknown-port event-endpoint-went-with-address event-endpoint-without-address "
        "event-flags-of-down event-limits-as-they-are event-limits-of-link event-limits-of-nothing "
        "event-limits-of-unknown-node event-limits-without-node"
    ),
    "path managers": (
        "endpoints-of-userspace modes-all-off modes-beside-endpoints modes-of-another-host modes-of-no-link "
        "modes-of-nobody modes-of-the-kernel modes-two-masters subflows-per-pair-of-the-kernel "
        "router-modes-of-another-node router-modes-of-the-kernel"
    ),
    "traces": (
        "trace-beside-rate trace-not-there trace-of-another-digest trace-of-text trace-window-odd trace-without-file"
    ),
    "other files": (
        "extends-base-is-wrong extends-circle extends-directory extends-itself extends-missing-file sweep-hidden-key "
        "without-member without-misspelled without-not-a-key without-unknown without-what-is-needed "
    ),
    "arithmetic of addresses": (
        "address-loopback address-none address-of-broadcast address-of-network address-of-other-family-6 "
        "address-of-other-family address-overlap-automatic address-overlap address-same-at-both-ends "
        "address-single address-two-networks address-used-twice address-without-prefix"
    ),
    "gateways": (
        "gateway-carries-nothing gateway-client-speaks-mptcp gateway-device-is-link gateway-device-twice "
        "gateway-firewall-of-local gateway-pass-through-of-local gateway-tunnel-of-ftp gateway-tunnel-twice "
        "gateway-local-port-is-port gateway-local-port-twice gateway-local-without-through gateway-node-unknown "
        "gateway-outage-at-zero gateway-outages-overlap gateway-port-of-workload gateway-port-twice "
        "gateway-router-without-transport gateway-same-node gateway-through-elsewhere gateway-through-redirect "
        "gateway-through-unknown gateway-through-without-socks gateway-two-redirects gateway-unreachable "
        "gateway-via-elsewhere gateway-via-list-elsewhere gateway-via-list-empty gateway-via-list-of-one-server "
        "gateway-via-list-twice gateway-via-unknown gateway-without-program"
    ),
    "radios": (
        "radio-access-point-without-station radio-capture-at-access-point radio-channel radio-channel-5-ghz "
        "radio-channel-of-802-11n radio-guard-interval radio-event-at-access-point radio-event-change "
        "radio-event-carrier radio-event-mode-of-node radio-event-move-of-a-link radio-event-move-of-a-walker "
        "radio-event-move-without-node radio-event-move-without-position radio-event-node-without-radio "
        "radio-event-off-twice radio-event-on-without-off radio-event-one-direction radio-event-position-of-down "
        "radio-event-too-late radio-event-unknown-node event-without-link radio-free-space-exponent radio-kernel "
        "radio-loss-of-direction radio-mtu radio-no-access-point radio-roam-alone radio-roam-other-network "
        "radio-roam-through-unknown radio-roam-through-server radio-roam-through-twice radio-roam-no-position "
        "radio-passphrase-missing radio-passphrase-open radio-roam-other-security radio-no-position radio-position-far "
        "radio-position-without-radio radio-rate radio-two-access-points radio-walk-and-waypoints radio-walk-point "
        "radio-walk-speed radio-waypoints-order radio-waypoints-without-position radio-wifi-table-without-radio"
    ),
    "steering": (
        "steering-at-router steering-kernel-path-manager steering-no-threshold steering-one-access-point "
        "steering-period steering-threshold-of-fair"
    ),
    "the network as a whole": (
        "cpu-of-router loopback-offload-idle loopback-packet-time-idle middlebox-out-far-link nat-far-link "
        "nat-unknown-link host-alone host-without-link link-shape-between-routers link-to-unknown-node "
        "preset-has-no-such-host preset-has-no-such-link preset-link-misspelled router-without-link sweep-unknown-link "
        "sweep-wildcard-matches-nothing transport-endpoint-foreign-link transport-endpoint-unknown-link "
        "workload-from-unknown-host workload-to-router workload-unreachable workload-via-far-link "
        "workload-via-unknown-link record-capture-foreign-link record-capture-unknown-link record-capture-unknown-node "
        "record-capture-loopback-router weights-between-routers weights-far-link weights-of-unknown-link "
        "router-endpoint-foreign-link router-weights-without-connections"
    ),
}


def _tables(file: Path) -> dict[str, Any] | None:
    """Return a file as an editor reads it; None if it is not TOML."""
    try:
        return tomllib.loads(file.read_text())
    except (ValueError, RecursionError):
        return None


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scenarios that have a mistake."""
    folder = tmp_path_factory.mktemp("bad")
    unpack_cases(folder)
    return folder


def _bad_files(folder: Path) -> Iterator[Path]:
    """Yield TOML files whose mistake is in the file itself."""
    for name in CASES:
        file = folder / f"{name}.toml"
        if "set" not in head(name) and _tables(file) is not None:
            yield file


def _errors(file: Path) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in VALIDATOR.iter_errors(_tables(file))]


def test_is_a_schema() -> None:
    Draft7Validator.check_schema(SCHEMA)
    assert len(json.dumps(SCHEMA)) < 190_000, "an editor reads it at every start"


@pytest.mark.slow
@pytest.mark.parametrize(
    "file", [file for file in SCENARIOS if file.name not in STUDY_DESCRIPTIONS], ids=lambda file: file.stem
)
def test_accepts_all_scenarios(file: Path) -> None:
    assert _errors(file) == []


def test_accepts_the_fuzzers_base() -> None:
    assert list(VALIDATOR.iter_errors(tomllib.loads(VALID))) == []


@pytest.mark.slow
def test_refuses_mistakes_that_a_schema_can_detect(bad: Path) -> None:
    missed = [file.stem for file in _bad_files(bad) if not _errors(file)]
    caught = [file.stem for file in _bad_files(bad) if _errors(file)]
    print(f"{len(caught)} of {len(caught) + len(missed)} mistakes are seen")
    explained = {name for names in BEYOND.values() for name in names.split()}
    assert set(missed) == explained, (
        "add mistakes that no schema can detect to BEYOND, and remove mistakes that it detects"
    )
    assert len(caught) > 150
    for word in ("key-", "unit-", "name-", "table-", "title-", "seed-", "kernel-", "family-", "toml-"):
        assert not [name for name in missed if name.startswith(word)], f"a schema sees all of {word}"
    # Names and values of swept keys are checked as well.
    assert {
        "repeats-zero",
        "sweep-bad-value",
        "sweep-unknown-key",
        "sweep-empty-list",
        "sweep-of-seed",
        "zip-empty",
    } <= set(caught)


@pytest.mark.slow
@settings(max_examples=200)
@given(tables=mutants())
def test_is_never_stricter_than_load(tmp_path_factory: Any, tables: dict[str, Any]) -> None:
    file = Path(tmp_path_factory.getbasetemp()) / "editor.toml"
    file.write_text(document(tables))
    try:
        load(file)
    except InputError:
        return
    # load() ignores values that a sweep replaces; an editor may report them.
    file.write_text(document(_without_swept(tables)))
    assert _errors(file) == []


def _without_swept(tables: dict[str, Any]) -> dict[str, Any]:
    kept = copy.deepcopy(tables)
    axes = kept.get("sweep", {})
    for key in [*axes, *(key for together in axes.get("zip", []) for key in together)]:
        _remove(kept, key.split("."))
    return kept


def _remove(table: Any, pattern: list[str]) -> None:
    names = [name for name in table if fnmatch.fnmatchcase(name, pattern[0])] if isinstance(table, dict) else []
    for name in names:
        if len(pattern) == 1:
            del table[name]
        else:
            _remove(table[name], pattern[1:])


@pytest.mark.slow
@settings(max_examples=300)
@given(data=st.data(), kind=st.sampled_from([Rate, Duration, Size, Probability, Packets, QueueLength]))
def test_patterns_of_quantities(data: st.DataObject, kind: type[Quantity] | type[QueueLength]) -> None:
    """Text that the unit parser accepts matches the schema; unknown units do not."""
    units = [unit for known in (Rate, Duration, Size, Probability, Packets) for unit in known.units]
    number = data.draw(st.from_regex(r"\A(\+?[0-9]{1,3}|-0)(_[0-9]{1,2})?(\.[0-9]{1,2})?(e[0-3])?\Z"))
    blanks = st.sampled_from(["", " ", "\t"])
    text = f"{data.draw(blanks)}{number}{data.draw(blanks)}{data.draw(st.sampled_from([*units, 'MB/s', '']))}"
    shape = kind.__get_pydantic_json_schema__({"type": "any"}, None)  # type: ignore[arg-type]
    fits = Draft7Validator(shape).is_valid(text)
    reason = ""
    try:
        kind.parse(text)
    except UnitError as error:
        reason = str(error)
    assert fits or reason, text
    assert not fits or "unit" not in reason, text


def test_ranges_of_the_whole_file(tmp_path: Path) -> None:
    """``load`` itself checks ``seed`` and ``repeats``: the schema has the same limits."""
    for key in ("seed", "repeats"):
        shape = SCHEMA["properties"][key]
        shape = next((variant for variant in shape.get("anyOf", ()) if "minimum" in variant), shape)
        for value in (shape["minimum"] - 1, shape["minimum"], shape["maximum"], shape["maximum"] + 1):
            file = tmp_path / "range.toml"
            file.write_text(re.sub(rf"^{key} = .*$", f"{key} = {value}", VALID, flags=re.MULTILINE))
            accepted = True
            try:
                load(file)
            except InputError:
                accepted = False
            assert accepted == (not _errors(file)), f"{key} = {value}"


def _fields(node: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for below in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _fields(below)
    if isinstance(node, dict) and isinstance(node.get("properties"), dict) and "allOf" not in node:
        yield from node["properties"].items()


def test_every_key_is_described() -> None:
    tables = {"forward", "backward", "limits", "transport", "hosts", "routers", "links", "workloads", "gateways"}
    tables |= {"record", "kind", "program", "access_points"}
    described = [SCHEMA["properties"], *(made.get("properties", {}) for made in SCHEMA["definitions"].values())]
    lacking = {key for keys in described for key, shape in keys.items() if "description" not in shape} - tables
    assert lacking == set()
    assert set(SCHEMA["properties"]) == set(fields_of(Written))


def test_no_words_of_pydantic() -> None:
    text = json.dumps(SCHEMA)
    for word in ("null", "$defs", "prefixItems", "discriminator", '"0 ns"'):
        assert word not in text, word
    assert SCHEMA["definitions"]["DirectionSettings"]["properties"]["delay"]["default"] == "0 ms"
    assert SCHEMA["definitions"]["DirectionSettings"]["properties"]["queue"]["default"] == "100 ms"


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("taplo", path=str(Path(sys.executable).parent)) is None, reason="taplo: a checker of TOML"
)
def test_taplo_agrees(tmp_path: Path, bad: Path) -> None:
    """The checker of the VS Code extension loads the schema, accepts the examples and reports a wrong unit."""
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    taplo = str(Path(sys.executable).parent / "taplo")
    good = [file for file in SCENARIOS if file.name not in STUDY_DESCRIPTIONS]
    wrong = [bad / f"{name}.toml" for name in ("unit-megabytes", "key-near-name", "sweep-bad-value", "seed-text")]
    for files, status in ((good, 0), *(([file], 1) for file in wrong)):
        copies = []
        for file in files:
            copies.append(tmp_path / file.name)
            copies[-1].write_text(f"#:schema ./schema.json\n{file.read_text()}")
        done = subprocess.run(
            [taplo, "check", *map(str, copies)], capture_output=True, text=True, cwd=tmp_path, check=False, timeout=60
        )
        assert done.returncode == status, f"{files}: {done.stderr}"
