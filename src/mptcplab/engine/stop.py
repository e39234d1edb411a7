# SPDX-License-Identifier: MIT
"""The wish to end: from a signal to every lab under way."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Iterator


class Stop:
    """Turns Ctrl-C, SIGTERM and SIGHUP into the end of every lab: a descriptor that becomes readable."""

    def __init__(self) -> None:
        self._event = os.eventfd(0)
        self.asked = False

    @property
    def descriptor(self) -> int:
        """Becomes readable, and stays so, when the end was asked for."""
        return self._event

    def ask(self) -> None:
        """End everything."""
        self.asked = True
        os.eventfd_write(self._event, 1)

    def wait(self, seconds: float) -> bool:
        """Sleep; woken, with True, when the end is asked for."""
        return bool(select.select([self._event], [], [], seconds)[0])

    def close(self) -> None:
        """Give the descriptor back. Nothing may use it afterwards."""
        os.close(self._event)

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        """Ask on Ctrl-C, SIGTERM and the end of the terminal while inside; must be entered by the main thread."""
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # else it runs under nohup, and shall go on
            numbers.append(signal.SIGHUP)
        before = {number: signal.signal(number, lambda *_: self.ask()) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
