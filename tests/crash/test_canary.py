"""A string planted in every text, through runs that fail, die and are ended: it is nowhere but in the requests, and in
the file on its way out, which nobody else may read."""

import stat
from pathlib import Path
from typing import Any

import pytest

from tests.crash.killer import EFFECT, Point
from tests.crash.runs import Run
from tests.crash.world import World
from tests.items import enqueue_one

CANARY = "zanahoria-canary-4417"
UPLOAD = "rewrite_batch.provider.batches:upload"


def canary_document(**changes: Any) -> dict[str, Any]:
    document = World.document(None, **changes, text=f"Turn it down! {CANARY}")  # pyright: ignore[reportArgumentType]
    pack = document["rewrite_request"]["context_pack"]
    pack["safety_notes"] = [f"note {CANARY}"]
    pack["recipient_signals"] = [
        {"preference_id": "pref_quiet", "value_key": "quiet", "instruction": f"signal {CANARY}"}
    ]
    document["preference_payload"] = {"version": "v1", "note": f"preference {CANARY}"}
    return document


def plant(world: World) -> None:
    for locale in ("es", "de"):
        for _ in range(2):
            enqueue_one(world.connection, canary_document(target_locale=locale))
    enqueue_one(world.connection, canary_document(prompt_version="v999"))
    world.canaries = (CANARY,)


def watched(world: World, run: Run) -> Run:
    """Looks at the database's sessions from another one until the run ends."""
    while not run.has_ended():
        for (query,) in world.rows("SELECT query FROM pg_stat_activity WHERE pid <> pg_backend_pid()"):
            assert CANARY not in query
    return run


def check_what_was_said(world: World) -> None:
    said = [text for run in world.history for text in (run.stdout, run.stderr)]
    assert any(said)
    assert not [text for text in said if CANARY in text]


FAULTS: list[dict[str, Any]] = [
    {"operation": "files.create", "kind": "status", "code": 400, "message": CANARY},
    {"operation": "batches.create", "kind": "status", "code": 400, "message": CANARY},
    {"operation": "batches.create", "kind": "status", "code": 429, "message": CANARY, "error_code": CANARY},
    {"operation": "batches.create", "kind": "status", "code": 500, "message": CANARY},
    {"operation": "batches.create", "kind": "status", "code": 401, "message": CANARY},
    {"operation": "batches.create", "kind": "reset_after"},
    {"operation": "batches.create", "kind": "html"},
    {"operation": "batches.create", "kind": "broken_json"},
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault['operation']} {fault['kind']} {fault.get('code')}")
def test_a_provider_that_quotes_what_it_got_puts_no_word_anywhere(world: World, fault: dict[str, Any]) -> None:
    plant(world)
    number = world.simulator.arm(fault)
    watched(world, world.start())
    assert world.simulator.fired(number) == 1
    world.connection.execute("UPDATE model_limits SET paused_until = now() - interval '1 second'")
    world.check(at_rest=False)
    world.recover()
    world.simulator.finish_all()
    world.check(at_rest=True)
    check_what_was_said(world)


@pytest.mark.parametrize("signal", ["SIGKILL", "SIGTERM"])
def test_runs_that_are_killed_or_stopped_put_no_word_anywhere(world: World, signal: str) -> None:
    plant(world)
    for number in (6, 9, 12):
        watched(world, world.start(Point(EFFECT, "after", number, signal)))
        world.wait_for_sessions_to_end()
        world.check(at_rest=False)
        world.age()
    world.recover()
    check_what_was_said(world)


def test_an_error_in_the_database_puts_no_word_anywhere(world: World) -> None:
    """The table refuses the write that moves the units; the server says which row, the program does not."""
    plant(world)
    world.connection.execute(
        "ALTER TABLE rewrite_jobs ADD CONSTRAINT for_a_test CHECK (status <> 'batch_submitted') NOT VALID"
    )
    run = watched(world, world.start())
    assert run.code == 70
    assert "for_a_test" in run.stderr
    world.wait_for_sessions_to_end()
    world.check(at_rest=False)
    world.connection.execute("ALTER TABLE rewrite_jobs DROP CONSTRAINT for_a_test")
    world.recover()
    check_what_was_said(world)
    check_the_servers_log(world)


def check_the_servers_log(world: World) -> None:
    log = Path(world.value("SHOW data_directory")).parent / "postgres.log"
    if log.exists():  # a server that is not ours keeps its log where it likes
        assert "for_a_test" in log.read_text(errors="replace")
        assert CANARY not in log.read_text(errors="replace")


def test_the_file_on_its_way_out_is_private_holds_the_words_and_is_gone_after(world: World) -> None:
    plant(world)
    run = world.start(Point(UPLOAD, "before", 0, "SIGSTOP")).wait_until_stopped()
    files = list(world.spool.iterdir())
    assert files
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(world.spool.stat().st_mode) == 0o700
    assert all(CANARY in file.read_text() and CANARY not in file.name for file in files)
    assert run.wake().wait().code == 0
    assert list(world.spool.iterdir()) == []
    world.wait_for_sessions_to_end()
    world.check(at_rest=True)


def test_only_what_the_model_needs_leaves_the_house(world: World) -> None:
    plant(world)
    assert world.submit().code == 0
    with world.client() as client:
        sent = "".join(client.files.content(file["id"]).text for file in world.simulator.state()["files"])
    assert f"signal {CANARY}" in sent
    assert f"note {CANARY}" not in sent
    assert f"preference {CANARY}" not in sent
    for (value,) in world.rows(
        """SELECT job_id::text FROM rewrite_jobs UNION ALL SELECT unnest(ARRAY[rewrite_request_id, home_id,
        sender_user_id, recipient_user_id]::text[]) FROM rewrite_requests"""
    ):
        assert value not in sent
        assert value.replace("-", "") not in sent
