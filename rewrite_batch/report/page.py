"""The page: the answers of several reports come in, one HTML file goes out that needs nothing but a browser.

No script at all; the style sheet is inside and named by its hash in the content security policy, which forbids
everything else, so that no request can leave the machine that shows it. Every chart has its figures as a table.
"""

import base64
import hashlib
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from html import escape
from pathlib import Path
from typing import Any

from rewrite_batch.report import charts
from rewrite_batch.report.ask import Answer, answer_report
from rewrite_batch.report.catalog import BY_NAME
from rewrite_batch.report.charts import Line
from rewrite_batch.report.period import Period
from rewrite_batch.report.show import cell, label, people_rows
from rewrite_batch.report.source import Source, source
from rewrite_batch.settings import Settings

SHOWN = (
    "cost-by-day", "cost-by-language-pair", "funnel", "reasons", "violations", "latency", "spending", "reliability",
)  # fmt: skip
REASONS_DRAWN = 8
LANGUAGES_DRAWN = 20
STYLE = (Path(__file__).with_name("page.css")).read_text()


def write_page(settings: Settings, directory: Path | None, period: Period) -> bytes:
    wanted = {name for report in SHOWN for name in BY_NAME[report].tables}
    with source(settings, directory, period, wanted) as opened:
        answers = {name: answer_report(opened.duck, BY_NAME[name]) for name in SHOWN}
        return page(answers, period, opened, settings.environment).encode()


def page(answers: dict[str, Answer], period: Period, opened: Source, environment: str) -> str:
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    made_of = f"From {opened.says} as of {opened.as_of:%Y-%m-%d %H:%M} UTC. Money in USD."
    title = f"Rewrites in {environment}: {period}"
    figures = (spend, pairs, funnel, reasons, violations, latency, budget)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>{STYLE}</style>
