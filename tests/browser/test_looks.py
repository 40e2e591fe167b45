"""Every kind of page, light and dark, narrow and wide, on paper: nothing overflows, and axe-core finds nothing."""

import pytest
from axe_playwright_python.sync_playwright import Axe

PAGES = {
    "contents": "/",
    "exercise": "/exercise/all-rows",
    "heads": "/exercise/two-heads",
    "choice": "/exercise/level-1.2",
    "design": "/exercise/level-4.2",
    "code": "/exercise/code-attention",
    "fresh": "/exercise/scores@7",
    "bench": "/bench?mistake=scale-missing&answer=1+0%3B0+1%3B1+1%3B2+-1&step=output&blind=1",
    "mistakes": "/mistakes?q=mask",
    "mistake": "/mistakes/softmax-over-queries",
    "keys": "/keys",
    "nothing": "/nothing",
}
FORMS = [(1280, "light"), (360, "dark")]
WIDTHS = (360, 480, 700, 1000, 1600)


@pytest.fixture(scope="module", autouse=True)
def something_is_marked(browser, address):
    """Marks, explanations, hints and solutions are part of what is looked at."""
    context = browser.new_context(base_url=address)
    page = context.new_page()
    page.goto("/exercise/all-rows")
    for at, text in enumerate(["0.212", "0.245", "0.107", "0.212", "0.665", "0.107"]):
        page.locator("#q-weights [data-grid] input").nth(at).fill(text)
    page.keyboard.press("Enter")
    page.locator("#q-weights .explanation").wait_for()
    page.locator("#q-outputs").get_by_role("button", name="Worked solution").click()
    page.locator("#q-outputs .worked").wait_for()
    page.locator("#q-sums").get_by_role("button", name="hint").click()
    page.locator("#q-sums .hints").wait_for()
    page.locator("#q-why textarea").fill("A larger lead.")
    page.locator("#q-why").get_by_role("button", name="Compare").click()
    page.locator("#q-why .ours").wait_for()
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_and_nothing_overflows(window, name):
    page = window()
    answer = page.goto(PAGES[name])
    page.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true; })")
    assert answer.status in (200, 404)
    for width, scheme in FORMS:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page, options={"resultTypes": ["violations"]})
        told = [(each["id"], each["nodes"][0]["html"][:200]) for each in found.response["violations"]]
        assert told == [], (width, scheme)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_page_follows_the_theme_that_was_chosen(window):
    page = window(color_scheme="light")
    page.goto("/keys")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Dark").click()
    page.goto("/mistakes/scale-missing")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_every_cell_says_what_it_is(window):
    page = window()
    page.goto("/exercise/all-rows")
    assert page.get_by_label("weights, query 2, key 3").count() == 1
    page.goto("/bench")
    table = page.locator("table[data-step=scores-0]")
    assert table.locator("th[scope=col]").nth(2).inner_text().split() == ["key", "3"]
    assert table.locator("th[scope=row]").first.inner_text().split() == ["query", "1"]


def test_the_bench_tells_of_the_cell_that_has_the_focus(window):
    page = window()
    page.goto("/bench")
    page.locator("table[data-step=scores-0] td[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.locator("[data-name]", has_text="Query 2, key 2").wait_for()
    # by hand: 0·0 + 2·1 + 1·2 + 0·(−1) = 4
    assert "0·0 + 2·1 + 1·2 + 0·(−1) = 4" in page.locator("[data-arithmetic]").inner_text()
    assert page.locator("table[data-step=query-0] td.source-row").count() == 4
    assert page.locator("td.here").count() >= 5


def test_the_slider_moves_the_point_along_the_hill(window):
    page = window()
    page.goto("/bench?q=1+1+1+1&k=1+1+1+1%3B1+-1+1+-1&v=1%3B0")  # by hand: 4 and 0, scaled 2 and 0
    label = page.locator(".hill .now + text")
    assert "0.881" in label.text_content()
    page.locator("#factor").fill("2")
    assert "0.982" in label.text_content()  # e⁴/(e⁴ + 1)
    page.locator("#width").fill("1")
    assert "0.881" in label.text_content()


def test_motion_is_reduced_where_that_is_asked_for(window):
    page = window(reduced_motion="reduce")
    page.goto("/bench")
    assert page.evaluate("getComputedStyle(document.querySelector('.hill .now')).transitionDuration") in (
        "0s",
        "",
    )


def test_a_printed_page_has_the_work_and_not_the_buttons(window):
    page = window()
    page.goto("/exercise/all-rows")
    page.emulate_media(media="print")
    assert not page.locator("#q-weights .actions").first.is_visible()
    assert page.locator("#q-weights [data-grid]").first.is_visible()
    assert page.locator(".given").is_visible()
