"""The bench in a browser: grids like a spreadsheet, options that work at once, and an address that holds it all."""

import json
import struct
from itertools import chain

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

expect.set_options(timeout=15_000)
PASTE = """text => { const data = new DataTransfer(); data.setData("text/plain", text);
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })); }"""
BLOCKS = [
    "1\t2\n3\t4\n5\t6\n",
    "array([[1, 2],\n       [3, 4],\n       [5, 6]])",
    r"\begin{pmatrix}1&2\\3&4\\5&6\end{pmatrix}",
    "1,0\t2,0\n3,0\t4,0\n5,0\t6,0",
]


@pytest.fixture
def bench(window):
    page = window()
    page.goto("/bench?q=1+0%0A0+1&k=1+0%0A0+1&v=2%0A4&scale=none")  # by hand: scores 1 0; 0 1
    return page


def numbers(page, step):
    rows = page.locator(f"table[data-step={step}] tbody tr").all()
    return [[cell.inner_text() for cell in row.locator("td[data-i]").all()] for row in rows]


def scores_are(page, rows):
    cells = page.locator("table[data-step=scores-0] td[data-i]")
    expect(cells).to_have_text([text for row in rows for text in row])
    assert numbers(page, "scores-0") == rows


def paste(page, cell, text):
    page.locator(cell).focus()
    page.evaluate(PASTE, text)


def test_what_is_typed_is_worked_at_once_and_survives_a_reload(bench):
    bench.locator("#q-0-0").focus()
    bench.keyboard.type("1/2")
    bench.keyboard.press("ArrowRight")
    bench.keyboard.press("ArrowDown")
    scores_are(bench, [["0.5", "0"], ["0", "1"]])
    assert bench.evaluate("document.activeElement.id") == "q-1-1"
    bench.keyboard.type("√4")
    bench.keyboard.press("Enter")
    scores_are(bench, [["0.5", "0"], ["0", "2"]])
    assert bench.evaluate("document.activeElement.id") == "q-1-1"
    bench.reload()
    scores_are(bench, [["0.5", "0"], ["0", "2"]])
    assert bench.locator("#q-1-1").input_value() == "√4"


def test_what_is_no_number_is_marked_and_stays(bench):
    bench.locator("#k-0-1").fill("1x")
    bench.locator("#k-0-1").press("Enter")
    expect(bench.locator("[data-told]")).to_contain_text("1x")
    assert numbers(bench, "scores-0") == [["1", "0"], ["0", "1"]]  # from before, and that is said
    expect(bench.locator("#k-0-1")).to_have_attribute("aria-invalid", "true")
    bench.locator("#k-0-1").fill("0,5")
    bench.locator("#k-0-1").press("Tab")
    scores_are(bench, [["1", "0"], ["0.5", "1"]])
    assert bench.locator("[aria-invalid]").count() == 0


@pytest.mark.parametrize("text", BLOCKS, ids=["spreadsheet", "NumPy", "LaTeX", "decimal commas"])
def test_a_block_in_the_first_cell_is_the_matrix(bench, text):
    paste(bench, "#q-0-0", text)
    scores_are(bench, [["1", "2"], ["3", "4"], ["5", "6"]])
    assert bench.evaluate("document.activeElement.id") == "q-0-0"


def test_a_block_elsewhere_fills_from_there_on(bench):
    paste(bench, "#q-1-0", "7 8; 9 10")
    scores_are(bench, [["1", "0"], ["7", "8"], ["9", "10"]])
    paste(bench, "#q-0-0", "1 x")
    expect(bench.locator("[data-told]")).to_contain_text("x")
    scores_are(bench, [["1", "0"], ["7", "8"], ["9", "10"]])


def test_a_block_that_is_far_too_large_is_said_to_be(bench):
    paste(bench, "#q-0-0", "1 2\n" * 40_000)
    expect(bench.locator("[data-told]")).to_contain_text("fewer rows")
    scores_are(bench, [["1", "0"], ["0", "1"]])


def test_a_key_comes_with_its_value_and_a_query_as_wide_as_the_keys(bench):
    add_row, drop_row = "Add a row to K", "Remove the last row of V"
    bench.get_by_role("button", name=add_row).click()
    scores_are(bench, [["1", "0", "0"], ["0", "1", "0"]])
    assert bench.locator("#v-2-0").input_value() == "0"
    expect(bench.get_by_role("button", name=add_row)).to_be_focused()
    bench.get_by_role("button", name=drop_row).click()
    scores_are(bench, [["1", "0"], ["0", "1"]])
    bench.get_by_role("button", name="Remove the last column of Q").click()
    scores_are(bench, [["1", "0"], ["0", "0"]])
    bench.get_by_role("button", name="Remove the last column of Q").click()
    expect(bench.locator("[data-told]")).to_contain_text("1 to 32")


def test_a_matrix_can_be_pasted_as_text(bench):
    button = bench.locator("[data-letter=v] [data-as-text]")
    assert not bench.locator("#v").is_visible()
    button.click()
    expect(bench.locator("#v")).to_be_focused()
    bench.locator("#v").fill("1 0; 0 1")
    bench.keyboard.press("Tab")
    expect(bench.locator("#v-1-1")).to_have_value("1")
    assert bench.locator("#v").is_visible()