</head>
<body>
<header><h1>{escape(title)}</h1><p>{escape(made_of)}</p></header>
<main>
{key_figures(answers)}
<div class="charts">
{"".join(draw(answers) for draw in figures)}
</div>
</main>
<footer><p>Made by rewrite-batch report html. It holds no text of anybody, and loads nothing.</p></footer>
</body>
</html>
"""


def key_figures(answers: dict[str, Answer]) -> str:
    pair, units = answers["cost-by-language-pair"], answers["reliability"]
    cost, before = _sum(pair, "cost_usd"), _sum(pair, "previous_cost_usd")
    completed, ended = _sum(units, "completed"), _sum(units, "units")
    figures = [
        ("spent", _usd(cost)),
        ("on the period before", f"{float((cost - before) / before):+.1%}" if before else "nothing before"),
        ("completed", f"{completed:,}"),
        ("of those that ended", f"{completed / ended:.1%}" if ended else "none ended"),
        ("a completed rewrite", _usd(cost / completed) if completed else "none completed"),
        ("calls without a price", f"{_sum(pair, 'unpriced_calls'):,}"),
    ]
    return (
        '<dl class="figures">'
        + "".join(f"<div><dt>{escape(n)}</dt><dd>{escape(v)}</dd></div>" for n, v in figures)
        + "</dl>"
    )


def spend(answers: dict[str, Answer]) -> str:
    answer = answers["cost-by-day"]
    days, values = _column(answer, "day"), [float(v or 0) for v in _column(answer, "cost_usd")]
    top = max(range(len(days)), key=lambda i: values[i], default=0)
    says = f"{_usd(sum(values))} over {len(days)} days" + (
        f", most on {days[top]}: {_usd(values[top])}." if days else "."
    )
    drawn = charts.columns([f"{day:%d %b}" for day in days], values, _usd)
    return figure("spend", "Spend by day", says, drawn if any(values) else None, answer)


def pairs(answers: dict[str, Answer]) -> str:
    answer = answers["cost-by-language-pair"]
    costs = {(row[0], row[1]): float(row[answer.columns.index("cost_usd")] or 0) for row in answer.rows}
    down, across = _largest(costs, 0), _largest(costs, 1)
    best = max(costs, key=lambda pair: costs[pair], default=None)
    says = "Rows are the language of the complaint, columns the recipient's; stronger is dearer."
    says += f" Dearest: {best[0]} → {best[1]}, {_usd(costs[best])}." if best else ""
    says += _cut(costs)
    drawn = charts.heat_map(down, across, costs, _short_usd) if costs else None
    return figure("pairs", "Cost by language pair", says, drawn, answer)


def funnel(answers: dict[str, Answer]) -> str:
    answer = answers["funnel"]
    units = [int(v) for v in _column(answer, "units")]
    says = f"Of {units[0]:,} units queued in the period, {units[-1]:,} are completed by now." if units else "None."
    drawn = charts.bars([str(v) for v in _column(answer, "stage")], units, _count) if any(units) else None
    return figure("funnel", "From queued to completed", says, drawn, answer)


def reasons(answers: dict[str, Answer]) -> str:
    answer = answers["reasons"]
    counts: dict[str, int] = defaultdict(int)
    for row in answer.rows:
        counts[row[0]] += row[answer.columns.index("items")]
    first = sorted(counts.items(), key=lambda each: -each[1])[:REASONS_DRAWN]
    says = f"Trips that brought no output, by reason: {sum(counts.values()):,} in all."
    drawn = charts.bars([name for name, _ in first], [n for _, n in first], _count) if first else None
    return figure("reasons", "Reasons of failure", says, drawn, answer)


def violations(answers: dict[str, Answer]) -> str:
    answer = answers["violations"]
    rates = {(row[0], row[1]): float(row[answer.columns.index("rate")]) for row in answer.rows}
    codes = sorted({code for _, code in rates}, key=lambda code: (code.endswith("_warn"), code))
    says = "Share of judged answers in which each code fired, by the recipient's language." + _cut(rates)
    drawn = charts.heat_map(_largest(rates, 0), codes, rates, lambda v: f"{v:.0%}") if rates else None
    return figure("violations", "Violations by language", says, drawn, answer)


def latency(answers: dict[str, Answer]) -> str:
    answer = answers["latency"]
    drawn_lines = [
        Line(name, name, [_hours(v) for v in _column(answer, f"{name}_s")]) for name in ("p50", "p95", "p99")
    ]
    days = [f"{day:%d %b}" for day in _column(answer, "day")]
    says = "Hours from queued to completed, by the day of completion: half, 95 % and 99 % were faster than the lines."
    drawn = charts.lines(days, drawn_lines, lambda v: f"{v:g} h") if days else None
    return figure("latency", "Time to completion", says, drawn, answer)


def budget(answers: dict[str, Answer]) -> str:
    answer = answers["spending"]
    parts: list[str] = []
    height = 0.0
    for span, spent, in_flight, cap, _left in answer.rows:
        tall, drawn = charts.gauge(float(spent), float(in_flight), None if cap is None else float(cap), _usd)
        name = "Today" if span == "day" else "This month"
        moved = f'<g transform="translate(0 {height + 14:g})">{"".join(drawn)}</g>'
        parts.append(f'<text x="0" y="{height + 12:g}">{name}</text>{moved}')
        height += tall + 26
    says = "Spent and in flight against the caps, UTC. What is in flight counts against both."
    return figure("budget", "Budget", says, (height, parts), answer)


def figure(name: str, title: str, says: str, drawn: tuple[float, Sequence[str]] | None, answer: Answer) -> str:
    picture = charts.svg(name, title, says, *drawn) if drawn else '<p class="none">Nothing in this period.</p>'
    return (
        f'<figure id="{name}"><figcaption><h2>{escape(title)}</h2><p>{escape(says)}</p></figcaption>{picture}'
        f"<details><summary>{escape(title)} as a table</summary>{html_table(title, answer)}</details></figure>"
    )


def html_table(title: str, answer: Answer) -> str:
    def style(i: int) -> str:
        return ' class="word"' if i < answer.keys else ""

    head = "".join(f'<th scope="col"{style(i)}>{escape(label(c))}</th>' for i, c in enumerate(answer.columns))
    body = "".join(
        "<tr>" + "".join(f"<td{style(i)}>{escape(value)}</td>" for i, value in enumerate(row)) + "</tr>"
        for row in people_rows(answer)
    )
    total = answer.total()
    foot = (
        "<tfoot><tr>" + "".join(
            f"<td{style(i)}>{escape('all' if i == 0 else '' if v is None else cell(c, v))}</td>"
            for i, (c, v) in enumerate(zip(answer.columns, total, strict=True))
        ) + "</tr></tfoot>"
        if total
        else ""
    )  # fmt: skip
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(title)}: table">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody>{foot}</table></div>"
    )


def _column(answer: Answer, name: str) -> list[Any]:
    position = answer.columns.index(name)
    return [row[position] for row in answer.rows]


def _sum(answer: Answer, name: str) -> Any:
    return sum((value for value in _column(answer, name) if value is not None), start=0)


def _largest(values: dict[tuple[str, str], float], side: int) -> list[str]:
    sums: dict[str, float] = defaultdict(float)
    for pair, value in values.items():
        sums[pair[side]] += value
    return sorted(sorted(sums, key=lambda name: -sums[name])[:LANGUAGES_DRAWN])


def _cut(values: dict[tuple[str, str], float]) -> str:
    languages = {name for pair in values for name in pair if len(name) <= 3}
    return f" The largest {LANGUAGES_DRAWN} languages are drawn." if len(languages) > LANGUAGES_DRAWN else ""


def _hours(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 3600


def _usd(value: float | Decimal) -> str:
    size = abs(value)
    return f"${value:,.0f}" if size >= 1000 else f"${value:,.2f}" if size >= 0.1 or not value else f"${value:,.4f}"


def _short_usd(value: float) -> str:
    return f"${value / 1000:,.1f}k" if value >= 1000 else f"${value:,.0f}" if value >= 10 else f"${value:.2f}"


def _count(value: float) -> str:
    return f"{value:,.0f}"
