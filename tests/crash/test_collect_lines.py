"""What the provider's files say, and what becomes of each unit: any mix of lines, shuffled, repeated and broken."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewrite_batch.outcomes import BY_REASON
from rewrite_batch.simulator.fault_kinds import LINE_CONTENT_KINDS, LINE_SHAPE_KINDS
from tests.crash.conftest import Worlds
from tests.crash.killer import Point
from tests.crash.oracle import snapshot
from tests.crash.test_collect_kill import kill_at
from tests.crash.world import World

LOCALES = ("es", "de", "fr", "it", "nl")  # one unit each: every text is of one unit only
FINISH = "statement UPDATE rewrite_requests AS r"


@pytest.fixture
def world(new: Worlds) -> Iterator[World]:
    with new(REWRITE_BATCH_GROUPING="packed") as made:
        yield made


def sent(world: World) -> None:
    world.simulator.settings(bad_share=0)
    for locale in LOCALES:
        world.enqueue(1, target_locale=locale)
    world.send()


def texts_by_item(world: World) -> dict[str, set[str]]:
    """What the provider's files say, read without any code of ours: texts by the name of their item."""
    found: dict[str, set[str]] = {}
    with world.client() as client:
        for file in world.simulator.state()["files"]:
            if file["purpose"] != "batch_output" or file["gone"] is not None:
                continue
            for line in client.files.content(file["id"]).content.split(b"\n"):
                name, text = read_leniently(line)
                if name:
                    found.setdefault(name, set()).add(text)
    return found


