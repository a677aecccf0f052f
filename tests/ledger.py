"""A made-up past for reports: jobs, items, calls, outputs, batches, events, runs and alerts over some days.

Written past the guards (they would take a provider and days of time), but shaped by the same columns and CHECKs. The
same seed gives the same rows. Every text holds the canary, so that a test can look for it.
"""

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.types.json import Jsonb

from rewrite_batch.db import Connection
from rewrite_batch.prices import Usage, price_book

CANARY = "zebrafinch sings"
BEGIN = datetime(2026, 10, 20, tzinfo=UTC)
DAYS = 6
PAIRS = [("en", "es"), ("en", "en"), ("zh", "en"), ("th", "id"), ("es", "de")]
MODELS = ["gpt-5.2", "gpt-5-mini", "homegrown-1"]  # the last one has no price
PERMANENT = ["lexicon", "language", "refusal", "schema"]
TRANSIENT = ["batch_expired", "rate_limited"]
PAIR_THAT_NEVER_RAN = ("fr", "vi")
NEVER_RAN = [
    ("quota", "insufficient_quota"),
    ("returned", "batch_refused"),
    ("abandoned", "never_created"),
    (None, None),
]
CODES = ["blame", "vulgarity", "new_fact", "sarcasm_warn", "hedge_warn"]
Row = dict[str, Any]


