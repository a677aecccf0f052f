"""The Files endpoint: what was uploaded, listed, downloaded and deleted, and what is gone."""

from dataclasses import dataclass
from pathlib import Path

from rewrite_batch.simulator.books import file_object, find_file, insert_file, new_id
from rewrite_batch.simulator.calls import Call
from rewrite_batch.simulator.lifecycle import Lifecycle
from rewrite_batch.simulator.paging import page
from rewrite_batch.simulator.replies import ApiError, Reply
from rewrite_batch.simulator.store import Row
from rewrite_batch.simulator.upload import Upload

PURPOSES = ("assistants", "batch", "fine-tune", "vision", "user_data", "evals")
SHORTEST_LIFE, LONGEST_LIFE = 3_600, 2_592_000


@dataclass(frozen=True)
class Files:
    life: Lifecycle

    def create(self, call: Call, upload: Upload, received: Path) -> Reply:
        purpose = upload.fields.get("purpose")
        if upload.filename is None:
            raise ApiError(400, "'file' is a required property", param="file")
        if purpose not in PURPOSES:
            raise ApiError(400, f"'{purpose}' is not one of {list(PURPOSES)} - 'purpose'", param="purpose")
        if purpose == "batch" and not upload.filename.endswith(".jsonl"):
            raise ApiError(400, "Invalid file format for Batch API. Must be .jsonl", param="file")
        now = self.life.clock.now()
        lifetime = expiry_seconds(
            upload.fields.get("expires_after[anchor]"), upload.fields.get("expires_after[seconds]")
        )
        if lifetime is None and purpose == "batch":
            lifetime = int(self.life.settings().retention_s)
        store = self.life.store
        file_id = new_id(store, "file-", self.life.settings().seed)
        # The bytes are in place before the row says so; the counter never gives this id again.
        received.replace(store.body(file_id))
        insert_file(
            store,
            file_id,
            filename=upload.filename,
            purpose=purpose,
            size=upload.size,
            created_at=now,
            expires_at=None if lifetime is None else now + lifetime,
            key_fingerprint=call.key_fingerprint,
        )
        return Reply(payload=file_object(self._present(file_id)))

    def list(self, call: Call) -> Reply:
        order = call.query.get("order", "desc")
        if order not in ("asc", "desc"):
            raise ApiError(400, "Invalid 'order': it must be 'asc' or 'desc'.", param="order")
        rows = self.life.store.rows("SELECT * FROM files WHERE gone IS NULL ORDER BY seq")
        purpose = call.query.get("purpose")
        rows = [row for row in rows if purpose in (None, row["purpose"])]
        if order == "desc":
            rows.reverse()
        return Reply(payload=page(call, rows, "file_id", most=10_000, default=10_000, show=file_object))

    def retrieve(self, call: Call) -> Reply:
        return Reply(payload=file_object(self._present(call.target)))

    def content(self, call: Call) -> Reply:
        row = self._present(call.target)
        return Reply(path=self.life.store.body(row["file_id"]), content_type="application/octet-stream")

    def delete(self, call: Call) -> Reply:
        row = self._present(call.target)
        self.life.finisher.remove_file(row["file_id"], "deleted", self.life.clock.now())
        return Reply(payload={"id": row["file_id"], "object": "file", "deleted": True})

    def _present(self, file_id: str | None) -> Row:
        row = find_file(self.life.store, file_id or "")
        if row is None or row["gone"]:
            raise ApiError(404, f"No such File object: {file_id}", param="id")
        return row


def expiry_seconds(anchor: object, seconds: object) -> int | None:
    """The chosen lifetime of a file; both parts of the policy, or neither."""
    if anchor is None and seconds is None:
        return None
    if anchor != "created_at":
        raise ApiError(400, "Invalid 'expires_after.anchor': only 'created_at'.", param="expires_after.anchor")
    text = str(seconds)
    if not text.isdecimal() or not SHORTEST_LIFE <= int(text) <= LONGEST_LIFE:
        raise ApiError(
            400,
            f"Invalid 'expires_after.seconds': it must be between {SHORTEST_LIFE} and {LONGEST_LIFE}.",
            param="expires_after.seconds",
        )
    return int(text)
