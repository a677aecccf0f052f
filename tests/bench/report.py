"""cost-by-language-pair over Parquet beside the same question on PostgreSQL, over the same rows, in the same run.

Ledger and items are made by PostgreSQL itself (generate_series, past the guards), spread over thirty days, and exported
by the real export. PostgreSQL gets its best chance: the same shape of question, indexes on the times, fresh statistics,
parallel workers, warm caches. Best of five on both sides; the answers are compared to the last digit.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import psycopg
import typer
from pydantic import SecretStr

from rewrite_batch import db
from rewrite_batch.embedded import private_directory, running_postgres
from rewrite_batch.migrate import migrate
from rewrite_batch.report.ask import Answer, answer_report
from rewrite_batch.report.catalog import BY_NAME
from rewrite_batch.report.period import Period
from rewrite_batch.report.source import source
from rewrite_batch.settings import Settings

ROUNDS = 5
FIRST = date(2026, 10, 1)
PERIOD = Period(FIRST + timedelta(days=15), FIRST + timedelta(days=30))  # the other half is the period before


def report(
    rows: Annotated[int, typer.Option(help="Rows of the ledger, and as many items.")] = 10_000_000,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    with (
        private_directory("bench") as directory,
        tempfile.TemporaryDirectory(prefix="rewrite-batch-bench-") as place,
        running_postgres(directory / "postgres") as url,
    ):
        filled = timed(lambda: fill(url, rows))[0]
        exported, peak_mb = run_export(url, Path(place))
        size = sum(file.stat().st_size for file in Path(place).rglob("*.parquet"))
        asked: list[tuple[float, Any]] = []
        answered: list[tuple[float, Any]] = []
        with psycopg.connect(url, autocommit=True) as connection:
            for _ in range(ROUNDS):  # in turns, so that both meet the same weather
                asked.append(timed(lambda: ask_postgres(connection)))
                answered.append(timed(lambda: ask_parquet(url, Path(place))))
        compare(answered[0][1], asked[0][1])
    postgres_s, parquet_s = (min(seconds for seconds, _ in runs) for runs in (asked, answered))
    result = {
        "rows": rows,
        "fill_s": round(filled, 1),
        "export_s": round(exported, 1),
        "export_rows_per_s": round(2 * rows / exported),
        "export_peak_mb": peak_mb,
        "parquet_mb": size // 1_000_000,
        "postgres_s": round(postgres_s, 3),
        "parquet_s": round(parquet_s, 3),
        "times_postgres": round(postgres_s / parquet_s, 1),
    }
    if as_json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:<18}{value}")


def timed(work: Any) -> tuple[float, Any]:
    began = time.monotonic()
    done = work()
    return time.monotonic() - began, done


def fill(url: str, rows: int) -> None:
    """Indexes that neither side uses are left out: they would only make the filling slow."""
    with db.connect(SecretStr(url), purpose="bench") as connection:
        migrate(connection)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("SET synchronous_commit = off")
        for statement in PREPARE.split(";"):
            connection.execute(statement.encode())
        for table, statement in (("rewrite_batch_items", FILL_ITEMS), ("provider_calls", FILL_CALLS)):
            for start in range(0, rows, 1_000_000):
                bounds = {"first": start, "last": min(rows, start + 1_000_000) - 1, "rows": rows, "begin": FIRST}
                connection.execute(statement, bounds)
            connection.execute(f"VACUUM ANALYZE {table}".encode())
        connection.execute("CREATE INDEX ON provider_calls (created_at)")
        connection.execute("CREATE INDEX ON rewrite_batch_items (decided_at)")
        connection.execute("CHECKPOINT")


PREPARE = """
ALTER TABLE provider_calls DROP CONSTRAINT provider_calls_batch_id_batch_item_index_fkey;
ALTER TABLE provider_calls DROP CONSTRAINT provider_calls_pkey;
ALTER TABLE rewrite_batch_items DROP CONSTRAINT rewrite_batch_items_pkey;
ALTER TABLE rewrite_batch_items DROP CONSTRAINT rewrite_batch_items_once_a_batch;
DROP INDEX rewrite_batch_items_one_live_batch;
DROP INDEX rewrite_batch_items_job;
DROP INDEX provider_calls_created;
DROP INDEX provider_calls_request;
ALTER TABLE provider_calls SET UNLOGGED;
ALTER TABLE rewrite_batch_items SET UNLOGGED;
CREATE TABLE pairs AS SELECT row_number() OVER () - 1 AS n, s, t
FROM unnest('{ar,de,en,es,fr,hi,id,it,ja,ko,nl,pl,pt,ru,sv,th,tr,vi,zh}'::text[]) AS s,
    unnest('{de,en,es,fr,id,zh}'::text[]) AS t
"""
FILL_ITEMS = b"""
INSERT INTO rewrite_batch_items (batch_id, batch_item_index, job_id, rewrite_request_id, recipient_user_id,
    batch_group_key, source_locale, target_locale, attempt, input_chars, estimated_input_tokens,
    estimated_output_tokens, outcome, reason, created_at, decided_at)
