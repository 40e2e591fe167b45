"""How a picture is drawn: colours, letters, and a file that says in words what it shows.

The same picture is the same file to the last byte. Matplotlib is loaded when something is drawn, not before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import BytesIO
from typing import Any

from ..errors import HeadworkError, OptionError

KINDS = ("svg", "png")
FONT = "DejaVu Serif"  # comes with Matplotlib: the same letters on every machine
DOTS = 160  # of an inch, in a PNG
SALT = "headwork"  # of the names inside an SVG, which are chance without it


@dataclass(frozen=True)
class Theme:
    """The colours of a picture.

    Fields
    paper  behind everything; ink: letters and lines; soft: what stands back; rule: grid lines
    accent  the one colour; shade: of a weight of 1
    """

    paper: str
    ink: str
    soft: str
    rule: str
    accent: str
    shade: str


LIGHT = Theme("#fcfaf5", "#211e19", "#5f584b", "#dcd5c5", "#1f4e98", "#86abe6")
DARK = Theme("#181613", "#ece6d9", "#b0a896", "#3b362d", "#a3c1f7", "#3a62ad")


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture that can be drawn, and what it shows in words.

    Fields
    name   weights, hill, variance, saturation or cost
    title  a few words; says: everything that it shows, for somebody who does not see it
    size   inches; panels: how many axes side by side
    draw   (axes, theme) -> None
    """

    name: str
    title: str
    says: str
    size: tuple[float, float]
    draw: Callable[[Sequence[Any], Theme], None]
    panels: int = 1

    def to_dict(self) -> dict[str, str]:
        """What it is, in words."""
        return {"name": self.name, "title": self.title, "says": self.says}


def drawn(picture: Picture, kind: str, *, dark: bool = False) -> bytes:
    """The file of a picture.

    picture  what to draw; kind: one of KINDS; dark: light on dark
    Raises OptionError for another kind, HeadworkError without Matplotlib. Special cases: none.
    """
    if kind not in KINDS:
        raise OptionError(f"a picture is written as {' or '.join(KINDS)}, not {kind!r}.")
    matplotlib, figure_of = _matplotlib()
    theme = DARK if dark else LIGHT
    with matplotlib.rc_context(_settings(theme)):
        figure = figure_of(figsize=picture.size, facecolor=theme.paper, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)
        axes = [figure.add_subplot(1, picture.panels, at + 1) for at in range(picture.panels)]
        figure.suptitle(picture.title, fontsize=12, color=theme.ink)
        picture.draw(axes, theme)
        data = BytesIO()
        figure.savefig(data, format=kind, dpi=DOTS, metadata=_metadata(picture, kind))
    return _described(data.getvalue(), picture) if kind == "svg" else data.getvalue()


def _matplotlib() -> tuple[Any, Any]:
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells of caches that it builds
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise HeadworkError(f"Pictures need Matplotlib: pip install matplotlib. ({error})") from None
    return matplotlib, Figure


def _settings(theme: Theme) -> Mapping[str, Any]:
    """Everything that Matplotlib would otherwise take from the settings of whoever runs it."""
    return {
        "font.family": FONT,
        "font.size": 10,
        "svg.hashsalt": SALT,
        "svg.fonttype": "path",
        "hatch.linewidth": 0.6,
        "hatch.color": theme.soft,
        "text.color": theme.ink,
        "axes.edgecolor": theme.soft,
        "axes.facecolor": theme.paper,
        "axes.labelcolor": theme.ink,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.unicode_minus": True,
        "xtick.color": theme.soft,
        "ytick.color": theme.soft,
        "xtick.labelcolor": theme.ink,
        "ytick.labelcolor": theme.ink,
        "grid.color": theme.rule,
        "grid.linewidth": 0.7,
        "lines.linewidth": 1.8,
    }


def _metadata(picture: Picture, kind: str) -> dict[str, str | None]:
    if kind == "svg":
        return {"Date": None, "Creator": None, "Format": None, "Type": None}
    return {"Title": picture.title, "Description": picture.says, "Software": None}


def _described(svg: bytes, picture: Picture) -> bytes:
    """The SVG with its title and its description in words, which screen readers say."""
    text = svg.decode("utf-8")
    begin = text.index("<svg ")
    end = text.index(">", begin)
    words = f"<title>{escape(picture.title)}</title>\n <desc>{escape(picture.says)}</desc>"
    head = f'{text[:end]} role="img" aria-label="{escape(picture.title)}">\n {words}'
    return (head + text[end + 1 :]).encode("utf-8")
