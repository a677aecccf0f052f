"""Uploading, listing, downloading, expiring and deleting files; the key that all of it needs."""

import pytest
from openai import APIStatusError, AuthenticationError, BadRequestError, NotFoundError, OpenAI

from rewrite_batch.simulator.process import Simulator
from tests.simulator.household import create, download, jsonl, line, upload

LINE_SEPARATORS = "\u2028\u2029\u0085".encode()


def test_a_file_comes_back_byte_for_byte(client: OpenAI) -> None:
    content = b"\xef\xbb\xbf\r\n--not-a-boundary\r\n\x00" + LINE_SEPARATORS + b"\n" * 3 + bytes(range(256)) * 2000
    file = upload(client, content)
    assert file.bytes == len(content)
    assert download(client, file.id) == content


def test_a_wrong_or_absent_key_is_refused_everywhere(simulator: Simulator, client: OpenAI) -> None:
    stranger = client.with_options(api_key="sk-somebody-else")
    for call in (
        stranger.models.list,
        stranger.batches.list,
        stranger.files.list,
        lambda: upload(stranger, jsonl(line(1))),
        lambda: create(stranger, jsonl(line(1))),
        lambda: stranger.responses.create(model="gpt-5.2", input="x"),
    ):
        with pytest.raises(AuthenticationError) as refused:
            call()
        assert refused.value.code == "invalid_api_key"
    keyless = client.with_options(default_headers={"Authorization": ""})
    with pytest.raises(AuthenticationError):
        keyless.models.list()
    assert simulator.state()["files"] == []


def test_answers_carry_a_request_id(client: OpenAI) -> None:
    first, second = (client.models.with_raw_response.list() for _ in range(2))
    assert first.headers["x-request-id"].startswith("req_")
    assert first.headers["x-request-id"] != second.headers["x-request-id"]
    assert int(first.headers["openai-processing-ms"]) >= 0


def test_an_unknown_path_is_a_404_in_the_providers_shape(client: OpenAI) -> None:
    with pytest.raises(NotFoundError) as missing:
        client.get("/nowhere", cast_to=object)
    assert missing.value.type == "invalid_request_error"


def test_only_jsonl_is_taken_for_a_batch(client: OpenAI) -> None:
    with pytest.raises(BadRequestError):
        upload(client, jsonl(line(1)), "batch.txt")
    with pytest.raises(BadRequestError):
        client.files.create(file=("a.jsonl", b"{}"), purpose="nonsense")  # pyright: ignore[reportArgumentType] - on purpose


def test_a_file_over_the_limit_is_a_413_and_leaves_nothing(simulator: Simulator, client: OpenAI) -> None:
    simulator.settings(max_file_bytes=10_000)
    assert upload(client, b"x" * 10_000).bytes == 10_000
    with pytest.raises(APIStatusError) as refused:
        upload(client, b"x" * 5_000_000)
    assert refused.value.status_code == 413
    assert len(simulator.state()["files"]) == 1


@pytest.mark.parametrize("seconds", [3_599, 2_592_001])
def test_a_lifetime_outside_the_limits_is_refused(client: OpenAI, seconds: int) -> None:
    with pytest.raises(BadRequestError):
        client.files.create(
            file=("a.jsonl", b"{}"),
            purpose="batch",
            expires_after={"anchor": "created_at", "seconds": seconds},
        )


def test_a_file_expires_when_its_time_has_come(simulator: Simulator, client: OpenAI) -> None:
    short = client.files.create(
        file=("a.jsonl", b"{}"), purpose="batch", expires_after={"anchor": "created_at", "seconds": 3_600}
    )
    long = upload(client, b"{}")
    assert short.expires_at == short.created_at + 3_600
    simulator.advance(3_599)
    assert download(client, short.id) == b"{}"
    simulator.advance(1)
    for gone in (client.files.retrieve, client.files.content, client.files.delete):
        with pytest.raises(NotFoundError):
            gone(short.id)
    assert [file.id for file in client.files.list()] == [long.id]
    simulator.advance(30 * 24 * 3600)
    assert list(client.files.list()) == []
    assert [file["gone"] for file in simulator.state()["files"]] == ["expired", "expired"]


def test_a_deleted_file_is_gone_and_the_state_says_so(simulator: Simulator, client: OpenAI) -> None:
    file = upload(client, b"{}")
    client.files.delete(file.id)
    with pytest.raises(NotFoundError):
        client.files.delete(file.id)
    with pytest.raises(NotFoundError):
        client.files.content(file.id)
    assert [known["gone"] for known in simulator.state()["files"]] == ["deleted"]


def test_files_are_paged_in_both_orders(client: OpenAI) -> None:
    ids = [upload(client, b"{}", f"{number}.jsonl").id for number in range(5)]
    assert [file.id for file in client.files.list(limit=2, order="asc")] == ids
    assert [file.id for file in client.files.list(limit=2)] == ids[::-1]
    page = client.files.list(limit=2, order="asc", after=ids[2])
    assert [file.id for file in page.data] == ids[3:]
    assert not page.has_next_page()
    assert client.files.list(purpose="batch_output").data == []
