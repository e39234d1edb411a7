# SPDX-License-Identifier: MIT
"""Has auditwheel check the platform tag of a wheel."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from mptcplab.errors import LabError


def check_platform(wheel: Path) -> None:
    """Check that auditwheel gives the wheel the tag it has, and that it needs no libraries beyond the tag's.

    :raises LabError: if not.
    """
    command = [sys.executable, "-m", "auditwheel", "show", "--json", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"auditwheel refuses {wheel.name}", hint=done.stderr.strip() or done.stdout.strip() or None)
    facts = json.loads(done.stdout)
    platform = wheel.stem.rpartition("-")[2]
    if facts["overall_tag"] != platform:
        raise LabError(f"{wheel.name} has the tag {platform}, and auditwheel finds {facts['overall_tag']}")
    if facts["external_libs"]:
        raise LabError(f"{wheel.name} needs libraries that not every machine has: {', '.join(facts['external_libs'])}")
