"""Refuse before spending: each reason on its own row, in its order, and never a word of the row."""

import json
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite_batch.samples import fixture_items
from rewrite_batch.submit.check import Kept, Refusal, Row, allow, check, normalise_base_url
from rewrite_batch.submit.prompts import prompts
from tests.items import item_document

OPENAI = "https://api.openai.com/v1"
ALLOWED = allow([OPENAI], prompts())
CANARY = "canary-7f3a"
NESTED = [f'{{"x":{"[" * depth}{"]" * depth}}}' for depth in (150, 198, 1_000, 100_000)]


def row_of(document: dict[str, Any], **columns: Any) -> Row:
    request = document["rewrite_request"]
    row = Row(
        job_id=uuid4(),
        rewrite_request_id=UUID(request["rewrite_request_id"]),
        recipient_user_id=UUID(request["recipient_user_id"]),
        attempt_count=0,
        claim_count=1,
        routing=json.dumps(document["routing_decision"]),
        request=json.dumps(request),
        has_recipient_snapshot=True,
        has_preference_snapshot=True,
    )
    return replace(row, **columns)


def routed(**routing: Any) -> Row:
    document = item_document()
    document["routing_decision"].update(routing)
    return row_of(document)


def asked(**request: Any) -> Row:
    document = item_document()
    return row_of(document, request=json.dumps({**document["rewrite_request"], **request}))


def reason_of(row: Row) -> str | None:
    judged = check(row, ALLOWED)
    assert judged.job_id == row.job_id
    return judged.reason if isinstance(judged, Refusal) else None


def test_every_fixture_is_kept_with_what_is_needed_to_send_it() -> None:
    for item in fixture_items():
        document = json.loads(item.to_json())
        judged = check(row_of(document), ALLOWED)
        assert isinstance(judged, Kept)
        assert (judged.request, judged.routing) == (item.rewrite_request, item.routing_decision)
        assert judged.prompt is prompts()["v1"]
        assert judged.base_url is None


@pytest.mark.parametrize(("claims", "attempts", "reason"), [(10, 0, None), (11, 0, "poison"), (12, 2, None)])
def test_a_job_claimed_too_often_without_reaching_the_provider_is_poison(
    claims: int, attempts: int, reason: str | None
) -> None:
    assert reason_of(row_of(item_document(), claim_count=claims, attempt_count=attempts)) == reason


@pytest.mark.parametrize("document", [None, "", "{", b"\xff", "[]", '{"provider":"openai"}', "\ud800", *NESTED])
def test_documents_that_are_no_shape_are_refused(document: str | bytes | None) -> None:
    assert reason_of(row_of(item_document(), routing=document)) == "routing_invalid"
    assert reason_of(row_of(item_document(), request=document)) == "request_invalid"


def test_a_policy_version_that_is_not_the_requests_is_no_routing_for_it() -> None:
    assert reason_of(routed(policy_version="v9")) == "routing_invalid"


@pytest.mark.parametrize(
    "routing",
    [{"adapter_kind": "openai_chat"}, {"provider": "google"}, {"provider": "google", "adapter_kind": "gemini"}],
)
def test_an_adapter_we_do_not_have_fails_closed(routing: dict[str, str]) -> None:
    assert reason_of(routed(**routing)) == "unsupported_adapter"


def test_only_batch_goes_out() -> None:
    assert reason_of(routed(execution_mode="async")) == "unsupported_execution_mode"


@pytest.mark.parametrize("version", ["v2", "V1", "v1.md", "..", "__init__"])
def test_a_prompt_that_we_do_not_have_is_refused(version: str) -> None:
    assert reason_of(routed(prompt_version=version)) in {"unknown_prompt_version", "routing_invalid"}
    assert reason_of(routed(prompt_version="v2")) == "unknown_prompt_version"


@pytest.mark.parametrize("locale", ["unknown", "und", "", "zxx", "en_US", "klingon!"])
@pytest.mark.parametrize("side", ["source_locale", "target_locale"])
def test_a_locale_that_names_no_language_is_refused(side: str, locale: str) -> None:
    document = item_document()
    document["rewrite_request"][side] = locale
    if side == "target_locale":
        document["rewrite_request"]["context_pack"]["target_language"] = locale
    assert reason_of(row_of(document)) == "locale_unknown"


def test_a_request_with_other_faults_too_is_simply_invalid() -> None:
    assert reason_of(asked(source_locale="unknown", topics=[])) == "request_invalid"
    assert reason_of(asked(source_locale=None)) == "request_invalid"
    assert reason_of(asked(lane="same_language")) == "request_invalid"
    assert reason_of(asked(model="gpt-5.2")) == "request_invalid"


@pytest.mark.parametrize("column", ["rewrite_request_id", "recipient_user_id"])
def test_a_request_of_another_unit_is_refused(column: str) -> None:
    assert reason_of(row_of(item_document(), **{column: uuid4()})) == "request_invalid"


@pytest.mark.parametrize("snapshot", ["has_recipient_snapshot", "has_preference_snapshot"])
def test_a_missing_snapshot_is_refused(snapshot: str) -> None:
    assert reason_of(row_of(item_document(), **{snapshot: False})) == "snapshot_missing"


