"""The page in a real browser: it asks nobody, complains of nothing, fits a phone, and can be read by everybody."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from rewrite_batch import db
from rewrite_batch.export.run import export
from rewrite_batch.report.page import write_page
from rewrite_batch.report.period import Period
from rewrite_batch.settings import Settings
from tests.browser.chromium import Browser, program, running_browser
from tests.conftest import new_database
from tests.ledger import BEGIN, DAYS, fill

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium here: apt-get install chromium")
LOOKS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]


@pytest.fixture(scope="module")
def page(server: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("page")
    with new_database(server, template) as name:
        with db.connect(SecretStr(make_conninfo(server, dbname=name)), purpose="tests") as connection:
            fill(connection, jobs=150)
            export(connection, directory / "export")
        settings = Settings(daily_budget_usd=Decimal(5), monthly_budget_usd=Decimal(100))
        period = Period(BEGIN.date(), BEGIN.date() + timedelta(days=DAYS))
        (directory / "page.html").write_bytes(write_page(settings, directory / "export", period))
        empty = Period(BEGIN.date() - timedelta(days=99), BEGIN.date() - timedelta(days=90))
        (directory / "empty.html").write_bytes(write_page(settings, directory / "export", empty))
    return directory / "page.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    path = program()
    assert path is not None
    with running_browser(path, tmp_path_factory.mktemp("home")) as started:
        yield started


def test_the_instruments_see_a_page_that_asks_and_complains(browser: Browser, tmp_path: Path) -> None:
    """A test that cannot fail is none: the same measures on a bad page."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        '<meta charset=utf-8><img src="http://127.0.0.1:9/x.png"><script>console.error("x")</script>'
        '<p style="color:#999;background:#fff">pale</p><div style="width:2000px">wide</div>'
    )
    browser.open(bad, width=390, scheme="light")
    assert len(browser.requests()) == 2
    assert browser.complaints()
    assert browser.evaluate(PALE) != []
    assert browser.evaluate("document.documentElement.scrollWidth > 390")


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_it_asks_nobody_complains_of_nothing_and_fits(
    browser: Browser, page: Path, tmp_path: Path, width: int, scheme: str
) -> None:
    for file in (page, page.with_name("empty.html")):
        browser.open(file, width=width, scheme=scheme)
        assert browser.requests() == [file.as_uri()]
        assert browser.complaints() == []
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        assert browser.evaluate("document.querySelectorAll('figure').length") == 7
    assert len(browser.screenshot(tmp_path / f"{width}{scheme}.png")) > 10_000


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_word_can_be_read_against_what_is_behind_it(
    browser: Browser, page: Path, width: int, scheme: str
) -> None:
    browser.open(page, width=width, scheme=scheme)
    browser.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert browser.evaluate("document.querySelectorAll('svg text').length") > 40
    assert browser.evaluate(PALE) == []
    assert browser.evaluate(SMALL) == []


def test_dark_is_dark_and_light_is_light(browser: Browser, page: Path) -> None:
    backs: list[str] = []
    for scheme in ("light", "dark"):
        browser.open(page, width=390, scheme=scheme)
        backs.append(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert backs == ["rgb(255, 255, 255)", "rgb(18, 20, 23)"]


def test_every_chart_has_a_name_a_description_and_its_table(browser: Browser, page: Path) -> None:
    browser.open(page, width=1280, scheme="light")
    found = browser.evaluate(
        """[...document.querySelectorAll('figure')].map(f => {
            const svg = f.querySelector('svg'), ids = svg.getAttribute('aria-labelledby').split(' ')
            return [svg.getAttribute('role'), ids.every(id => document.getElementById(id).textContent.length > 3),
                f.querySelectorAll('details table tbody tr').length > 0, f.querySelectorAll('th[scope=col]').length > 1]
        })"""
    )
    assert found == [["img", True, True, True]] * 7
    assert browser.evaluate("document.documentElement.lang") == "en"
    tree = browser.call("Accessibility.getFullAXTree")["nodes"]
    images = [node["name"]["value"] for node in tree if node.get("role", {}).get("value") in {"image", "img"}]
    assert any(name.startswith("Spend by day") for name in images)


def test_a_table_opens_by_keyboard(browser: Browser, page: Path) -> None:
    browser.open(page, width=390, scheme="light")
    browser.evaluate("document.querySelector('#spend summary').focus()")
    for kind in ("keyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r"
        )
    assert browser.evaluate("document.querySelector('#spend details').open")
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390


# Words whose contrast with what is behind them is below 4.5 to 1 (WCAG AA). In a heat map, the square is behind.
PALE = """(() => {
    const parts = text => text.match(/[0-9.]+/g).map(Number)
    const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
        .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0)
    const behind = node => {
        for (let each = node; each; each = each.parentElement) {
            const square = each.matches('g.cell') && each.querySelector('rect')
            if (square) return getComputedStyle(square).fill
            const back = parts(getComputedStyle(each).backgroundColor)
            if (back.length === 3 || back[3] > 0) return getComputedStyle(each).backgroundColor
        }
        return 'rgb(255, 255, 255)'
    }
    const found = []
    for (const node of document.querySelectorAll('body *')) {
        const own = [...node.childNodes].some(child => child.nodeType === 3 && child.textContent.trim())
        if (!own || ['TITLE', 'DESC', 'SCRIPT'].includes(node.tagName.toUpperCase())) continue
        const style = getComputedStyle(node), ink = node instanceof SVGElement ? style.fill : style.color
        const [a, b] = [light(parts(ink)), light(parts(behind(node)))].sort((x, y) => y - x)
        const enough = node.textContent.trim() === '■' ? 3 : 4.5
        if ((a + .05) / (b + .05) < enough) found.push([node.tagName, node.textContent.slice(0, 20), ink, behind(node)])
    }
    return found
})()"""
# Words in a picture that are drawn smaller than nine pixels.
SMALL = """[...document.querySelectorAll('svg text')].filter(node => {
    const scale = node.ownerSVGElement.getBoundingClientRect().width / 360
    return parseFloat(getComputedStyle(node).fontSize) * scale < 8.5
}).map(node => node.textContent)"""
