"""A string planted in every text, and every text that came back: through collects that fail, die and are stopped they
are nowhere but in the requests and the outputs, and in the files that are being read, which nobody else may."""

import stat
from typing import Any

import pytest

from tests.crash.killer import EFFECT, Point
from tests.crash.runs import Run
from tests.crash.test_canary import CANARY, canary_document, check_the_servers_log
from tests.crash.world import COLLECT, World
from tests.items import enqueue_one

# The simulator puts the original into answers, refusals and error messages of these.
KINDS = (
    "echo", "refusal", "truncated", "broken_json", "extra_keys", "wrong_language", "nul", "lone_surrogate",
    "malformed_line", "bom", "unknown_custom_id", "duplicate_different", "missing",
)  # fmt: skip
KEPT = 3
CALL_FAULTS: list[dict[str, Any]] = [
    {"operation": "batches.retrieve", "kind": "status", "code": 400, "message": CANARY, "error_code": CANARY},
    {"operation": "batches.retrieve", "kind": "unknown_status", "status": CANARY},
    {"operation": "files.retrieve", "kind": "status", "code": 500, "message": CANARY, "times": 3},
    {"operation": "files.content", "kind": "status", "code": 403, "message": CANARY},
    {"operation": "files.content", "kind": "truncate", "fraction": 0.6, "times": 3},
    {"operation": "files.delete", "kind": "status", "code": 400, "message": CANARY},
]


def plant(world: World) -> None:
    world.simulator.settings(bad_share=0)
    for _ in range(len(KINDS) + KEPT):
        enqueue_one(world.connection, canary_document(target_locale="es"))
    world.send()
    for index, kind in enumerate(KINDS):
        world.simulator.arm({"operation": "line", "kind": kind, "index": index})
    world.simulator.finish_all()
    world.canaries = (CANARY, *texts_at_provider(world))


def texts_at_provider(world: World) -> set[str]:
    """The answers themselves, as they will be stored."""
    with world.client() as client:
        content = b"".join(
            client.files.content(file["id"]).content
            for file in world.simulator.state()["files"]
            if file["purpose"] == "batch_output"
        )
    found = {part.split(b'\\"')[0].decode() for part in content.split(b'rewritten_text\\": \\"')[1:]}
    return {text for text in found if len(text) > 12 and text.isprintable() and "\\" not in text}


def watched(world: World, run: Run) -> Run:
    """Looks at the database's sessions from another one until the run ends."""
    while not run.has_ended():
        for (query,) in world.rows("SELECT query FROM pg_stat_activity WHERE pid <> pg_backend_pid()"):
            assert not [canary for canary in world.canaries if canary in query]
    world.wait_for_sessions_to_end()
    return run


def check_everything(world: World) -> None:
    """Tables, alerts, events, outbox and runs are the oracle's; what was printed and what is left on disk, ours."""
    outputs = [row[0] for row in world.rows("SELECT rewritten_text FROM rewrite_outputs")]
    assert len(outputs) >= KEPT
    world.canaries = (*world.canaries, *outputs)
    world.check(at_rest=True)
    said = [text for run in world.history for text in (run.stdout, run.stderr)]
    assert any(said)
    assert not [text for text in said for canary in world.canaries if canary in text]
    assert not world.spool.exists() or list(world.spool.iterdir()) == []


def test_whatever_the_provider_answers_no_word_gets_out(world: World) -> None:
    plant(world)
    assert len(world.canaries) > 1
    for fault in CALL_FAULTS:
        number = world.simulator.arm(fault)
        run = watched(world, world.start(command=COLLECT))
        assert world.simulator.fired(number) >= 1, fault
        assert run.code in (0, 2, 75), run.stderr
        world.simulator.disarm(number)
        world.check(at_rest=False)
    watched(world, world.start(command=COLLECT))
    assert {"unreadable_lines", "unknown_items", "duplicate_items", "missing_items"} <= set(world.alerts())
    check_everything(world)


@pytest.mark.parametrize("signal", ["SIGKILL", "SIGTERM"])
def test_collects_that_are_killed_or_stopped_let_no_word_out(world: World, signal: str) -> None:
    plant(world)
    world.chunk = 6
    for number in (6, 9, 12):
        run = watched(world, world.start(Point(EFFECT, "after", number, signal), command=COLLECT))
        assert run.reached, number
        world.check(at_rest=False)
        world.age_leases()
        world.age_spool()
    watched(world, world.start(command=COLLECT))
    check_everything(world)


def test_an_error_in_the_database_lets_no_word_out(world: World) -> None:
    """The table refuses an output; the server says which row, the program does not."""
    plant(world)
    world.connection.execute(
        "ALTER TABLE rewrite_outputs ADD CONSTRAINT for_a_test CHECK (rewritten_text = '') NOT VALID"
    )
    run = watched(world, world.start(command=COLLECT))
    assert run.code == 70, run.stderr
    assert "for_a_test" in str(world.rows("SELECT codes FROM rewrite_alerts"))
    world.check(at_rest=False)
    world.connection.execute("ALTER TABLE rewrite_outputs DROP CONSTRAINT for_a_test")
    watched(world, world.start(command=COLLECT))
    check_everything(world)
    check_the_servers_log(world)


def test_the_files_that_are_being_read_are_private_and_gone_after(world: World) -> None:
    plant(world)
    run = world.start(Point("rewrite_batch.collect.apply:write", "before", 0, "SIGSTOP"), command=COLLECT)
    run.wait_until_stopped()
    files = list(world.spool.iterdir())
    assert files
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(world.spool.stat().st_mode) == 0o700
    assert any(CANARY in file.read_text(errors="replace") for file in files)
    assert not [file for file in files for canary in world.canaries if canary in file.name]
    assert run.wake().wait().code == 0, run.stderr
    world.wait_for_sessions_to_end()
    check_everything(world)
