# SPDX-License-Identifier: MIT
"""The engine ``local`` inside the lab kernel, where it has netem and MPTCP: most kernels of machines in use lack one.

``python -m validation.fidelity.inner_engine FOLDER`` executes the runs that :func:`measure_inside` left in the folder.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from validation.fidelity.forms import ROOT

from mptcplab.cache import cache_root
from mptcplab.campaign.lab import Lab, Stop, prepare_engines
from mptcplab.errors import LabError
from mptcplab.metrics.rows import rows_of
from mptcplab.scenario.load import Run

_RUNS, _FOUND, _CACHE = "runs.pickle", "found.json", "cache"
#: The folder of results inside of the lab.
_INSIDE = "/run/out"
#: In virtual time a run takes as long as its packets, and computing takes no time at all: the clock stands still while
#: the engine in the guest reads the samples of dozens of connections, which takes minutes of wall time.
_STALL = "1800s"


def measure_inside(runs: Sequence[Run], folder: Path) -> dict[str, Any]:
    """Return rows and failures of runs with the engine ``local`` inside the lab kernel.

    :raises LabError: if the engine refuses them there, or the lab fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _RUNS).write_bytes(pickle.dumps(list(runs)))
    (folder / _FOUND).unlink(missing_ok=True)
    shutil.copytree(cache_root() / "tools", folder / _CACHE / "mptcplab" / "tools", dirs_exist_ok=True)
    environment = {"XDG_CACHE_HOME": f"{_INSIDE}/{_CACHE}", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    command = [sys.executable, "-m", "mptcplab", "exec", "--out", str(folder), "--stall", _STALL, "--no-stdin"]
    command += [word for name, value in environment.items() for word in ("--env", f"{name}={value}")]
    command += ["--env", "PYTHONDONTWRITEBYTECODE=1", "--env", "PATH"]
    command += ["--", sys.executable, "-m", "validation.fidelity.inner_engine", _INSIDE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ)
    if not (folder / _FOUND).exists():
        raise LabError(f"the lab ended without results: {done.stderr[-300:]}", hint=f"see {folder}")
    document: dict[str, Any] = json.loads((folder / _FOUND).read_text())
    return document


def main(folder: Path) -> None:
    """Execute the runs in a folder of the lab."""
    runs: list[Run] = pickle.loads((folder / _RUNS).read_bytes())
    try:
        engines = prepare_engines(runs, name="local")
    except LabError as error:
        document: dict[str, Any] = {"refused": error.message}
    else:
        done = Lab(engines, folder, stop=Stop()).execute(runs, jobs=1, progress=lambda _: None)
        rows = [
            row.to_json() for row in rows_of(completed.result for completed in done if completed.result is not None)
        ]
        failed = [
            {"run": completed.run.label, "error": completed.error.message}
            for completed in done
            if completed.error is not None
        ]
        document = {"rows": rows, "failed": failed}
    (folder / _FOUND).write_text(json.dumps(document))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
