"""The on-call page has every kind of alert that the code can raise, and no other: read from the code itself."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import rewrite_batch
from rewrite_batch.outcomes import OUTCOMES
from rewrite_batch.submit.send import NO_ALERT

ROOT = Path(__file__).parents[2]
PACKAGE = Path(rewrite_batch.__file__).parent
README = (ROOT / "jobs" / "README.md").read_text()

# Where in the call the kind is.
RAISERS = {"Alert": 0, "raise_alert": "kind", "_alert": 3, "alert": 0}
QUOTA = {outcome.reason for outcome in OUTCOMES if outcome.kind == "quota"}
# Kinds that only the running program knows, by file and expression. A new one must be taught here.
COMPUTED = {
    ("collect/ending.py", "quota.reason"): QUOTA,
    ("collect/settle.py", "reason"): QUOTA,
}


def code_kinds() -> set[str]:
    return {kind for path in sorted(PACKAGE.rglob("*.py")) for kind in kinds_of(path)}


def kinds_of(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for function in functions:
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and (expression := kind_in(call)) is not None:
                yield from values(expression, function, functions, path)


def kind_in(call: ast.Call) -> ast.expr | None:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    place = RAISERS.get(name)
    if isinstance(place, int):
        return call.args[place] if len(call.args) > place else None
    return next((keyword.value for keyword in call.keywords if keyword.arg == place), None) if place else None


def values(
    expression: ast.expr, function: ast.FunctionDef, functions: list[ast.FunctionDef], path: Path
) -> Iterator[str]:
    """What an expression can be: a constant, one of two, what was put into the variable, what a function answers."""
    known = COMPUTED.get((path.relative_to(PACKAGE).as_posix(), ast.unparse(expression)))
    if known is not None:
        yield from known
    elif isinstance(expression, ast.Constant) and isinstance(expression.value, str):
        yield expression.value
    elif isinstance(expression, ast.IfExp):
        yield from values(expression.body, function, functions, path)
        yield from values(expression.orelse, function, functions, path)
    elif isinstance(expression, ast.Name) and expression.id in parameters(function):
        return  # it hands on what it was given: its callers are looked at themselves
    elif isinstance(expression, ast.Name) and (put := assigned(function, expression.id)):
        for each in put:
            yield from values(each, function, functions, path)
    elif isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name):
        [called] = [each for each in functions if each.name == expression.func.id]
        for node in ast.walk(called):
            if isinstance(node, ast.Return) and node.value is not None:
                yield from (kind for kind in values(node.value, called, functions, path) if kind not in NO_ALERT)
    else:
        raise AssertionError(f"{path.name}:{expression.lineno}: teach this test what {ast.unparse(expression)} can be")


def parameters(function: ast.FunctionDef) -> set[str]:
    return {each.arg for each in [*function.args.args, *function.args.kwonlyargs]}


def assigned(function: ast.FunctionDef, name: str) -> list[ast.expr]:
    return [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
    ]


def test_the_page_has_every_kind_of_alert_and_no_other() -> None:
    page = {
        line.split("`")[1]
        for line in README.splitlines()
        if re.match(r"\| `[a-z_]+` \| (\*\*)?(urgent|look|note)", line)
    }
    assert page == code_kinds()


def test_reading_the_code_finds_kinds_of_every_shape() -> None:
    """A constant, a keyword, one of two, a function's answers, the table of outcomes."""
    found = code_kinds()
    for kind in ("usage_differs", "draft_failed", "wrong_account", "address_not_allowed", "create_refused"):
        assert kind in found
    assert found >= QUOTA
    assert not code_kinds() & NO_ALERT


def test_no_statement_raises_an_alert_of_its_own() -> None:
    writers = [path for path in (ROOT / "sql").rglob("*.sql") if "INTO rewrite_alerts" in path.read_text()]
    assert {path.name for path in writers} == {"raise.sql", "raise_once.sql"}


def test_every_exit_code_is_on_the_page() -> None:
    program = (ROOT / "README.md").read_text()
    codes = re.findall(r"^\| ([0-9, ]+) \|", program, flags=re.MULTILINE)
    assert codes
    assert [code for code in codes if f"\n| {code} |" not in README] == []
