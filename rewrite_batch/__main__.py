"""`rewrite-batch`: signals are heard before the commands are loaded, which takes a second."""

# First of all, from a module that is part of the interpreter: whatever else is loaded takes time, and Ctrl-C meanwhile
# would show where in the loading it fell. Until the next line but one, it ends the process as it does any other.
from _signal import SIG_DFL, SIGINT, signal  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

signal(SIGINT, SIG_DFL)

from typing import NoReturn  # noqa: E402

from rewrite_batch.stop import stop  # noqa: E402


def main() -> NoReturn:
    stop.listen()
    from rewrite_batch import cli  # noqa: PLC0415

    cli.main()


if __name__ == "__main__":
    main()
