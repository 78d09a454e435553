# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Where functions that draw are registered, with what a reader who cannot see them needs."""

from dataclasses import dataclass
from typing import Callable, Dict, Mapping, Optional

from lablib.drawing.canvas import NARROW, Canvas

Painter = Callable[[Canvas], None]


@dataclass(frozen=True)
class Drawing:
    title: str  # a few words
    description: str  # what the drawing says, in sentences
    height: float
    painter: Painter

    def drawn(self, translations: Mapping[str, str] = {}) -> Canvas:
        canvas = Canvas(self.height, translations)
        self.painter(canvas)
        return canvas


DRAWINGS: Dict[str, Drawing] = {}
_NARROW: Dict[str, Drawing] = {}


def narrow(name: str) -> Optional[Canvas]:
    """The drawing as a page shows it on a phone, if there is such a version."""
    found = _NARROW.get(name)
    if not found:
        return None
    canvas = Canvas(found.height, width=NARROW)
    found.painter(canvas)
    return canvas


def drawing(title: str, description: str, height: float) -> Callable[[Painter], Painter]:
    """Registers a function; its name is the file's."""

    def register(painter: Painter) -> Painter:
        name = painter.__name__
        assert name not in DRAWINGS, f"two drawings are called {name}"
        DRAWINGS[name] = Drawing(title, description, height, painter)
        return painter

    return register


def on_a_phone(name: str, height: float) -> Callable[[Painter], Painter]:
    """Registers a function that draws that drawing again, for pages on a phone."""

    def register(painter: Painter) -> Painter:
        wide = DRAWINGS[name]
        _NARROW[name] = Drawing(wide.title, wide.description, height, painter)
        return painter

    return register
