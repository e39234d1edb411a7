# SPDX-License-Identifier: MIT
"""All kinds of workloads by name: those of the modules beside this one and of :mod:`mptcplab.plugins`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, get_args

from pydantic import Field

from mptcplab import workload
from mptcplab.plugins import modules_of, plugins
from mptcplab.recording.record import Recording
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.outputs import Reading


def _kinds_in(module: ModuleType) -> Iterator[tuple[str, type[WorkloadBase]]]:
    """Yield the kinds that ``module`` itself defines; a base class of several kinds has no ``kind``."""
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, WorkloadBase) and value.__module__ == module.__name__:
            field = value.model_fields.get("kind")
            yield from ((str(name), value) for name in (get_args(field.annotation) if field else ()))


def _all_kinds() -> dict[str, type[WorkloadBase]]:
    found = [kind for module in (*modules_of(workload), *plugins()) for kind in _kinds_in(module)]
    # The kind for beginners comes first.
    return dict(sorted(found, key=lambda kind: (kind[0] != "flow", kind[0])))


#: The class of each kind of workload.
KINDS = _all_kinds()

if TYPE_CHECKING:
    Workload = WorkloadBase
else:
    Workload = Annotated[reduce(or_, KINDS.values()), Field(discriminator="kind")]


def read(recording: Recording, name: str, described: Mapping[str, Any]) -> Reading:
    """Return the results of one workload. :raises LabError: if the output of its programs is corrupt."""
    return KINDS[described["kind"]].read(recording, name, described)
