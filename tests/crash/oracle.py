"""What must always hold, read from the database and from the provider's own books. One small function an invariant.

    1  every unit is in exactly one state; none is lost, none is made
    2  the provider bills a unit at most once an attempt; a batch id has at most one live provider batch
    3  no backward edge in the events
    4  reserved = open + settled + released
    5  completed <=> one output; failed or canceled <=> none
    6  one event a final transition
    7  no row changed under a superseded token
    8  no canary anywhere
    9  a further tick writes nothing and posts nothing: compare two of `snapshot` and two of `posts`
    10 no leaked locks, no idle transaction, no orphan file at the provider, nothing left in the spool

A function answers what is broken; `check_invariants` collects all of it, so that a failure tells the whole story.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from psycopg import sql

from rewrite_batch.db import Connection
from rewrite_batch.simulator.process import Simulator

Rows = list[tuple[Any, ...]]

FINAL = {"completed", "failed", "canceled"}
EDGES = {
    (None, "queued"),
    ("queued", "processing"),
    ("processing", "queued"),
    ("processing", "batch_submitted"),
    ("processing", "failed"),
    ("batch_submitted", "queued"),
    ("batch_submitted", "completed"),
    ("batch_submitted", "failed"),
    *((state, "canceled") for state in ("queued", "processing", "batch_submitted")),
}
AT_PROVIDER = ("submitted", "finished", "settled")
DEAD_AT_PROVIDER = {"failed", "cancelling", "cancelled", "expired"}
CUSTOM_ID = re.compile(r"([0-9a-f]{32})-(0|[1-9][0-9]*)")
POSTS = ("files.create", "files.delete", "batches.create", "batches.cancel")
# Where a family's words may be: everything else must be free of them.
WORDS_ALLOWED = {"rewrite_requests", "rewrite_outputs", "recipient_preference_snapshots"}


def check_invariants(
    connection: Connection,
    simulator: Simulator,
    *,
    canaries: Sequence[str] = (),
    at_rest: bool,
    is_home: bool = False,
    spool: Path | None = None,
) -> None:
    """`at_rest`: no run is under way and none has anything left to do; `is_home`: and every result was collected."""
    broken = [
        *units_are_in_one_state(connection),
        *units_are_in_one_live_batch(connection),
        *batches_and_provider_agree(connection, simulator),
        *nothing_is_billed_twice(connection, simulator),
        *events_only_go_forward(connection),
        *reservations_add_up(connection),
        *completed_has_one_output(connection),
        *final_states_have_one_event(connection),
        *superseded_runs_wrote_nothing(connection),
        *attempts_are_trips_to_the_provider(connection),
        *no_canary_is_anywhere(connection, simulator, canaries),
    ]
    if at_rest:
        broken += [
            *nobody_is_half_way(connection),
            *one_live_provider_batch_an_id(simulator),
            *no_money_went_into_abandoned_batches(connection, simulator),
            *no_file_is_an_orphan(connection, simulator),
            *no_lock_and_no_transaction_is_left(connection),
            *spool_is_empty(spool),
        ]
    if is_home:
        broken += [
            *everything_is_final(connection),
            *nothing_is_left_at_the_provider(simulator),
            *our_ledger_is_the_providers(connection, simulator),
        ]
    assert not broken, "\n".join(broken)


def units_are_in_one_state(connection: Connection) -> Iterator[str]:
    """1. The events were there first and nobody can remove them: they say which units there must be."""
    rows = fetch(
        connection,
        """SELECT coalesce(e.job_id, j.job_id), e.enqueued, e.last_status, j.status
        FROM (
            SELECT job_id, count(*) FILTER (WHERE from_status IS NULL) AS enqueued,
                (array_agg(to_status ORDER BY event_id DESC))[1] AS last_status
            FROM rewrite_job_events GROUP BY job_id
        ) AS e
        FULL JOIN rewrite_jobs AS j ON e.job_id = j.job_id
        WHERE e.enqueued IS DISTINCT FROM 1 OR e.last_status IS DISTINCT FROM j.status""",
    )
    for job, enqueued, last, status in rows:
        yield f"1: unit {job} was enqueued {enqueued} times, its last event says {last}, it is {status}"


def units_are_in_one_live_batch(connection: Connection) -> Iterator[str]:
    """1, 2. Live items of a unit, and what the unit itself says."""
    rows = fetch(
        connection,
        """SELECT j.job_id, j.status, j.batch_id, j.claimed_by IS NOT NULL,
            array_remove(array_agg(i.batch_id), NULL), array_remove(array_agg(b.state), NULL)
        FROM rewrite_jobs AS j
        LEFT JOIN rewrite_batch_items AS i ON i.job_id = j.job_id AND i.outcome IS NULL
        LEFT JOIN rewrite_batches AS b ON b.batch_id = i.batch_id
        GROUP BY j.job_id""",
    )
    for job, status, batch, is_claimed, live, states in rows:
        if len(live) > 1:
            yield f"2: unit {job} is in {len(live)} live batches"
        if "abandoned" in states:
            yield f"1: unit {job} is a live item of an abandoned batch"
        if status == "queued" and (live or is_claimed):
            yield f"1: unit {job} is queued, and yet claimed or in a live batch"
        if status == "processing" and not is_claimed:
            yield f"1: unit {job} is being processed by nobody"
        if status == "processing" and set(states) & set(AT_PROVIDER):
            yield f"1: unit {job} is only processing although its batch is submitted"
        if status == "batch_submitted" and (live != [batch] or not set(states) <= set(AT_PROVIDER)):
            yield f"1: unit {job} is batch_submitted in {batch}, its live items are in {live} ({states})"


def batches_and_provider_agree(connection: Connection, simulator: Simulator) -> Iterator[str]:
    """2. What we registered is there, carries our id and our file, and is in the registry; the first trip is kept."""
    there = {batch["id"]: batch for batch in simulator.state()["batches"]}
    for batch_id, provider_id, file_id, is_known in fetch(
        connection,
        """SELECT b.batch_id, b.provider_batch_id, b.input_file_id, p.provider_batch_id IS NOT NULL
        FROM rewrite_batches AS b LEFT JOIN rewrite_provider_batches AS p USING (provider_batch_id)
        WHERE b.provider_batch_id IS NOT NULL""",
    ):
        found = there.get(provider_id)
        if found is None:
            yield f"2: batch {batch_id}: the provider has no {provider_id}"
        elif _batch_id_of(found) != str(batch_id) or found["input_file_id"] != file_id:
            yield f"2: batch {batch_id}: {provider_id} carries another id or another file"
        if not is_known:
            yield f"2: batch {batch_id}: {provider_id} is not in the registry"
    for job, says, first in fetch(
        connection,
        """SELECT j.job_id, j.provider_batch_id, f.first
        FROM rewrite_jobs AS j
        LEFT JOIN (
            SELECT i.job_id, (array_agg(b.provider_batch_id ORDER BY i.attempt))[1] AS first
            FROM rewrite_batch_items AS i INNER JOIN rewrite_batches AS b USING (batch_id)
            WHERE b.provider_batch_id IS NOT NULL GROUP BY i.job_id
        ) AS f USING (job_id)
        WHERE j.provider_batch_id IS DISTINCT FROM f.first AND j.status <> 'canceled'""",
    ):
        yield f"2: unit {job} says {says}, the first provider batch that carried it is {first}"


def nothing_is_billed_twice(connection: Connection, simulator: Simulator) -> Iterator[str]:
    """2. Each line of the provider's ledger is an item of ours, and each unit is there at most once an attempt."""
    items = _items(connection)
    billed: Counter[tuple[UUID, int]] = Counter()
    for line in simulator.ledger():
        item = items.get(_place(line["custom_id"]))
        if item is None:
            yield f"2: the ledger has a line {line['custom_id']} that is no item of ours"
        else:
            billed[item] += 1
    for (job, attempt), times in billed.items():
        if times > 1:
            yield f"2: unit {job} was billed {times} times for attempt {attempt}"


