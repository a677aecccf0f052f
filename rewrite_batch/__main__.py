"""`rewrite-batch`: signals are heard before the commands are loaded, which takes a second."""

from typing import NoReturn

from rewrite_batch.stop import stop


def main() -> NoReturn:
    stop.listen()
    from rewrite_batch import cli  # noqa: PLC0415

    cli.main()


if __name__ == "__main__":
    main()
