# SPDX-License-Identifier: MIT
"""Write files that no reader sees half."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def write_text(file: Path, text: str) -> None:
    """Replace ``file`` atomically."""
    part = file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}")
    part.write_text(text)
    part.rename(file)