def one_live_provider_batch_an_id(simulator: Simulator) -> Iterator[str]:
    """2. Whatever we lost sight of was cancelled, or came to nothing."""
    live: defaultdict[str, list[str]] = defaultdict(list)
    for batch in simulator.state()["batches"]:
        if batch["status"] not in DEAD_AT_PROVIDER:
            live[_batch_id_of(batch)].append(batch["id"])
    for batch_id, several in live.items():
        if len(several) > 1:
            yield f"2: batch {batch_id} has {len(several)} live provider batches: {several}"


def no_money_went_into_abandoned_batches(connection: Connection, simulator: Simulator) -> Iterator[str]:
    """2. What is billed is something that we wait for."""
    registered = {row[0] for row in fetch(connection, "SELECT provider_batch_id FROM rewrite_batches")}
    for batch in simulator.ledger_summary()["batches"]:
        if batch["provider_batch_id"] not in registered:
            yield f"2: {batch['provider_batch_id']} billed {batch['lines']} lines and belongs to no batch of ours"


def events_only_go_forward(connection: Connection) -> Iterator[str]:
    """3. Every edge is one of the state machine's, and each starts where the one before it ended."""
    for job, events in _events_by_job(connection).items():
        was: str | None = None
        for start, end, _run, _reason in events:
            if (start, end) not in EDGES or start != was:
                yield f"3: unit {job}: {start} -> {end} after {was}"
            was = end


