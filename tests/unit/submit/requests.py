"""Valid requests and routings for tests of the pure steps, from the sample items."""

import json
from typing import Any

from rewrite_batch.contracts.shapes import EnqueueItemV1
from tests.items import item_document


def item(routing: dict[str, Any] | None = None, **request: Any) -> EnqueueItemV1:
    document = item_document(**request)
    document["routing_decision"].update(routing or {})
    return EnqueueItemV1.from_json(json.dumps(document))
