# SPDX-License-Identifier: MIT
"""A run of the engine ``local`` as processes of this machine."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from mptcplab.engine.process import GuestProcess
from mptcplab.engine.report import package_folder

#: A killed process that waits for a disk ends late. Longer than any wait seen.
_END_SECONDS = 30.0


class LocalProcess(GuestProcess):
    """Python with ``code``, which may start further processes. At the end of the context, none of them is left."""

    def __init__(self, code: str, *, cpu: int, folder: Path) -> None:
        """Start ``code`` on ``cpu`` in ``folder``."""
        self._started_ns = time.monotonic_ns()
        # All its processes inherit the writing end, which so closes with the last one.
        self._life, writer = os.pipe()
        try:
            super().__init__(
                [str(Path(sys.executable).resolve()), "-IS", "-c", _script(code)],
                cpus={cpu},
                folder=folder,
                environment={"PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")},
                passed=(writer,),
            )
        finally:
            os.close(writer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        with contextlib.suppress(OSError):
            select.select([self._life], [], [], _END_SECONDS)
        os.close(self._life)
        super().__exit__(kind, error, trace)

    def virtual_ns(self) -> int:
        """Return the time since the start: this engine's clock is real."""
        return time.monotonic_ns() - self._started_ns


def _script(code: str) -> str:
    return f"import sys; sys.path.insert(0, {str(package_folder())!r}); {code}"
