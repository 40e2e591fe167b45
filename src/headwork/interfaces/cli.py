"""The command line: parse, call one function, render. The docstrings are the help.

What a verb needs is imported when it is called, so that help and `headwork list` answer at once.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from .. import __version__
from ..errors import UnknownNameError
from .guard import BAD_INPUT, complain, guarded, open_streams, speak_utf8

problem = click.argument("problem", metavar="PROBLEM")
json = click.option("--json", is_flag=True, help="Print data instead of text.")
plain = click.option(
    "--plain", is_flag=True, help="For a screen reader: no tables drawn, no colour, signs in words."
)
progress_file = click.option(
    "--progress",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Where your progress is kept, if elsewhere.",
)


def _use_course(context: click.Context, parameter: click.Parameter, folder: str | None) -> None:
    """A folder of one's own exercises, for this call."""
    if folder:
        from ..workbook.own import beside

        context.with_resource(beside(folder))


own_course = click.option(
    "--course",
    metavar="FOLDER",
    expose_value=False,
    is_eager=True,
    callback=_use_course,
    help="A folder of your own exercises, beside ours.",
)


class _Whole(click.IntRange):
    """A whole number, such as 3; in a message it is called that."""

    name = "whole number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        ascii_minus: Any = str(value).replace("−", "-")  # undoes _not_an_option
        return super().convert(ascii_minus, param, ctx)


