"""Every exercise of the course is worked in the page: not right first, then right, and a reload in between.

One window and one server for all of it. The right numbers are the trace's: here it is the page that is tested.
"""

import re

import pytest
from course_forms import right_fields, wrong_fields

from headwork.workbook.course import exercises
from headwork.workbook.finding import find_exercise
from headwork.workbook.progress import Progress

# the last cell changes once the server has read the block
PASTE = """([first, last, text]) => new Promise((pasted) => {
    const [input, end] = [first, last].map((id) => document.getElementById(id)), before = end.value;
    const data = new DataTransfer();
    data.setData("text/plain", text);
    input.focus();
    input.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    const look = () => (end.value === before ? setTimeout(look, 5) : pasted());
    look();
})"""


# as a learner fills it in, without waiting for the page to come to rest before each touch
FILL = """([id, fields]) => {
    const section = document.getElementById(id);
    for (const [name, given] of fields)
        for (const input of section.querySelectorAll(`[name="${name}"]`)) {
            if (input.matches("[type=radio], [type=checkbox]")) input.checked = given.includes(input.value);
            else input.value = given;
            input.focus();
        }
}"""


@pytest.fixture(scope="module")
def progress_file(tmp_path_factory):
    return tmp_path_factory.mktemp("course") / "progress.sqlite3"


@pytest.fixture(scope="module")
def server(serve, progress_file):
    with serve(progress_file) as address:
        yield address


@pytest.fixture(scope="module")
def page(browser, server):
    context = browser.new_context(base_url=server, viewport={"width": 800, "height": 600})
    context.set_default_timeout(10_000)
    yield context.new_page()
    context.close()


# --- how people copy a block -----------------------------------------------------------------------


def spreadsheet(rows):
    return "\n".join("\t".join(row) for row in rows) + "\n"


def with_decimal_commas(rows):
    return spreadsheet(rows).replace(".", ",")


def numpy_array(rows):
    return "array([" + ",\n       ".join(f"[{', '.join(row)}]" for row in rows) + "])"


def latex(rows):
    return r"\begin{pmatrix}" + r" \\ ".join(" & ".join(row) for row in rows) + r"\end{pmatrix}"


FORMATS = (spreadsheet, with_decimal_commas, numpy_array, latex)


def rows_of(fields):
    rows = {}
    for name, text in fields.items():
        rows.setdefault(int(re.match(r"c(\d+)", name)[1]), []).append(text)
    return [rows[at] for at in sorted(rows)]


# --- answering -------------------------------------------------------------------------------------


def paste(page, question, fields, form):
    """A block fills the grid, whoever wrote it and wherever it came from."""
    first, last = (f"q-{question.id}-{name}" for name in (next(iter(fields)), list(fields)[-1]))
    page.evaluate(PASTE, [first, last, form(rows_of(fields))])
    page.keyboard.press("Enter")


def answer(page, question, fields, form=None):
    """The form of a question is filled in, and Enter sends it."""
    if form and len(fields) > 1:
        paste(page, question, fields, form)
        return
    page.evaluate(FILL, [f"q-{question.id}", list(fields.items())])
    page.keyboard.press("Enter")


def explain(page, question):
    section = page.locator(f"#q-{question.id}")
    section.locator("textarea[name=text]").fill("In words of my own.")
    section.locator("button.primary").click()
    for at in range(len(question.points)):
        section.locator(f"input[name=p{at + 1}][value=yes]").check()
    section.locator(".ours button").click()


def work(page, exercise, question, form=None):
    if question.kind == "explain":
        explain(page, question)
    else:
        if not getattr(question, "guess", False):
            answer(page, question, wrong_fields(exercise, question), form)
            page.locator(f"#q-{question.id}").locator(".is-wrong").first.wait_for()
        answer(page, question, right_fields(exercise, question), form)
    page.locator(f"#q-{question.id}.done").wait_for()


@pytest.mark.parametrize("name", [exercise.id for exercise in exercises()])
def test_every_exercise_is_worked_in_the_page_wrong_and_then_right(page, name, progress_file):
    """In the end progress has every right answer, and the contents say that it is done."""
    exercise = find_exercise(name)
    asked = [question for question in exercise.questions if question.kind != "code"]
    page.goto(f"/exercise/{name}", wait_until="domcontentloaded")
    for at, question in enumerate(asked):
        if at == 2:
            page.reload(wait_until="domcontentloaded")
            assert page.locator(".question.done").count() == at
        work(page, exercise, question, FORMATS[at % len(FORMATS)])
    assert page.locator(".unreadable").count() == 0
    with Progress(progress_file) as progress:
        right = {act.question for act in progress.acts(name) if act.verdict in ("right", "guess")}
    assert right == {question.id for question in asked if question.kind != "explain"}
    if len(asked) == len(exercise.questions):
        page.locator("#closing .recap-block").first.wait_for()
        page.goto("/", wait_until="domcontentloaded")
        line = page.locator(".toc li", has=page.locator(f'a[href="/exercise/{name}"]'))
        assert line.locator(".state.is-right").count() == 1


@pytest.mark.parametrize("name", ["all-rows", "level-1.2", "level-4.2", "two-heads"])
def test_an_exercise_is_worked_without_javascript(browser, serve, tmp_path, name):
    exercise = find_exercise(name)
    with serve(tmp_path / "progress.sqlite3") as address:
        context = browser.new_context(base_url=address, java_script_enabled=False)
        page = context.new_page()
        page.goto(f"/exercise/{name}")
        for question in exercise.questions:
            work(page, exercise, question)
        assert page.locator(".question.done").count() == len(exercise.questions)
        assert page.locator("#closing .recap-block").count() >= 1
        context.close()


def test_what_the_terminal_finds_of_code_comes_into_the_page_by_itself(page, progress_file):
    page.goto("/exercise/code-attention")
    section = page.locator("#q-function")
    assert section.locator("[data-newest] p").count() == 0
    with Progress(progress_file) as progress:
        progress.record(
            "code-attention", "function", "answer", "3 of 5 cases right; scale-missing", "not right"
        )
    section.get_by_text("3 of 5 cases right").wait_for()
    assert section.locator("a[href='/mistakes/scale-missing']").count() == 1
    assert "done" not in section.get_attribute("class").split()
    with Progress(progress_file) as progress:
        progress.record("code-attention", "function", "answer", "def attention(): ...", "right")
    page.locator("#q-function.done").wait_for()
    assert page.locator("#q-function").get_by_text("every case is right").count() == 1