def reservations_add_up(connection: Connection) -> Iterator[str]:
    """4. One reservation a batch; open while the batch may cost something, released when it was given up."""
    paid = "EXISTS (SELECT FROM provider_calls AS c WHERE c.batch_id = b.batch_id)"
    settled = f"CASE WHEN {paid} THEN 'settled' ELSE 'released' END"
    expected = f"CASE b.state WHEN 'abandoned' THEN 'released' WHEN 'settled' THEN {settled} ELSE 'open' END"
    for batch, state, reservation in fetch(
        connection,
        f"""SELECT b.batch_id, b.state, r.state
        FROM rewrite_batches AS b FULL JOIN token_reservations AS r USING (batch_id)
        WHERE r.state IS DISTINCT FROM {expected}""",
    ):
        yield f"4: batch {batch} is {state}, its reservation is {reservation}"
    for model, total, parts in fetch(
        connection,
        """SELECT b.model, sum(b.estimated_input_tokens), sum(r.reserved_tokens)
        FROM rewrite_batches AS b INNER JOIN token_reservations AS r USING (batch_id) GROUP BY b.model
        HAVING sum(b.estimated_input_tokens) <> sum(r.reserved_tokens)""",
    ):
        yield f"4: {model}: {total} tokens were estimated, {parts} reserved"


def completed_has_one_output(connection: Connection) -> Iterator[str]:
    """5."""
    for job, status, outputs in fetch(
        connection,
        """SELECT j.job_id, j.status, count(o.rewrite_request_id)
        FROM rewrite_jobs AS j LEFT JOIN rewrite_outputs AS o USING (rewrite_request_id, recipient_user_id)
        GROUP BY j.job_id HAVING count(o.rewrite_request_id) <> (j.status = 'completed')::int""",
    ):
        yield f"5: unit {job} is {status} and has {outputs} outputs"
    for job, status, request in fetch(
        connection,
        """SELECT j.job_id, j.status, r.status
        FROM rewrite_jobs AS j INNER JOIN rewrite_requests AS r USING (rewrite_request_id)
        WHERE (j.status IN ('completed', 'failed', 'canceled') OR r.status IN ('completed', 'failed', 'canceled'))
            AND j.status <> r.status""",
    ):
        yield f"5: unit {job} is {status}, its request is {request}"


def final_states_have_one_event(connection: Connection) -> Iterator[str]:
    """6."""
    statuses = dict(fetch(connection, "SELECT job_id, status FROM rewrite_jobs"))
    for job, events in _events_by_job(connection).items():
        final = [end for _start, end, _run, _reason in events if end in FINAL]
        if final != ([statuses[job]] if statuses.get(job) in FINAL else []):
            yield f"6: unit {job} is {statuses.get(job)}, its final events are {final}"


def superseded_runs_wrote_nothing(connection: Connection) -> Iterator[str]:
    """7. Once others released what a run had claimed, the next that the run may do to the unit is to claim it again."""
    for job, events in _events_by_job(connection).items():
        holder: UUID | None = None
        superseded: set[UUID] = set()
        for start, end, run, _reason in events:
            if (start, end) == ("queued", "processing"):
                holder = run
                superseded.discard(run)
            elif run in superseded:
                yield f"7: unit {job}: {start} -> {end} by run {run}, whose claim was released before"
            elif start == "processing" and end == "queued" and holder is not None and run != holder:
                superseded.add(holder)


