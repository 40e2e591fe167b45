"""A learner works in the page: with the keyboard alone, by pasting, without JavaScript, on a phone."""

import pytest
from playwright.sync_api import expect

# Right answers: exercises 4 and 6 of three tokens, from the table of solutions of the course, by hand there.
WEIGHTS = ["0.212", "0.576", "0.212", "0.107", "0.787", "0.107"]
BY_COLUMNS = ["0.212", "0.245", "0.107", "0.212", "0.665", "0.107"]


def cells(page, question):
    return page.locator(f"#q-{question} [data-grid] input")


def test_an_exercise_is_solved_with_the_keyboard_alone(window):
    page = window()
    page.goto("/exercise/scores")
    first = cells(page, "scores").first
    for _ in range(40):
        page.keyboard.press("Tab")
        if first.evaluate("input => input === document.activeElement"):
            break
    for at, text in enumerate(["2", "0", "4", "0", "2", "0", "0", "4", "0"]):
        page.keyboard.type(text)
        if at < 8:
            page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#q-scores.done")
    assert page.locator("#q-scores td.is-right").count() == 9
    # what comes next has the focus, without the page having moved away from under the marks
    assert page.evaluate("document.activeElement.closest('section')?.id ?? ''") != ""


def test_arrows_move_like_in_a_spreadsheet(window):
    page = window()
    page.goto("/exercise/scores@3")
    grid = cells(page, "scores")
    name = "document.activeElement.name"
    grid.nth(0).focus()
    for key, there in [
        ("ArrowDown", "c1-0"),
        ("ArrowRight", "c1-1"),
        ("ArrowUp", "c0-1"),
        ("ArrowLeft", "c0-0"),
        ("ArrowUp", "c0-0"),
    ]:
        page.keyboard.press(key)
        assert page.evaluate(name) == there
    page.keyboard.type("12")
    page.keyboard.press("ArrowLeft")  # inside of what was typed
    assert page.evaluate(name) == "c0-0"
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(name) == "c0-1"


@pytest.mark.parametrize(
    "text",
    [
        "0.212\t0.576\t0.212\n0.107\t0.787\t0.107\n",
        "[[0.212 0.576 0.212]\n [0.107 0.787 0.107]]",
        r"\begin{pmatrix}0.212&0.576&0.212\\0.107&0.787&0.107\end{pmatrix}",
        "0,212\t0,576\t0,212\n0,107\t0,787\t0,107",
    ],
    ids=["spreadsheet", "NumPy", "LaTeX", "decimal commas"],
)
def test_a_pasted_block_fills_the_grid(window, text):
    page = window()
    page.goto("/exercise/all-rows")
    grid = cells(page, "weights")
    for at in range(6):
        grid.nth(at).fill("")
    grid.first.focus()
    page.evaluate(
        """text => { const data = new DataTransfer(); data.setData("text/plain", text);
        document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })); }""",
        text,
    )
    expect(grid.nth(5)).not_to_have_value("")
    values = [grid.nth(at).input_value().replace(",", ".") for at in range(6)]
    assert values == WEIGHTS


def test_a_wrong_answer_is_hinted_at_and_then_explained(window):
    page = window()
    page.goto("/exercise/all-rows")
    for at, text in enumerate(BY_COLUMNS):
        cells(page, "weights").nth(at).fill(text)
    before = page.locator("#q-weights .actions").first.bounding_box()["x"]
    page.keyboard.press("Enter")
    page.wait_for_selector("#q-weights .explanation")
    assert page.locator("#q-weights td.is-wrong").count() == 4
    assert page.locator("#q-weights td.is-wrong .mark").first.inner_text() == "✗not right"
    assert page.evaluate("document.activeElement.getAttribute('aria-invalid')") == "true"
    full = page.locator("#q-weights .explanation details")
    assert full.get_attribute("open") is None
    full.locator("summary").click()
    assert page.locator("#q-weights .explanation a[href='/mistakes/softmax-over-queries']").count() >= 1
    assert page.locator("#q-weights .actions").first.bounding_box()["x"] == before
    page.reload()
    assert [cells(page, "weights").nth(at).input_value() for at in range(6)] == BY_COLUMNS


