"""The alert rules: real PromQL, over metrics and labels that are really written, and each one on the on-call page."""

import re
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from rewrite_batch.metrics import METRICS
from tests.jobs.test_on_call import code_kinds

JOBS = Path(__file__).parents[2] / "jobs"
README = (JOBS / "README.md").read_text()
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load((JOBS / "alerts.rules.yml").read_text())["groups"] for rule in group["rules"]
]


def selectors(expression: str) -> list[promql_parser.VectorSelector]:
    found: list[promql_parser.VectorSelector] = []

    def visit(node: object) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.append(node)

    promql_parser.walk(promql_parser.parse(expression), visit)
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_a_rule_is_promql_over_metrics_that_are_written(rule: dict[str, Any]) -> None:
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert rule["annotations"]["summary"]
    if "for" in rule:
        promql_parser.parse_duration(rule["for"])
    read = selectors(rule["expr"])
    assert read
    for selector in read:
        name = (selector.name or "").removeprefix("rewrite_batch_")
        assert name in METRICS
        assert {matcher.name for matcher in selector.matchers.matchers} <= set(METRICS[name].labels)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_a_rule_groups_and_speaks_by_labels_that_its_metrics_have(rule: dict[str, Any]) -> None:
    labels = {"environment"}
    for selector in selectors(rule["expr"]):
        labels |= set(METRICS[(selector.name or "").removeprefix("rewrite_batch_")].labels)
    grouped = {name.strip() for by in re.findall(r"(?:by|on) \(([^)]*)\)", rule["expr"]) for name in by.split(",")}
    spoken = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
    assert grouped | spoken <= labels


def test_a_name_that_is_no_metric_would_be_seen() -> None:
    with pytest.raises(ValueError, match="unclosed left parenthesis"):
        promql_parser.parse("max(rewrite_batch_queue_jobs")
    assert [s.name for s in selectors("sum(rate(a_total[5m])) > 3 or absent(b)")] == ["a_total", "b"]


def test_the_on_call_page_has_every_rule_with_its_threshold() -> None:
    rows = {line.split("`")[1]: line for line in README.splitlines() if line.startswith("| `RewriteBatch")}
    assert set(rows) == {rule["alert"] for rule in RULES}
    for rule in RULES:
        numbers = re.findall(r"(?:>|==) ([0-9.]+)", rule["expr"])
        said = [f"`{number}`" in rows[rule["alert"]] for number in numbers if number != "0"]
        assert all(said), f"{rule['alert']}: the page must name {numbers}"
        assert rule["labels"]["severity"] in rows[rule["alert"]]
        assert f"`{rule['for']}`" in rows[rule["alert"]] if "for" in rule else True


def test_the_urgent_kinds_are_those_that_the_page_calls_urgent() -> None:
    [rule] = [rule for rule in RULES if rule["alert"] == "RewriteBatchAlertUrgent"]
    kinds = set(re.findall(r'kind=~"([^"]+)"', rule["expr"])[0].split("|"))
    page = {line.split("`")[1] for line in README.splitlines() if re.match(r"\| `[a-z_]+` \| \*\*urgent\*\*", line)}
    assert kinds == page
    assert kinds <= code_kinds()


def test_every_metric_is_documented_with_its_labels() -> None:
    rows = {line.split("`")[1]: line for line in README.splitlines() if line.startswith("| `rewrite_batch_")}
    assert set(rows) == {f"rewrite_batch_{name}" for name in METRICS}
    for name, described in METRICS.items():
        cells = [cell.strip() for cell in rows[f"rewrite_batch_{name}"].split("|")]
        assert cells[2] == ("counter" if described.counts else "gauge")
        assert cells[3] == ", ".join(f"`{label}`" for label in described.labels)
        assert cells[4] == described.says
