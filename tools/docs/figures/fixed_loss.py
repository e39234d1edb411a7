# SPDX-License-Identifier: MIT
"""Tables of docs/behaviour.md on OLIA with small windows: the shares of two paths of fixed loss, and a Monte Carlo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
from tools.docs.figures.dynamics import path_rates, window_samples
from tools.docs.figures.small_windows import NONE, Algorithm, Means, Silence, simulate
from tools.docs.making.pages import table_of as markdown

from mptcplab.report.table import interval_text
from mptcplab.results import RecordedRun, open_results
from mptcplab.stats import mean_interval

_LINK1, _LINK2 = "access1>link1", "access2>link2"
#: Without slow start, which the Monte Carlo leaves out, and without the end, when the last data drains.
_SPAN_S = (10, 60)
_RTT_MS = 40
#: TCP's timeout is the round-trip time and the minimum of its variation; with a minimum of 5 ms it is short.
_USUAL, _SHORT = (Silence((_RTT_MS + minimum_ms) / _RTT_MS) for minimum_ms in (200, 5))
_BELOW_FOUR = Silence(_USUAL.rounds, below=4)
_LOSS1 = 0.01
_AXIS = "loss of link2 (of link1: 1 %)"
_LOSS_KEY = "links.link2.forward.loss"
_USUAL_OLIA = "OLIA"

#: Columns by congestion control, and whether the run has a short timeout.
_SENDERS = {
    ("reno", False): "uncoupled Reno",
    ("olia", False): _USUAL_OLIA,
    ("olia", True): "OLIA, timeout of 45 ms",
}
MODELS: dict[str, tuple[Algorithm, int, Silence]] = {
    "uncoupled Reno": ("uncoupled", 2, _USUAL),
    _USUAL_OLIA: ("olia", 1, _USUAL),
    "OLIA, timeout of 45 ms": ("olia", 1, _SHORT),
}
_VARIANTS: dict[str, tuple[Algorithm, int, Silence]] = {
    "OLIA, floor 2": ("olia", 2, NONE),
    "OLIA, floor 2, silence below four": ("olia", 2, _BELOW_FOUR),
    "OLIA, floor 1": ("olia", 1, NONE),
    "OLIA, floor 1, silence after a whole window": ("olia", 1, _USUAL),
    "OLIA, floor 1, silence below four": ("olia", 1, _BELOW_FOUR),
    "Reno, silence after a whole window": ("uncoupled", 2, _USUAL),
    "Reno, silence below four": ("uncoupled", 2, _BELOW_FOUR),
}


def compare_links(folder: Path) -> str:
    """Return how many times as much link1 carries as link2, and how often link2's window is one segment.

    Each cell has the mean with its interval, from the results in ``folder``, and the Monte Carlo's value.
    """
    points: dict[str, dict[str, list[RecordedRun]]] = {}
    for run in open_results(folder).recorded:
        points.setdefault(run.settings[_LOSS_KEY], {}).setdefault(sender(run.settings), []).append(run)
    return markdown(
        [_AXIS, *_SENDERS.values(), f"{_USUAL_OLIA}: link2 at one segment, %", "n"],
        [_row(loss, senders) for loss, senders in points.items()],
    )


def sender(settings: Mapping[str, str]) -> str:
    """Return the column of a point of the scenario."""
    return _SENDERS[settings["transport.congestion_control"], "rto_min" in settings["transport.sysctl"]]


def _row(loss: str, senders: dict[str, list[RecordedRun]]) -> list[str]:
    models = {name: _means(loss, *MODELS[name]) for name in senders}
    ratios = [_cell(runs, _ratio, _ratio_of(models[name])) for name, runs in senders.items()]
    at_one = _cell(senders[_USUAL_OLIA], _percent_at_one, 100 * float(models[_USUAL_OLIA].at_one[1]))
    return [loss, *ratios, at_one, str(len(senders[_USUAL_OLIA]))]


def _cell(runs: list[RecordedRun], measure: Callable[[RecordedRun], float], expected: float) -> str:
    return f"{interval_text(mean_interval([measure(run) for run in runs]), 2)} ({expected:.2f})"


def _ratio(run: RecordedRun) -> float:
    rates = path_rates(run.recording, "bulk")
    return rates.mean(_LINK1, *_SPAN_S) / rates.mean(_LINK2, *_SPAN_S)


def _percent_at_one(run: RecordedRun) -> float:
    return 100 * float(np.mean(window_samples(run.recording, "bulk", _LINK2, *_SPAN_S) == 1))


def parts() -> str:
    """Return the Monte Carlo's ratio of link1 to link2 by floor and silence."""
    rows = [
        [f"{loss} %", *(f"{_ratio_of(_means(f'{loss} %', *variant)):.2f}" for variant in _VARIANTS.values())]
        for loss in (1, 2, 4, 8)
    ]
    return markdown([_AXIS, *_VARIANTS], rows)


@cache
def _means(loss: str, algorithm: Algorithm, floor: int, silence: Silence) -> Means:
    probabilities = np.array([_LOSS1, float(loss.removesuffix(" %")) / 100])
    return simulate(algorithm, probabilities, floor=floor, silence=silence)


def _ratio_of(means: Means) -> float:
    return float(means.rates[0] / means.rates[1])
