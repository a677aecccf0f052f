"""SIGTERM and SIGINT: first asked, then insisted on, then done.

A command that can end between two steps looks at `asked`; the step it is in gets GRACE_S seconds, then `Stopped` is
raised wherever the program is, and tidies up. Whatever hangs then (a call, a lock, another thread), after LAST_S
seconds the process is gone. That is safe: a run may die at any line. Commands that never look are stopped at once.
"""

import _thread
import os
import signal
import time
from types import FrameType

GRACE_S = 6
LAST_S = 9


class Stopped(SystemExit):
    """A signal asked us to end. A SystemExit, because psycopg cancels a running query for that."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number


class Stop:
    def __init__(self) -> None:
        self.number: int | None = None
        self.patient = False

    def asked(self) -> bool:
        return self.number is not None

    def listen(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._hear)
        signal.signal(signal.SIGALRM, self._insist)

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        first = self.number is None
        self.number = number
        if not self.patient:
            self._insist(number, None)
        elif first:
            # Not the threading module: its locks may be held by the very code that this signal interrupts.
            _thread.start_new_thread(_end_at_last, (number,))
            signal.alarm(GRACE_S)

    def _insist(self, _number: int, _frame: FrameType | None) -> None:
        for each in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
            signal.signal(each, signal.SIG_IGN)  # once is enough: what follows is tidying up
        raise Stopped(self.number or signal.SIGTERM)


def _end_at_last(number: int) -> None:
    time.sleep(LAST_S)
    os.write(2, f"stopped by {signal.Signals(number).name} without tidying up; the next run does\n".encode())
    os._exit(128 + number)


stop = Stop()
