"""Export's memory does not depend on the number of rows: a real process, as the kernel saw it, over N and over 8 N."""

import subprocess
import sys
from pathlib import Path

from rewrite_batch.db import Connection
from rewrite_batch.export.verify import verify
from tests.commands.conftest import environment

N = 200_000
# Row groups that are being written, and no more: seven times N rows would be 250 MB as text alone.
MOST_GROWTH_MB = 150
MOST_MB = 400

# The table alone: keys and indexes would only make the filling slow.
PREPARE = """
SET session_replication_role = replica;
ALTER TABLE provider_calls DROP CONSTRAINT provider_calls_batch_id_batch_item_index_fkey;
ALTER TABLE provider_calls DROP CONSTRAINT provider_calls_pkey;
DROP INDEX provider_calls_created, provider_calls_request;
ALTER TABLE provider_calls SET UNLOGGED
"""
# All within one day, the worst case: a day is a file.
FILL = b"""
INSERT INTO provider_calls (batch_id, batch_item_index, job_id, rewrite_request_id, attempt, provider, model,
    source_locale, target_locale, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
    price_version, cost_usd, created_at)
SELECT gen_random_uuid(), 0, gen_random_uuid(), gen_random_uuid(), 1, 'openai', 'gpt-5.2', 'en', 'es', 300 + i %% 211,
    i %% 60, 0, i %% 97, 0, '2026-01', i * 0.000001,
    timestamptz '2026-10-01T00:00:00Z' + i * interval '10 milliseconds'
FROM generate_series(%s::bigint, %s::bigint) AS i
"""


# What the system says of a child counts its parent, before the program was changed; this counts the program.
EXPORT = """
import sys; from pathlib import Path; from rewrite_batch.cli import main
try: main()
finally: print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0], file=sys.stderr)
"""


def export_and_measure(url: str, directory: Path) -> int:
    """The most memory that the process ever had, in MB."""
    done = subprocess.run(
        [sys.executable, "-c", EXPORT, "export", str(directory)],
        env=environment(DATABASE_URL=url), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(done.stderr.split()[-1]) // 1024


def test_eight_times_the_rows_do_not_take_more_memory(connection: Connection, tmp_path: Path) -> None:
    for statement in PREPARE.split(";"):
        connection.execute(statement.encode())
    peaks: list[int] = []
    for first, last in ((1, N), (N + 1, 8 * N)):
        connection.execute(FILL, (first, last))
        directory = tmp_path / str(last)
        peaks.append(export_and_measure(connection.info.dsn, directory))
        assert verify(directory).rows == last
    assert peaks[1] - peaks[0] < MOST_GROWTH_MB, peaks
    assert peaks[1] < MOST_MB, peaks
