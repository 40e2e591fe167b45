"""Write docs/mistakes.md from the catalogue: `python scripts/catalogue_page.py`.

A test fails while the page is not what this script gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from headwork.interfaces.latex_text import plain_formula
from headwork.mistakes.catalogue import CATALOGUE, TOPICS, Topic
from headwork.mistakes.mistake import Mistake, Reading

PAGE = Path(__file__).resolve().parent.parent / "docs" / "mistakes.md"
HEAD = """\
<!-- Written by scripts/catalogue_page.py from src/headwork/mistakes/: change those, run it again. -->

# Mistakes

The {count} mistakes that Headwork knows, in the order of the pipeline. Each is a wrong version of one or
more steps. From the numbers of an answer, `headwork diagnose` finds which of them gives exactly these
numbers; `headwork explain ID` shows one of them at work; `headwork mistakes WORDS` searches.

*Typical* ones are those that learners make by hand. Where good systems differ, a difference is a
*convention* and is never called a mistake (see [conventions.md](conventions.md)). *Rounding* is the right
rule in fewer bits. A name behind “also” always gives the same numbers as the one that it stands under.
"""
# what Markdown would read as more than a character; an underscore inside a word is one
SPECIAL = re.compile(r"([\\*]|<(?=[A-Za-z/!])|(?<![^\W_])_|_(?![^\W_]))")


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    print(f"{PAGE.name}: {len(CATALOGUE)} mistakes")


def page() -> str:
    """The whole page."""
    parts = [
        HEAD.format(count=len(CATALOGUE)),
        *contents(),
        *(line for topic in TOPICS for line in section(topic)),
    ]
    return "\n".join(parts)


def contents() -> Iterator[str]:
    """A list of the topics."""
    for topic in TOPICS:
        anchor = re.sub(r"[^\w -]", "", topic.title.lower()).replace(" ", "-")
        yield f"- [{topic.title}](#{anchor}): {len(topic.mistakes)}"
    yield ""


def section(topic: Topic) -> Iterator[str]:
    """One topic with its mistakes."""
    yield f"## {topic.title}\n"
    for mistake in topic.mistakes:
        yield from record(mistake)


def record(mistake: Mistake) -> Iterator[str]:
    """One mistake with its other readings."""
    kinds = {"convention": mistake.convention, "rounding": mistake.narrow, "typical": mistake.typical}
    said = ", ".join(f"*{kind}*" for kind, applies in kinds.items() if applies)
    yield f"### {mistake.id}\n"
    yield f"{capital(plain(mistake.title))}{f' ({said})' if said else ''}.\n"
    yield f"`{plain_formula(mistake.formula)}`\n"
    yield f"{plain(mistake.why)}\n"
    yield f"- Mend it: {plain(mistake.mend)}"
    yield f"- Hides when: {plain(mistake.hides_when)}."
    yield f"- Source: {plain(mistake.source)}."
    yield from (also(reading) for reading in mistake.readings)
    yield ""


def also(reading: Reading) -> str:
    """Another rule that always gives the same numbers."""
    texts = [f"{plain(reading.title)}.", plain(reading.why), f"Mend it: {plain(reading.mend)}"]
    texts += [f"Source: {plain(reading.source)}."] if reading.source else []
    return f"- Also **{reading.id}**: {' '.join(texts)}"


def capital(text: str) -> str:
    """The text with a capital in front."""
    return text[:1].upper() + text[1:]


def plain(text: str) -> str:
    """The text as it is, whatever Markdown makes of its characters."""
    return SPECIAL.sub(r"\\\1", text)


if __name__ == "__main__":
    main()
