"""Metrics: each figure against the rows it is made of, read by the real parser; and that history is never scanned."""

from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from psycopg.types.json import Jsonb
from pydantic import SecretStr
from structlog.testing import capture_logs

from rewrite_batch.cli.app import metrics_after
from rewrite_batch.db import Connection
from rewrite_batch.errors import TryAgain
from rewrite_batch.ids import new_id
from rewrite_batch.metrics import METRICS, read_metrics
from rewrite_batch.queries import query
from rewrite_batch.settings import Settings
from rewrite_batch.submit.claim import claim
from tests.items import TEXT, enqueue_many, enqueue_one, item_document
from tests.postgres.test_check import mixed, planned

SETTINGS = Settings()
Figures = dict[str, float]


def look(connection: Connection, settings: Settings = SETTINGS) -> Figures:
    """Sample by sample, as `name{label=value}` without the prefix."""
    text = generate_latest(read_metrics(connection, settings)).decode()
    figures: Figures = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
            name = sample.name.removeprefix("rewrite_batch_") + (f"{{{labels}}}" if labels else "")
            assert name not in figures
            figures[name] = sample.value
    return figures


def ended(connection: Connection, command: str = "collect", code: int | None = 0, **changes: Any) -> None:
    """A run that began so many minutes ago and took so many seconds."""
    names: dict[str, Any] = {"minutes": 1, "seconds": 5, "counts": {}, "command": command, "code": code, **changes}
    names["counts"] = Jsonb(names["counts"])
    connection.execute(
        """INSERT INTO worker_runs (run_id, command, worker, environment, version, started_at, finished_at,
            exit_code, counts)
        SELECT gen_random_uuid(), %(command)s, 'w', 'dev', '1', t.at,
            CASE WHEN %(code)s::int IS NOT NULL THEN t.at + make_interval(secs => %(seconds)s) END,
            %(code)s, %(counts)s
        FROM (SELECT now() - make_interval(mins => %(minutes)s) AS at) AS t""",
        names,
    )


def midday(connection: Connection) -> None:
    """Whatever the clock says, these runs began at noon of this UTC day."""
    connection.execute(
        """UPDATE worker_runs SET started_at = date_trunc('day', now(), 'UTC') + interval '12 hours',
            finished_at = date_trunc('day', now(), 'UTC') + interval '12 hours 5 seconds'"""
    )


def closed(connection: Connection, usd: str | None, when: str, batch_id: UUID | None = None) -> None:
    connection.execute("SET session_replication_role = replica")  # a reservation without its batch
    connection.execute(
        f"""INSERT INTO token_reservations (batch_id, model, state, reserved_tokens, settled_tokens, settled_usd,
            closed_at) VALUES (%s, 'gpt-5.2', 'settled', 9, 9, %s, {when})""".encode(),
        [batch_id or new_id(), usd],
    )
    connection.execute("RESET session_replication_role")


def test_an_empty_database_has_every_figure_that_a_rule_can_wait_for(connection: Connection) -> None:
    figures = look(connection)
    assert figures["queue_jobs{due=now}"] == figures["queue_oldest_due_seconds"] == 0
    for command in ("submit", "collect"):
        assert figures[f"last_success_timestamp_seconds{{command={command}}}"] == 0
    assert figures["metrics_timestamp_seconds"] > 1e9
    assert not [name for name in figures if name.startswith(("budget_usd", "last_run_exit_code", "open_alerts"))]


def test_every_metric_is_in_the_table_and_every_one_of_the_table_is_written(connection: Connection) -> None:
    text = generate_latest(read_metrics(connection, SETTINGS)).decode()
    written = {
        line.split()[2].removeprefix("rewrite_batch_") for line in text.splitlines() if line.startswith("# TYPE")
    }
    assert written == set(METRICS)
    kinds = {family.name: family.type for family in text_string_to_metric_families(text)}
    counters = {f"rewrite_batch_{name.removesuffix('_total')}" for name, d in METRICS.items() if d.counts}
    assert {name for name, kind in kinds.items() if kind == "counter"} == counters


def test_what_is_due_is_told_from_what_waits_for_its_time(connection: Connection) -> None:
    for not_before in (None, "2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z"):
        document = item_document()
        document["not_before_at"] = not_before
        enqueue_one(connection, document)
    figures = look(connection)
    assert (figures["queue_jobs{due=now}"], figures["queue_jobs{due=later}"]) == (2, 1)
    row = connection.execute("SELECT extract(epoch FROM now() - timestamptz '2001-01-01Z')::float8").fetchone()
    assert row is not None
    assert figures["queue_oldest_due_seconds"] == pytest.approx(row[0], abs=60)


