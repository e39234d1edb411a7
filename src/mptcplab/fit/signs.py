# SPDX-License-Identifier: MIT
"""Signs of what the twin does not have: queues for each flow, active queue management, shapers, and proxies.

The twin's lines are rates with tail drop. Where a collection shows that something else is on the way, the fitted
queue and loss are not the line's, and the fit has to say so. A sign is a sentence without a full stop.

- Where each **flow has a queue of its own** (fq_codel, CAKE), packets of different connections overtake each other.
  In a single queue they cannot.
- **Active queue management** drops in bursts, and before the queue is full. Random loss does not come in bursts.
- The machine's own shapers and the programs behind its sockets are in the collection.

Without a sign, none of these is excluded: a proxy that passes for the other end cannot be seen in packets at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from mptcplab.explain.readers.facts import HostFacts
from mptcplab.fit.packets import PathTrace
from mptcplab.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Segments of different connections that were sent one after the other, at most this far apart, and the time in s by
#: which the later one has to arrive earlier, to be an overtaking.
_NEXT, _EARLIER_S = 5, 0.003
#: As many pairs have to be known, and this share of them has to have overtaken. A single queue has 1 in 1000 at most,
#: by acknowledgements that were held back; fq_codel has 20 to 40 %.
_MIN_PAIRS, _OVERTAKING = 100, 0.05
#: Losses that are tested for bursts, packets in a block at least, and the probability that chance has such bursts.
_MIN_LOSSES, _BLOCK, _CHANCE = 10, 50, 1e-6
#: Disciplines of the machine itself that limit a rate or drop early. Many systems have fq_codel on every device, where
#: it does nothing until it drops.
_SHAPERS = frozenset({"cake", "cake_mq", "tbf", "htb", "hfsc", "netem", "pie", "fq_pie", "codel", "red"})
_DEFAULT = "fq_codel"
#: Programs that end TCP connections and begin others, by the names of their processes.
_PROXIES = (
    "dsvpn", "envoy", "glorytun", "haproxy", "hysteria", "mlvpn", "nginx", "openvpn", "privoxy", "redsocks",
    "sing-box", "sockd", "squid", "ss-local", "ss-redir", "ss-server", "sshuttle", "sslocal", "ssserver", "tinyproxy",
    "v2ray", "xray",
)  # fmt: skip
_OPEN = "ESTAB"


def signs_in_packets(trace: PathTrace, name: str, places: Iterable[float], loss_places: Iterable[float]) -> list[str]:
    """Return the signs in the packets of a path, the line ``name``.

    ``places`` are the orders of the packets that met a queue far from full, ``loss_places`` of the losses among them.
    """
    signs = []
    if trace.at_sender and (share := _share_overtaking(trace)) >= _OVERTAKING:
        signs.append(
            f"{100 * share:.0f} % of the neighbouring packets of different connections on {name} overtook each other: "
            "each connection has a queue of its own there (fq_codel, CAKE), and the queue and loss are not the line's"
        )
    elif _come_in_bursts(np.array(sorted(places)), np.array(sorted(loss_places))):
        signs.append(
            f"losses on {name} come in bursts while the queue is far from full: active queue management (CoDel, PIE, "
            "RED), or a radio link that fades; the twin has independent loss and tail drop instead"
        )
    return signs


def _share_overtaking(trace: PathTrace) -> float:
    timed = sorted(
        (delivery for delivery in trace.deliveries if delivery.is_timed and not delivery.is_repeated),
        key=lambda delivery: delivery.order,
    )
    pairs = [(a, b) for a, b in pairwise(timed) if a.flow != b.flow and b.order - a.order < _NEXT]
    overtaking = sum(later.delivered_s < earlier.delivered_s - _EARLIER_S for earlier, later in pairs)
    return overtaking / len(pairs) if len(pairs) >= _MIN_PAIRS else 0.0


def _come_in_bursts(places: NDArray[np.float64], loss_places: NDArray[np.float64]) -> bool:
    """Return whether losses are spread over the packets less evenly than chance allows (index of dispersion)."""
    from scipy import stats

    if loss_places.size < _MIN_LOSSES:
        return False
    total = places.size + loss_places.size
    blocks = max(5, min(loss_places.size, total // _BLOCK))
    among = np.searchsorted(places, loss_places) + np.arange(loss_places.size)
    counts = np.histogram(among, bins=blocks, range=(0, total))[0]
    dispersion = counts.var(ddof=1) / counts.mean()
    return bool(stats.chi2.sf(dispersion * (blocks - 1), blocks - 1) < _CHANCE)


def signs_at_hosts(hosts: Sequence[HostFacts]) -> Iterator[str]:
    """Yield the signs in what the machines say about themselves: their shapers, and programs that are proxies."""
    for host in hosts:
        for device, kind in sorted(host.disciplines.items()):
            drops = host.dropped.get(device, 0)
            if kind in _SHAPERS or (kind == _DEFAULT and drops):
                dropped = f", which dropped {drops} packets" if drops else ""
                yield f"{host.name} has {kind} on {device}{dropped}: the twin has a rate with tail drop there"
        programs = {
            program
            for row in host.sockets
            if row.state == _OPEN
            for program in _PROXIES
            if f'"{program}"' in row.fields.get("users", "")
        }
        for program in sorted(programs):
            yield (
                f"{program} of {host.name} has open connections: where it ends some and begins others, the lines are "
                "those up to it. The twin has no proxy; see docs/gateways.md to add one"
            )
