"""The commands: parse, one library call, print, exit code.

Exit codes: 0 done, or nothing to do · 2 configuration · 65 some input was refused · 70 a promise is broken, call a
person · 75 try again at the next tick · 130 and 143 stopped by SIGINT and SIGTERM.
"""

import gc
import signal
import sys
from typing import NoReturn

from rewrite_batch.cli import collect, quality, reports, setup, work
from rewrite_batch.cli.app import app
from rewrite_batch.errors import InvariantBroken, RewriteBatchError
from rewrite_batch.log import where
from rewrite_batch.output import say
from rewrite_batch.stop import Stopped, stop

__all__ = ["app", "collect", "main", "quality", "reports", "setup", "work"]


# A run makes hundreds of thousands of small objects and hardly a cycle: looking for cycles after each 700 of them, as
# is usual, took a tenth of it.
ALLOCATIONS_BETWEEN_LOOKS = 50_000


def main() -> NoReturn:
    gc.set_threshold(ALLOCATIONS_BETWEEN_LOOKS)
    stop.listen()
    code = 0
    try:
        app()
    except RewriteBatchError as error:
        say(f"error: {error}")
        code = error.exit_code
    except Stopped as stopped:
        say(f"stopped by {signal.Signals(stopped.number).name}; nothing is lost, run the same command again")
        code = 128 + stopped.number
    except Exception as error:  # noqa: BLE001  the one broad handler: no message gets out that could hold words
        say(f"error: {type(error).__name__} at {where(error)}: this is a defect, please report it")
        code = InvariantBroken.exit_code
    sys.exit(code)
