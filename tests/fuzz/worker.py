# SPDX-License-Identifier: MIT
"""``python -m tests.fuzz.worker TARGET FINDINGS [libFuzzer's options]``: runs atheris on one target, in this process.

An exception of a target is written to FINDINGS once, and the search continues. libFuzzer itself ends this process for
events that Python cannot catch: a crash, an input that takes too long, too much memory.
"""

from __future__ import annotations

import hashlib
import sys
import traceback
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["mptcplab"]):
    from tests.fuzz.judge import judge, signature
    from tests.fuzz.targets import TARGETS


def main() -> None:
    """Fuzz the target; never returns, since libFuzzer ends the process."""
    name, findings, *options = sys.argv[1:]
    with atheris.instrument_imports(include=["mptcplab"]):
        target = TARGETS[name]()
    known: set[str] = set()

    def once(data: bytes) -> None:
        try:
            judge(target, data)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # polars' panics are not subclasses of Exception
            _write(Path(findings), data, error, known)

    # Readers import libraries when they need them (scipy takes seconds), and libFuzzer would call that a slow input.
    for seed in target.seeds():
        once(seed)
    atheris.Setup([sys.argv[0], *options], once)
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