def attempts_are_trips_to_the_provider(connection: Connection) -> Iterator[str]:
    """3. attempt_count is the number of registered batches that carried the unit, numbered from 1.

    A trip on which the provider ran nothing, and said so of the account or of other lines, is none.
    """
    for job, count, attempts in fetch(
        connection,
        """SELECT j.job_id, j.attempt_count, array_remove(array_agg(i.attempt ORDER BY i.attempt), NULL)
        FROM rewrite_jobs AS j
        LEFT JOIN (
            rewrite_batch_items AS i
            INNER JOIN rewrite_batches AS b ON b.batch_id = i.batch_id AND b.provider_batch_id IS NOT NULL
        ) ON i.job_id = j.job_id AND NOT (
            i.outcome IS NOT NULL AND i.outcome IN ('quota', 'returned') AND NOT EXISTS (
                SELECT FROM provider_calls AS c
                WHERE c.batch_id = i.batch_id AND c.batch_item_index = i.batch_item_index
            )
        )
        WHERE j.status <> 'canceled'
        GROUP BY j.job_id""",
    ):
        if attempts != list(range(1, count + 1)):
            yield f"3: unit {job} has attempt_count {count} and made the trips {attempts}"


def no_canary_is_anywhere(connection: Connection, simulator: Simulator, canaries: Sequence[str]) -> Iterator[str]:
    """8. Not in a table that may hold no words, nor in what the provider can see beside the file's content."""
    if not canaries:
        return
    for table in sorted(set(_tables(connection)) - WORDS_ALLOWED):
        for line in _lines(connection, table):
            yield from (f"8: a canary is in {table}" for canary in canaries if canary in line)
    state = simulator.state()
    outside = [
        *(f"{batch['metadata']}" for batch in state["batches"]),
        *(file["filename"] for file in state["files"]),
        *(str(call) for call in simulator.calls()),
        *(str(row[0]) for row in fetch(connection, "SELECT query FROM pg_stat_activity WHERE pid <> pg_backend_pid()")),
    ]
    for text in outside:
        yield from (
            f"8: a canary is in metadata, a file name or a query: {text}" for canary in canaries if canary in text
        )


def nobody_is_half_way(connection: Connection) -> Iterator[str]:
    """1. At rest no unit is processing and no batch is on its way out or leased."""
    for job, by in fetch(connection, "SELECT job_id, claimed_by FROM rewrite_jobs WHERE status = 'processing'"):
        yield f"1: unit {job} is still processing, claimed by {by}"
    for batch, state in fetch(
        connection,
        """SELECT batch_id, state FROM rewrite_batches
        WHERE state IN ('planned', 'uploaded', 'create_sent') OR lease_token IS NOT NULL""",
    ):
        yield f"1: batch {batch} is still {state}"


def no_file_is_an_orphan(connection: Connection, simulator: Simulator) -> Iterator[str]:
    """10. Every input file at the provider is the file of a batch that the provider has."""
    used = {
        row[0]
        for row in fetch(connection, "SELECT input_file_id FROM rewrite_batches WHERE provider_batch_id IS NOT NULL")
    }
    for file in simulator.state()["files"]:
        if file["purpose"] == "batch" and file["gone"] is None and file["id"] not in used:
            yield f"10: file {file['id']} ({file['filename']}) is nobody's"


def everything_is_final(connection: Connection) -> Iterator[str]:
    """4, 9. No unit waits, no batch is open, no token is reserved, each request is as its unit."""
    for job, status in fetch(
        connection, "SELECT job_id, status FROM rewrite_jobs WHERE status NOT IN ('completed', 'failed', 'canceled')"
    ):
        yield f"9: unit {job} is still {status}"
    for batch, state in fetch(
        connection,
        """SELECT batch_id, state FROM rewrite_batches
        WHERE state NOT IN ('settled', 'abandoned') OR files_deleted_at IS NULL""",
    ):
        yield f"9: batch {batch} is {state}, or its files were not deleted"
    for batch, reserved in fetch(
        connection, "SELECT batch_id, reserved_tokens FROM token_reservations WHERE state = 'open'"
    ):
        yield f"4: batch {batch} still has {reserved} tokens reserved"


def nothing_is_left_at_the_provider(simulator: Simulator) -> Iterator[str]:
    """10. Neither what was sent nor what came back."""
    for file in simulator.state()["files"]:
        if file["gone"] is None:
            yield f"10: file {file['id']} ({file['purpose']}) is still at the provider"