def test_nothing_is_old_when_nothing_is_due(connection: Connection) -> None:
    document = item_document()
    document["not_before_at"] = "2999-01-01T00:00:00Z"
    enqueue_one(connection, document)
    assert look(connection)["queue_oldest_due_seconds"] == 0


def test_counting_a_long_queue_stops_at_the_limit(connection: Connection) -> None:
    enqueue_many(connection, 5)
    assert connection.execute(query("metrics/queue"), {"limit": 3}).fetchone() == (3, 0, pytest.approx(0, abs=60))


def test_a_claim_past_its_time_is_stale(connection: Connection) -> None:
    enqueue_many(connection, 2)
    claim(connection, run_id=uuid4(), limit=1)
    assert look(connection)["stale_claims"] == 0
    connection.execute("UPDATE rewrite_jobs SET claimed_at = now() - interval '1 day' WHERE status = 'processing'")
    assert look(connection)["stale_claims"] == 1


def test_batches_in_flight_are_counted_by_state_with_their_items_and_the_age_of_the_oldest(
    connection: Connection,
) -> None:
    mixed(connection)
    connection.execute("SET session_replication_role = replica")
    connection.execute(
        """UPDATE rewrite_batches SET planned_at = now() -
            CASE state WHEN 'settled' THEN interval '9 days' WHEN 'submitted' THEN interval '1 day' ELSE '0' END"""
    )
    connection.execute("RESET session_replication_role")
    figures = look(connection)
    rows = connection.execute(
        """SELECT state, count(*), sum(item_count) FROM rewrite_batches WHERE state NOT IN ('settled', 'abandoned')
        GROUP BY state"""
    ).fetchall()
    assert len(rows) == 5
    for state, batches, _ in rows:
        assert figures[f"batches_in_flight{{state={state}}}"] == batches
    assert figures["batch_items_in_flight"] == sum(items for _, _, items in rows)
    assert figures["batch_oldest_seconds"] == pytest.approx(86_400, abs=60)


def test_reservations_are_what_is_open_by_model(connection: Connection) -> None:
    mixed(connection)
    figures = look(connection)
    rows = connection.execute(
        "SELECT model, sum(reserved_tokens), sum(reserved_usd) FROM token_reservations WHERE state = 'open' GROUP BY 1"
    ).fetchall()
    assert rows
    for model, tokens, usd in rows:
        assert figures[f"reserved_tokens{{model={model}}}"] == tokens
        assert figures[f"reserved_usd{{model={model}}}"] == pytest.approx(float(usd))


def test_spend_is_what_this_day_and_this_month_closed(connection: Connection) -> None:
    closed(connection, "0.25", "now()")
    closed(connection, "1", "date_trunc('day', now(), 'UTC')")
    closed(connection, "4", "date_trunc('month', now(), 'UTC')")
    closed(connection, "16", "date_trunc('month', now(), 'UTC') - interval '1 microsecond'")
    closed(connection, None, "now()")
    figures = look(connection, Settings(daily_budget_usd=Decimal("2.5")))
    first = connection.execute("SELECT extract(day FROM now() AT TIME ZONE 'UTC') = 1").fetchone() == (True,)
    assert figures["spend_usd{period=day}"] == (5.25 if first else 1.25)
    assert figures["spend_usd{period=month}"] == 5.25
    assert figures["unpriced_batches{where=closed}"] == 1
    assert figures["budget_usd{period=day}"] == 2.5
    assert "budget_usd{period=month}" not in figures


def test_a_batch_of_last_month_that_closes_in_this_one_counts_for_this_one(connection: Connection) -> None:
    row = connection.execute("SELECT date_trunc('month', now(), 'UTC') - interval '30 days'").fetchone()
    assert row is not None
    made = UUID(int=int(row[0].timestamp() * 1000) << 80 | 7 << 76 | 2 << 62)
    closed(connection, "3", "now()", made)
    assert look(connection)["spend_usd{period=month}"] == 3


def test_the_last_run_of_a_command_and_its_last_success_are_two_things(connection: Connection) -> None:
    ended(connection, "submit", 0, minutes=90, seconds=7)
    ended(connection, "submit", 75, minutes=30, seconds=11)
    ended(connection, "submit", None, minutes=10)
    figures = look(connection)
    assert figures["last_run_exit_code{command=submit}"] == 75
    assert figures["last_run_duration_seconds{command=submit}"] == 11
    late = figures["last_run_timestamp_seconds{command=submit}"]
    assert late - figures["last_success_timestamp_seconds{command=submit}"] == pytest.approx(3_604, abs=60)


