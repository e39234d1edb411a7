# SPDX-License-Identifier: MIT
"""An imported script runs in the lab, and its links do what the script asked of tc."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.bench import Bench

from mptcplab.importers.files import ImportedScenario, import_files, import_texts
from mptcplab.metrics.rows import result_rows
from mptcplab.scenario.load import load

FOLDER = Path(__file__).parents[2] / "unit" / "imports"


def goodput_mbps(bench: Bench, folder: Path, imported: ImportedScenario) -> float:
    """Return the goodput of the only workload of an imported scenario."""
    file = folder / "imported.toml"
    file.write_text(imported.text)
    (row,) = result_rows(bench.recordings(load(file).runs))
    return row.goodput_mbps.mean


def test_the_script_of_a_report(bench: Bench, tmp_path: Path) -> None:
    """A download over 20 and 100 Mbit/s, whose first path is down from 4 to 6 of 12 seconds."""
    # The way back: veth1 has 20 Mbit/s, veth2 the assumed 100 Mbit/s; 95.6 % of a rate are payload at most.
    assert 50 < goodput_mbps(bench, tmp_path, import_files([FOLDER / "report.sh"])) < 115


def test_one_path_has_its_rate(bench: Bench, tmp_path: Path) -> None:
    """8 Mbit/s carry at most 7.65 Mbit/s of payload, and MPTCP's options take 1.7 % of it."""
    script = """
    ip link add veth0 netns a type veth peer name veth0 netns b
    tc -n a qdisc add dev veth0 root netem rate 8mbit delay 10ms limit 60
    tc -n b qdisc add dev veth0 root netem rate 8mbit delay 10ms limit 60
    ip -n a addr add 192.0.2.1/24 dev veth0
    ip -n b addr add 192.0.2.2/24 dev veth0
    ip netns exec a mptcpize run iperf3 -c 192.0.2.2 -t 8
    """
    imported = import_texts({"setup.sh": script})
    assert goodput_mbps(bench, tmp_path, imported) == pytest.approx(7.4, abs=0.2)
