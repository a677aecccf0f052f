"""The schemas that other services read are files; they are what the program prints."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from rewrite_batch import contracts
from rewrite_batch.contracts.schemas import schema_text
from rewrite_batch.contracts.shapes import SHAPES

COMMITTED = Path(contracts.__file__).parent / "schemas"


@pytest.mark.parametrize("name", SHAPES)
def test_the_committed_schema_is_the_printed_one(name: str) -> None:
    file = COMMITTED / f"{name}.json"
    advice = f"rewrite-batch schema {name} > rewrite_batch/contracts/schemas/{name}.json"
    assert file.is_file(), f"the shape has no schema in the repository: {advice}"
    assert file.read_bytes().decode() == schema_text(name), f"the shape has changed: {advice}"


def test_every_committed_schema_has_its_shape() -> None:
    assert {file.name for file in COMMITTED.iterdir()} == {f"{name}.json" for name in SHAPES}


@pytest.mark.parametrize("name", SHAPES)
def test_a_schema_is_valid_and_closes_every_object_but_the_payload(name: str) -> None:
    schema = json.loads(schema_text(name))
    Draft202012Validator.check_schema(schema)
    for part in [schema, *schema.get("$defs", {}).values()]:
        assert part["additionalProperties"] is False
