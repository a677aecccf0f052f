"""The Batches endpoint. Creating checks the request only: the file is looked at later, by the life cycle."""

from dataclasses import dataclass

from rewrite_batch.simulator.books import (
    FINAL,
    batch_object,
    dumped,
    find_batch,
    new_id,
    progress,
    update_batch,
)
from rewrite_batch.simulator.calls import Call
from rewrite_batch.simulator.files import expiry_seconds
from rewrite_batch.simulator.jsontext import Json, JsonError, decode, object_of, text_of
from rewrite_batch.simulator.lifecycle import Lifecycle
from rewrite_batch.simulator.paging import page
from rewrite_batch.simulator.replies import ApiError, Reply
from rewrite_batch.simulator.store import Row
from rewrite_batch.simulator.validate import read_lines

# The parameters of `batches.create`; a test compares them with the installed client's request type.
PARAMETERS = frozenset({"completion_window", "endpoint", "input_file_id", "metadata", "output_expires_after"})
ENDPOINT = "/v1/responses"


@dataclass(frozen=True)
class Batches:
    life: Lifecycle

    def create(self, call: Call) -> Reply:
        body = call.body
        _check(body)
        now = self.life.clock.now()
        self._check_limits(body["input_file_id"], now)
        policy = object_of(body.get("output_expires_after"))
        lifetime = expiry_seconds(policy.get("anchor"), policy.get("seconds")) if policy is not None else None
        settings = self.life.settings()
        # A late batch exists for nobody until its time of creation has come.
        created_at = now + (call.argument("late_create", "seconds", 60.0) or 0.0)
        call.carried_out = call.fault is not None and call.fault.kind == "late_create"
        batch_id = new_id(self.life.store, "batch_", settings.seed)
        self.life.store.run(
            "INSERT INTO batches (provider_batch_id, key_fingerprint, input_file_id, endpoint,"
            " completion_window, metadata, output_expires_s, status, created_at, expires_at, next_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, 'validating', ?, ?, ?)",
            batch_id,
            call.key_fingerprint,
            body["input_file_id"],
            body["endpoint"],
            body["completion_window"],
            dumped(body.get("metadata")),
            lifetime,
            created_at,
            created_at + settings.window_s,
            created_at + settings.validating_s,
        )
        row = find_batch(self.life.store, batch_id)
        assert row is not None
        return Reply(payload=batch_object(row, now))

    def list(self, call: Call) -> Reply:
        now = self.life.clock.now()
        rows = self.life.store.rows(
            "SELECT * FROM batches WHERE created_at <= ? AND created_at > ? ORDER BY created_at DESC, seq DESC",
            now,
            now - self.life.settings().retention_s,
        )
        shown = page(call, rows, "provider_batch_id", most=100, default=20, show=lambda row: batch_object(row, now))
        return Reply(payload=shown)

    def retrieve(self, call: Call) -> Reply:
        return Reply(payload=batch_object(self._present(call.target), self.life.clock.now()))

    def cancel(self, call: Call) -> Reply:
        row = self._present(call.target)
        now = self.life.clock.now()
        if row["status"] in FINAL:
            raise ApiError(409, f"Cannot cancel a batch with status '{row['status']}'.")
        if row["status"] != "cancelling":
            update_batch(
                self.life.store,
                row["provider_batch_id"],
                status="cancelling",
                cancelling_at=now,
                share=progress(row, now),
                next_at=now + self.life.settings().cancelling_s,
            )
        return self.retrieve(call)

    def _present(self, provider_batch_id: str | None) -> Row:
        now = self.life.clock.now()
        row = find_batch(self.life.store, provider_batch_id or "")
        if row is None or row["created_at"] > now or row["created_at"] <= now - self.life.settings().retention_s:
            raise ApiError(404, f"No batch found with id '{provider_batch_id}'.")
        return row

    def _check_limits(self, input_file_id: str, now: float) -> None:
        settings = self.life.settings()
        recent = self.life.store.count("SELECT count(*) FROM batches WHERE created_at > ?", now - 3600)
        if recent >= settings.creations_an_hour:
            message = f"Rate limit reached for batch creation: {settings.creations_an_hour} an hour."
            raise ApiError(
                429,
                message,
                kind="rate_limit_error",
                code="rate_limit_exceeded",
                headers={"retry-after": "60"},
            )
        if settings.quota_exhausted_models and settings.quota_exhausted(self._model_of(input_file_id)):
            raise quota_error()

    def _model_of(self, input_file_id: str) -> str | None:
        """The model that the first line names."""
        path = self.life.store.body(input_file_id)
        if not path.is_file():
            return None
        try:
            line = object_of(decode(next(read_lines(path), b"")))
        except JsonError:
            return None
        body = object_of((line or {}).get("body"))
        return text_of((body or {}).get("model"))


def quota_error() -> ApiError:
    message = "You exceeded your current quota, please check your plan and billing details."
    return ApiError(429, message, kind="insufficient_quota", code="insufficient_quota")


def _check(body: Json) -> None:
    for name in body:
        if name not in PARAMETERS:
            raise ApiError(400, f"Unknown parameter: '{name}'.", code="unknown_parameter", param=name)
    for name in ("input_file_id", "endpoint", "completion_window"):
        if not isinstance(body.get(name), str) or not body[name]:
            message = f"Missing required parameter: '{name}'."
            raise ApiError(400, message, code="missing_required_parameter", param=name)
    for name, only in (("completion_window", "24h"), ("endpoint", ENDPOINT)):
        if body[name] != only:
            message = f"Invalid value: '{body[name]}'. Supported values are: '{only}'."
            raise ApiError(400, message, code="invalid_value", param=name)
    if not body["input_file_id"].replace("-", "").replace("_", "").isalnum():
        raise ApiError(400, "Invalid 'input_file_id'.", code="invalid_value", param="input_file_id")
    _check_metadata(body.get("metadata"))


def _check_metadata(value: object) -> None:
    if value is None:
        return
    metadata = object_of(value)
    if metadata is None or not all(isinstance(entry, str) for entry in metadata.values()):
        raise ApiError(400, "Invalid type for 'metadata': expected strings.", code="invalid_type", param="metadata")
    if len(metadata) > 16:
        message = "Invalid 'metadata': too many properties. Expected an object with at most 16 properties."
        raise ApiError(400, message, code="object_above_max_properties", param="metadata")
    if any(len(key) > 64 for key in metadata) or any(len(entry) > 512 for entry in metadata.values()):
        message = "Invalid 'metadata': keys have at most 64 characters, values at most 512."
        raise ApiError(400, message, code="string_above_max_length", param="metadata")
