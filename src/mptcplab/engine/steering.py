# SPDX-License-Identifier: MIT
"""The steering daemon and its agent as one executable file, which needs nothing but Python."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from pathlib import Path

import mptcplab
from mptcplab.cache import KEY_CHARS, cache_root, hold_lock, make_work_folder

_NAME = "steer"
#: The interpreter of the system, isolated from the environment and without packages.
_HEAD = b"#!/usr/bin/python3 -IS\n"
#: Modules of the package that both sides need, beside all of ``steering``.
_OTHERS = (
    "errors.py",
    "guest/netlink.py",
    "guest/generic_netlink.py",
    "guest/mptcp_pm.py",
)
#: The modules' packages, whose own modules import what is not in the archive.
_EMPTY = ("mptcplab/__init__.py", "mptcplab/guest/__init__.py")
_MAIN = """\
import sys
from mptcplab.steering.program import main
sys.exit(main(sys.argv[1:]))
"""


def steer_program() -> Path:
    """Return the path of the program, made again if its source changed."""
    content = archive()
    program = cache_root() / "tools" / f"{_NAME}-{hashlib.sha256(content).hexdigest()[:KEY_CHARS]}" / _NAME
    if not program.is_file():
        root = cache_root()
        with hold_lock(_NAME, root), make_work_folder(_NAME, root) as work:
            if not program.is_file():
                (work / "tool").mkdir()
                made = work / "tool" / _NAME
                made.write_bytes(content)
                made.chmod(0o755)
                program.parent.parent.mkdir(parents=True, exist_ok=True)
                os.rename(work / "tool", program.parent)
    return program


def archive() -> bytes:
    """Return the file: an archive that Python runs. Equal sources give equal bytes."""
    source = Path(mptcplab.__file__).parent
    modules = [*sorted((source / "steering").rglob("*.py")), *(source / name for name in _OTHERS)]
    texts = {"__main__.py": _MAIN, **dict.fromkeys(_EMPTY, "")}
    texts |= {f"mptcplab/{module.relative_to(source)}": module.read_text() for module in modules}
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name, text in texts.items():
            file.writestr(zipfile.ZipInfo(name), text)
    return _HEAD + data.getvalue()
