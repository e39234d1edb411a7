# SPDX-License-Identifier: MIT
"""A request to stop: from a signal to every running lab."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Iterator

from mptcplab.engine.protocol import RunInterruptedError


class Stop:
    """Passes Ctrl-C, SIGTERM and SIGHUP to every lab, as a descriptor that becomes readable."""

    def __init__(self) -> None:
        self._event = os.eventfd(0)
        self.requested = False

    @property
    def descriptor(self) -> int:
        """The descriptor, which becomes and stays readable when a stop is requested."""
        return self._event

    def request(self) -> None:
        """Request a stop of everything."""
        self.requested = True
        os.eventfd_write(self._event, 1)

    def wait(self, seconds: float) -> bool:
        """Sleep until a stop is requested, at most for ``seconds``; return whether it was."""
        return bool(select.select([self._event], [], [], seconds)[0])

    def close(self) -> None:
        """Close the descriptor. Nothing may use it afterwards."""
        os.close(self._event)

    @contextlib.contextmanager
    def request_on_signals(self) -> Iterator[None]:
        """Request a stop on Ctrl-C, SIGTERM and the end of the terminal while inside.

        Only the main thread receives signals: in another one, this does nothing.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # otherwise it runs under nohup, and must continue
            numbers.append(signal.SIGHUP)
        before = {number: signal.signal(number, lambda *_: self.request()) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextlib.contextmanager
def interruptible() -> Iterator[Stop]:
    """Yield a stop that signals request, for labs that run inside.

    :raises KeyboardInterrupt: in place of the error of a lab that it has stopped.
    """
    stop = Stop()
    try:
        with stop.request_on_signals():
            yield stop
    except RunInterruptedError as error:
        raise KeyboardInterrupt from error
    finally:
        stop.close()
