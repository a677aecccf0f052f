"""Late validation: a file goes in; model, lines and prompt tokens come out, or what is wrong with which line.

Lines are read one at a time. Nothing runs and nothing is billed when anything is wrong.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rewrite_batch.simulator.jsontext import Json, JsonError, decode, object_of, text_of
from rewrite_batch.simulator.request_body import BodyError, read_request
from rewrite_batch.simulator.settings import Settings


def _no_errors() -> list[Json]:
    return []


@dataclass
class Validation:
    model: str | None = None
    total: int = 0
    prompt_tokens: int = 0
    errors: list[Json] = field(default_factory=_no_errors)
    error_count: int = 0


def read_lines(path: Path) -> Iterator[bytes]:
    """Lines without their newline, split on the newline byte only: text may hold other line separators."""
    with path.open("rb", buffering=1 << 20) as file:
        for line in file:
            yield line.removesuffix(b"\n").removesuffix(b"\r")


def problem(code: str, message: str, line: int | None = None, param: str | None = None) -> Json:
    return {"code": code, "line": line, "message": message, "param": param}


def validate_file(path: Path | None, endpoint: str, settings: Settings) -> Validation:
    result = Validation()
    if path is None or not path.exists():
        _report(
            result,
            settings,
            problem("invalid_input_file", "The input file was not found.", param="input_file_id"),
        )
        return result
    seen: set[str] = set()
    for number, raw in enumerate(read_lines(path), start=1):
        result.total = number
        if number > settings.max_lines:
            continue  # only counted, to say how many there are
        for found in _line_problems(result, raw, number, endpoint, seen):
            _report(result, settings, found)
    if result.total == 0:
        _report(
            result,
            settings,
            problem("empty_file", "The input file is empty. Please upload a file with requests."),
        )
    if result.total > settings.max_lines:
        _replace_by_too_many(result, settings)
    if result.model in settings.missing_models:
        _report(
            result,
            settings,
            problem("model_not_found", "The model for this batch does not exist.", 1, "body.model"),
        )
    return result


def _report(result: Validation, settings: Settings, found: Json) -> None:
    result.error_count += 1
    if len(result.errors) < settings.max_listed_errors:
        result.errors.append(found)


def _replace_by_too_many(result: Validation, settings: Settings) -> None:
    message = f"The batch has {result.total} requests, over the limit of {settings.max_lines} a batch."
    result.errors = [problem("too_many_tasks", message)]
    result.error_count = 1


def _line_problems(result: Validation, raw: bytes, number: int, endpoint: str, seen: set[str]) -> Iterator[Json]:
    try:
        line = object_of(decode(raw))
    except JsonError:
        line = None
    if line is None:
        yield problem("invalid_json_line", "This line is not parseable as valid JSON.", number)
        return
    custom_id = text_of(line.get("custom_id"))
    if not custom_id or not _writable(custom_id):
        yield problem("missing_required_parameter", "Missing required parameter: 'custom_id'.", number, "custom_id")
    elif custom_id in seen:
        yield problem(
            "duplicate_custom_id",
            "The custom_id for this request is a duplicate of another request. The custom_id parameter must"
            " be unique for each request in a batch.",
            number,
            "custom_id",
        )
    else:
        seen.add(custom_id)
    if line.get("method") != "POST":
        yield problem("invalid_method", "The method for this request must be POST.", number, "method")
    if line.get("url") != endpoint:
        yield problem(
            "url_mismatch",
            "The URL provided for this request does not match the batch endpoint.",
            number,
            "url",
        )
    yield from _body_problems(result, line.get("body"), number)


def _body_problems(result: Validation, value: object, number: int) -> Iterator[Json]:
    body = object_of(value)
    if body is None:
        yield problem("missing_required_parameter", "Missing required parameter: 'body'.", number, "body")
        return
    model = text_of(body.get("model"))
    if model and result.model is None:
        result.model = model
    if model and model != result.model:
        yield problem(
            "mismatched_model",
            "The model for this request does not match the rest of the batch. Each batch must contain"
            " requests for a single model.",
            number,
            "body.model",
        )
    # A body that could not run fails by itself, with status 400 in the error file.
    with contextlib.suppress(BodyError):
        result.prompt_tokens += read_request(body).prompt_tokens()


def _writable(custom_id: str) -> bool:
    """Whether the id is text at all: a lone surrogate is not."""
    try:
        custom_id.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
