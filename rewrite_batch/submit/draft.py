"""Draft: checked rows come in; lines in spool files, grouped and within every limit, go out as drafts of batches.

Nothing is recorded and nothing is sent here. Without a spool (a dry run) the same decisions are made and no file is
written.
"""

from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from rewrite_batch.errors import InvariantBroken
from rewrite_batch.ids import new_id
from rewrite_batch.submit.check import Allowed, Refusal, Row, check
from rewrite_batch.submit.estimate import Estimator
from rewrite_batch.submit.group import Grouping, Limits, Packer, Refused, Unit, batch_group_key
from rewrite_batch.submit.render import custom_id, render, thinks
from rewrite_batch.submit.spool import SpoolWriter

# Each open draft holds a file; a process has about a thousand.
MAX_OPEN = 200


@dataclass
class Draft:
    batch_id: UUID
    writer: SpoolWriter | None
    units: list[Unit] = field(default_factory=list[Unit])
    size: int = 0


@dataclass(frozen=True)
class Waits:
    job_id: UUID
    model: str
    reason: str


class Drafts:
    def __init__(
        self, *, spool_dir: Path | None, limits: Limits, grouping: Grouping, allowed: Allowed, estimator: Estimator
    ) -> None:
        self._spool_dir = spool_dir
        self._allowed = allowed
        self._estimator = estimator
        self._packer = Packer(limits, grouping)
        self._open: dict[int, Draft] = {}
        self.finished: list[Draft] = []

    def add(self, row: Row) -> Refusal | Waits | None:
        """None when the row is in a draft; batches that this finished are in `finished`."""
        kept = check(row, self._allowed)
        if isinstance(kept, Refusal):
            return kept
        rendered = render(kept.request, kept.routing, kept.prompt)
        key = batch_group_key(kept.routing, kept.request)
        unit = Unit(
            job_id=row.job_id,
            rewrite_request_id=row.rewrite_request_id,
            recipient_user_id=row.recipient_user_id,
            attempt=row.attempt_count + 1,
            key=key,
            line_bytes=rendered.line_bytes,
            input_chars=rendered.prompt_chars + rendered.data_chars,
            # The names of the data's fields are English, like the instructions.
            input_tokens=self._estimator.input_tokens(
                rendered.prompt_chars + rendered.data_chars - len(kept.request.original_text),
                len(kept.request.original_text),
                key.source_locale,
            ),
            output_tokens=self._estimator.output_tokens(
                len(kept.request.original_text), key.target_locale, key.source_locale
            )
            + (self._estimator.reasoning_tokens(key.model) if thinks(key.model) else 0),
            base_url=kept.base_url,
        )
        slot = self._packer.place(unit)
        if isinstance(slot, Refused):
            if slot.reason == "line_too_large":
                return Refusal(row.job_id, "line_too_large")
            return Waits(row.job_id, key.model, slot.reason)
        draft = self._open.get(slot.batch) or self._begin(slot.batch)
        if slot.index != len(draft.units):
            raise InvariantBroken(f"batch {draft.batch_id}: item {slot.index} is not next")
        line = rendered.line(custom_id(draft.batch_id, slot.index))
        if draft.writer:
            draft.writer.append(line)
        draft.units.append(unit)
        draft.size += len(line)
        self._finish(slot.closed)
        if len(self._open) > MAX_OPEN:
            self.finish_all()
        return None

    def take_finished(self) -> list[Draft]:
        """They are the caller's now, with their files."""
        finished, self.finished = self.finished, []
        return finished

    def finish_all(self) -> None:
        self._finish(tuple(self._packer.close_all()))

    def discard(self) -> None:
        """Every file that was not handed over is removed."""
        for draft in [*self._open.values(), *self.finished]:
            if draft.writer:
                draft.writer.remove()

    def _begin(self, number: int) -> Draft:
        batch_id = new_id()
        writer = SpoolWriter(self._spool_dir, batch_id) if self._spool_dir else None
        self._open[number] = draft = Draft(batch_id, writer)
        return draft

    def _finish(self, numbers: tuple[int, ...]) -> None:
        for number in numbers:
            draft = self._open.pop(number)
            if draft.writer:
                draft.writer.close()
            self.finished.append(draft)
