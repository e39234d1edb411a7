# SPDX-License-Identifier: MIT
"""``python -m tests.fuzz.worker TARGET FINDINGS COUNTS [libFuzzer's options]``: runs atheris on one target, here.

An exception of a target is written to FINDINGS once, and the search continues. libFuzzer itself ends this process for
events that Python cannot catch: a crash, an input that takes too long, too much memory. So the number of inputs is
counted in the file COUNTS, which outlives this process however it ends.
"""

from __future__ import annotations

import gc
import hashlib
import sys
import traceback
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["mptcplab"]):
    from tests.fuzz.counts import Counts
    from tests.fuzz.judge import judge, signature
    from tests.fuzz.targets import TARGETS


def main() -> None:
    """Fuzz the target; never returns, since libFuzzer ends the process."""
    name, findings, counted, *options = sys.argv[1:]
    with atheris.instrument_imports(include=["mptcplab"]):
        target = TARGETS[name]()
    known: set[str] = set()
    counts = Counts.open(Path(counted))

    def read(data: bytes) -> bool:
        try:
            return judge(target, data)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # polars' panics are not subclasses of Exception
            _write(Path(findings), data, error, known)
        return False

    def execute(data: bytes) -> None:
        counts.add(is_accepted=read(data))

    # Readers import libraries when they need them (scipy takes seconds), and libFuzzer would call that a slow input.
    for seed in target.seeds():
        read(seed)
    # What is loaded now stays until the end: the garbage collector does not have to look at it again.
    gc.collect()
    gc.freeze()
    atheris.Setup([sys.argv[0], *options], execute)
    atheris.Fuzz()


def _write(folder: Path, data: bytes, error: BaseException, known: set[str]) -> None:
    kind = signature(error)
    if kind in known:
        return
    known.add(kind)
    name = hashlib.sha256(kind.encode()).hexdigest()[:12]
    (folder / f"{name}.input").write_bytes(data)
    (folder / f"{name}.txt").write_text(f"{kind}\n\n{''.join(traceback.format_exception(error))}")
    print(f"finding: {kind}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
