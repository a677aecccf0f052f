"""Logs: one JSON line an event with its run, and no way in for words."""

import ast
import io
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

import rewrite_batch
from rewrite_batch.log import KEYS, REFUSED, configure_logging, get_log, refuse_text
from rewrite_batch.settings import load_settings

CANARY = "Turn the zanahoria down"
RUN = UUID("0190b1c2-3d4e-7f50-8a9b-0c1d2e3f4a5b")


@pytest.fixture
def lines() -> Any:
    stream = io.StringIO()
    configure_logging(load_settings({}), run_id=RUN, command="test", stream=stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def test_every_line_is_json_with_the_run_when_no_terminal_looks(lines: Any) -> None:
    get_log().info("claimed", count=3)
    get_log().warning("waiting")
    assert [line["run_id"] for line in lines()] == [str(RUN)] * 2
    assert lines()[0] | {"event": "claimed", "count": 3, "level": "info", "command": "test"} == lines()[0]


@pytest.mark.parametrize(
    "key", ["original_text", "rewritten_text", "text", "message", "body", "prompt", "payload", CANARY]
)
def test_a_key_that_could_hold_words_is_refused(lines: Any, key: str) -> None:
    get_log().info("claimed", **{key: "word"})
    assert "word" not in json.dumps(lines())
    assert lines()[0]["refused_keys"] == [key if key != CANARY else REFUSED]


@pytest.mark.parametrize("value", [CANARY, [CANARY], {"a": CANARY}, {CANARY: 1}, (CANARY,), CANARY.encode(), object()])
def test_a_value_that_could_be_words_is_refused_under_any_key(lines: Any, value: Any) -> None:
    get_log().info("claimed", reason=value)
    assert "zanahoria" not in json.dumps(lines())
    assert lines()[0]["reason"] == REFUSED


def test_an_event_that_is_a_sentence_is_refused(lines: Any) -> None:
    get_log().info(CANARY)
    assert lines()[0]["event"] == REFUSED


def test_an_exception_is_its_class_and_place_and_never_its_message(lines: Any) -> None:
    try:
        int(CANARY)
    except ValueError:
        get_log().exception("broke")
    assert "zanahoria" not in json.dumps(lines())
    assert lines()[0]["error_class"] == "ValueError"
    assert lines()[0]["where"].startswith("test_log.py:")


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text()), max_size=5))
def test_whatever_is_logged_no_string_with_a_space_passes(event: dict[str, Any]) -> None:
    passed = refuse_text(None, "info", dict(event))
    assert not any(" " in str(value) for key, value in passed.items() if key != "refused_keys")
    assert set(passed) <= KEYS


def test_every_log_call_of_the_package_uses_known_keys() -> None:
    package = Path(rewrite_batch.__file__).parent
    levels = {"debug", "info", "warning", "error", "exception", "critical"}
    unknown = [
        f"{path.name}:{call.lineno} {keyword.arg}"
        for path in package.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in levels
        for keyword in call.keywords
        if keyword.arg is not None and keyword.arg not in KEYS | {"exc_info"}
    ]
    assert unknown == []
