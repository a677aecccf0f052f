"""The usual way to collect, what most people write first: the whole job, one item after the other.

The same file is downloaded. Then a line: read it, check the answer against its JSON Schema, judge it with the plain
Python loop (`loop.py`, which comes to collect's own verdicts), price it; in one transaction of three round trips find
and lock the item, its job and its unit; store the answer with its ledger row, its notice and the ends of item and job;
end the request and commit. The server keeps data as it does for collect.

Packs and model are read before the clock starts; collect does that on its own time. Nothing is held back: psycopg's
pipeline spares BEGIN and COMMIT their own trips, and statements are prepared. `stored` is what collect must store too.
"""

import io
import json
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any, TypeAlias, get_args

from openai import OpenAI
from psycopg.types.json import Jsonb

from rewrite_batch.collect.batch import Held
from rewrite_batch.contracts.locale import normalise_locale
from rewrite_batch.contracts.schemas import validator
from rewrite_batch.contracts.values import WARNINGS, ViolationCode
from rewrite_batch.db import Connection
from rewrite_batch.evaluate.dataset import dataset_version
from rewrite_batch.evaluate.matcher import matcher_of
from rewrite_batch.evaluate.packs import shipped
from rewrite_batch.evaluate.run import JUDGE_VERSION
from rewrite_batch.ids import parse_custom_id
from rewrite_batch.prices import PriceBook, Usage
from tests.bench.loop import Loop

FIND = """
SELECT i.job_id, i.rewrite_request_id, i.recipient_user_id, i.attempt, i.source_locale, i.target_locale,
    j.routing_decision, r.original_text, r.intent, r.context_pack -> 'power' ->> 'power_mode', r.topics,
    pg_try_advisory_xact_lock(rewrite_unit_key(i.rewrite_request_id, i.recipient_user_id))
FROM rewrite_batch_items AS i
INNER JOIN rewrite_jobs AS j ON i.job_id = j.job_id
INNER JOIN rewrite_requests AS r ON i.rewrite_request_id = r.rewrite_request_id
WHERE i.batch_id = %(batch)s AND i.batch_item_index = %(index)s AND i.outcome IS NULL
    AND j.status = 'batch_submitted' AND j.batch_id = i.batch_id AND j.attempt_count = i.attempt
FOR UPDATE OF i, j
"""
# The rules of the tables ask for an output and its job's end in one statement; the rest comes along.
STORE = """
WITH item AS (
    UPDATE rewrite_batch_items
    SET outcome = 'kept', reason = 'kept', violations = %(violations)s::reason_code[], lexicon_version = %(lexicon)s,
        provider_status_code = %(status)s, provider_request_id = %(provider_request)s, answered_at = %(answered)s,
        decided_at = clock_timestamp()
    WHERE batch_id = %(batch)s AND batch_item_index = %(index)s
), job AS (
    UPDATE rewrite_jobs
    SET status = 'completed', finished_at = clock_timestamp(), batch_id = NULL, claimed_at = NULL, claimed_by = NULL,
        updated_at = now()
    WHERE job_id = %(job)s
), call AS (
    INSERT INTO provider_calls (batch_id, batch_item_index, job_id, rewrite_request_id, attempt, provider, model,
        source_locale, target_locale, provider_request_id, provider_response_id, input_tokens, cached_tokens,
        cache_write_tokens, output_tokens, reasoning_tokens, price_version, cost_usd)
    VALUES (%(batch)s, %(index)s, %(job)s, %(request)s, %(attempt)s, %(provider)s, %(answered_by)s, %(source)s,
        %(target)s, %(provider_request)s, %(response)s, %(input)s, %(cached)s, %(cache_write)s, %(output)s,
        %(reasoning)s, %(prices)s, %(cost)s)
), notice AS (
    INSERT INTO outbox_events (event_key, kind, payload)
    VALUES ('rewrite:' || %(job)s::text || ':completed', 'rewrite_completed', jsonb_build_object(
        'rewrite_request_id', %(request)s::uuid, 'recipient_user_id', %(recipient)s::uuid, 'job_id', %(job)s::uuid,
        'status', 'completed', 'reason', NULL, 'attempt', %(attempt)s::int, 'batch_id', %(batch)s::uuid,
        'batch_item_index', %(index)s::int))
    ON CONFLICT (event_key) DO NOTHING
)
INSERT INTO rewrite_outputs (rewrite_request_id, recipient_user_id, rewritten_text, output_language, target_locale,
    model, provider, prompt_version, policy_version, lexicon_version, eval_result)
VALUES (%(request)s, %(recipient)s, %(text)s, %(target)s, %(target)s, %(model)s, %(provider)s, %(prompt)s, %(policy)s,
    %(lexicon)s, %(result)s)
"""
FINISH = """
UPDATE rewrite_requests SET status = 'completed', rewrite_completed_at = clock_timestamp(), updated_at = now()
WHERE rewrite_request_id = %(request)s AND NOT EXISTS (
    SELECT FROM rewrite_jobs AS j WHERE j.rewrite_request_id = %(request)s AND j.status <> 'completed')
"""
STORED = """
SELECT i.batch_item_index, i.outcome, i.reason, i.violations, i.lexicon_version, i.provider_status_code,
    i.provider_request_id, i.answered_at, j.status, r.status, o.rewritten_text, o.output_language, o.model,
    o.lexicon_version, o.eval_result, c.model, c.input_tokens, c.cached_tokens, c.cache_write_tokens, c.output_tokens,
    c.reasoning_tokens, c.price_version, c.cost_usd, e.kind, e.payload
FROM rewrite_batch_items AS i
INNER JOIN rewrite_jobs AS j ON i.job_id = j.job_id
INNER JOIN rewrite_requests AS r ON i.rewrite_request_id = r.rewrite_request_id
LEFT JOIN rewrite_outputs AS o ON i.rewrite_request_id = o.rewrite_request_id
LEFT JOIN provider_calls AS c ON i.batch_id = c.batch_id AND i.batch_item_index = c.batch_item_index
LEFT JOIN outbox_events AS e ON e.event_key = 'rewrite:' || i.job_id || ':completed'
ORDER BY i.batch_item_index
"""
# Source locale, original text, intent, power mode, topics.
Asked: TypeAlias = tuple[str, str, str, str, list[str] | None]


