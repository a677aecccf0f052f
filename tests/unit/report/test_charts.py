"""Charts are well-formed, inside of their frame, and take nothing from anybody as markup."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from rewrite_batch.report import charts
from rewrite_batch.report.charts import Line

figures = st.floats(0, 1e9, allow_nan=False).map(lambda value: round(value, 9))
names = st.text(st.sampled_from("<>&\"'ab語"), max_size=6)


def drawn(made: tuple[float, Sequence[str]]) -> ET.Element:
    height, parts = made
    return ET.fromstring(charts.svg("x", "<title>", "a & b", height, parts))


def inside(picture: ET.Element) -> None:
    height = float(picture.attrib["viewBox"].split()[3])
    for rect in picture.iter("rect"):
        x, y, wide, tall = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
        assert -0.1 <= x <= x + wide <= charts.WIDTH + 0.1
        assert -0.1 <= y <= y + tall <= height + 0.1


@settings(max_examples=50)
@given(st.lists(st.tuples(names, figures), max_size=60))
def test_bars_stay_in_their_frame(rows: list[tuple[str, float]]) -> None:
    labels, values = [name for name, _ in rows], [value for _, value in rows]
    for draw in (charts.columns, charts.bars):
        inside(drawn(draw(labels, values, lambda v: f"<{v}>")))


@settings(max_examples=30)
@given(st.dictionaries(st.tuples(names, names), figures, max_size=40))
def test_heat_maps_stay_in_their_frame_and_use_the_scale(values: dict[tuple[str, str], float]) -> None:
    down, across = sorted({a for a, _ in values}), sorted({b for _, b in values})
    picture = drawn(charts.heat_map(down, across, values, str))
    inside(picture)
    steps = {group.attrib["class"] for group in picture.iter("g")}
    assert steps <= {f"cell h{step}" for step in range(charts.STEPS + 1)}


@given(figures, figures, st.none() | figures)
def test_the_gauge_stays_in_its_frame(spent: float, in_flight: float, cap: float | None) -> None:
    inside(drawn(charts.gauge(spent, in_flight, cap, str)))


@given(st.lists(st.lists(st.none() | figures, min_size=5, max_size=5), max_size=3))
def test_lines_have_gaps_where_there_is_no_figure(rows: list[list[float | None]]) -> None:
    picture = drawn(charts.lines(list("abcde"), [Line(f"p{i}", "p50", row) for i, row in enumerate(rows)], str))
    known = sum(value is not None for row in rows for value in row)
    assert len(list(picture.iter("circle"))) == known
    heights = [float(circle.attrib["cy"]) for circle in picture.iter("circle")]
    assert all(0 <= y <= 151 for y in heights)


@given(st.floats(1e-6, 1e12))
def test_the_ceiling_is_round_and_not_below(value: float) -> None:
    ceiling = charts.nice_ceiling(value)
    assert value * 0.99 <= ceiling <= value * 2.6
    assert f"{ceiling:.1e}".split("e")[0] in {"1.0", "2.0", "2.5", "5.0"}