def read_leniently(line: bytes) -> tuple[str, str]:
    try:
        document: dict[str, Any] = json.loads(line)
        output: list[Any] = document["response"]["body"]["output"]
        parts: list[Any] = [part for item in output for part in item.get("content") or ()]
        text = "".join(part.get("text", "") for part in parts)
        return document["custom_id"], json.loads(text)["rewritten_text"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", ""


def check_that_no_text_crossed(world: World, said: dict[str, set[str]]) -> int:
    """Every output is what the files say under the name of that unit's item; how many outputs there are."""
    outputs = world.rows(
        """SELECT DISTINCT ON (o.rewrite_request_id)
            replace(i.batch_id::text, '-', '') || '-' || i.batch_item_index, o.rewritten_text
        FROM rewrite_outputs AS o
        INNER JOIN rewrite_batch_items AS i USING (rewrite_request_id, recipient_user_id)
        WHERE i.outcome = 'kept'"""
    )
    for name, text in outputs:
        if name in said:  # of this round; earlier ones were checked in theirs
            assert text in said[name], f"the output of {name} is not what the provider wrote for it"
    return len(outputs)


# The tests that catch mutants -----------------------------------------------------------------------------------------


def test_each_line_becomes_the_output_of_its_own_unit(world: World) -> None:
    world.settings["REWRITE_BATCH_GROUPING"] = "packed"
    sent(world)
    world.simulator.finish_all()
    said = texts_by_item(world)
    assert len(said) == len(LOCALES) == len({text for texts in said.values() for text in texts})
    assert world.collect().code == 0
    assert world.statuses() == {"completed": len(LOCALES)}
    assert check_that_no_text_crossed(world, said) == len(LOCALES)
    world.check(at_rest=True, is_home=True)


def test_lines_of_the_error_file_end_each_as_its_status_says(world: World) -> None:
    world.settings["REWRITE_BATCH_GROUPING"] = "packed"
    sent(world)
    for index, code in enumerate((400, 503, 429)):
        world.simulator.arm({"operation": "line", "index": index, "kind": "http_status", "code": code})
    world.simulator.finish_all()
    assert world.collect().code == 0
    assert world.alerts() == []
    reasons = world.rows("SELECT reason FROM rewrite_batch_items ORDER BY batch_item_index")
    assert reasons == [("bad_request",), ("provider_error",), ("rate_limited",), ("kept",), ("kept",)]
    world.bring_home()
    assert world.statuses() == {"completed": 4, "failed": 1}


def test_a_status_that_is_not_200_is_no_answer(world: World) -> None:
    """Neither one that never came, nor a redirect: the first is tried again, the second is not."""
    world.settings["REWRITE_BATCH_GROUPING"] = "packed"
    sent(world)
    world.simulator.arm({"operation": "line", "index": 0, "kind": "status_zero"})
    world.simulator.arm({"operation": "line", "index": 1, "kind": "http_status", "code": 302})
    world.simulator.finish_all()
    assert world.collect().code == 0
    reasons = world.rows("SELECT reason FROM rewrite_batch_items ORDER BY batch_item_index LIMIT 2")
    assert reasons == [("no_status",), ("unexpected_status",)]
    assert world.statuses() == {"completed": 3, "failed": 1, "queued": 1}
    world.bring_home()
    assert world.statuses() == {"completed": 4, "failed": 1}


def test_a_kill_before_the_requests_are_finished_leaves_no_half(world: World) -> None:
    world.simulator.settings(bad_share=0)
    assert kill_at(world, Point(FINISH, "before", 0))
    world.bring_home()


# Any mix ------------------------------------------------------------------------------------------------------------

shapes = st.sampled_from(LINE_SHAPE_KINDS)
contents = st.sampled_from([kind for kind in LINE_CONTENT_KINDS if kind != "good"])
mixes = st.lists(
    st.tuples(st.one_of(st.none(), shapes), st.one_of(st.none(), contents)),
    min_size=len(LOCALES),
    max_size=len(LOCALES),
)
bytes_hit = st.one_of(st.none(), st.tuples(st.integers(0, 20_000), st.integers(1, 40)))
endings = st.sampled_from(["completed", "completed", "expired", "cancelled"])


def test_any_mix_of_lines_adds_up_and_no_output_comes_under_another_units_id(new: Worlds) -> None:
    with new(REWRITE_BATCH_GROUPING="packed") as world:
        decided: Counter[str] = Counter()

        @settings(max_examples=20, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
        @given(mixes, bytes_hit, endings, st.integers(0, len(LOCALES)))
        def any_mix(mix: list[Any], hit: tuple[int, int] | None, ending: str, ran: int) -> None:
            decided.update(collect_mix(world, mix, hit, ending, ran))

        any_mix()
        assert {"kept", "permanent", "transient"} <= set(decided), decided


def collect_mix(
    world: World, mix: list[tuple[str | None, str | None]], hit: tuple[int, int] | None, ending: str, ran: int
) -> Counter[str]:
    sent(world)
    for index, kinds in enumerate(mix):
        for kind in filter(None, kinds):
            world.simulator.arm({"operation": "line", "index": index, "kind": kind})
    (batch_id, provider_batch_id) = world.rows(
        "SELECT batch_id, provider_batch_id FROM rewrite_batches WHERE state = 'submitted'"
    )[0]
    if ending != "completed":
        world.simulator.end_batch(provider_batch_id, ending, share=ran / len(LOCALES))
    world.simulator.finish_all()
    world.simulator.disarm()
    if hit:
        corrupt = {"operation": "files.content", "kind": "corrupt", "offset": hit[0], "bytes": hit[1], "times": None}
        world.simulator.arm(corrupt)
    said = texts_by_item(world)
    fetch_past_the_grace(world)
    world.simulator.disarm()
    rows = snapshot(world.connection)
    world.fetch()
    assert snapshot(world.connection) == rows
    items = world.rows(f"SELECT outcome, reason FROM rewrite_batch_items WHERE batch_id = '{batch_id}'")
    assert len(items) == len(LOCALES)
    assert all(reason in BY_REASON for _, reason in items), "every item that was sent is kept, refused or missing"
    completed = world.rows(f"""SELECT j.job_id FROM rewrite_jobs AS j INNER JOIN rewrite_batch_items AS i USING (job_id)
        WHERE i.batch_id = '{batch_id}' AND j.status = 'completed'""")
    kept = [outcome for outcome, _ in items if outcome == "kept"]
    assert len(kept) == len(completed)
    check_that_no_text_crossed(world, said)
    world.check(at_rest=True)
    world.connection.execute("UPDATE model_limits SET paused_until = now() - interval '1 second'")
    world.connection.execute(
        "UPDATE rewrite_jobs SET not_before_at = 'infinity' WHERE status = 'queued'"
    )  # not the next mix's
    return Counter(outcome for outcome, _ in items)


def fetch_past_the_grace(world: World) -> None:
    """When all lines of a file are lost the provider counts items and names no file: it is waited for."""
    result = world.try_to_fetch()
    if result.put_off:
        assert set(result.put_off) == {"file_not_named"}, result.as_json()
        world.connection.execute(
            "UPDATE rewrite_batches SET finished_at = finished_at - interval '1 day' WHERE state = 'finished'"
        )
        world.fetch()
