"""Submit beside a bare floor: the same jobs claimed by one statement, the same bytes written, the items in by COPY, one
update of state — no checks, no rendering, no grouping, no provider.

Both work on databases that were filled the same way; each runs in a process of its own, so that memory is its own.
"""

import io
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID, uuid4

import psycopg
import typer
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from rewrite_batch import db
from rewrite_batch.db import Connection
from rewrite_batch.embedded import private_directory, running_postgres
from rewrite_batch.enqueue.run import enqueue
from rewrite_batch.migrate import migrate
from rewrite_batch.samples import generate
from rewrite_batch.simulator.process import running_simulator
from rewrite_batch.submit.claim import claim
from rewrite_batch.submit.intent import STAGE_TYPES
from tests.conftest import new_database

KEY = "sk-bench"
ROUNDS = 3
MODEL = re.compile(r'"model":\s*"[^"]*"')


def submit(
    items: Annotated[int, typer.Option(help="Jobs to submit.")] = 50_000,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    with (
        private_directory("bench") as directory,
        bench_server(directory / "postgres") as server,
        new_database(server) as template,
    ):
        fill(make_conninfo(server, dbname=template), items)
        submits: list[dict[str, Any]] = []
        floors: list[float] = []
        for turn in range(ROUNDS):
            with new_database(server, template) as name:
                submits.append(run_submit(directory / f"turn{turn}", make_conninfo(server, dbname=name), items))
            with new_database(server, template) as name:
                floors.append(run_floor(directory, make_conninfo(server, dbname=name), items, submits[-1]["bytes"]))
        backlog = backlog_ratio(server, template)
    best = min(submits, key=lambda run: run["seconds"])
    result = {
        "items": items,
        "submit_s": round(best["seconds"], 2),
        "steps_s": best["steps"],
        "floor_s": round(min(floors), 2),
        "ratio_to_floor": round(best["seconds"] / min(floors), 2),
        "peak_mb": max(run["peak_mb"] for run in submits),
        "backlog_ratio": round(backlog, 2),
    }
    if as_json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:<16}{value}")


