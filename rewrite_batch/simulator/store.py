"""The state: one SQLite file and a folder of file bodies; a killed server loses nothing it answered.

Only the event loop's thread talks to the database; heavy work in other threads returns values to it. Every
change is one transaction, committed before the answer leaves.
"""

import fcntl
import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rewrite_batch.errors import ConfigurationError
from rewrite_batch.simulator.jsontext import decode, encode

Row = sqlite3.Row

_SCHEMA = """
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS files (
    seq INTEGER PRIMARY KEY, file_id TEXT NOT NULL UNIQUE, filename TEXT NOT NULL, purpose TEXT NOT NULL,
    bytes INTEGER NOT NULL, created_at REAL NOT NULL, expires_at REAL, gone TEXT,
    gone_at REAL, key_fingerprint TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS batches (
    seq INTEGER PRIMARY KEY, provider_batch_id TEXT NOT NULL UNIQUE, key_fingerprint TEXT NOT NULL,
    input_file_id TEXT NOT NULL, endpoint TEXT NOT NULL, completion_window TEXT NOT NULL, metadata TEXT,
    output_expires_s INTEGER, status TEXT NOT NULL, created_at REAL NOT NULL, expires_at REAL NOT NULL,
    in_progress_at REAL, finalizing_at REAL, completed_at REAL, failed_at REAL, expired_at REAL,
    cancelling_at REAL, cancelled_at REAL, next_at REAL, progress_s REAL, share REAL, model TEXT,
    total INTEGER NOT NULL DEFAULT 0, prompt_tokens INTEGER NOT NULL DEFAULT 0,
    completed INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0,
    output_file_id TEXT, error_file_id TEXT, errors TEXT, usage TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS batches_due ON batches (next_at, seq) WHERE next_at IS NOT NULL;
-- The UNIQUE is the promise: a line of a batch is billed once, whatever happens. No batch is NULL there.
CREATE TABLE IF NOT EXISTS ledger (
    seq INTEGER PRIMARY KEY, provider_batch_id TEXT, custom_id TEXT, response_id TEXT NOT NULL,
    model TEXT NOT NULL,
    input_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, cache_write_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL, billed_at REAL NOT NULL,
    key_fingerprint TEXT NOT NULL, response_status TEXT NOT NULL, UNIQUE (provider_batch_id, custom_id)
) STRICT;
CREATE TABLE IF NOT EXISTS faults (
    fault_id INTEGER PRIMARY KEY AUTOINCREMENT, spec TEXT NOT NULL, skip_left INTEGER NOT NULL,
    remaining INTEGER, fired INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS calls (
    seq INTEGER PRIMARY KEY, operation TEXT NOT NULL, target TEXT, at REAL NOT NULL,
    key_fingerprint TEXT, status INTEGER, fault_id INTEGER
) STRICT;
"""


class Store:
    """An open state directory. The lock makes a second server on the same directory stop at once."""

    def __init__(self, state_dir: Path) -> None:
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.bodies = state_dir / "files"
        self.bodies.mkdir(exist_ok=True, mode=0o700)
        self._lock = os.open(state_dir / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise ConfigurationError("another simulator uses this state directory: stop it, or name another") from None
        self._db = sqlite3.connect(state_dir / "state.sqlite3", isolation_level=None)
        self._db.row_factory = sqlite3.Row
        # NORMAL loses nothing when the process dies, only when the machine does.
        self._db.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;" + _SCHEMA)
        for torn in self.bodies.glob("*.tmp"):
            torn.unlink()

    def close(self) -> None:
        self._db.close()
        os.close(self._lock)

    @contextmanager
    def transaction(self) -> Generator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def run(self, sql: str, *values: Any) -> int:
        """One statement; how many rows it changed."""
        return self._db.execute(sql, values).rowcount

    def run_many(self, sql: str, rows: list[tuple[Any, ...]]) -> None:
        self._db.executemany(sql, rows)

    def rows(self, sql: str, *values: Any) -> list[Row]:
        return self._db.execute(sql, values).fetchall()

    def row(self, sql: str, *values: Any) -> Row | None:
        return self._db.execute(sql, values).fetchone()

    def count(self, sql: str, *values: Any) -> int:
        found = self.row(sql, *values)
        return int(found[0] or 0) if found else 0

    def note(self, name: str) -> object | None:
        """A small remembered value: the clock, the settings, a counter."""
        found = self.row("SELECT value FROM notes WHERE name = ?", name)
        return decode(found["value"].encode()) if found else None

    def remember(self, name: str, value: object) -> None:
        self.run("INSERT OR REPLACE INTO notes (name, value) VALUES (?, ?)", name, encode(value).decode())

    def next_number(self, name: str) -> int:
        """A counter that never gives a number twice, also not after a crash."""
        found = self.row(
            "INSERT INTO notes (name, value) VALUES (?, '1')"
            " ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1 RETURNING value",
            name,
        )
        assert found is not None
        return int(found["value"])

    def wipe(self, *, keep: str) -> None:
        """Forget everything but one note."""
        with self.transaction():
            for table in ("files", "batches", "ledger", "faults", "calls", "sqlite_sequence"):
                self.run(f"DELETE FROM {table}")  # noqa: S608 - names from the line above
            self.run("DELETE FROM notes WHERE name <> ?", keep)
        for path in self.bodies.iterdir():
            path.unlink(missing_ok=True)

    def body(self, file_id: str) -> Path:
        return self.bodies / file_id