def test_options_work_at_once_and_stand_in_the_address(bench):
    bench.get_by_label("Causal", exact=True).check()
    expect(bench.locator("table[data-step=masked-0] td.masked")).to_have_count(1)
    bench.get_by_text("More options").click()
    bench.get_by_label("RoPE", exact=True).select_option("half")
    expect(bench.locator("table[data-step=query_rotated-0]")).to_be_visible()
    bench.get_by_label("Sink", exact=True).fill("0")
    bench.get_by_label("Sink", exact=True).press("Enter")
    expect(bench.locator("table[data-step=weights-0] td.sum").first).not_to_have_text("1")
    assert all(f"{each}=" in bench.url for each in ("causal", "rope", "sink"))
    before = numbers(bench, "weights-0")
    bench.goto(bench.get_by_role("link", name="Link to this").get_attribute("href"))
    assert numbers(bench, "weights-0") == before
    assert bench.get_by_label("Sink", exact=True).is_visible()  # what is set lies open


def test_dashes_mark_the_shared_head_that_feeds_a_score(window):
    page = window()
    page.goto("/bench?q=1+0+0+1&k=1+0%0A0+1&v=2+4%0A6+8&heads=2&kv_heads=1")
    page.locator("table[data-step=scores-1] td[data-j='1']").hover()
    fed = page.locator("td.source-row")
    places = fed.evaluate_all(
        "cells => cells.map((td) => `${td.closest('table').dataset.step} ${td.dataset.i} ${td.dataset.j}`)"
    )
    assert places == ["query_heads-1 0 0", "query_heads-1 0 1", "key_heads-0 1 0", "key_heads-0 1 1"]
    page.locator("table[data-step=output-0] td[data-j='3']").hover()
    expect(fed).to_have_count(1)
    assert fed.evaluate("td => `${td.closest('table').dataset.step} ${td.dataset.j}`") == "blended-1 1"


def test_the_hill_follows_the_query_that_is_looked_at(window):
    page = window()
    page.goto("/bench?q=1+1+1+1%0A0+0+0+0&k=1+1+1+1%3B1+-1+1+-1&v=1%3B0")  # by hand: 2 and 0, and 0 and 0
    label = page.locator(".hill .now + text")
    page.locator("table[data-step=weights-0] td[data-i='0']").first.hover()
    expect(label).to_contain_text("0.881")
    page.locator("table[data-step=weights-0] td[data-i='1']").first.hover()
    expect(label).to_contain_text("0.500")
    assert page.locator("[data-query]").inner_text() == "2"


def test_questions_are_answered_in_place_and_the_address_holds_them_all(bench):
    bench.get_by_label("Scale", exact=True).fill("")
    bench.get_by_label("Scale", exact=True).press("Enter")
    bench.get_by_label("Mistake", exact=True).focus()  # at once: what is worked meanwhile takes nothing away
    bench.get_by_label("Mistake", exact=True).select_option("scale-missing")
    expect(bench.locator(".compare").first).to_be_visible()
    expect(bench.get_by_label("Mistake", exact=True)).to_be_focused()
    bench.get_by_label("Step", exact=True).select_option("weights")
    bench.locator("#answer").fill("0.731 0.269; 0.269 0.731")  # by hand: e/(e + 1), not scaled
    bench.get_by_role("button", name="Diagnose").click()
    expect(bench.locator(".explanation")).to_contain_text("scale-missing")
    bench.get_by_role("button", name="Find the blind spots").click()
    expect(bench.locator("#blind + p")).to_contain_text("mistakes")
    expect(bench.locator("#blind")).to_be_focused()
    before = bench.locator("[data-work]").inner_text()
    bench.reload()
    assert bench.locator("[data-work]").inner_text() == before


def safetensors(**arrays):
    header, body = {}, b""
    for name, rows in arrays.items():
        raw = struct.pack(f"<{len(rows) * len(rows[0])}d", *chain(*rows))
        header[name] = {
            "dtype": "F64",
            "shape": [len(rows), len(rows[0])],
            "data_offsets": [len(body), len(body) + len(raw)],
        }
        body += raw
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + body


FILE = {"query": [[3.0, 0.0]], "key": [[1.0, 1.0], [2.0, 0.0]], "value": [[1.0], [0.0]]}


@pytest.mark.parametrize("name", ["a.json", "a.safetensors"])
def test_a_file_is_opened(bench, name):
    raw = json.dumps(FILE).encode() if name.endswith("json") else safetensors(**FILE)
    bench.get_by_text("From a file").click()
    bench.locator("#file").set_input_files(
        {"name": name, "mimeType": "application/octet-stream", "buffer": raw}
    )
    bench.get_by_role("button", name="Open").click()
    scores_are(bench, [["3", "6"]])


def test_a_picture_is_taken_along(bench):
    with bench.expect_download() as taken:
        bench.get_by_role("link", name="Picture (PNG)").click()
    assert taken.value.suggested_filename == "headwork.png"


def test_without_a_script_text_is_typed_and_nothing_is_there_that_does_nothing(window):
    page = window(java_script_enabled=False)
    page.goto("/bench?mistake=scale-missing")
    assert page.locator("#q").is_visible()
    assert not page.locator(".entry").first.is_visible()
    page.locator("#q").fill("1 0 2 -1")
    page.get_by_label("Causal", exact=True).uncheck()
    page.get_by_role("button", name="Work it out").click()
    assert numbers(page, "scores-0") == [["1", "5", "3", "0"]]  # by hand


@pytest.mark.parametrize(
    "path",
    ["/bench?heads=2&rope=half&alibi=published&sink=0&chunks=2,2&mask=1+1+1+1&causal=1", "/bench?q=1+x&k=1"],
)
def test_axe_finds_nothing_in_options_and_errors(window, path):
    page = window()
    page.goto(path)
    page.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true; })")
    for width, scheme in ((1280, "dark"), (360, "light")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page, options={"resultTypes": ["violations"]})
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found.response["violations"]] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
