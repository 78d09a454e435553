# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""A finished picture, as a file of its own or as a part of a page."""

import re
from dataclasses import dataclass
from html import escape
from typing import Callable, Optional

from lablib.drawing import style
from lablib.drawing.canvas import Canvas

_XMLNS = 'xmlns="http://www.w3.org/2000/svg" '


@dataclass(frozen=True)
class Picture:
    name: str  # once in a page
    title: str  # a few words
    description: str  # what it shows, in sentences, for those who cannot see it
    canvas: Canvas
    narrow: Optional["Picture"] = None  # the same in a page on a phone

    def standalone(self) -> str:
        """A file, in the colours of the reader's system. It leads nowhere: nobody knows what is
        around it."""
        body = re.sub(r"</?a\b[^>]*>\n?", "", self._body())
        return (
            "<!-- SPDX-FileCopyrightText: The CUDA Labs authors -->\n"
            "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
            f'{self._open(_XMLNS)} width="{self.canvas.width:g}" height="{self.canvas.height:g}">\n'
            f"<style>\n{style.own_css()}</style>\n{body}\n</svg>\n"
        )

    def inline(self, address: Callable[[str], str]) -> str:
        """For a page of the site, whose style sheet has the colours. `address`: of a page, as seen
        from that one."""
        body = re.sub('<a href="(.*?)">', lambda m: f'<a href="{address(m[1])}">', self._body())
        role = "group" if "<a " in body else "img"  # what is in an image cannot be chosen
        kind = "drawing wide" if self.narrow else "drawing"
        drawn = self._open(f'class="{kind}" ', role) + f">\n{body}\n</svg>"
        if self.narrow:
            drawn += self.narrow.inline(address).replace('"drawing"', '"drawing narrow"', 1)
        return drawn

    def _open(self, extra: str, role: str = "img") -> str:
        return (
            f'<svg {extra}viewBox="0 0 {self.canvas.width:g} {self.canvas.height:g}" role="{role}"'
            f' aria-labelledby="{self.name}-title {self.name}-text"'
        )

    def _body(self) -> str:
        size = f'width="{self.canvas.width:g}" height="{self.canvas.height:g}"'
        return "\n".join(
            [
                f'<title id="{self.name}-title">{escape(self.title)}</title>',
                f'<desc id="{self.name}-text">{escape(self.description)}</desc>',
                f'<rect class="page" {size}/>',
                *self.canvas.parts,
            ]
        )
