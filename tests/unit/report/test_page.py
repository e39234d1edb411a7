# SPDX-License-Identifier: MIT
"""The report in a browser (Debian's chromium, headless): figures are drawn, selectors and tables answer, nothing loads.

Playwright drives the browser; it uses the installed one and downloads none.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.unit.example_studies import measure_table
from tests.unit.report.html_page import EVIL
from tests.unit.report.test_report import result_row
from tests.unit.results_folders import TWO_LINES, make_results

from mptcplab.pages import build_report, write_report
from mptcplab.report.html import to_html
from mptcplab.report.html_sweep import axes_of, sweep_drawing
from mptcplab.stats import mean_interval

pytestmark = pytest.mark.slow

_DESKTOP, _PHONE = (1280, 900), (390, 844)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "r"
    make_results(folder)
    document = json.loads((folder / "results.json").read_text())
    failed = {"settings": {"transport.protocol": "mptcp", "links.link2.delay": "10 ms"}, "seed": 4, "error": EVIL}
    (folder / "results.json").write_text(json.dumps(document | {"question": EVIL, "failed": [failed]}))
    write_report(folder, folder / "report.html")
    return folder / "report.html"


@dataclass
class LoadedPage:
    """A page, and everything that it asked for or complained about."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def figures(self) -> int:
        """How many figures are drawn."""
        return self.page.locator(".js-plotly-plot").count()

    def show_all(self) -> None:
        """Scroll down slowly, as a reader would."""
        for figure in self.page.locator(".figure").all():
            figure.scroll_into_view_if_needed()
            figure.locator(".main-svg").first.wait_for(state="attached")

    def excess_width(self) -> float:
        """How much wider than its window the page is."""
        return float(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))

    def traces(self, panel: str) -> list[Any]:
        """The data of a figure's curves, as drawn."""
        script = "one => one.data.map(t => ({name: t.name, y: Array.from(t.y), visible: t.visible ?? true}))"
        drawn = list(self.page.locator(f".figure[data-panel={panel}]").first.evaluate(script))
        return [trace | {"name": html.unescape(trace["name"] or "")} for trace in drawn]


@pytest.fixture
def loaded_page(browser: Browser, report: Path, request: pytest.FixtureRequest) -> Iterator[LoadedPage]:
    """The report in a window; afterwards, that it was silent and loaded nothing but itself."""
    width, height, scheme = getattr(request, "param", (*_DESKTOP, "light"))
    dark = scheme == "dark"
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
    page = LoadedPage(context.new_page())
    page.page.on("request", lambda asked: page.requests.append(asked.url))
    page.page.on("console", lambda message: page.complaints.append(message.text))
    page.page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.page.goto(report.as_uri())
    yield page
    assert page.complaints == []
    assert page.requests == [report.as_uri()], "no other file, no network"
    context.close()


@pytest.mark.parametrize("loaded_page", [(1280, 300, "light")], indirect=True)
def test_figures_are_drawn_when_they_come_into_view(loaded_page: LoadedPage) -> None:
    loaded_page.page.wait_for_timeout(100)
    assert loaded_page.figures() == 0
    loaded = loaded_page.page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    library = loaded_page.page.evaluate("performance.getEntriesByName('library').map(mark => mark.startTime)")
    assert all(instant >= loaded for instant in library), "opening the page does not wait for the library"
    loaded_page.show_all()
    assert loaded_page.figures() == 4, "sweep, rates, RTT, congestion window"
    assert loaded_page.page.title() == "Two lines", "what the question says is text"
    assert loaded_page.page.locator("img").count() == 0


