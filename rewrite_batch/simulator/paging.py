"""Lists with a cursor, as the provider pages them."""

from collections.abc import Callable

from rewrite_batch.simulator.calls import Call
from rewrite_batch.simulator.jsontext import Json
from rewrite_batch.simulator.replies import ApiError
from rewrite_batch.simulator.store import Row


def page(call: Call, rows: list[Row], key: str, *, most: int, default: int, show: Callable[[Row], Json]) -> Json:
    """One page of rows that are in list order. A list that lags behind leaves out its newest ones."""
    hidden = _hidden(call, rows)
    rows = [row for row in rows if row[key] not in hidden]
    limit = _limit(call, most, default)
    after = call.query.get("after")
    if after:
        places = [place for place, row in enumerate(rows) if row[key] == after]
        if not places and after not in hidden:
            raise ApiError(400, f"Invalid 'after': there is no object '{after}'.", param="after")
        rows = rows[places[0] + 1 :] if places else rows
    shown = [show(row) for row in rows[:limit]]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": len(rows) > limit,
    }


def _hidden(call: Call, rows: list[Row]) -> set[str]:
    count = call.argument("stale_list", "hide", 1)
    newest = sorted(rows, key=lambda row: row["seq"], reverse=True)[: int(count or 0)]
    call.carried_out = bool(newest)
    key = "file_id" if call.operation == "files.list" else "provider_batch_id"
    return {row[key] for row in newest}


def _limit(call: Call, most: int, default: int) -> int:
    text = call.query.get("limit")
    if text is None:
        return default
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise ApiError(400, f"Invalid 'limit': it must be between 1 and {most}.", param="limit")
    return int(text)