def test_a_success_of_long_ago_is_none(connection: Connection) -> None:
    ended(connection, "submit", 0, minutes=8 * 24 * 60)
    assert look(connection)["last_success_timestamp_seconds{command=submit}"] == 0


def test_a_run_without_an_end_counts_as_killed_after_an_hour_and_for_a_day(connection: Connection) -> None:
    for minutes in (30, 90, 600, 25 * 60):
        ended(connection, "collect", None, minutes=minutes)
    assert look(connection)["killed_runs{command=collect}"] == 2


def test_what_became_of_units_is_summed_over_the_runs_of_the_day(connection: Connection) -> None:
    collected = {"completed": 5, "failed": {"language": 2, "schema": 1}, "retried": {"rate_limited": 3}}
    ended(connection, "collect", 0, counts=collected)
    ended(
        connection, "collect", 75, counts={"completed": 1, "failed": {"language": 1}, "returned": {"batch_refused": 4}}
    )
    ended(connection, "submit", 0, counts={"claimed": 9, "submitted": 8, "failed": {"too_large": 1}, "poisoned": 2})
    midday(connection)
    ended(connection, "submit", None)
    figures = {name: value for name, value in look(connection).items() if "_total" in name}
    assert figures == {
        "claimed_total": 9, "submitted_total": 8, "completed_total": 6,
        "failed_total{reason=language}": 3, "failed_total{reason=schema}": 1, "failed_total{reason=too_large}": 1,
        "failed_total{reason=poison}": 2, "retried_total{reason=rate_limited}": 3,
        "returned_total{reason=batch_refused}": 4,
        "runs_total{command=collect,exit_code=0}": 1, "runs_total{command=collect,exit_code=75}": 1,
        "runs_total{command=submit,exit_code=0}": 1,
    }  # fmt: skip


def test_counters_begin_again_at_midnight_and_a_run_counts_on_the_day_it_ends(connection: Connection) -> None:
    for _ in range(2):
        ended(connection, "collect", 0, counts={"completed": 4})
    connection.execute(
        """UPDATE worker_runs SET started_at = date_trunc('day', now(), 'UTC') - interval '2 minutes',
            finished_at = date_trunc('day', now(), 'UTC') - interval '1 minute'"""
    )
    assert look(connection)["completed_total"] == 0
    connection.execute("UPDATE worker_runs SET finished_at = date_trunc('day', now(), 'UTC')")
    assert look(connection)["completed_total"] == 8


def test_troubles_are_counted_until_somebody_acknowledges_them(connection: Connection) -> None:
    connection.execute(
        """INSERT INTO rewrite_alerts (kind, acknowledged_at)
        VALUES ('twin_cancelled', NULL), ('twin_cancelled', NULL), ('key_refused', NULL), ('old', now())"""
    )
    for model, seconds in (("gpt-5.2", 600), ("done", -1)):
        names = {"model": model, "seconds": seconds, "reason": "insufficient_quota"}
        connection.execute(query("limits/pause"), names)
    figures = look(connection)
    assert {n: v for n, v in figures.items() if n.startswith(("open_alerts", "paused"))} == {
        "open_alerts{kind=twin_cancelled}": 2,
        "open_alerts{kind=key_refused}": 1,
        "paused_models{model=gpt-5.2,reason=insufficient_quota}": 1,
    }


def test_a_run_that_fails_leaves_its_metrics_and_its_own_error(database: SecretStr, tmp_path: Path) -> None:
    file = tmp_path / "x.prom"
    with pytest.raises(TryAgain, match="the run's own"), metrics_after(database, Settings(metrics_file=file)):
        raise TryAgain("the run's own")
    assert "rewrite_batch_queue_jobs" in file.read_text()


def test_a_database_that_is_away_leaves_the_last_file_and_the_run_alone(tmp_path: Path) -> None:
    file = tmp_path / "x.prom"
    file.write_text("the last look")
    with metrics_after(SecretStr("postgresql://u@127.0.0.1:1/x"), Settings(metrics_file=file)):
        pass
    assert file.read_text() == "the last look"


def test_without_a_setting_nobody_asks_the_database() -> None:
    with capture_logs() as said, metrics_after(SecretStr("no address at all"), Settings()):
        pass
    assert said == []


