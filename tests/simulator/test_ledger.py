"""Who was billed for which line, and when: once, and only for what a model answered."""

import hashlib

from openai import OpenAI

from rewrite_batch.simulator.process import Simulator
from tests.simulator.conftest import API_KEY
from tests.simulator.household import completed, create, jsonl, line, respond, results

UNBILLED = ("http_400", "http_429", "http_500", "status_zero", "never_ran")
BILLED = ("refusal", "truncated", "content_filter", "broken_json", "empty", "failed_response", "good")


def test_only_what_a_model_answered_is_billed(simulator: Simulator, client: OpenAI) -> None:
    kinds = UNBILLED + BILLED
    for index, kind in enumerate(kinds):
        simulator.arm({"operation": "line", "index": index, "kind": kind})
    batch = completed(simulator, client, jsonl(*(line(number) for number in range(len(kinds)))))
    billed = {row["custom_id"] for row in simulator.ledger(batch.id)}
    assert billed == {f"line_{kinds.index(kind)}" for kind in BILLED}


def test_the_ledger_says_who_when_and_how_much(simulator: Simulator, client: OpenAI) -> None:
    batch = completed(simulator, client, jsonl(*(line(number) for number in range(20))))
    rows = {row["custom_id"]: row for row in simulator.ledger()}
    assert len(rows) == 20
    assert batch.in_progress_at is not None
    assert batch.finalizing_at is not None
    for entry in results(client, batch).output:
        row, response = rows[entry["custom_id"]], entry["response"]["body"]
        usage = response["usage"]
        assert (row["provider_batch_id"], row["response_id"], row["model"]) == (
            batch.id,
            response["id"],
            "gpt-5.2",
        )
        assert row["input_tokens"] == usage["input_tokens"]
        assert row["output_tokens"] == usage["output_tokens"]
        assert row["reasoning_tokens"] == usage["output_tokens_details"]["reasoning_tokens"]
        assert row["key_fingerprint"] == hashlib.sha256(API_KEY.encode()).hexdigest()[:12]
        assert batch.in_progress_at <= row["billed_at"] <= batch.finalizing_at + 1
    assert len({row["billed_at"] for row in rows.values()}) == 20


def test_the_sum_of_the_ledger_is_the_batchs_usage(simulator: Simulator, client: OpenAI) -> None:
    simulator.settings(bad_share=0.3)
    batch = completed(simulator, client, jsonl(*(line(n, body={"instructions": "x" * 8000}) for n in range(50))))
    total = simulator.ledger_summary()["total"]
    assert batch.usage is not None
    assert batch.usage.input_tokens_details.cached_tokens > 0
    assert (total["input_tokens"], total["output_tokens"]) == (
        batch.usage.input_tokens,
        batch.usage.output_tokens,
    )
    assert total["cached_tokens"] == batch.usage.input_tokens_details.cached_tokens


def test_asking_again_and_again_bills_once(simulator: Simulator, client: OpenAI) -> None:
    batch = completed(simulator, client, jsonl(line(1), line(2)))
    for _ in range(3):
        simulator.advance(100)
        client.batches.retrieve(batch.id)
    assert sorted(row["custom_id"] for row in simulator.ledger()) == ["line_1", "line_2"]


def test_the_same_line_in_two_batches_is_billed_twice(simulator: Simulator, client: OpenAI) -> None:
    batches = [create(client, jsonl(line(1))) for _ in range(2)]
    simulator.finish_all()
    assert [row["provider_batch_id"] for row in simulator.ledger()] == [batch.id for batch in batches]


def test_a_synchronous_response_is_billed_to_no_batch(simulator: Simulator, client: OpenAI) -> None:
    response = respond(client).parse()
    (row,) = simulator.ledger()
    assert (row["provider_batch_id"], row["response_id"]) == (None, response.id)