SELECT md5((i / 5000)::text)::uuid, i %% 5000, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'k', s, t,
    1 + (i %% 20 = 0)::int, 400, 120, 80,
    CASE WHEN i %% 17 = 0 THEN 'permanent' WHEN i %% 13 = 0 THEN 'transient' ELSE 'kept' END, 'kept',
    at - interval '1 hour', at
FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS i
INNER JOIN pairs ON n = i * 7919 %% 114,
LATERAL (SELECT %(begin)s::timestamp AT TIME ZONE 'UTC' + interval '30 days' * (i::float8 / %(rows)s) AS at) AS x
"""
FILL_CALLS = b"""
INSERT INTO provider_calls (batch_id, batch_item_index, job_id, rewrite_request_id, attempt, provider, model,
    source_locale, target_locale, provider_request_id, provider_response_id, input_tokens, cached_tokens,
    cache_write_tokens, output_tokens, reasoning_tokens, price_version, cost_usd, created_at)
SELECT md5((i / 5000)::text)::uuid, i %% 5000, gen_random_uuid(), gen_random_uuid(), 1 + (i %% 20 = 0)::int, 'openai',
    'gpt-5.2-2025-12-11', s, t, 'req_' || i, 'resp_' || i, 300 + i %% 211, i %% 3 * 60, i %% 5, 60 + i %% 97, i %% 31,
    CASE WHEN i %% 1009 > 0 THEN '2026-01' END,
    CASE WHEN i %% 1009 > 0 THEN (300 + i %% 211) * 0.000000875 + (60 + i %% 97) * 0.000007 END, at
FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS i
INNER JOIN pairs ON n = i * 7919 %% 114,
LATERAL (SELECT %(begin)s::timestamp AT TIME ZONE 'UTC' + interval '30 days' * (i::float8 / %(rows)s) AS at) AS x
"""


def run_export(url: str, place: Path) -> tuple[float, int]:
    """As people run it, in a process of its own, so that its memory is its own."""
    code = (
        "import resource, sys; from rewrite_batch.cli import main\n"
        f"sys.argv = ['rewrite-batch', 'export', {str(place)!r}, '--json']\n"
        "try: main()\n"
        "finally: print(resource.getrusage(0).ru_maxrss, file=sys.stderr)"
    )
    environment = {**os.environ, "DATABASE_URL": url, "REWRITE_BATCH_LOG_LEVEL": "error"}
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return time.monotonic() - began, int(done.stderr.split()[-1]) // 1024


def ask_parquet(url: str, place: Path) -> Answer:
    with source(Settings(database_url=SecretStr(url)), place, PERIOD, ()) as opened:
        return answer_report(opened.duck, BY_NAME["cost-by-language-pair"])


def ask_postgres(connection: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    days = {"since": PERIOD.since, "until": PERIOD.until, "before": PERIOD.previous_since}
    bounds = {name: datetime(day.year, day.month, day.day, tzinfo=UTC) for name, day in days.items()}
    connection.execute("SET work_mem = '256MB'")
    return connection.execute(QUESTION, bounds).fetchall()


QUESTION = b"""
WITH trips AS (
    SELECT source_locale, target_locale, count(*) AS items, count(*) FILTER (WHERE outcome = 'kept') AS completed,
        count(*) FILTER (WHERE outcome IN ('transient', 'permanent')) AS failed,
        count(*) FILTER (WHERE attempt > 1) AS retried
    FROM rewrite_batch_items
    WHERE decided_at >= %(since)s AND decided_at < %(until)s
        AND outcome IN ('kept', 'transient', 'permanent', 'dropped')
    GROUP BY 1, 2
), money AS (
    SELECT source_locale, target_locale, sum(input_tokens) AS input_tokens, sum(cached_tokens) AS cached_tokens,
        sum(cache_write_tokens) AS cache_write_tokens, sum(output_tokens) AS output_tokens,
        sum(reasoning_tokens) AS reasoning_tokens, sum(cost_usd) AS cost_usd, count(*) - count(cost_usd) AS unpriced
    FROM provider_calls WHERE created_at >= %(since)s AND created_at < %(until)s GROUP BY 1, 2
), before AS (
    SELECT source_locale, target_locale, sum(cost_usd) AS previous_cost_usd
    FROM provider_calls WHERE created_at >= %(before)s AND created_at < %(since)s GROUP BY 1, 2
)
SELECT source_locale, target_locale, items, completed, failed, retried, input_tokens, cached_tokens, cache_write_tokens,
    output_tokens, reasoning_tokens, cost_usd, unpriced, round(cost_usd / nullif(completed, 0), 9),
    round(cost_usd / nullif(sum(cost_usd) OVER (), 0), 6), previous_cost_usd,
    round((cost_usd - previous_cost_usd) / nullif(previous_cost_usd, 0), 6)
FROM trips FULL JOIN money USING (source_locale, target_locale) FULL JOIN before USING (source_locale, target_locale)
"""


def compare(answer: Answer, rows: list[tuple[Any, ...]]) -> None:
    """The first thirteen columns and the cost before are exact; the rest are ratios."""
    exact = [*range(13), 15]
    left, right = (
        sorted([Decimal(row[i]) if i > 1 else row[i] for i in exact] for row in side) for side in (answer.rows, rows)
    )
    assert left == right
    assert len(left) == 114
