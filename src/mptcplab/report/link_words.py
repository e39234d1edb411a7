# SPDX-License-Identifier: MIT
"""What links do beside rate, delay and random loss, in a few words for the picture of a network.

They read resolved scenarios as recordings hold them, where recordings of earlier versions lack the newer keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mptcplab.units import Rate, Size

Table = Mapping[str, Any]
_NONE = (None, "0 ppb", "0 ns")
_USUAL_MTU = str(Size(1500))


def impairment_words(direction: Table) -> str:
    """One direction's bursts, reordering, copies and damage, and what its queue is kept by; empty for a plain one."""
    return " · ".join(_impairments(direction))


def _impairments(direction: Table) -> Iterator[str]:
    spread = direction.get("distribution", "uniform")
    if spread != "uniform":
        yield f"jitter {spread}"
    extra = direction.get("extra_delay") or ()
    if extra:
        yield f"+ {'0' if extra[0] in _NONE else extra[0]} … {extra[-1]}"
    if direction.get("delay_limit"):
        yield f"at most {direction['delay_limit']} delayed"
    if direction.get("overtake"):
        yield "overtaking"
    chain = direction.get("burst_loss")
    if chain:
        yield _bursts(chain)
    for key, word in (("reorder", "reordered"), ("duplicate", "doubled"), ("corrupt", "corrupted")):
        if direction.get(key) not in _NONE:
            yield f"{word} {direction[key]}"
    if has_discipline(direction):
        aqm = direction.get("aqm", {})
        target = f" {aqm['target']}" if aqm.get("target") else ""
        yield f"{direction['discipline']}{target}{' ECN' if aqm.get('ecn') else ''}"


def has_discipline(direction: Table) -> bool:
    """Whether something else than its length keeps the queue of this direction."""
    return bool(direction.get("rate")) and direction.get("discipline", "tail-drop") != "tail-drop"


def rate_words(direction: Table) -> str | None:
    """A rate as it was written; the mean of a trace, which is no round number, with three digits."""
    rate = direction["rate"]
    if rate is None or not direction.get("trace"):
        return None if rate is None else str(rate)
    return f"{Rate.parse(str(rate)) / 10**6:.3g} Mbit/s"


def _bursts(chain: Table) -> str:
    if chain.get("mean") is not None:
        return f"loss {chain['mean']} in bursts of {chain['length']}"
    return f"burst loss p {chain['p']}, r {chain['r']}"


def mtu_words(links: Iterable[Table]) -> tuple[str, ...]:
    """The MTUs that a link has at the points of an experiment, if one is unusual."""
    mtus = dict.fromkeys(str(link.get("mtu", _USUAL_MTU)) for link in links)
    return () if list(mtus) == [_USUAL_MTU] else (f"MTU {', '.join(mtus)}",)