MOST_PLACE_DIGITS = 12
LONGEST = 300  # characters of a message about arguments
DIGITS = _Whole(0, 15)  # a float64 has no more
_POSITIVE = click.FloatRange(min=0, min_open=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `headwork` with these arguments, or those of the process; the exit status."""
    open_streams()
    speak_utf8()
    given = sys.argv[1:] if arguments is None else arguments
    return guarded(lambda: _run([_not_an_option(argument) for argument in given]))


def _run(arguments: list[str]) -> int:
    try:
        with headwork.make_context("headwork", arguments) as context:
            return headwork.invoke(context) or 0
    except click.exceptions.Exit as stop:  # --help, --version
        return stop.exit_code
    except click.UsageError as error:
        return complain(f"{_usage_message(error)}\n{_path(error)} --help says what there is.", BAD_INPUT)


def _usage_message(error: click.UsageError) -> str:
    """What click says, in small letters and short; numbers without quotes are told apart from other words."""
    text = error.format_message()
    if "extra argument" in text and _path(error).split()[-1] in ("mark", "diagnose"):
        return 'the numbers came as several words. Put them in quotes: "2 0 4; 0 2 0; 0 4 0".'
    return text[:1].lower() + (text[1:] if len(text) <= LONGEST else f"{text[1:LONGEST]} …")


def _path(error: click.UsageError) -> str:
    return error.ctx.command_path if error.ctx else "headwork"


def _not_an_option(argument: str) -> str:
    """An answer that begins with a minus, such as "-1 0", with a minus sign that begins no option."""
    return re.sub(r"^-(?=[\d.,(√∞π]|inf\b|nan\b)", "−", argument)


def _places(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    """Places counted from 1, such as "1,3", counted from 0."""
    if text is None:
        return None
    parts = [part for part in re.split(r"[,;\s]+", text.strip(" ()[]")) if part]
    is_place = all(part.isdecimal() and len(part) <= MOST_PLACE_DIGITS and int(part) > 0 for part in parts)
    if not parts or not is_place:
        raise UnknownNameError(
            f"--{parameter.name} is {text[:40]!r}; places counted from 1 were expected, such as 1,3."
        )
    return tuple(int(part) - 1 for part in parts)


one_row = click.option(
    "--row", metavar="I", callback=_places, help="The numbers are this row, counted from 1; with heads H,I."
)
one_entry = click.option(
    "--entry",
    metavar="I,J",
    callback=_places,
    help="The number is this entry, counted from 1; with heads H,I,J.",
)


def _names(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[str, ...]:
    """Ids, such as "scale-missing,softmin"."""
    return tuple(part for part in re.split(r"[,;\s]+", text or "") if part)


def _pairs(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE, each time that it is given; what Python reads as a value is one, anything else is text."""
    pairs = [text.partition("=") for text in texts]
    for name, equals, value in pairs:
        if not (name and equals and value):
            raise UnknownNameError(f"{parameter.opts[0]} is {name[:40]!r}; {parameter.metavar} was expected.")
    return {name.strip(): _value(value) for name, _, value in pairs}


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


class _InOrder(click.Group):
    """A group that lists its commands in the order of this file."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=_InOrder, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, message="headwork %(version)s", help="Print the version.")
@click.pass_context
def headwork(context: click.Context) -> int:
    """Work attention out by hand: every step is marked, and a wrong number is explained.

    Without a command, the workbook opens in the browser.
    """
    if context.invoked_subcommand is not None:
        return 0
    if sys.stdin.isatty() and sys.stdout.isatty():
        return int(context.invoke(open_workbook))
    print(context.get_help())
    return 0


@headwork.command("open")
@click.option("--port", metavar="N", type=_Whole(0, 65535), default=0, help="If not a free one.")
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", help="Serve others too, at this address.")
@click.option("--workers", metavar="N", type=_Whole(1, 64), default=1, help="Processes that answer.")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@progress_file
@own_course
@json
def open_workbook(
    port: int = 0,
    host: str = "127.0.0.1",
    workers: int = 1,
    no_browser: bool = False,
    progress: Path | None = None,
    json: bool = False,
) -> int:
    """Open the workbook in the browser.

    Ctrl-C ends it. The terminal and the browser share your progress.
    """
    from .web.serving import run_open

    return run_open(
        host=host, port=port, browser=not no_browser, progress=progress, json=json, workers=workers
    )


@headwork.command()
@click.argument("exercise", metavar="[EXERCISE]", required=False)
@progress_file
@own_course
@json
@plain
def practice(exercise: str | None, progress: Path | None, json: bool, plain: bool) -> int:
    """Work through the exercises in the terminal.

    From EXERCISE on, such as softmax, 4, 2.1 or p3; without it, from where you stopped. scores@7 has fresh
    numbers for scores.
    """
    from .practice import run_practice

    return run_practice(exercise, progress=progress, json=json, plain=plain)


@headwork.command("list")
@progress_file
@own_course
@json
@plain
def list_exercises(progress: Path | None, json: bool, plain: bool) -> int:
    """List the exercises and what you have done."""
    from .practice import run_list

    return run_list(progress=progress, json=json, plain=plain)


@headwork.command()
@click.argument("exercise", metavar="EXERCISE")
@progress_file
@own_course
@json
@plain
def hint(exercise: str, progress: Path | None, json: bool, plain: bool) -> int:
    """Give the next hint for an exercise.

    EXERCISE is its id or number.
    """
    from .practice import run_hint

    return run_hint(exercise, progress=progress, json=json, plain=plain)


@headwork.command()
@problem
@click.option(
    "--step", "steps", metavar="STEP", multiple=True, help="This step only, such as weights; may be repeated."
)
@click.option("--entry", metavar="I,J", callback=_places, help="Only row I, column J, counted from 1.")
@click.option("--digits", metavar="N", type=DIGITS, default=3, show_default=True, help="Decimals.")
@click.option("--head", metavar="H", type=_Whole(1), help="This head only, counted from 1.")
@click.option("--batch", metavar="B", callback=_places, help="This batch element only, counted from 1.")
@click.option(
    "--with-mistake",
    "mistake",
    metavar="ID",
    help="What a mistake such as scale-missing makes of these numbers, beside the right ones.",
)
@own_course
@click.option("--plot", metavar="FILE", help="Draw a picture into FILE.svg or FILE.png.")
@click.option("--picture", metavar="NAME", help="Which: weights, hill, variance, saturation or cost.")
@click.option("--dark", is_flag=True, help="Draw it light on dark.")
@json
@plain
def show(
    problem: str,
    steps: tuple[str, ...],
    entry: tuple[int, ...] | None,
    digits: int,
    head: int | None,
    batch: tuple[int, ...] | None,
    mistake: str | None,
    plot: str | None,
    picture: str | None,
    dark: bool,
    json: bool,
    plain: bool,
) -> int:
    """Work a problem out in full, step by step; or draw it.

    PROBLEM is an exercise id, a .json, .npz or .safetensors file, or - for JSON on standard input.
    """
    from .grids import Choice
    from .show import run_show

    choice = Choice(head - 1 if head else None, batch)
    if plot is not None or picture or dark:
        from .plot_verb import run_plot

        return run_plot(
            problem,
            plot or "",
            picture=picture,
            dark=dark,
            digits=digits,
            choice=choice,
            json=json,
            plain=plain,
        )
    return run_show(
        problem,
        steps=steps,
        entry=entry,
        digits=digits,
        choice=choice,
        mistake=mistake,
        json=json,
        plain=plain,
    )


@headwork.command()
@problem
@click.argument("answers", metavar="ANSWERS")
@click.option("--step", metavar="STEP", help="The step that the numbers answer, such as weights.")
@click.option("--digits", metavar="N", type=DIGITS, help="Decimals that are asked for.")
@one_row
@one_entry
@click.option("--why", is_flag=True, help="Say what gives the numbers of each step that is not right.")
@own_course
@json
@plain
def mark(
    problem: str,
    answers: str,
    step: str | None,
    digits: int | None,
    row: tuple[int, ...] | None,
    entry: tuple[int, ...] | None,
    why: bool,
    json: bool,
    plain: bool,
) -> int:
    """Mark answers step by step; one slip costs one step.

    PROBLEM is an exercise id or a file. ANSWERS is text such as "2 0 4; 0 2 0; 0 4 0", JSON such as
    '{"scores": [[2, 0, 4], …]}', a file (JSON, .npy, .npz, .safetensors), or - for standard input.
    """
    from .marking_text import run_mark

    return run_mark(
        problem, answers, step=step, digits=digits, row=row, entry=entry, why=why, json=json, plain=plain
    )


@headwork.command()
@problem
@click.argument("answer", metavar="ANSWER")
@click.option("--step", metavar="STEP", help="The step that the numbers answer; the output, if not said.")
@click.option("--digits", metavar="N", type=DIGITS, help="Decimals that are asked for.")
@one_row
@one_entry
@click.option("--apart", is_flag=True, help="Show numbers that tell apart what gives the same ones here.")
@own_course
@json
@plain
def diagnose(
    problem: str,
    answer: str,
    step: str | None,
    digits: int | None,
    row: tuple[int, ...] | None,
    entry: tuple[int, ...] | None,
    apart: bool,
    json: bool,
    plain: bool,
) -> int:
    """Say which mistake gives these numbers.

    PROBLEM is an exercise id or a file. ANSWER is text such as "2 0 4; 0 2 0; 0 4 0", a file (JSON, .npy,
    .npz, .safetensors), or - for standard input.
    """
    from .diagnose_text import run_diagnose

    return run_diagnose(
        problem,
        answer,
        step=step,
        digits=digits,
        row=row,
        entry=entry,
        apart=apart,
        json=json,
        plain=plain,
    )


@headwork.command()
@click.argument("mistake", metavar="MISTAKE")
@json
@plain
def explain(mistake: str, json: bool, plain: bool) -> int:
    """Say what a mistake is, why it is one, and how to mend it.

    MISTAKE is its id, such as scale-missing, or the beginning of one.
    """
    from .catalogue_text import run_explain

    return run_explain(mistake, json=json, plain=plain)


@headwork.command()
@click.argument("words", metavar="[WORDS]...", nargs=-1)
@click.option("--step", metavar="STEP", help="Those that concern this step, such as weights or masking.")
@json
@plain
def mistakes(words: tuple[str, ...], step: str | None, json: bool, plain: bool) -> int:
    """List the mistakes that are known.

    With WORDS, those that have all of them in their names and texts.
    """
    from .catalogue_text import run_mistakes

    return run_mistakes(words, step=step, json=json, plain=plain)


@headwork.command()
@click.argument("problems", metavar="PROBLEM...", nargs=-1, required=True)
@click.option("--step", metavar="STEP", help="Where answers are compared; the output, if not said.")
@click.option("--digits", metavar="N", type=DIGITS, help="Decimals of the answers.")
@click.option("--require", metavar="ID,...", callback=_names, help="Fail unless these mistakes show.")
@click.option("--pairs", is_flag=True, help="Look at two mistakes made together, too.")
@own_course
@json
@plain
def blindspots(
    problems: tuple[str, ...],
    step: str | None,
    digits: int | None,
    require: tuple[str, ...],
    pairs: bool,
    json: bool,
    plain: bool,
) -> int:
    """Say which mistakes an input, or a set of inputs, cannot show.

    PROBLEM is an exercise id or a file; several are a set, such as the inputs of your tests.
    """
    from .blind_text import run_blindspots

    return run_blindspots(
        problems, step=step, digits=digits, require=require, pairs=pairs, json=json, plain=plain
    )


@headwork.command()
@problem
@click.option(
    "--seed", metavar="N", type=_Whole(0), help="Which numbers; 0 if not said, or that of scores@7."
)
@click.option(
    "--separate",
    metavar="ID,...",
    callback=_names,
    help="Mistakes that must show and differ; the typical ones.",
)
@click.option("--size", metavar="Tq=3,Tk=5", default="", help="Other sizes: B, H, Hkv, Tq, Tk, D, Dv, E.")
@click.option("--step", metavar="STEP", help="Where answers are compared; the output, if not said.")
@click.option("--digits", metavar="N", type=DIGITS, help="Decimals of the answers.")
@click.option("--output", metavar="FILE.json", help="Write the problem to a file, too.")
@own_course
@json
@plain
def fresh(
    problem: str,
    seed: int | None,
    separate: tuple[str, ...],
    size: str,
    step: str | None,
    digits: int | None,
    output: str | None,
    json: bool,
    plain: bool,
) -> int:
    """Draw numbers like a problem's that tell mistakes apart.

    PROBLEM is an exercise id or a file. The same seed gives the same numbers on every machine.
    """
    from .fresh_text import run_fresh

    return run_fresh(
        problem,
        seed=seed,
        separate=separate,
        sizes=size,
        step=step,
        digits=digits,
        output=output,
        json=json,
        plain=plain,
    )


@headwork.command()
@click.argument("target", metavar="TARGET", required=False, default="")
@click.option(
    "--layout", metavar="BHTD", help="Axes of query, key and value: B, H, T, D, or E for H and D joined."
)
@click.option("--output-layout", metavar="BHTD", help="Axes of the output, if others.")
@click.option("--mask-means", metavar="WORD", help="What True in a mask means: attend, drop or add.")
@click.option("--causal", metavar="WORD", help="Where causal begins: lower_right, upper_left or never.")
@click.option("--window-counts", metavar="WORD", help="What a window of one number counts: itself or others.")
@click.option(
    "--empty-rows", metavar="WORD", help="A row that sees nothing is zero, nan, uniform or unmasked."
)
@click.option("--logsumexp", metavar="WORD", help="natural or 'base 2'.")
@click.option("--scale", metavar="WORD", help="multiplies or divides the scores, or comes 'on top' of 1/√D.")
@click.option(
    "--returns", metavar="NAME,...", help="What comes back: output, weights, lse, - for anything else."
)
@click.option(
    "--takes", metavar="NAME,...", help="What its parameters are, in order: query, key, value, mask, …"
)
@click.option(
    "--role", "roles", metavar="NAME=ROLE", multiple=True, callback=_pairs, help="What one parameter is."
)
@click.option(
    "--argument",
    "arguments",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_pairs,
    help="What one is always given.",
)
@click.option("--out-argument", metavar="NAME", help="The parameter that the output is written into.")
@click.option("--command", metavar="LINE", help="A program in place of TARGET: './a.out {input} {output}'.")
@click.option("--engine", metavar="NAME", help="What runs an ONNX model: onnxruntime or reference.")
@click.option("--setup", metavar="FILE", help="A Python file to run first.")
@click.option("--library", metavar="NAME", help="Whose arrays it takes: numpy, torch, jax, cupy or list.")
@click.option("--device", metavar="NAME", help="Where they are put, such as cuda.")
@click.option("--dtypes", metavar="NAME,...", help="What it is checked in, the first for everything.")
@click.option("--sizes", metavar="TEXT", help="What sizes it takes, such as 'T=64,128; D%8; Tq=Tk'.")
@click.option("--seconds", metavar="N", type=_POSITIVE, help="Limit of a call; 10 if not said.")
@click.option(
    "--memory", metavar="GB", type=_POSITIVE, help="Memory by which a call may grow; 2 if not said."
)
@click.option("--strict", is_flag=True, help="Fail for matters of robustness, too.")
@click.option("--junit", metavar="FILE", help="Write the findings as JUnit XML.")
@click.option("--reproduce", metavar="FILE", help="Write the smallest failing input as Python.")
@click.option("--watch", is_flag=True, help="Check again on every save.")
@json
@plain
def check(target: str, **options: Any) -> int:
    """Check an implementation of attention: right, or which mistake.

    TARGET is FILE.py:NAME, MODULE:NAME or FILE.onnx. It runs in a process of its own, on inputs that tell
    mistakes apart. How it is called and what it means is found out, unless an option says it.
    """
    from .check_verb import run_check

    return run_check(target, **options)


@headwork.command()
@click.argument("place", metavar="[FOLDER]", required=False, type=click.Path(path_type=Path))
@click.option("--once", is_flag=True, help="Check every file once and end.")
@progress_file
@json
@plain
def watch(place: Path | None, once: bool, progress: Path | None, json: bool, plain: bool) -> int:
    """Check your code for the exercises on every save.

    FOLDER holds the files that practice wrote, or is one of them; headwork-code, if not said.
    """
    from .watch_verb import run_watch

    return run_watch(place, once=once, progress=progress, json=json, plain=plain)


@headwork.command()
@click.option("--export", metavar="FILE", help="Write it to a file, or to standard output for -.")
@click.option(
    "--import",
    "import_",
    metavar="FILE",
    help="Add what --export wrote, from a file or - for standard input.",
)
@click.option("--reset", is_flag=True, help="Forget all of it.")
@click.option("--yes", is_flag=True, help="Do not ask before that.")
@progress_file
@json
@plain
def progress(
    export: str | None,
    import_: str | None,
    reset: bool,
    yes: bool,
    progress: Path | None,
    json: bool,
    plain: bool,
) -> int:
    """Say how far you are; keep a copy, or begin again."""
    from .practice import run_progress

    return run_progress(
        progress=progress, export=export, import_=import_, reset=reset, yes=yes, json=json, plain=plain
    )


@headwork.command()
@click.argument("name", metavar="ID")
@own_course
@json
@plain
def new(name: str, json: bool, plain: bool) -> int:
    """Begin an exercise of your own.

    ID is what it will be called, such as two-readers. Its file goes into headwork-course, or the folder of
    --course.
    """
    from .author_text import run_new

    return run_new(name, json=json, plain=plain)


@headwork.command()
@click.argument("action", metavar="check", type=click.Choice(["check"]))
@click.argument("folder", metavar="[FOLDER]", required=False, type=click.Path(path_type=Path))
@click.option("--blind", is_flag=True, help="List the mistakes that each exercise's numbers do not show.")
@json
@plain
def course(action: str, folder: Path | None, blind: bool, json: bool, plain: bool) -> int:
    """Look through exercises for what a learner would stumble over.

    FOLDER has exercises of your own; without it, ours are looked through.
    """
    from .author_text import run_course_check

    return run_course_check(folder, blind=blind, json=json, plain=plain)


@headwork.command()
@json
@plain
def bench(json: bool, plain: bool) -> int:
    """Measure attention here, beside the libraries that you have.

    Takes about a minute. Close other programs first.
    """
    from .bench.verb import run_bench

    return run_bench(json=json, plain=plain)


@headwork.command()
@progress_file
@json
@plain
def doctor(progress: Path | None, json: bool, plain: bool) -> int:
    """Say what runs here and why: engine, libraries, progress."""
    from .doctor import run_doctor

    return run_doctor(progress=progress, json=json, plain=plain)
