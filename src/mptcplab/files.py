# SPDX-License-Identifier: MIT
"""Write files that no reader sees half."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def write_text(file: Path, text: str) -> None:
    """Replace ``file`` atomically."""
    part = _beside(file)
    part.write_text(text)
    part.rename(file)


def write_bytes(file: Path, content: bytes) -> None:
    """Replace ``file`` atomically."""
    part = _beside(file)
    part.write_bytes(content)
    part.rename(file)


def _beside(file: Path) -> Path:
    """Return a name for the parts of ``file`` that no other process or thread uses."""
    return file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}")
