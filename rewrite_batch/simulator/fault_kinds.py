"""Which faults exist, where each may be armed and what it takes. One that could never fire is refused.

    {"operation": "batches.create", "kind": "status", "code": 503, "times": 2, "skip": 1}

`operation` is one of OPERATIONS, "*" or "line"; `times` is 1 unless said (null: always), `skip` is how many calls
go by first, `match` narrows it to one provider_batch_id, file_id or metadata_batch_id (the caller's own batch id).

    status           code 500, error_code, error_type, message, retry_after, retry_after_ms (headers as they are),
                     after_work false: whether the work is done before the client hears of the failure
    reset_before     the connection is reset; nothing was done        reset_after: everything was done
    hang_before      no answer, ever; nothing was done                hang_after: everything was done
    delay            seconds 1 before anything else; goes together with another fault
    slow_body        the answer trickles in over seconds 1
    truncate         bytes, or fraction 0.5; how: "close" early, "chunked" without an end, or "short_length"
    corrupt          bytes 1 flipped from offset 0; or line (from 1) becomes replacement "{"
    html             a page with status 200; after_work false         broken_json: half an answer, work done
    late_create      reset, and the batch comes into being seconds 60 (virtual) later
    stale_list       the newest hide 1 are not on the list
    regress_status   to "validating" or a later one that is earlier than the truth
    unknown_status   status "paused"                                  empty_file_ids: fields ["error_file_id"]
    count_mismatch   total, completed, failed; one too many unless said
    usage_mismatch   input_tokens, cached_tokens, output_tokens: so many too many (or, below 0, too few) in the sum of a
                     batch; fields [] are left out of it

A fault of a line is chosen by custom_id, index (from 0) or share, and takes effect when results are written:
http_status takes code 500, error_code and error_type; never_ran takes error_code; nul and lone_surrogate take
level "inner" (an escape in the answer's JSON) or "outer" (in the line's own). A share strikes always unless
`times` says how often.
"""

from rewrite_batch.simulator.jsontext import Json, int_of, number_of, object_of
from rewrite_batch.simulator.model import BAD_CLASSES

OPERATIONS = (
    "files.create",
    "files.list",
    "files.retrieve",
    "files.content",
    "files.delete",
    "batches.create",
    "batches.list",
    "batches.retrieve",
    "batches.cancel",
    "responses.create",
    "responses.input_tokens",
    "models.list",
    "models.retrieve",
)
_TOKENS = ("input_tokens", "cached_tokens", "output_tokens")
_BATCH_READS = ("batches.retrieve", "batches.list", "batches.cancel")

# kind → (its arguments, the operations it makes sense for; none named is all of them).
CALL_KINDS: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {
    "status": (
        frozenset({"code", "error_code", "error_type", "message", "retry_after", "retry_after_ms", "after_work"}),
        (),
    ),
    "reset_before": (frozenset(), ()),
    "reset_after": (frozenset(), ()),
    "hang_before": (frozenset(), ()),
    "hang_after": (frozenset(), ()),
    "delay": (frozenset({"seconds"}), ()),
    "slow_body": (frozenset({"seconds"}), ()),
    "truncate": (frozenset({"bytes", "fraction", "how"}), ()),
    "corrupt": (frozenset({"offset", "bytes", "line", "replacement"}), ()),
    "html": (frozenset({"after_work"}), ()),
    "broken_json": (frozenset(), ()),
    "late_create": (frozenset({"seconds"}), ("batches.create",)),
    "stale_list": (frozenset({"hide"}), ("batches.list", "files.list")),
    "regress_status": (frozenset({"to"}), _BATCH_READS),
    "unknown_status": (frozenset({"status"}), _BATCH_READS),
    "empty_file_ids": (frozenset({"fields"}), _BATCH_READS),
    "count_mismatch": (frozenset({"total", "completed", "failed"}), _BATCH_READS),
    "usage_mismatch": (frozenset({*_TOKENS, "fields"}), _BATCH_READS),
}
# What the line says, and how it is written: one of each may fall on the same line.
LINE_CONTENT_KINDS = (
    *BAD_CLASSES,
    "good",
    "http_status",
    "never_ran",
    "nul",
    "lone_surrogate",
    "line_separator",
    "split_message",
    "legacy_usage",
)
LINE_SHAPE_KINDS = (
    "duplicate",
    "duplicate_different",
    "missing",
    "malformed_line",
    "unknown_custom_id",
    "extra_line",
    "bom",
    "raw_nul",
    "blank_line",
    "crlf",
)
_LINE_ARGUMENTS = frozenset({"custom_id", "index", "share", "code", "error_code", "error_type", "level"})
_EVERY_FAULT = frozenset({"operation", "kind", "times", "skip", "match"})
_NUMBERS = frozenset(
    {"code", "seconds", "bytes", "fraction", "offset", "line", "hide", "total", "completed", "failed", *_TOKENS}
)
_EARLIER = ("validating", "in_progress", "finalizing")
_MATCHES = frozenset({"provider_batch_id", "file_id", "metadata_batch_id"})


def refuse_impossible(spec: Json) -> None:
    """ValueError names what is wrong with a fault that somebody wants to arm."""
    operation, kind = spec.get("operation"), spec.get("kind")
    if operation == "line":
        arguments = _line_arguments(spec, kind)
    elif operation == "*" or operation in OPERATIONS:
        arguments = _call_arguments(operation, kind)
    else:
        raise ValueError(f"there is no operation {operation!r}")
    unknown = set(spec) - arguments - _EVERY_FAULT
    if unknown:
        raise ValueError(f"a fault of kind {kind} takes no {', '.join(sorted(unknown))}")
    for name, least in (("times", 1), ("skip", 0)):
        if spec.get(name) is not None and (int_of(spec[name]) is None or spec[name] < least):
            raise ValueError(f"{name} is a whole number of at least {least}")
    for name in _NUMBERS & set(spec):
        if number_of(spec[name]) is None:
            raise ValueError(f"{name} is a number")
    if spec.get("to", "validating") not in _EARLIER:
        raise ValueError(f"to is one of {', '.join(_EARLIER)}")
    if "match" in spec and not set(object_of(spec["match"]) or {"": ""}) <= _MATCHES:
        raise ValueError(f"match takes {', '.join(sorted(_MATCHES))}")


def _call_arguments(operation: object, kind: object) -> frozenset[str]:
    if not isinstance(kind, str) or kind not in CALL_KINDS:
        raise ValueError(f"there is no fault {kind!r} of a call")
    arguments, operations = CALL_KINDS[kind]
    if operations and operation not in operations:
        raise ValueError(f"{kind} can only be armed for {', '.join(operations)}")
    return arguments


def _line_arguments(spec: Json, kind: object) -> frozenset[str]:
    if kind not in LINE_CONTENT_KINDS and kind not in LINE_SHAPE_KINDS:
        raise ValueError(f"there is no fault {kind!r} of a line")
    chosen = [name for name in ("custom_id", "index", "share") if name in spec]
    if len(chosen) != 1:
        raise ValueError("a line is chosen by one of custom_id, index or share")
    if "share" in spec and not 0 <= (number_of(spec["share"]) or 0) <= 1:
        raise ValueError("share is between 0 and 1")
    return _LINE_ARGUMENTS
