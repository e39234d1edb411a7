# SPDX-License-Identifier: MIT
"""Plans, manifests and identities of scenarios that use none of the newer keys: new keys leave them alone.

The digests were computed when programs got accepted statuses, since connections that fail no longer end a run. Without
these, the plans were those from before routers could have a transport, and before there were gateways. A change
that is meant to alter the plans of existing scenarios makes all their runs again: it is announced, and computes them
anew. Manifests have all keys, with their defaults: keys that were added since are left out. None may change a plan, or
an identity, which has only the keys that are set.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mptcplab.campaign.contract import describe_scenario
from mptcplab.campaign.identity import resolve_scenario
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.phases import phases_of
from mptcplab.scenario.load import load
from mptcplab.scenario.network import Network

ROOT = Path(__file__).resolve().parents[3]
BEFORE = {
    "examples/behaviour/olia-scenario-c.toml": "d7d62af8a54d963a",
    "examples/cross-traffic.toml": "893965ddeb78d657",
    "examples/failure.toml": "baae5a312a87a33d",
    "examples/free-topology.toml": "0239184e450315f9",
    "examples/handover.toml": "601f0a1b892bc24c",
    "examples/ipv6.toml": "382dfc08b8b72ce4",
    "examples/middlebox.toml": "18b9f3e3d9e986f1",
    "examples/shared-bottleneck.toml": "3fbf31bd2f7602d3",
    "examples/train.toml": "283a600ff177f3df",
}

#: The keys and names that descriptions of these scenarios had then.
_WORDS = """
access-client2 access-client2>r2-server2 access1 access1>link1 access1>r2-server access2 access2>link2
access2>r2-server add_addr_accepted address addresses ap aqm at backbone backward between bottleneck bulk burst
burst_loss bursts captures cell chances checksum client client2 congestion_control connections core corrupt damage
delay delay_limit direction discipline distribution drop duplicate duration ecn end endpoints ends events extra_delay
family far file flags forward from has_control_connections high hosts interval is_bulk jitter kind limits link link1
link1>access1 link2 link2>access2 links loss low lte lte>backbone mangle max middlebox min mobile mode modes mp-ap
mp-ap>mp-out mp-client mp-out mp-server mptcp mtu multipath name nat net.ipv4.tcp_ecn node nodes off on others out
overhead overtake own own>mp-out packet path_manager paths payload_bps phases phone port ports probability protocol
queue queues r1 r2 r2-server r2-server2 rate read_quantum receiver receiving record reorder reverse routers scheduler
sender sending server server2 sha256 shape shaped_at shared singlepath size start strip subflows subflows_per_pair
sysctl target tcp tcp-ap tcp-ap>tcp-out tcp-client tcp-out tcp-server tcp_rmem tcp_wmem timeout times to trace
transport type update uplink upload via weights wifi wifi>backbone window workloads
"""
KNOWN = frozenset(_WORDS.split())


def _drop_new_keys(described: Any) -> Any:
    """Return a description without the keys that were added since."""
    if isinstance(described, dict):
        return {key: _drop_new_keys(value) for key, value in described.items() if key in KNOWN}
    return [_drop_new_keys(entry) for entry in described] if isinstance(described, list) else described


def _texts(file: Path) -> Iterator[str]:
    """Yield plan, description in the manifest, recorded scenario, and scenario in the identity of every point."""
    for run in load(file, repeats=1).runs:
        scenario = run.point.scenario
        network = Network(scenario, phases_of(scenario, run.seed).delays_ns)
        yield compile_plan(scenario, seed=run.seed).to_json()
        yield json.dumps(_drop_new_keys(describe_scenario(network, scenario.server_ports)), sort_keys=True)
        yield json.dumps(_drop_new_keys(resolve_scenario(run)))
        yield json.dumps(resolve_scenario(run, exclude_defaults=True))


@pytest.mark.parametrize("file", BEFORE)
def test_new_keys_change_no_existing_run(file: str) -> None:
    digest = hashlib.sha256()
    for text in _texts(ROOT / file):
        digest.update(text.encode())
    assert digest.hexdigest()[:16] == BEFORE[file]