class Past:
    """Rows by table, to be written at once."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.rows: dict[str, list[Row]] = {}

    def uuid(self) -> UUID:
        return UUID(int=self.chance.getrandbits(128), version=4)

    def moment(self, days: float = DAYS) -> datetime:
        return BEGIN + timedelta(
            seconds=self.chance.randrange(int(days * 86_400)), microseconds=self.chance.randrange(10**6)
        )

    def add(self, table: str, **row: Any) -> Row:
        self.rows.setdefault(table, []).append(row)
        return row


def fill(connection: Connection, seed: int = 1, jobs: int = 120) -> None:
    past = Past(seed)
    batches = [_batch(past, number) for number in range(max(3, jobs // 10))]
    for _ in range(jobs):
        _job(past, batches)
    for batch in batches:
        _reserve(past, batch)
    for number in range(jobs // 10):
        _run_and_alert(past, number)
    for outcome, why in NEVER_RAN:
        unit = (past.uuid(), past.uuid(), past.uuid(), *PAIR_THAT_NEVER_RAN, 1)
        _item(past, batches[0], unit, outcome, why, batches[0]["planned_at"] + timedelta(hours=1))
    write(connection, past)


def write(connection: Connection, past: Past) -> None:
    with connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        for table, rows in past.rows.items():
            names = list(rows[0])
            columns = sql.SQL(", ").join(map(sql.Identifier, names))
            values = sql.SQL(", ").join([sql.Placeholder()] * len(names))
            statement = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(sql.Identifier(table), columns, values)
            with connection.cursor() as cursor:
                cursor.executemany(statement, [list(row.values()) for row in rows])


def _batch(past: Past, number: int) -> Row:
    planned = past.moment(DAYS - 2)
    settled = past.chance.random() < 0.8
    return past.add(
        "rewrite_batches",
        batch_id=past.uuid(), run_id=past.uuid(), environment="test", state="settled" if settled else "submitted",
        batch_group_key="k", provider="openai", model=past.chance.choice(MODELS), prompt_version="v1", endpoint="/v1/responses",
        item_count=1, estimated_input_tokens=100, estimated_output_tokens=50, input_sha256="0" * 64, input_bytes=1000,
        input_file_id=f"file-{number}", provider_batch_id=f"batch_{past.uuid().hex}", provider_status="completed",
        planned_at=planned, uploaded_at=planned, create_sent_at=planned, submitted_at=planned + timedelta(seconds=9),
        finished_at=planned + timedelta(hours=2) if settled else None,
        settled_at=planned + timedelta(hours=3) if settled else None,
    )  # fmt: skip


def _job(past: Past, batches: list[Row]) -> None:
    chance = past.chance
    source, target = chance.choice(PAIRS)
    batch = chance.choice(batches)
    created = batch["planned_at"] - timedelta(seconds=chance.randrange(1, 100_000))
    status = chance.choices(["completed", "failed", "canceled", "queued", "batch_submitted"], [60, 15, 5, 10, 10])[0]
    trips = 0 if status in {"queued", "canceled"} else chance.choice([1, 1, 1, 2, 3])
    prompt = chance.choice(["v1", "v2"])
    job, request, recipient = past.uuid(), past.uuid(), past.uuid()
    reason = chance.choice(PERMANENT + TRANSIENT) if status == "failed" else None
    ended = batch["planned_at"] + timedelta(seconds=chance.randrange(100, 130_000))
    for trip, carrier in enumerate(chance.sample(batches, trips), start=1):
        last = trip == trips
        outcome, why = "transient", chance.choice(TRANSIENT)
        if last and status == "completed":
            outcome, why = "kept", "kept"
        elif last and status == "failed" and reason in PERMANENT:
            outcome, why = "permanent", reason
        elif last and status == "batch_submitted":
            outcome, why = None, None
        at = max(ended, carrier["planned_at"] + timedelta(hours=2))  # nothing is answered before it is asked
        _item(past, carrier, (job, request, recipient, source, target, trip), outcome, why, at)
    routing = {
        "provider": "openai", "adapter_kind": "openai_responses", "base_url": None, "model": batch["model"],
        "prompt_version": prompt, "policy_version": "v1", "execution_mode": "batch", "supports_translation": True,
        "cache_eligible": True, "max_retries": 2,
    }  # fmt: skip
    final = status in {"completed", "failed", "canceled"}
    past.add(
        "rewrite_jobs",
        job_id=job, rewrite_request_id=request, recipient_user_id=recipient, recipient_snapshot_id=past.uuid(),
        recipient_preference_snapshot_id=past.uuid(), task="complaint_rewrite", surface="direct_message",
        rewrite_strength="full_reframe", language_pair=Jsonb({"from": source, "to": target}),
        lane="same_language" if source == target else "cross_language", routing_decision=Jsonb(routing),
        provider_batch_id=batch["provider_batch_id"] if trips else None, status=status, attempt_count=trips, max_attempts=3,
        last_error=reason, last_error_at=ended if reason else None, created_at=created,
        submitted_at=batch["submitted_at"] if trips else None,
        batch_id=batch["batch_id"] if status == "batch_submitted" else None, finished_at=ended if final else None,
    )  # fmt: skip
    past.add(
        "rewrite_job_events",
        job_id=job, rewrite_request_id=request, from_status=None, to_status=status, attempt=trips, reason=reason,
        run_id=past.uuid(), batch_id=None, actor="somebody", occurred_at=ended,
    )  # fmt: skip
    if status == "completed":
        _output(past, request, recipient, target, prompt, batch["model"], ended)


def _item(
    past: Past,
    batch: Row,
    unit: tuple[UUID, UUID, UUID, str, str, int],
    outcome: str | None,
    why: str | None,
    at: datetime,
) -> None:
    job, request, recipient, source, target, trip = unit
    index = batch["item_count"] - 1
    batch["item_count"] += 1
    judged = outcome == "kept" or why in {"lexicon", "language"}
    fired = past.chance.sample(CODES, past.chance.randrange(3)) if judged else None
    past.add(
        "rewrite_batch_items",
        batch_id=batch["batch_id"], batch_item_index=index, job_id=job, rewrite_request_id=request,
        recipient_user_id=recipient, batch_group_key="k", source_locale=source, target_locale=target, attempt=trip,
        input_chars=100, estimated_input_tokens=100, estimated_output_tokens=50, outcome=outcome, reason=why,
        violations=fired, lexicon_version=past.chance.choice([f"{target}-1", f"{target}-2"]) if judged else None,
        provider_status_code=200, created_at=batch["planned_at"], decided_at=at if outcome else None,
    )  # fmt: skip
    if outcome in {"kept", "permanent", "transient"} and why not in TRANSIENT:
        _call(past, batch, unit, index, at)


def _call(past: Past, batch: Row, unit: tuple[UUID, UUID, UUID, str, str, int], index: int, at: datetime) -> None:
    job, request, _, source, target, trip = unit
    chance = past.chance
    tokens = chance.randrange(100, 130_000)
    cached = chance.choice([0, tokens // 3])
    usage = Usage(tokens, cached, chance.choice([0, tokens // 5]), chance.randrange(1, 900), chance.randrange(50))
    model = batch["model"] + chance.choice(["", "-2026-02-01"])
    price = price_book().price(model, usage, at.date())
    past.add(
        "provider_calls",
        batch_id=batch["batch_id"], batch_item_index=index, job_id=job, rewrite_request_id=request, attempt=trip,
        provider="openai", model=model, source_locale=source, target_locale=target, provider_request_id="req_1",
        provider_response_id="resp_1", input_tokens=usage.input_tokens, cached_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens, output_tokens=usage.output_tokens,
        reasoning_tokens=usage.reasoning_tokens, price_version="2026-01" if price is not None else None, cost_usd=price,
        created_at=at,
    )  # fmt: skip
    batch["spent"] = batch.get("spent", Decimal(0)) + (price or 0)


def _output(past: Past, request: UUID, recipient: UUID, target: str, prompt: str, model: str, at: datetime) -> None:
    warned = past.chance.sample(["sarcasm_warn", "hedge_warn"], past.chance.randrange(3))
    result = {
        "schema_valid": True, "lexicon_pass": past.chance.choice([True, None]), "tone_safety": "warn" if warned else "pass",
        "intent_preserved": "pass", "violations": warned, "judge_version": "j1", "dataset_version": "d1",
    }  # fmt: skip
    past.add(
        "rewrite_outputs",
        rewrite_request_id=request, recipient_user_id=recipient, rewritten_text=f"Please, {CANARY}.", output_language=target,
        target_locale=target, model=model, provider="openai", prompt_version=prompt, policy_version="v1",
        lexicon_version="none", eval_result=Jsonb(result), created_at=at,
    )  # fmt: skip


def _reserve(past: Past, batch: Row) -> None:
    priced = batch["model"] != "homegrown-1"
    settled = batch["state"] == "settled"
    spent = batch.pop("spent", Decimal(0))
    past.add(
        "token_reservations",
        batch_id=batch["batch_id"], model=batch["model"], state="settled" if settled else "open", reserved_tokens=5_000,
        reserved_usd=Decimal("0.123456789012") if priced else None, settled_tokens=4_000 if settled else None,
        settled_usd=spent if settled and priced else None, opened_at=batch["planned_at"],
        closed_at=batch["settled_at"] if settled else None,
    )  # fmt: skip


def _run_and_alert(past: Past, number: int) -> None:
    began = past.moment()
    run = past.uuid()
    past.add(
        "worker_runs",
        run_id=run, command=past.chance.choice(["submit", "collect"]), worker="w1", environment="test", version="0.1.0",
        started_at=began, finished_at=began + timedelta(seconds=5), exit_code=0, counts=Jsonb({"submitted": number, "by": {"a": 1}}),
    )  # fmt: skip
    past.add(
        "rewrite_alerts",
        alert_key=f"key-{number}", kind="unpriced_model", run_id=run, codes=past.chance.choice([[], ["a", "b_c"]]),
        created_at=began, acknowledged_by=f"Jo {CANARY}",
    )  # fmt: skip
