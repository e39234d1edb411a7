# SPDX-License-Identifier: MIT
"""Same seed, same bytes, for every kind of workload; another seed, other bytes."""

from __future__ import annotations

import pytest
from tests.lab.bench import Bench, tree_hash

TEXT = """
[topology]
preset = "disjoint-paths"

[links.link1]
rate = "10 Mbit/s"
delay = "10 ms"
loss = "0.5 %"

[links.link2]
rate = "10 Mbit/s"
delay = "20 ms"

[workloads.it]
from = "client"
to = "server"
{workload}
"""
KINDS = {
    "http": 'kind = "http"\nsize = "1 MB"\nfiles = 4\nconnections = 2',
    "ftp": 'kind = "ftp"\nsize = "1 MB"\nfiles = 4\nconnections = 2',
    "stream": 'kind = "stream"\nduration = "2 s"',
    "voip": 'kind = "voip"\nduration = "2 s"\nprotocol = "udp"',
    "udp": 'kind = "udp"\nduration = "2 s"\nrate = "8 Mbit/s"\non = "50 ms"\noff = "50 ms"',
    "requests": 'kind = "requests"\nduration = "2 s"\nthink = "50 ms"\ntimes = "exponential"\nconnections = 2',
    "web": 'kind = "web"\nduration = "2 s"\ninterval = "50 ms"\nsizes = "pareto"',
}


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_bytes(bench: Bench, kind: str) -> None:
    text = TEXT.format(workload=KINDS[kind])
    runs = [bench.record(text, seed=seed, out=out)[0] for seed, out in ((1, None), (1, "again"), (2, None))]
    trees = [tree_hash(run.folder) for run in runs]
    assert trees[0] == trees[1], "equal identity, equal bytes"
    assert trees[0] != trees[2]
