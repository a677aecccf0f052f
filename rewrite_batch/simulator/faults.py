"""The armed faults, kept in the state: each says how often it may still fire and how often it did.

A fault is counted when it takes effect, never when it is only considered, so a test can trust `fired`.
"""

from dataclasses import dataclass

from rewrite_batch.simulator.fault_kinds import LINE_CONTENT_KINDS, refuse_impossible
from rewrite_batch.simulator.jsontext import Json, decode, encode, object_of
from rewrite_batch.simulator.lots import chance
from rewrite_batch.simulator.store import Row, Store


@dataclass(frozen=True)
class Fault:
    fault_id: int
    kind: str
    spec: Json

    def matches(self, facts: Json) -> bool:
        wanted: Json = self.spec.get("match") or {}
        return all(facts.get(name) == value for name, value in wanted.items())


class Faults:
    def __init__(self, store: Store) -> None:
        self._store = store

    def arm(self, spec: Json) -> int:
        refuse_impossible(spec)
        # A share of the lines has no natural number; everything else happens once unless it says otherwise.
        times = spec.get("times", None if "share" in spec else 1)
        found = self._store.row(
            "INSERT INTO faults (spec, skip_left, remaining) VALUES (?, ?, ?) RETURNING fault_id",
            encode(spec).decode(),
            spec.get("skip", 0),
            times,
        )
        assert found is not None
        return int(found["fault_id"])

    def disarm(self, fault_id: int | None) -> int:
        if fault_id is None:
            return self._store.run("DELETE FROM faults")
        return self._store.run("DELETE FROM faults WHERE fault_id = ?", fault_id)

    def as_json(self) -> list[Json]:
        return [
            {
                **_spec(row),
                "fault_id": row["fault_id"],
                "fired": row["fired"],
                "remaining": row["remaining"],
                "skip_left": row["skip_left"],
            }
            for row in self._store.rows("SELECT * FROM faults ORDER BY fault_id")
        ]

    def pick(self, operation: str, facts: Json) -> tuple[Fault | None, Fault | None]:
        """The delay and the other fault that fall on this call: the oldest armed ones.

        Every armed fault that matches counts the call against its `skip`, picked or not.
        """
        delay: Fault | None = None
        other: Fault | None = None
        for row in self._armed():
            fault = _fault(row)
            if fault.spec["operation"] not in (operation, "*"):
                continue
            # A list names no batch: there the match chooses elements of the answer.
            if not operation.endswith(".list") and not fault.matches(facts):
                continue
            if row["skip_left"] > 0:
                self._store.run("UPDATE faults SET skip_left = skip_left - 1 WHERE fault_id = ?", fault.fault_id)
            elif fault.kind == "delay":
                delay = delay or fault
            else:
                other = other or fault
        return delay, other

    def fire(self, fault: Fault, times: int = 1) -> bool:
        """Count it; False when another call used it up in the meantime."""
        return bool(
            self._store.run(
                "UPDATE faults SET fired = fired + ?, remaining = remaining - ?"
                " WHERE fault_id = ? AND (remaining IS NULL OR remaining > 0)",
                times,
                times,
                fault.fault_id,
            )
        )

    def for_lines(self, facts: Json, seed: int) -> "LineFaults":
        armed = [
            (_fault(row), row["skip_left"], row["remaining"])
            for row in self._armed()
            if _spec(row)["operation"] == "line"
        ]
        return LineFaults([entry for entry in armed if entry[0].matches(facts)], seed)

    def count_lines(self, lines: "LineFaults") -> None:
        """Within the transaction that writes the batch's results."""
        for fault, fired in lines.fired():
            self.fire(fault, fired)

    def _armed(self) -> list[Row]:
        return self._store.rows("SELECT * FROM faults WHERE remaining IS NULL OR remaining > 0 ORDER BY fault_id")


class LineFaults:
    """The faults of one batch's lines, used by the thread that writes them; the counts are stored later."""

    def __init__(self, armed: list[tuple[Fault, int, int | None]], seed: int) -> None:
        self._armed = [fault for fault, _, _ in armed]
        self._skip = {fault.fault_id: skip for fault, skip, _ in armed}
        self._left = {fault.fault_id: remaining for fault, _, remaining in armed}
        self._fired = {fault.fault_id: 0 for fault, _, _ in armed}
        self._seed = seed

    def fall_on(self, index: int, custom_id: str) -> tuple[Fault | None, Fault | None]:
        """The fault of what this line says, and the fault of how it is written."""
        content: Fault | None = None
        shape: Fault | None = None
        for fault in self._armed:
            taken = content if fault.kind in LINE_CONTENT_KINDS else shape
            if taken is not None or self._left[fault.fault_id] == 0 or not self._chooses(fault, index, custom_id):
                continue
            if self._skip[fault.fault_id] > 0:
                self._skip[fault.fault_id] -= 1
            elif fault.kind in LINE_CONTENT_KINDS:
                content = fault
            else:
                shape = fault
        return content, shape

    def fire(self, fault: Fault) -> None:
        self._fired[fault.fault_id] += 1
        left = self._left[fault.fault_id]
        self._left[fault.fault_id] = None if left is None else left - 1

    def fired(self) -> list[tuple[Fault, int]]:
        return [(fault, self._fired[fault.fault_id]) for fault in self._armed if self._fired[fault.fault_id]]

    def _chooses(self, fault: Fault, index: int, custom_id: str) -> bool:
        spec = fault.spec
        if "index" in spec:
            return spec["index"] == index
        if "custom_id" in spec:
            return spec["custom_id"] == custom_id
        return chance(self._seed, fault.fault_id, custom_id) < spec["share"]


def _spec(row: Row) -> Json:
    return object_of(decode(row["spec"].encode())) or {}


def _fault(row: Row) -> Fault:
    spec = _spec(row)
    return Fault(fault_id=row["fault_id"], kind=spec["kind"], spec=spec)