def test_the_first_reason_in_the_documented_order_is_given() -> None:
    document = item_document(source_locale="unknown", lane="cross_language")
    routing = document["routing_decision"]
    routing |= {"adapter_kind": "x", "execution_mode": "async", "base_url": "https://e.example", "prompt_version": "v9"}
    broken = row_of(document, claim_count=99, has_recipient_snapshot=False)
    reasons = [reason_of(broken), reason_of(replace(broken, claim_count=1, routing="{"))]
    broken = replace(broken, claim_count=1)
    for repaired in ({}, {"adapter_kind": "openai_responses"}, {"execution_mode": "batch"}, {"base_url": None}):
        routing |= repaired
        reasons.append(reason_of(replace(broken, routing=json.dumps(routing))))
    routing |= {"prompt_version": "v1"}
    broken = replace(broken, routing=json.dumps(routing))
    reasons += [reason_of(broken), reason_of(replace(broken, request="{"))]
    reasons.append(reason_of(replace(row_of(item_document()), has_recipient_snapshot=False)))
    assert reasons == [
        "poison",
        "routing_invalid",
        "unsupported_adapter",
        "unsupported_execution_mode",
        "base_url_not_allowed",
        "unknown_prompt_version",
        "locale_unknown",
        "request_invalid",
        "snapshot_missing",
    ]


@pytest.mark.parametrize(
    "url",
    [
        OPENAI,
        f"{OPENAI}/",
        "https://API.OpenAI.com/v1",
        "https://api.openai.com:443/v1",
        "HTTPS://api.openai.com:443/v1/",
    ],
)
def test_spellings_of_an_allowed_address_are_one(url: str) -> None:
    assert normalise_base_url(url) == OPENAI
    if url.startswith("https"):  # the contract wants a lower-case scheme
        judged = check(routed(base_url=url), ALLOWED)
        assert isinstance(judged, Kept)
        assert judged.base_url == OPENAI


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com.evil.example/v1",
        "https://evil.example/https://api.openai.com/v1",
        "https://evil.example/v1?https://api.openai.com/v1",
        "https://evil.example/#https://api.openai.com/v1",
        "https://api.openai.com/v1?x=1",
        "https://api.openai.com/v1#x",
        "https://api.openai.com/v1/../v2",
        "https://api.openai.com/v1/..",
        "https://api.openai.com/./v1",
        "https://api.openai.com/v1//",
        "https://api.openai.com//v1",
        "https://api.openai.com/v1/more",
        "https://api.openai.com/v10",
        "https://api.openai.com/V1",
        "https://api.openai.com/%761",
        "https://api.openai.com\\.evil.example/v1",
        "https://api.openai.com",
        "https://api.openai.com./v1",
        "https://api.openai.com:8443/v1",
        "https://api.openai.com:0443/v1",
        "https://api.openai.com:/v1",
        "https://api.openai.com:80/v1",
        "https://api.openai.com:99999/v1",
        "http://api.openai.com/v1",
        "http://api.openai.com:443/v1",
        "https://127.0.0.1/v1",
        "https://[::1]/v1",
        "https:///v1",
    ],
)
def test_no_trick_gets_an_address_past_the_allow_list(url: str) -> None:
    assert normalise_base_url(url) != OPENAI
    assert reason_of(routed(base_url=url)) == "base_url_not_allowed"


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com@evil.example/v1",
        "https://user:pass@api.openai.com/v1",
        "https://api.openai.com/v1/..",
        "https://api.openai.com/../v1",
        "https://api.openai.com/./v1",
        "https://api.openai.com/v1\n",
        "https://api.openai.com/ v1",
        "https://api.оpenai.com/v1",
        "ftp://api.openai.com/v1",
        "api.openai.com/v1",
        "",
    ],
)
def test_what_is_no_plain_url_is_never_an_address(url: str) -> None:
    assert normalise_base_url(url) is None
    assert reason_of(routed(base_url=url)) in {"routing_invalid", "base_url_not_allowed"}


def test_an_unreadable_entry_of_the_allow_list_allows_nothing() -> None:
    assert allow(["", "https://user@x.example", "https://x.example/?q"], prompts()).base_urls == frozenset()


@given(st.text())
def test_normalising_an_address_again_changes_nothing(text: str) -> None:
    for url in (text, f"https://{text}", f"https://x.example/{text}"):
        once = normalise_base_url(url)
        assert once is None or normalise_base_url(once) == once


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
documents = st.none() | st.text(st.characters()) | st.binary() | json_values.map(json.dumps)


@given(documents, documents, st.integers(), st.integers(), st.booleans())
def test_no_row_whatsoever_raises(
    routing: str | bytes | None, request: str | bytes | None, attempts: int, claims: int, snapshot: bool
) -> None:
    row = row_of(item_document(), attempt_count=attempts, claim_count=claims, has_recipient_snapshot=snapshot)
    for changed in (replace(row, routing=routing), replace(row, request=request)):
        assert isinstance(check(changed, ALLOWED), Kept | Refusal)


fields = st.sampled_from(sorted(item_document()["rewrite_request"]))


@given(fields, json_values)
def test_a_request_with_any_field_replaced_is_kept_or_refused_by_code(field: str, value: object) -> None:
    assert reason_of(asked(**{field: value})) in {None, "request_invalid", "locale_unknown", "routing_invalid"}


def test_neither_rows_nor_verdicts_show_what_people_wrote() -> None:
    row = row_of(item_document(text=CANARY))
    assert CANARY not in repr(row)
    assert CANARY not in repr(check(row, ALLOWED))
    assert CANARY not in repr(check(asked(original_text=CANARY, surface=CANARY), ALLOWED))