@pytest.mark.parametrize("role", ["rewrite_analyst", "rewrite_worker"])
def test_everybody_who_runs_may_look_and_nothing_is_moved_or_said_in_words(connection: Connection, role: str) -> None:
    mixed(connection)
    tables = ("rewrite_jobs", "rewrite_batches", "token_reservations", "worker_runs")

    def rows() -> list[Any]:
        return [connection.execute(f"SELECT * FROM {t} ORDER BY 1, 2".encode()).fetchall() for t in tables]

    before = rows()
    connection.execute(f"SET ROLE {role}".encode())
    assert TEXT not in generate_latest(read_metrics(connection, SETTINGS)).decode()
    assert rows() == before


def history(connection: Connection) -> None:
    """Much that is over, and a little that is not."""
    enqueue_many(connection, 20)
    planned(connection, 1)
    connection.execute("SET session_replication_role = replica")
    connection.execute(
        """INSERT INTO rewrite_jobs (job_id, rewrite_request_id, recipient_user_id, recipient_snapshot_id,
            recipient_preference_snapshot_id, task, surface, rewrite_strength, language_pair, lane, routing_decision,
            max_attempts, status, last_error, last_error_at, finished_at)
        SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), recipient_snapshot_id,
            recipient_preference_snapshot_id, task, surface, rewrite_strength, language_pair, lane, routing_decision,
            2, 'failed', 'why', now(), now()
        FROM (SELECT * FROM rewrite_jobs LIMIT 1) AS one, generate_series(1, 20000)"""
    )
    connection.execute(
        """INSERT INTO rewrite_batches (batch_id, run_id, environment, state, batch_group_key, provider, model,
            endpoint, item_count, estimated_input_tokens, estimated_output_tokens, planned_at, abandoned_at)
        SELECT (rpad(lpad(to_hex(1600000000000 + n * 1000), 12, '0'), 32, '0'))::uuid, gen_random_uuid(), 'dev',
            'abandoned', 'k', 'openai', 'm', '/v1/responses', 1, 1, 1,
            timestamptz '2020-09-13' + make_interval(secs => n), now() FROM generate_series(1::bigint, 20000) n"""
    )
    connection.execute(
        """INSERT INTO token_reservations (batch_id, model, state, reserved_tokens, settled_tokens, settled_usd,
            opened_at, closed_at)
        SELECT batch_id, 'm', 'settled', 1, 1, 1, planned_at, planned_at
        FROM rewrite_batches WHERE state = 'abandoned'"""
    )
    connection.execute(
        """INSERT INTO worker_runs (run_id, command, worker, environment, version, started_at, finished_at, exit_code)
        SELECT gen_random_uuid(), 'submit', 'w', 'dev', '1', now() - make_interval(days => 10, mins => n), now(), 0
        FROM generate_series(1, 20000) n"""
    )
    connection.execute(
        "INSERT INTO rewrite_alerts (kind, acknowledged_at) SELECT 'old', now() FROM generate_series(1, 20000)"
    )
    connection.execute("RESET session_replication_role")
    for table in ("rewrite_jobs", "rewrite_batches", "token_reservations", "worker_runs"):
        connection.execute(f"VACUUM (ANALYZE) {table}".encode())


def rows_read(plan: dict[str, Any]) -> int:
    """Of every scan of a table, what it touched: kept and thrown away."""
    touched = 0
    if "Relation Name" in plan:
        loops = plan["Actual Loops"]
        touched = loops * (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0))
        touched += loops * plan.get("Rows Removed by Index Recheck", 0)
    return round(touched) + sum(rows_read(child) for child in plan.get("Plans", []))


def test_no_look_visits_what_is_over(connection: Connection) -> None:
    history(connection)
    names = {"limit": 1_000_000, "claim_timeout_s": 300}
    seen: dict[str, int] = {}
    for name in ("queue", "batches", "reservations", "spend", "runs", "today"):
        explained = connection.execute(b"EXPLAIN (ANALYZE, FORMAT JSON) " + query(f"metrics/{name}"), names).fetchone()
        assert explained is not None
        seen[name] = rows_read(explained[0][0]["Plan"])
    assert {name: count for name, count in seen.items() if count > 100} == {}
    counted_all = connection.execute(b"EXPLAIN (ANALYZE, FORMAT JSON) " + query("status/jobs")).fetchone()
    assert counted_all is not None
    assert rows_read(counted_all[0][0]["Plan"]) > 20_000, "the measure sees a look that does"