def test_selectors_change_the_figures(loaded_page: LoadedPage) -> None:
    loaded_page.show_all()
    page = loaded_page.page
    assert [trace["name"] for trace in loaded_page.traces("rate")] == ["access1>link1"], "TCP"
    page.get_by_label("protocol").last.select_option("mptcp")
    drawn = loaded_page.traces("rate")
    assert [trace["name"] for trace in drawn] == ["access1>link1", "access2>link2", "total"]
    first, second, total = (trace["y"] for trace in drawn)
    assert total == pytest.approx([a + b for a, b in zip(first, second, strict=True)])
    assert (
        "protocol mptcp, link2.delay 10 ms, seed 2" in page.locator("section[data-kind=timeline] .chosen").inner_text()
    )
    lines = [trace["name"] for trace in loaded_page.traces("sweep") if trace["name"]]
    assert lines == ["tcp", "mptcp"], "the longest axis is horizontal"
    page.get_by_label("Horizontal axis").select_option("protocol")
    assert [trace["name"] for trace in loaded_page.traces("sweep")] == ["10 ms", "30 ms", "100 ms"]
    before = loaded_page.traces("sweep")[0]["y"]
    page.get_by_label("Metric").select_option("duration, s")
    assert loaded_page.traces("sweep")[0]["y"] == pytest.approx([2, 2])
    assert before != pytest.approx([2, 2])


def test_legend_switches_a_line_off(loaded_page: LoadedPage) -> None:
    loaded_page.show_all()
    hidden = loaded_page.page.locator("[data-panel=sweep] .legend .traces[style*='opacity: 0.5']")
    assert hidden.count() == 0
    loaded_page.page.locator("[data-panel=sweep] .legendtoggle").last.click()
    hidden.first.wait_for(state="attached")
    assert [trace["name"] for trace in loaded_page.traces("sweep") if trace["visible"] == "legendonly"][-1] == "mptcp"


