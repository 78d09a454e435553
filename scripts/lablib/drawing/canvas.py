# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What drawings are made of. Units are pixels at a width of 720 or NARROW; y grows downwards."""

import math
from contextlib import contextmanager
from html import escape
from typing import Iterator, List, Mapping, Sequence, Tuple

WIDTH = 720
NARROW = 340  # of a drawing for a phone: about the width of its text

Point = Tuple[float, float]


def _n(value: float) -> str:
    """At most one digit after the point: the same file on every machine."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


class Canvas:
    def __init__(
        self, height: float, translations: Mapping[str, str] = {}, width: float = WIDTH
    ) -> None:
        """`translations`: what to write instead of a text."""
        self.width, self.height = width, height
        self._translations = translations
        self.parts: List[str] = []

    @contextmanager
    def link(self, page: str) -> Iterator[None]:
        """What is drawn meanwhile leads to the page of that name, if the drawing is in a page."""
        self.parts.append(f'<a href="{page}">')
        yield
        self.parts.append("</a>")

    # --- areas -----------------------------------------------------------------------------------

    def box(
        self, x: float, y: float, w: float, h: float, fill: str = "panel", r: float = 3
    ) -> None:
        self.parts.append(
            f'<rect class="area {fill}" x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}"'
            f' rx="{_n(r)}"/>'
        )

    def label(
        self,
        x: float,
        y: float,
        w: float,
        h: float,
        text: str,
        fill: str = "panel",
        style: str = "",
    ) -> None:
        """A box with a text in its middle."""
        self.box(x, y, w, h, fill)
        self.text(x + w / 2, y + h / 2 + 5, text, style, "middle")

    def cells(
        self,
        x: float,
        y: float,
        texts: Sequence[object],
        fills: Sequence[str],
        size: float = 28,
        height: float = 28,
        style: str = "",
    ) -> None:
        """A row of boxes without gaps; `fills` is repeated if it is shorter."""
        for i, text in enumerate(texts):
            self.box(x + i * size, y, size, height, fills[i % len(fills)], 0)
            if text != "":
                self.text(x + (i + 0.5) * size, y + height / 2 + 5, str(text), style, "middle")

    def circle(self, x: float, y: float, radius: float, fill: str = "blue") -> None:
        self.parts.append(
            f'<circle class="area {fill}" cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"/>'
        )

    def polygon(self, points: Sequence[Point], fill: str = "panel") -> None:
        text = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self.parts.append(f'<polygon class="area {fill}" points="{text}"/>')

    def mark(self, number: int, x: float, y: float, colour: str) -> None:
        """A point of line `number` of a chart. Its shape tells the line from others of its colour,
        and of colours that look alike."""
        shape = number % 4
        if shape == 0:
            self.circle(x, y, 4.5, colour)
        elif shape == 1:
            self.box(x - 4, y - 4, 8, 8, colour, 0)
        elif shape == 2:
            self.polygon([(x, y - 5.5), (x + 5, y + 4), (x - 5, y + 4)], colour)
        else:
            self.polygon([(x, y - 5.5), (x + 5.5, y), (x, y + 5.5), (x - 5.5, y)], colour)

    # --- lines -----------------------------------------------------------------------------------

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str = "") -> None:
        self.parts.append(
            f'<path class="{f"l {style}".strip()}" d="M{_n(x1)} {_n(y1)}L{_n(x2)} {_n(y2)}"/>'
        )

    def arrow(self, x1: float, y1: float, x2: float, y2: float, style: str = "") -> None:
        """A line with a tip at its second end."""
        length = math.hypot(x2 - x1, y2 - y1) or 1
        dx, dy = (x2 - x1) / length, (y2 - y1) / length
        self.line(x1, y1, x2 - 6 * dx, y2 - 6 * dy, style)
        self._tip(x2, y2, dx, dy, style)

    def bend(self, points: Sequence[Point], style: str = "", tip: bool = True) -> None:
        """A line through several points."""
        (x1, y1), (x2, y2) = points[-2:]
        length = math.hypot(x2 - x1, y2 - y1) or 1
        dx, dy = (x2 - x1) / length, (y2 - y1) / length
        ends = [*points[:-1], (x2 - 6 * dx, y2 - 6 * dy) if tip else (x2, y2)]
        path = "L".join(f"{_n(x)} {_n(y)}" for x, y in ends)
        self.parts.append(f'<path class="{f"l {style}".strip()}" d="M{path}"/>')
        if tip:
            self._tip(x2, y2, dx, dy, style)

    def curve(self, points: Sequence[Point], style: str = "") -> None:
        path = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
        self.parts.append(f'<path class="{f"l {style}".strip()}" d="M{path}"/>')

    def brace(self, x1: float, x2: float, y: float, text: str, style: str = "") -> None:
        """A bracket below y from x1 to x2, and a text below that."""
        points = [(x1, y), (x1, y + 6), (x2, y + 6), (x2, y)]
        self.bend(points, tip=False)
        self.text((x1 + x2) / 2, y + 22, text, style, "middle")

    def _tip(self, x: float, y: float, dx: float, dy: float, style: str) -> None:
        colour = " ".join(word for word in style.split() if word not in ("dashed", "thick"))
        points = [(x, y)]
        for side in (-1, 1):
            points.append((x - 9 * dx + side * 4 * dy, y - 9 * dy - side * 4 * dx))
        text = " ".join(f"{_n(px)},{_n(py)}" for px, py in points)
        self.parts.append(f'<polygon class="{f"tip {colour}".strip()}" points="{text}"/>')

    # --- words -----------------------------------------------------------------------------------

    def text(self, x: float, y: float, text: str, style: str = "", anchor: str = "start") -> None:
        """One line; y is its base line. `style`: code, small, large, strong, muted, a colour."""
        kind = f' class="{style}"' if style else ""
        where = f' text-anchor="{anchor}"' if anchor != "start" else ""
        words = escape(self._translations.get(text, text))
        self.parts.append(f'<text{kind}{where} x="{_n(x)}" y="{_n(y)}">{words}</text>')

    def lines(self, x: float, y: float, texts: Sequence[str], style: str = "") -> None:
        for i, text in enumerate(texts):
            self.text(x, y + 19 * i, text, style)