def our_ledger_is_the_providers(connection: Connection, simulator: Simulator) -> Iterator[str]:
    """2. Every line that was billed is on record once, with its tokens, and nothing else is; others hear once."""
    tokens = ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
    ours = Counter(
        (f"{batch.hex}-{index}", *rest)
        for batch, index, *rest in fetch(
            connection,
            """SELECT batch_id, batch_item_index, provider_response_id, input_tokens, cached_tokens,
            cache_write_tokens, output_tokens, reasoning_tokens FROM provider_calls""",
        )
    )
    theirs = Counter(
        (line["custom_id"], line["response_id"], *(line[name] for name in tokens)) for line in simulator.ledger()
    )
    for line in (ours - theirs) | (theirs - ours):
        yield f"2: line {line[0]} is billed {theirs[line]} times and on record {ours[line]} times"
    for job, status, told in fetch(
        connection,
        """SELECT j.job_id, j.status, count(e.event_id)
        FROM rewrite_jobs AS j
        LEFT JOIN outbox_events AS e ON e.payload ->> 'job_id' = j.job_id::text
            AND e.kind IN ('rewrite_completed', 'rewrite_failed')
        WHERE j.attempt_count > 0 AND j.status <> 'canceled'
        GROUP BY j.job_id HAVING count(e.event_id) <> 1""",
    ):
        yield f"6: unit {job} is {status} and was told of {told} times"


def no_lock_and_no_transaction_is_left(connection: Connection) -> Iterator[str]:
    """10. Other than our own, in this database."""
    for pid, kind in fetch(
        connection,
        """SELECT l.pid, l.locktype FROM pg_locks AS l INNER JOIN pg_database AS d ON d.oid = l.database
        WHERE d.datname = current_database() AND l.locktype = 'advisory'""",
    ):
        yield f"10: session {pid} holds a lock ({kind})"
    for pid, name, state in fetch(
        connection,
        """SELECT pid, application_name, state FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'""",
    ):
        yield f"10: session {pid} of {name} is {state}"


def spool_is_empty(spool: Path | None) -> Iterator[str]:
    """10."""
    for path in spool.iterdir() if spool and spool.exists() else ():
        yield f"10: {path.name} is left in the spool"


def snapshot(connection: Connection) -> dict[str, list[str]]:
    """9. Every row of every table but the record of the runs themselves."""
    return {table: sorted(_lines(connection, table)) for table in _tables(connection) if table != "worker_runs"}


def posts(simulator: Simulator) -> dict[str, int]:
    """9. How often the provider was asked to do something."""
    calls: dict[str, int] = simulator.state()["calls"]
    return {operation: calls.get(operation, 0) for operation in POSTS}


def fetch(connection: Connection, query: str) -> Rows:
    return connection.execute(sql.SQL(query)).fetchall()  # pyright: ignore[reportArgumentType]  all are in this file


def _tables(connection: Connection) -> list[str]:
    return [
        row[0]
        for row in fetch(
            connection,
            """SELECT tablename FROM pg_tables
            WHERE schemaname = 'public' AND tablename NOT LIKE '%migration%' ORDER BY 1""",
        )
    ]


def _lines(connection: Connection, table: str) -> Iterable[str]:
    statement = sql.SQL("SELECT t::text FROM {} AS t").format(sql.Identifier(table))
    return (row[0] for row in connection.execute(statement).fetchall())


def _items(connection: Connection) -> dict[tuple[UUID, int] | None, tuple[UUID, int]]:
    rows = fetch(connection, "SELECT batch_id, batch_item_index, job_id, attempt FROM rewrite_batch_items")
    return {(batch, index): (job, attempt) for batch, index, job, attempt in rows}


def _batch_id_of(batch: dict[str, Any]) -> str:
    """Ours, as the provider's batch carries it."""
    metadata: dict[str, str] = batch["metadata"] or {}
    return metadata.get("batch_id", "none")


def _place(custom_id: str) -> tuple[UUID, int] | None:
    match = CUSTOM_ID.fullmatch(custom_id)
    return (UUID(match[1]), int(match[2])) if match else None


Events = dict[UUID, list[tuple[str | None, str, UUID, str | None]]]


def _events_by_job(connection: Connection) -> Events:
    events: Events = defaultdict(list)
    for job, *rest in fetch(
        connection, "SELECT job_id, from_status, to_status, run_id, reason FROM rewrite_job_events ORDER BY event_id"
    ):
        events[job].append((rest[0], rest[1], rest[2], rest[3]))
    return events
