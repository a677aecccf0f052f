"""Charts: figures come in, inline SVG goes out. Drawn by us: no script, no font and no picture from anywhere.

Everything is drawn 360 units wide, so that letters stay readable on a phone. Colours are classes of the page's style
sheet and never the only carrier of meaning: bars have their figures beside them, lines differ in dashes and have names.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH = 360
STEPS = 6  # of the heat map's scale, beside "nothing"
MIDDLE, END = ' text-anchor="middle"', ' text-anchor="end"'
Words = Callable[[float], str]


@dataclass(frozen=True)
class Line:
    name: str
    style: str  # a class of the style sheet
    values: Sequence[float | None]


def svg(name: str, title: str, says: str, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg role="img" aria-labelledby="{name}-t {name}-d" viewBox="0 0 {WIDTH} {height:g}">'
        f'<title id="{name}-t">{escape(title)}</title><desc id="{name}-d">{escape(says)}</desc>{"".join(parts)}</svg>'
    )


def columns(labels: Sequence[str], values: Sequence[float], words: Words) -> tuple[float, list[str]]:
    """Upright bars over time."""
    top, bottom, left = 12, 150, 46
    ceiling = nice_ceiling(max(values, default=0))
    parts = _grid(ceiling, left, top, bottom, words)
    room = (WIDTH - left - 4) / max(len(values), 1)
    for i, (label, value) in enumerate(zip(labels, values, strict=True)):
        height = (bottom - top) * value / ceiling
        hint = f"<title>{escape(label)}: {escape(words(value))}</title>"
        parts.append(_rect(left + i * room + room * 0.1, bottom - height, room * 0.8, height, "bar", hint))
    parts += _days(labels, left, room, bottom)
    return bottom + 20, parts


def lines(labels: Sequence[str], drawn: Sequence[Line], words: Words) -> tuple[float, list[str]]:
    """Lines over time; a day without a figure is a gap."""
    top, bottom, left, right = 12, 150, 46, 34
    ceiling = nice_ceiling(max((v for line in drawn for v in line.values if v is not None), default=0))
    parts = _grid(ceiling, left, top, bottom, words, right)
    room = (WIDTH - left - right) / max(len(labels), 1)
    names: list[tuple[float, Line]] = []
    for line in drawn:
        spots = [
            (left + (i + 0.5) * room, bottom - (bottom - top) * value / ceiling)
            for i, value in enumerate(line.values)
            if value is not None
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        parts.append(f'<polyline class="line {line.style}" points="{path}"/>')
        parts += [f'<circle class="dot {line.style}" cx="{x:.1f}" cy="{y:.1f}" r="2"/>' for x, y in spots]
        if spots:
            names.append((spots[-1][1], line))
    for y, line in _apart(names):
        parts.append(_text(WIDTH - right + 4, y + 3, line.name, "small"))
    parts += _days(labels, left, room, bottom)
    return bottom + 20, parts


def bars(labels: Sequence[str], values: Sequence[float], words: Words) -> tuple[float, list[str]]:
    """Lying bars with their name above and their figure beside."""
    most = max(values, default=0) or 1
    parts: list[str] = []
    for i, (label, value) in enumerate(zip(labels, values, strict=True)):
        y = i * 34 + 4
        parts.append(_text(0, y + 10, label, ""))
        parts.append(_rect(0, y + 14, 270 * value / most, 12, "bar", ""))
        parts.append(_text(270 * value / most + 5, y + 24, words(value), "small"))
    return max(len(values) * 34 + 4, 20), parts


def heat_map(
    down: Sequence[str], across: Sequence[str], values: dict[tuple[str, str], float], words: Words
) -> tuple[float, list[str]]:
    """A square for each pair; darker is more (brighter on a dark page). Empty squares are pairs without any."""
    left, top = 12 + 6.2 * max((len(name) for name in down), default=2), 54 if _long(across) else 16
    side = min(44.0, (WIDTH - left) / max(len(across), 1))
    tall = min(side, 26.0)
    most = max(values.values(), default=0) or 1
    parts: list[str] = []
    for j, name in enumerate(across):
        x = left + (j + 0.5) * side
        slanted = f' transform="rotate(-40 {x:.1f} {top - 5})"' if _long(across) else MIDDLE
        parts.append(_text(x, top - 5, name, "small", slanted))
    for i, row in enumerate(down):
        y = top + i * tall
        parts.append(_text(0, y + tall / 2 + 4, row, "small"))
        for j, column in enumerate(across):
            value = values.get((row, column))
            step = 0 if not value else min(STEPS, ceil(STEPS * value / most))
            hint = (
                f"<title>{escape(row)} → {escape(column)}: {escape('none' if value is None else words(value))}</title>"
            )
            parts.append(f'<g class="cell h{step}">' + _rect(left + j * side + 1, y + 1, side - 2, tall - 2, "", hint))
            if value and side >= 36:
                parts.append(_text(left + (j + 0.5) * side, y + tall / 2 + 3, words(value), "", MIDDLE))
            parts.append("</g>")
    return top + len(down) * tall + 6, parts


def gauge(spent: float, in_flight: float, cap: float | None, words: Words) -> tuple[float, list[str]]:
    """Spent and in flight on one bar; the cap is a mark."""
    end = max(spent + in_flight, cap or 0) or 1
    scale = 340 / end
    parts = [
        _rect(0, 8, 340, 18, "track", ""),
        _rect(0, 8, spent * scale, 18, "bar", f"<title>spent {escape(words(spent))}</title>"),
        _rect(
            spent * scale, 8, in_flight * scale, 18, "second", f"<title>in flight {escape(words(in_flight))}</title>"
        ),
        '<text class="small" x="0" y="42">'
        f'<tspan class="bar">■</tspan> spent {escape(words(spent))} '
        f'<tspan class="second">■</tspan> in flight {escape(words(in_flight))}</text>',
    ]
    if cap is None:
        parts.append(_text(0, 58, "no cap is set", "small"))
    else:
        x = min(cap * scale, 340)
        parts.append(f'<line class="cap" x1="{x:.1f}" y1="2" x2="{x:.1f}" y2="32"/>')
        parts.append(_text(0, 58, f"cap (the mark) {words(cap)} · left {words(cap - spent - in_flight)}", "small"))
    return 64, parts


def nice_ceiling(value: float) -> float:
    """The next round number: 1, 2, 2.5 or 5 times a power of ten."""
    if value <= 0:
        return 1
    power = 10 ** floor(log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value * 0.999999)


def _grid(ceiling: float, left: float, top: float, bottom: float, words: Words, right: float = 4) -> list[str]:
    parts: list[str] = []
    for share in (0, 0.5, 1):
        y = bottom - (bottom - top) * share
        parts.append(f'<line class="grid" x1="{left}" y1="{y:g}" x2="{WIDTH - right:g}" y2="{y:g}"/>')
        parts.append(_text(left - 4, y + 3, words(ceiling * share), "small", END))
    return parts


def _days(labels: Sequence[str], left: float, room: float, bottom: float) -> list[str]:
    """At most six labels, evenly, the first and the last inside of the picture."""
    every = max(1, ceil(len(labels) / 6))
    return [
        _text(min(left + (i + 0.5) * room, WIDTH - 16), bottom + 14, label, "small", MIDDLE)
        for i, label in enumerate(labels)
        if i % every == 0
    ]


def _apart(names: list[tuple[float, Line]]) -> list[tuple[float, Line]]:
    """Names of lines that end close together, moved so that they do not cover each other."""
    placed: list[tuple[float, Line]] = []
    for y, line in sorted(names, key=lambda each: -each[0]):
        placed.append((min(y, placed[-1][0] - 11) if placed else y, line))
    return placed


def _long(names: Sequence[str]) -> bool:
    return any(len(name) > 3 for name in names)


def _rect(x: float, y: float, width: float, height: float, style: str, inside: str) -> str:
    size = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
    return f"<rect{_class(style)} {size}>{inside}</rect>"


def _text(x: float, y: float, words: str, style: str, more: str = "") -> str:
    """`more` is further attributes, such as MIDDLE."""
    return f'<text{_class(style)} x="{x:.1f}" y="{y:.1f}"{more}>{escape(words)}</text>'


def _class(style: str) -> str:
    return f' class="{style}"' if style else ""
