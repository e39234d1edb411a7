# SPDX-License-Identifier: MIT
"""Find which parameters of test beds (:mod:`mptcplab.study.beds`) move a value.

The parameters named are those whose PAWN index (Pianosi and Wagener 2015, from SALib) is larger than the largest index
of as many parameters without any effect, in 95 of 100 cases.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from mptcplab.cache import cache_root
from mptcplab.files import write_text
from mptcplab.metrics.stored import WRONG
from mptcplab.study.beds import BedSpace, SampledBed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: With fewer test beds, no parameter is named.
MIN_BEDS_FOR_CAUSES = 32
#: Columns without any effect, from which the threshold of the index is taken, and the level for all axes together.
_NULL_COLUMNS = 600
_LEVEL = 0.05
_SLICES = 5
_SEED = 1
_MAX_CAUSES = 3
#: Digits of the hash of what an index is computed from.
_DIGEST = 32

#: Finds the axes that move a value, the strongest first. It takes up to a second, and few values are shown: so it is
#: called when somebody reads them.
Causes = Callable[[], tuple[str, ...]]


class BedSensitivity:
    """The values of test beds, with their coordinates on the axes of the value's table."""

    def __init__(self, beds: Sequence[SampledBed], space: BedSpace) -> None:
        self._space = space
        self._rows = [bed.coordinates for bed in beds]

    def finder_for(self, table: str, values: Sequence[float | None]) -> Causes:
        """Return what finds the axes of ``table`` that move ``values``, one for each test bed."""
        known = tuple(float(value) for value in values if value is not None)
        if len(known) < MIN_BEDS_FOR_CAUSES or max(known) == min(known):
            return tuple
        axes = [(at, axis.name) for at, axis in enumerate(self._space.axes) if table in axis.tables]
        rows = [row for row, value in zip(self._rows, values, strict=True) if value is not None]
        columns = tuple(tuple(float(row[at]) for row in rows) for at, _ in axes)
        return partial(_find_causes, tuple(name for _, name in axes), columns, known)


@cache
def _find_causes(
    names: tuple[str, ...], columns: tuple[tuple[float, ...], ...], values: tuple[float, ...]
) -> tuple[str, ...]:
    """Return the axes of ``names`` that move ``values``. ``columns`` has the test beds' coordinates on each axis."""
    import numpy as np

    threshold = float(np.quantile(_null_indices(len(values)), (1 - _LEVEL) ** (1 / len(names))))
    strengths = zip(_indices(np.array(columns).T, np.array(values)), names, strict=True)
    above = sorted(((strength, name) for strength, name in strengths if strength > threshold), reverse=True)
    return tuple(name for _, name in above[:_MAX_CAUSES])


@cache
def _null_indices(beds: int) -> list[float]:
    """Return the indices of axes without effect. The strongest of some axes exceeds their quantile in 5 % of the cases.

    An index depends on ranks only, so any continuous values without ties serve.
    """
    import numpy as np

    random = np.random.default_rng(_SEED)
    return _indices(random.random((beds, _NULL_COLUMNS)), random.random(beds))


def _indices(columns: NDArray[np.float64], values: NDArray[np.float64]) -> list[float]:
    """Return PAWN's index of each column: the mean over slices, which also sees an axis of which one value matters.

    One index takes milliseconds, and a whole study many seconds. So indices are kept in the cache folder.
    """
    count = columns.shape[1]
    digest = hashlib.sha256(f"{_libraries()} {_SLICES} {_SEED} {columns.shape}".encode())
    digest.update(columns.tobytes())
    digest.update(values.tobytes())
    file = cache_root() / "indices" / f"{digest.hexdigest()[:_DIGEST]}.json"
    with suppress(OSError, *WRONG):
        kept = [float(index) for index in json.loads(file.read_text())]
        if len(kept) == count:
            return kept
    from SALib.analyze import pawn

    problem = {"num_vars": count, "names": [str(at) for at in range(count)], "bounds": [[0.0, 1.0]] * count}
    indices = [float(index) for index in pawn.analyze(problem, columns, values, S=_SLICES, seed=_SEED)["mean"]]
    with suppress(OSError):  # What cannot be kept is computed again.
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, json.dumps(indices))
    return indices


@cache
def _libraries() -> str:
    """Return what computes an index."""
    return " ".join(f"{name} {version(name)}" for name in ("SALib", "scipy", "numpy"))
