"""A batch may hold 50,000 items: every chunk of it can be read and written, the last one too."""

from uuid import uuid4

import pytest

from rewrite_batch.collect.write import MAX_CHUNK
from rewrite_batch.db import Connection
from rewrite_batch.queries import query

# A small number goes to the server as a small integer: 32,000 + 1,000 is more than that can hold.
FIRSTS = (0, 32_000, 49_000)


@pytest.mark.parametrize("first", FIRSTS)
@pytest.mark.parametrize("name", ["collect/load_items", "collect/lock_units", "collect/apply"])
def test_the_place_of_a_chunk_is_never_out_of_range(connection: Connection, name: str, first: int) -> None:
    names = {"batch_id": uuid4(), "first": first, "count": MAX_CHUNK, "provider": "openai", "lease_token": uuid4()}
    with connection.transaction():
        connection.execute(query("collect/create_stage"))
        connection.execute(query("collect/create_units"))
        assert connection.execute(query(name), names).rowcount == 0