def test_lines_without_the_metric_are_not_in_the_legend(browser: Browser, tmp_path: Path) -> None:
    """A download has no MOS: its empty lines were in the legend, and moved the bars of the call off their ticks."""
    two = 'workloads.call = { kind = "flow", from = "client", to = "server", duration = "2 s" }\nsweep."transport'
    make_results(tmp_path / "r", TWO_LINES.replace('sweep."transport', two))
    write_report(tmp_path / "r", tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    drawings = json.loads(data)
    measures, rows = drawings[0][0]["measures"], drawings[0][0]["rows"]
    for _, workload, values, _ in rows:
        values[0] = [4.0, 1.5] if workload else [None, None]
    measures[0]["limits"] = [1, 4.41]
    (tmp_path / "r.html").write_text(text.replace(data, json.dumps(drawings).replace("<", "\\u003c")))
    page = browser.new_page()
    loaded_page = LoadedPage(page)
    page.goto((tmp_path / "r.html").as_uri())
    loaded_page.show_all()
    page.get_by_label("Horizontal axis").select_option("protocol")
    assert [trace["name"] for trace in loaded_page.traces("sweep")] == ["10 ms, call", "30 ms, call", "100 ms, call"]
    ends = page.locator("[data-panel=sweep]").evaluate(
        "one => one.data.map(t => [t.error_y.array, t.error_y.arrayminus])"
    )
    assert ends == [[pytest.approx([0.41, 0.41]), [1.5, 1.5]]] * 3
    page.close()


def test_every_bar_names_its_workload(browser: Browser, tmp_path: Path) -> None:
    """In the legend with all workloads, beside the axis with one; and a workload is not shown without its metric."""
    make_results(tmp_path / "r", TWO_LINES)
    report = build_report(tmp_path / "r")
    plain = result_row().metrics
    of = {"sessions": {"response_p95_ms": mean_interval([9.0])}, "upload": {"outage_s": mean_interval([40.0])}}
    rows = [
        result_row(settings={"x": x, "y": y}, workload=name, metrics={**plain, **extra})
        for x in "ab"
        for y in "cd"
        for name, extra in of.items()
    ]
    experiment = replace(report.experiments[0], drawings=(sweep_drawing(rows, axes_of(rows)),))
    (tmp_path / "r.html").write_text(to_html(replace(report, experiments=(experiment,))))
    page = browser.new_page()
    loaded_page = LoadedPage(page)
    page.goto((tmp_path / "r.html").as_uri())
    loaded_page.show_all()

    def read_chart() -> tuple[list[str], str, str]:
        names = [trace["name"] for trace in loaded_page.traces("sweep")]
        return names, page.locator(".ytitle").text_content() or "", page.locator(".chosen").inner_text()

    assert read_chart() == (["c", "d"], "upload: outage, s", "Shown: outage of workload upload.")
    page.get_by_label("Workload").select_option("sessions")
    assert read_chart()[1:] == ("sessions: response p95, ms", "Shown: response p95 of workload sessions.")
    outage = page.get_by_label("Metric").locator("option", has_text="outage, s")
    assert outage.is_disabled()
    page.get_by_label("Workload").select_option("all")
    page.get_by_label("Metric").select_option("outage, s")
    assert read_chart()[::2] == (["c, upload", "d, upload"], "Shown: outage of workload upload. Without it: sessions.")
    page.get_by_label("Metric").select_option("goodput, Mbit/s")
    names, axis, text = read_chart()
    assert names == ["c, sessions", "c, upload", "d, sessions", "d, upload"]
    assert (axis, text) == ("goodput, Mbit/s", "Shown: goodput of workloads sessions, upload.")
    page.close()


@pytest.mark.parametrize("loaded_page", [(1300, 900, "light")], indirect=True)
def test_tables_fit_a_laptop(loaded_page: LoadedPage) -> None:
    for table in loaded_page.page.locator("figure.table .scroll").all():
        width, room = table.evaluate("one => [one.scrollWidth, one.clientWidth]")
        assert width <= room + 1, f"{table.get_attribute('aria-label')}: {width} in {room} pixels"


def test_intervals_are_visible(loaded_page: LoadedPage) -> None:
    loaded_page.show_all()
    assert loaded_page.page.locator("[data-panel=sweep] .errorbars .yerror").count() == 6, "a bar at every point"
    assert loaded_page.page.locator("[data-panel=sweep] .fills path").count() >= 2, "a band along every line"


def test_every_axis_has_its_unit(loaded_page: LoadedPage) -> None:
    loaded_page.show_all()
    titles = loaded_page.page.locator(".xtitle, .ytitle").all_text_contents()
    assert sorted(set(titles)) == [
        "congestion window, segments",
        "goodput, Mbit/s",
        "link2.delay, ms",
        "received, Mbit/s",
        "round-trip time, ms",
        "time, s",
    ]


def test_tables_sort(loaded_page: LoadedPage) -> None:
    table = loaded_page.page.locator("table.sortable").first
    column = table.locator("tbody td:nth-child(2)")
    original = column.all_inner_texts()
    head = table.locator("th", has_text="link2.delay")
    head.locator("[role=button]").click()
    assert column.all_inner_texts() == ["10 ms", "10 ms", "30 ms", "30 ms", "100 ms", "100 ms"], "by number"
    assert head.get_attribute("aria-sort") == "ascending"
    head.locator("[role=button]").press("Enter")
    assert column.all_inner_texts()[0] == "100 ms"
    head.locator("[role=button]").click()
    assert column.all_inner_texts() == original
    goodput = table.locator("th", has_text="goodput")
    goodput.locator("[role=button]").click()
    place = int(goodput.evaluate("head => head.cellIndex")) + 1
    cells = table.locator(f"tbody td:nth-child({place})")
    values = [float(text) for text in cells.evaluate_all("cells => cells.map(cell => cell.dataset.number)")]
    assert values == sorted(values), "the cells' unrounded values"


def test_details_open(loaded_page: LoadedPage) -> None:
    loaded_page.page.get_by_text("The resolved scenario").click()
    assert "[links.link2]" in loaded_page.page.locator("details.file pre").inner_text()
    loaded_page.page.get_by_text("Every run (18)").click()
    assert loaded_page.page.locator("details.runs tbody tr").count() == 18


@pytest.mark.parametrize("loaded_page", [(*_PHONE, "light")], indirect=True)
def test_phone(loaded_page: LoadedPage, tmp_path: Path) -> None:
    loaded_page.show_all()
    assert loaded_page.excess_width() <= 0, "tables and pictures scroll by themselves, the page does not"
    box = loaded_page.page.locator("[data-panel=rate]").bounding_box()
    assert box is not None
    assert 300 < box["width"] <= _PHONE[0]
    table = loaded_page.page.locator(".table .scroll").first
    assert table.evaluate("one => one.scrollWidth > one.clientWidth")
    title, entry, legend, figure = (
        loaded_page.page.locator(f"[data-panel=sweep]{part}").first.bounding_box()
        for part in (" .legendtitletext", " .legendtext", " .legend", "")
    )
    assert title
    assert entry
    assert legend
    assert figure
    assert title["y"] + title["height"] <= entry["y"] + 2, "beside their title the entries of a legend were cut off"
    assert legend["x"] + legend["width"] <= figure["x"] + figure["width"] + 1
    assert loaded_page.page.locator(".modebar-btn").count() == 0, "buttons that cover the legend"
    _screenshot(loaded_page.page, tmp_path / "phone.png")


@pytest.mark.parametrize("loaded_page", [(*_DESKTOP, "dark")], indirect=True)
def test_light_and_dark(loaded_page: LoadedPage, tmp_path: Path) -> None:
    loaded_page.show_all()
    assert loaded_page.excess_width() <= 0
    tick = loaded_page.page.locator("[data-panel=sweep] .xtick text").first

    def shades() -> tuple[int, int]:
        paper = loaded_page.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return _brightness(str(paper)), _brightness(str(tick.evaluate("one => getComputedStyle(one).fill")))

    paper, ink = shades()
    assert paper < 60, "dark, as the system asks"
    assert ink > 180, "the figures' text as well"
    loaded_page.page.get_by_label("Colours").select_option("light")
    paper, ink = shades()
    assert paper > 240
    assert ink < 80
    _screenshot(loaded_page.page, tmp_path / "light.png")


def _brightness(colour: str) -> int:
    numbers = [float(part) for part in colour.replace("rgb(", "").replace("rgba(", "").rstrip(")").split(",")[:3]]
    return round(sum(numbers) / 3)


def _screenshot(page: Page, file: Path) -> None:
    page.screenshot(path=file, full_page=True)
    assert file.stat().st_size > 20_000, "something is on it"


def test_print(browser: Browser, report: Path, tmp_path: Path) -> None:
    """On paper every figure is drawn, even if nobody scrolled to it, and tables are whole."""
    page = browser.new_page()
    page.goto(report.as_uri())
    page.pdf(path=tmp_path / "report.pdf", format="A4", print_background=True)
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".js-plotly-plot .main-svg").count() >= 4
    for scroll in page.locator(".scroll:visible").all():
        assert scroll.evaluate("one => getComputedStyle(one).overflowX") == "visible"
    assert page.locator(".choices").first.is_hidden()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    # Vector drawings of four figures and a network: a PDF without them has a tenth of this.
    assert (tmp_path / "report.pdf").stat().st_size > 60_000
    page.close()