def test_a_hint_does_not_take_away_what_was_typed(window):
    page = window()
    page.goto("/exercise/causal")
    grid = page.locator(".question [data-grid] input")
    grid.first.fill("0.5")
    section = page.locator(".question:has([data-grid])").first
    section.get_by_role("button", name="hint").click()
    section.locator(".hints li").first.wait_for()
    assert grid.first.input_value() == "0.5"


def test_an_exercise_is_solved_without_javascript(window):
    page = window(java_script_enabled=False)
    page.goto("/exercise/softmax@5")
    section = page.locator(".question:has([data-grid])").first
    section.locator("input:not([type=hidden])").first.fill("0,5")
    section.get_by_role("button", name="Check").click()
    assert page.url.partition("#")[2].startswith("q-")
    assert page.locator(".question:has([data-grid])").first.locator(".mark", has_text="right").count() >= 1
    page.goto("/bench")
    page.locator("#q").fill("1 0\n0 1")
    page.locator("#k").fill("1 0\n0 1")
    page.locator("#v").fill("1\n2")
    page.get_by_role("button", name="Work it out").click()
    assert "2 queries" in page.locator("h2").first.inner_text()


def checked(page, texts):
    """The weights of two rows, filled in and checked."""
    for at, text in enumerate(texts):
        cells(page, "weights").nth(at).fill(text)
    page.keyboard.press("Enter")


def test_a_hint_leaves_the_explanation_as_it_is(window):
    page = window()
    page.goto("/exercise/all-rows")
    checked(page, BY_COLUMNS)
    page.locator("#q-weights .explanation summary").click()
    page.locator("#q-weights").get_by_role("button", name="hint").click()
    page.locator("#q-weights .hints li").first.wait_for()
    expect(page.locator("#q-weights .explanation")).to_have_count(1)
    expect(page.locator("#q-weights .explanation details")).to_have_attribute("open", "")


def test_what_explains_an_answer_goes_with_it(window):
    page = window()
    page.goto("/exercise/all-rows")
    checked(page, BY_COLUMNS)
    page.locator("#q-weights .explanation details").wait_for()
    checked(page, WEIGHTS)
    expect(page.locator("#q-weights .tally")).to_contain_text("6 right")
    expect(page.locator("#q-weights .explanation")).to_have_count(0)


def test_an_explanation_is_compared_point_by_point(window):
    page = window()
    page.goto("/exercise/asymmetry")
    section = page.locator(".question:has(textarea[name=text])").first
    section.locator("textarea").fill("Because q and k are different.")
    section.get_by_role("button", name="Compare").click()
    section.locator(".ours").wait_for()
    for box in section.locator(".point").all():
        box.get_by_label("yes").check()
    section.get_by_role("button", name="Keep").click()
    page.wait_for_selector(".question.done")


def test_two_windows_show_the_same_progress(window):
    first, second = window(), window()
    first.goto("/exercise/two-heads")
    second.goto("/exercise/two-heads")
    box = first.locator(".single input").first
    box.fill("0.5")
    box.press("Enter")
    first.locator(".mark:not(:empty)").first.wait_for()
    second.reload()
    assert second.locator(".single input").first.input_value() == "0.5"


def test_a_server_that_has_gone_is_said_and_nothing_typed_is_lost(window):
    page = window()
    page.goto("/exercise/blend")
    page.route("**/answer", lambda route: route.abort())
    box = page.locator("[data-answers] [data-grid] input").first
    box.fill("7")
    box.press("Enter")
    page.get_by_text("Headwork does not answer").wait_for()
    assert box.input_value() == "7"


def test_the_keys_open_with_a_question_mark_and_close_with_escape(window):
    page = window()
    page.goto("/mistakes/scale-missing")
    page.keyboard.press("?")
    sheet = page.locator("dialog.sheet")
    sheet.wait_for()
    assert "Enter" in sheet.inner_text()
    page.keyboard.press("Escape")
    assert not sheet.is_visible()