class Singly:
    def __init__(self, connection: Connection, client: OpenAI, prices: PriceBook, held: Held) -> None:
        self.connection = connection
        self.client = client
        self.prices = prices
        self.held = held
        self.day: date = held.submitted_at.astimezone(UTC).date()
        self.schema: Any = validator("RewriteAnswerV1")
        self.loop = Loop(matcher_of(shipped()))
        given: Asked = ("en", "Turn it down!", "request", "peer", None)
        self.loop.judge(_candidate("es", "¿Podrías bajar la música?", "es", given))

    def collect(self, output_file_id: str) -> float:
        """How long it takes."""
        began = time.monotonic()
        for line in self._lines(output_file_id):
            self._item(json.loads(line))
        return time.monotonic() - began

    def _lines(self, file_id: str) -> Iterator[bytes]:
        return io.BytesIO(self.client.files.content(file_id).read())

    def _item(self, line: dict[str, Any]) -> None:
        named = parse_custom_id(line["custom_id"])
        assert named is not None
        assert named[0] == self.held.batch_id
        names: dict[str, Any] = {"batch": named[0], "index": named[1]}
        with self.connection.pipeline() as pipeline, self.connection.transaction():
            row = self.connection.execute(FIND, names).fetchone()
            assert row is not None
            job, request, recipient, attempt, source, target, routing, *asked, locked = row
            assert locked
            text, result, lexicon = self._judged(line["response"]["body"], source, target, asked)
            names |= {"job": job, "request": request, "recipient": recipient, "attempt": attempt, "source": source,
                      "target": target, "text": text, "result": Jsonb(result), "violations": result["violations"],
                      "lexicon": lexicon, **_routed(routing), **self._paid(line["response"])}  # fmt: skip
            self.connection.execute(STORE, names)
            pipeline.sync()
            self.connection.execute(FINISH, names)

    def _judged(self, body: dict[str, Any], source: str, target: str, asked: Any) -> tuple[str, dict[str, Any], str]:
        parts = [part for item in body["output"] if item["type"] == "message" for part in item["content"]]
        answer = json.loads("".join(part["text"] for part in parts if part["type"] == "output_text"))
        self.schema.validate(answer)
        text, spoken = answer["rewritten_text"], normalise_locale(answer["output_language"])
        verdict = self.loop.judge(_candidate(target, text, spoken, (source, *asked)))
        assert verdict["kept"], ("the simulator gives good answers", verdict, source, target, asked, text)
        lexicon = shipped().version_of(target)
        return text, _result(verdict, lexicon), lexicon

    def _paid(self, response: dict[str, Any]) -> dict[str, Any]:
        body = response["body"]
        usage = body["usage"]
        into: dict[str, int] = usage.get("input_tokens_details") or {}
        out: dict[str, int] = usage.get("output_tokens_details") or {}
        tokens = Usage(
            usage["input_tokens"], into.get("cached_tokens", 0), into.get("cache_write_tokens", 0),
            usage["output_tokens"], out.get("reasoning_tokens", 0),
        )  # fmt: skip
        cost = self.prices.price(body["model"], tokens, self.day)
        book = self.prices.book(self.day)
        return {
            "status": response["status_code"],
            "provider_request": response["request_id"],
            "response": body["id"],
            "answered_by": body["model"],
            "answered": datetime.fromtimestamp(body.get("completed_at") or body["created_at"], UTC),
            "input": tokens.input_tokens,
            "cached": tokens.cached_tokens,
            "cache_write": tokens.cache_write_tokens,
            "output": tokens.output_tokens,
            "reasoning": tokens.reasoning_tokens,
            "prices": book.version if book is not None and cost is not None else None,
            "cost": cost,
        }


def stored(connection: Connection) -> list[tuple[Any, ...]]:
    return connection.execute(STORED.encode()).fetchall()


def _candidate(target: str, text: str, spoken: str, asked: Asked) -> dict[str, Any]:
    source, original, intent, power, topics = asked
    return {
        "target_locale": target,
        "source_locale": source,
        "original_text": original,
        "intent": intent,
        "power_mode": power,
        "topics": topics,
        "rewritten_text": text,
        "output_language": spoken,
    }


def _routed(routing: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": routing["model"],
        "provider": routing["provider"],
        "prompt": routing["prompt_version"],
        "policy": routing["policy_version"],
    }


def _result(verdict: dict[str, Any], lexicon: str) -> dict[str, Any]:
    hard = bool(set(verdict["violations"]) - WARNINGS)
    return {
        "schema_valid": verdict["schema_valid"],
        "lexicon_pass": None if lexicon == "none" and not hard else not hard,
        "tone_safety": "fail" if hard else "warn" if verdict["violations"] else "pass",
        "intent_preserved": verdict["intent_preserved"],
        "violations": [code for code in get_args(ViolationCode) if code in verdict["violations"]],
        "judge_version": JUDGE_VERSION,
        "dataset_version": dataset_version(),
    }