@contextmanager
def bench_server(directory: Path) -> Generator[str]:
    """With the memory that a server for a million rows is given; the default is for a laptop of twenty years ago."""
    with running_postgres(directory) as server, psycopg.connect(server, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET shared_buffers = '1GB'")
    with running_postgres(directory) as server:
        yield server


def fill(url: str, items: int, model: str | None = None) -> None:
    """`model`: all of them for this one, and so in one file."""
    with db.connect(SecretStr(url), purpose="bench") as connection:
        migrate(connection)
        for start in range(0, items, 5_000):
            lines = "".join(item.to_json() + "\n" for item in generate(min(5_000, items - start), seed=start))
            if model:
                lines = MODEL.sub(f'"model":"{model}"', lines)
            enqueue(io.BytesIO(lines.encode()), connection, on_refusal=lambda _: None)
        connection.execute("VACUUM ANALYZE")


def run_submit(directory: Path, url: str, items: int) -> dict[str, Any]:
    """As people run it, with the provider's own work taken out: what it does while we wait for its answers."""
    directory.mkdir(mode=0o711)
    with running_simulator(directory / "simulator", KEY, time_scale=0) as simulator:
        environment = {
            **os.environ,
            "DATABASE_URL": url,
            "OPENAI_API_KEY": KEY,
            "REWRITE_BATCH_PROVIDER_BASE_URL": simulator.base_url,
            "REWRITE_BATCH_SPOOL_DIR": str(directory / "spool"),
            "REWRITE_BATCH_GROUPING": "packed",
            "REWRITE_BATCH_JOBS_PER_RUN": str(items),
            "REWRITE_BATCH_RUN_SECONDS": "3600",
            "REWRITE_BATCH_LOG_LEVEL": "error",
        }
        code = (
            # The provider's package is loaded when there is work.
            "import resource, sys, time; from rewrite_batch.cli import main; import openai\n"
            "began = time.monotonic()\n"
            "sys.argv = ['rewrite-batch', 'submit', '--json']\n"
            "try: main()\n"
            "finally: print(time.monotonic() - began, resource.getrusage(0).ru_maxrss, file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    assert result["submitted"] == items, result
    seconds, peak_kb = done.stderr.split()[-2:]
    return {
        "seconds": float(seconds),
        "steps": result["seconds"],
        "bytes": [batch["bytes"] for batch in result["batches"]],
        "peak_mb": int(peak_kb) // 1024,
    }


def run_floor(directory: Path, url: str, items: int, sizes: list[int]) -> float:
    batch = uuid4()
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
        began = time.monotonic()
        rows = connection.execute(FLOOR_CLAIM, {"limit": items}).fetchall()
        for size in sizes:
            write_bytes(directory / "floor", size)
        copy_items(connection, batch, rows)
        connection.execute("SELECT register_provider_batch('batch_floor', '/v1/responses', 'file', %s)", [items])
        moved = connection.execute(FLOOR_SUBMIT, {"batch": batch}).rowcount
        seconds = time.monotonic() - began
    assert moved == len(rows) == items
    return seconds


FLOOR_CLAIM = """
UPDATE rewrite_jobs
SET status = 'processing', claimed_at = now(), claimed_by = 'floor', claim_count = claim_count + 1
WHERE status = 'queued'
RETURNING job_id, rewrite_request_id, recipient_user_id, %(limit)s
"""
FLOOR_SUBMIT = """
UPDATE rewrite_jobs
SET status = 'batch_submitted', attempt_count = attempt_count + 1, provider_batch_id = 'batch_floor',
    submitted_at = now(), batch_id = %(batch)s
WHERE status = 'processing'
"""


def write_bytes(path: Path, size: int) -> None:
    block = b"x" * (1 << 16)
    with path.open("wb") as file:
        for start in range(0, size, len(block)):
            file.write(block[: min(len(block), size - start)])
        file.flush()
        os.fsync(file.fileno())
    path.unlink()


def copy_items(connection: Connection, batch: UUID, rows: list[tuple[Any, ...]]) -> None:
    with connection.transaction():
        connection.execute(
            """INSERT INTO rewrite_batches (batch_id, run_id, environment, batch_group_key, provider, model, endpoint,
                item_count, estimated_input_tokens, estimated_output_tokens)
            VALUES (%s, %s, 'bench', 'k', 'openai', 'm', '/v1/responses', 1, 1, 1)""",
            [batch, batch],
        )
        names = "batch_item_index, job_id, rewrite_request_id, recipient_user_id, batch_group_key, source_locale, "
        names += "target_locale, attempt, input_chars, estimated_input_tokens, estimated_output_tokens, batch_id"
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY rewrite_batch_items ({names}) FROM STDIN (FORMAT binary)".encode()) as copy,
        ):
            copy.set_types([*STAGE_TYPES, "uuid"])
            for index, (job, request, recipient, *_) in enumerate(rows):
                copy.write_row((index, job, request, recipient, "k", "en", "es", 1, 1, 1, 1, batch))


def backlog_ratio(server: str, template: str) -> float:
    """The time of a claim of 1,000 with a backlog of 1,000,000 rows, over that with 10,000; best of several. The jobs
    are units of the requests that there are, so that a claim reads what it claims."""
    small, large = zip(*((best_claim(server, template, n) for n in (10_000, 1_000_000)) for _ in range(2)), strict=True)
    return min(large) / min(small)


PLAIN_INDEXES = """
SELECT indexname, indexdef FROM pg_indexes
WHERE tablename = 'rewrite_jobs' AND indexname NOT IN (SELECT conname FROM pg_constraint)
"""


def best_claim(server: str, template: str, backlog: int) -> float:
    with (
        new_database(server, template) as database,
        psycopg.connect(make_conninfo(server, dbname=database), autocommit=True) as connection,
    ):
        connection.execute("SET session_replication_role = replica")
        connection.execute("DELETE FROM rewrite_jobs WHERE ctid NOT IN (SELECT ctid FROM rewrite_jobs LIMIT 1)")
        indexes = connection.execute(PLAIN_INDEXES).fetchall()  # built afterwards, which is much faster
        for name, _ in indexes:
            connection.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))
        connection.execute(
            """WITH request AS MATERIALIZED (
                SELECT rewrite_request_id, row_number() OVER (ORDER BY rewrite_request_id) - 1 AS place
                FROM rewrite_requests
            )
            INSERT INTO rewrite_jobs (job_id, rewrite_request_id, recipient_user_id, recipient_snapshot_id,
                recipient_preference_snapshot_id, task, surface, rewrite_strength, language_pair, lane,
                routing_decision, max_attempts, created_at)
            SELECT new_job_id(), request.rewrite_request_id, gen_random_uuid(), recipient_snapshot_id,
                recipient_preference_snapshot_id, task, surface, rewrite_strength, language_pair, lane,
                routing_decision, 2, now() - make_interval(secs => n)
            FROM generate_series(1, %s) AS n
            INNER JOIN request ON request.place = n %% (SELECT count(*) FROM request)
            CROSS JOIN rewrite_jobs
            ORDER BY n DESC""",  # as a queue grows: the oldest first
            [backlog],
        )
        for _, definition in indexes:
            connection.execute(definition)
        connection.execute("RESET session_replication_role")
        connection.execute("VACUUM ANALYZE rewrite_jobs")
        # In memory, as the indexes of a queue that lives: what was just built went past the buffers.
        connection.execute("SET enable_seqscan = off")
        connection.execute("SET enable_sort = off")
        for columns in ("rewrite_request_id, recipient_user_id", "rewrite_request_id, status", "job_id"):
            through = f"SELECT count(*) FROM (SELECT {columns} FROM rewrite_jobs ORDER BY {columns} OFFSET 0) AS walked"
            connection.execute(through.encode())
        connection.execute("RESET ALL")
        connection.execute("CHECKPOINT")
        times: list[float] = []
        for _ in range(9):
            began = time.monotonic()
            assert len(claim(connection, run_id=uuid4(), limit=1_000)) == 1_000
            times.append(time.monotonic() - began)
        return min(times)