def test_keys_that_move_together(browser: Browser, tmp_path: Path) -> None:
    """With zipped axes most combinations of the selectors do not exist: the nearest point is shown."""
    zipped = '[[sweep.zip]]\n"links.link1.delay" = ["1 ms", "2 ms"]\n"links.link2.loss" = ["0 %", "1 %"]\n'
    text = "\n".join(line for line in TWO_LINES.splitlines() if not line.startswith("sweep"))
    make_results(tmp_path / "r", f"{text}\n{zipped}")
    write_report(tmp_path / "r", tmp_path / "r.html")
    page = browser.new_page()
    page.goto((tmp_path / "r.html").as_uri())
    timeline = page.locator("section[data-kind=timeline]")
    timeline.scroll_into_view_if_needed()
    page.wait_for_selector("[data-panel=rate] .main-svg")
    timeline.get_by_label("link2.loss").select_option("1 %")
    assert timeline.get_by_label("link1.delay").evaluate("one => one.selectedOptions[0].textContent") == "2 ms"
    page.close()


@pytest.fixture(scope="module")
def two_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a table of each of two studies."""
    folder = tmp_path_factory.mktemp("two-tables")
    for name in ("nguyen2014/unequal", "subramani2018/4.1"):
        measure_table(folder / name.partition("/")[0], name, repeats=1)
    write_report(folder, folder / "r.html")
    return folder / "r.html"


@pytest.mark.parametrize(("width", "height"), [_DESKTOP, _PHONE])
def test_the_scoreboard_leads_to_every_table(
    browser: Browser, two_tables: Path, tmp_path: Path, width: int, height: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(two_tables.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    links = page.locator(".board tbody tr:not(.sum) td:first-child a[href]")
    assert links.all_inner_texts() == ["nguyen2014/unequal", "subramani2018/4.1"]
    # Where there is no room, what the tables are about gives way to the counts.
    assert page.get_by_role("cell", name="goodput against the duration of the test", exact=True).is_visible() == (
        width > 640
    )
    links.last.click()
    heading = page.get_by_role("heading", name="subramani2018, Table 4.1")
    heading.wait_for()
    _wait_until(page, "window.scrollY > window.innerHeight")
    _screenshot(page, tmp_path / "scoreboard.png")
    page.get_by_text("↑ scoreboard").last.click()
    _wait_until(page, "window.scrollY < window.innerHeight")
    page.close()


def test_two_clicks_lead_from_a_count_to_everything(browser: Browser, tmp_path: Path) -> None:
    """The source's place, the parameters with their origin, the runs and the evidence, of any value or claim."""
    measure_table(tmp_path / "subramani2018", "subramani2018/4.6", repeats=3)
    measure_table(tmp_path / "nguyen2014", "nguyen2014/rtt", repeats=1)
    write_report(tmp_path, tmp_path / "r.html")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((tmp_path / "r.html").as_uri())
    rows = page.locator(".board tr", has_text=re.compile("subramani2018/4.6|nguyen2014/rtt"))
    counts = rows.locator("td.number", has_text=re.compile(r"^[1-9][0-9]*$"))
    links = counts.locator("a")
    assert links.count() == counts.count() > 3, "every count of a measured table leads on"
    for number in range(links.count()):
        page.evaluate("document.querySelectorAll('details.sheet').forEach((one) => { one.open = false; })")
        links.nth(number).click()
        page.locator("tr:has(:target) a[href]").first.click()
        sheet = page.locator("details.sheet:target")
        _wait_until(page, "document.querySelector('details.sheet:target')?.open")
        text = sheet.inner_text()
        assert all(name in text for name in ("Source", "Verdict", "Parameters", "Runs", "runs/")), text
        assert "chosen before measuring" in text, text
        assert re.search(r"Verdict\n(differs|does not hold)", text) is None or "Evidence" in text, text
    page.close()


