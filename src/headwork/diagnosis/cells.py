"""A text cut into rows and cells, whatever it was pasted from.

NumPy, MATLAB, LaTeX, Markdown and spreadsheets wrap the same table differently. A cell is still text
here; the hard part is the comma, which stands between entries or inside them.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import AnswerError
from .spelling import close_up, plain, quoted

__all__ = ["Row", "cut"]


@dataclass(frozen=True)
class Row:
    """The texts of one row's entries.

    Fields
    texts        one text per entry; "" for an empty cell
    by_commas    how commas came to separate: "" (they do not), "blank" (1, 2), "tight" (√2,-1) or
                 "list" ([1,2])
    in_brackets  whether square brackets held the row
    """

    texts: list[str]
    by_commas: str
    in_brackets: bool


def cut(text: str) -> list[Row]:
    """The rows that are not empty.

    Special cases: a comma between digits without a blank stays inside its entry, except in a list in
    square brackets such as [1,2,3], where no blank separates.
    Raises AnswerError: brackets without partner or around part of a row, commas that could mean two things.
    """
    lines = _tidied(_lines(_unwrapped(text)))
    decimal = any(map(_shows_decimal_commas, lines))
    return [_row(line, at, line.in_brackets and not decimal) for at, line in enumerate(lines, 1)]


@dataclass(frozen=True)
class _Line:
    text: str
    in_brackets: bool


# What tables are wrapped in -------------------------------------------------------------------------

_CALL = re.compile(r"\s*(?:[A-Za-z]\w{0,20}\.){0,2}(?:as)?(?:array|Array|tensor|matrix)\s?\(\s?\[")
_CALL_END = re.compile(r"(?:\s*,\s*\w+\s*=\s*[\w.:'\"]+){0,4}\s*,?\s*\)")
_LATEX_ROW = re.compile(r"\\\\(?:\[[0-9.]{1,5}[a-z]{2}\])?")
_LATEX_TABLE = re.compile(
    r"\\(?:begin|end)\{(?:[a-zA-Z]{0,6}matrix\*?|array)\}(?:\{[lcr|]{1,40}\})?|\\hline|\$"
)


def _unwrapped(text: str) -> str:
    """The table without array(…), \\begin{bmatrix} … \\end{bmatrix} and parentheses around it."""
    if "\\\\" in text:
        text = _LATEX_ROW.sub("\n", text.replace("\n", " "))
    text = _without_parentheses(plain(_LATEX_TABLE.sub(" ", text)).strip(" \n"))
    end = text.rfind("]") + 1
    if _CALL.match(text) and _CALL_END.fullmatch(text[end : end + 200]) and len(text) <= end + 200:
        return text[text.index("[") : end]
    return text


def _without_parentheses(text: str) -> str:
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1].strip() if at == len(text) - 1 else text
    return text


def _lines(text: str) -> list[_Line]:
    """The rows that are not empty, without their brackets: [a; b], [a]⏎[b] and [[a], [b]] are two rows."""
    depth = _bracket_depth(text)
    if depth == 0:
        return [_Line(line, False) for line in re.split("[;\n]", text) if line.strip()]
    groups, beside = _innermost(text, depth)
    if beside.strip(" ,;\n\t"):
        raise AnswerError(
            f"I could not read {quoted(beside.strip())} beside the brackets. "
            "Square brackets hold whole rows: [2 0 4; 0 2 0] or [[2, 0, 4], [0, 2, 0]]."
        )
    # NumPy breaks a long row over several lines, but only inside [[ ]]
    flat = [group.replace("\n", " ") if depth == 2 else group for group in groups]
    return [_Line(line, True) for group in flat for line in re.split("[;\n]", group) if line.strip()]


def _bracket_depth(text: str) -> int:
    depths = list(itertools.accumulate((c == "[") - (c == "]") for c in text if c in "[]"))
    deepest = max(depths, default=0)
    if depths and (min(depths) < 0 or depths[-1] != 0):
        missing = "[" if min(depths) < 0 else "]"
        raise AnswerError(
            f'A square bracket has no partner: a "{missing}" is missing. Brackets may be left out.'
        )
    if deepest > 2:
        raise AnswerError(
            f"There are {deepest} levels of square brackets; text is read as one table, so at most 2. "
            "Give more axes as JSON or as a .npy file."
        )
    return deepest


def _innermost(text: str, depth: int) -> tuple[list[str], str]:
    """What stands inside `depth` brackets, group by group, and everything else."""
    groups: list[str] = []
    beside: list[str] = []
    level = 0
    for piece in re.split(r"([\[\]])", text):
        if piece in ("[", "]"):
            level += 1 if piece == "[" else -1
        elif level == depth:
            groups.append(piece)
        else:
            beside.append(piece)
    return groups, "".join(beside)


# The cells of a row ---------------------------------------------------------------------------------

_TIGHT_COMMA = re.compile("(?<=[0-9]),(?=[0-9])")


def _tidied(lines: Sequence[_Line]) -> list[_Line]:
    """Tabs become & between the cells of a spreadsheet, else blanks; blanks within a number go."""
    mark = "&" if _is_spreadsheet([line.text for line in lines]) else " "
    texts = (_without_parentheses(close_up(line.text.replace("\t", mark)).strip()) for line in lines)
    return [_Line(text, line.in_brackets) for text, line in zip(texts, lines, strict=True) if text]


def _is_spreadsheet(rows: Sequence[str]) -> bool:
    """Whether tabs separate cells: as many in each row, one value in each, and no common indent."""
    counts = {row.count("\t") for row in rows}
    if len(counts) != 1 or counts == {0} or all(row.startswith("\t") for row in rows):
        return False
    return not any(re.search(r"[^\t ] +[^\t ]|[|&]", row) for row in rows)


def _shows_decimal_commas(line: _Line) -> bool:
    # [0,5 0,5] has blanks between its entries; in [0,090] no list entry is written 090
    if not line.in_brackets or not _TIGHT_COMMA.search(line.text) or re.search(", | ,", line.text):
        return False
    return bool(re.search("[ |&]|[0-9],0[0-9]", line.text))


def _row(line: _Line, at: int, in_list: bool) -> Row:
    """The texts of the entries; in_list: commas without blanks separate, as in [1,2,3]."""
    if "&" in line.text or "|" in line.text:
        return Row(_barred(line.text), "", line.in_brackets)
    text = line.text.removesuffix(",").rstrip()
    chunks, way = re.split(" ?, | ,", text), "blank"
    if len(chunks) == 1:
        chunks, way = text.split(), ""
        in_list = in_list and len(chunks) == 1
    else:
        _refuse_unclear_commas(chunks, at, in_list)
        in_list = False
    texts = [piece for chunk in chunks for piece in _pieces(chunk, in_list)]
    if not all(texts) or not texts:
        raise AnswerError(
            f"row {at} has a comma with no entry beside it. Write _ for an entry that is not given."
        )
    if len(texts) > len(chunks):
        way = "list" if in_list else "tight"
    return Row(texts, way, line.in_brackets)


def _barred(text: str) -> list[str]:
    """The cells between & (LaTeX, spreadsheets) or | (Markdown, with or without the outer bars)."""
    if "&" in text:
        return [cell.strip() for cell in text.split("&")]
    return [cell.strip() for cell in text.removeprefix("|").removesuffix("|").split("|")]


def _pieces(chunk: str, in_list: bool) -> list[str]:
    """What commas without blanks separate; a comma that may be a decimal comma stays."""
    pieces = chunk.split(",")
    # "√2,-1" and "0.5,0.25" can only be lists; read_number judges the rest
    is_clear = not _TIGHT_COMMA.search(chunk) or all("." in piece for piece in pieces)
    return pieces if in_list or is_clear else [chunk]


def _refuse_unclear_commas(chunks: Sequence[str], at: int, in_list: bool) -> None:
    mixed = next((chunk for chunk in chunks if " " in chunk), None)
    if mixed is not None:
        raise AnswerError(
            f"row {at} has commas between entries, and blanks too in {quoted(mixed)}. "
            "Write blanks between entries and ; between rows."
        )
    unclear = next(filter(_TIGHT_COMMA.search, chunks), None)
    if in_list and unclear is not None:
        raise AnswerError(
            f"In row {at}, {quoted(unclear)} could be one entry with a decimal comma or two entries. "
            "Write a point as the decimal mark, and blanks between entries."
        )