def test_a_point_of_the_picture_leads_to_its_sheet(browser: Browser, tmp_path: Path) -> None:
    measure_table(tmp_path / "subramani2018", "subramani2018/gateway-4.3", repeats=3)
    write_report(tmp_path, tmp_path / "r.html")
    page = browser.new_page(viewport={"width": 1280, "height": 1200})
    page.goto((tmp_path / "r.html").as_uri())
    page.locator(".figure[data-panel=agreement]").first.scroll_into_view_if_needed()
    page.wait_for_selector("[data-panel=agreement] .main-svg")
    anchor = "subramani2018-gateway-4-3--tcp--8-Mbit-s"
    x, y = page.evaluate(
        """(anchor) => {
          const div = document.querySelector("[data-panel=agreement]");
          const trace = div.data.find((one) => one.customdata?.includes(anchor));
          const { xaxis, yaxis } = div._fullLayout;
          const box = div.getBoundingClientRect();
          const at = trace.customdata.indexOf(anchor);
          return [box.left + xaxis._offset + xaxis.d2p(trace.x[at]), box.top + yaxis._offset + yaxis.d2p(trace.y[at])];
        }""",
        anchor,
    )
    page.mouse.move(x, y)
    page.wait_for_timeout(200)
    page.mouse.click(x, y)
    _wait_until(page, f"location.hash === '#{anchor}'")
    assert page.locator("details.sheet:target").evaluate("(one) => one.open")
    page.close()


def _wait_until(page: Page, expression: str) -> None:
    """The page scrolls smoothly, and its policy forbids playwright's own way to wait for that."""
    for _ in range(500):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"after 10 s it is not so that {expression}")
