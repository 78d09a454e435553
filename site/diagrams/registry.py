# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Where functions that draw are registered, with what a reader who cannot see them needs."""

from dataclasses import dataclass
from typing import Callable, Dict, Mapping

from lablib.drawing.canvas import Canvas

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


def drawing(title: str, description: str, height: float) -> Callable[[Painter], Painter]:
    """Registers a function; its name is the file's."""

    def register(painter: Painter) -> Painter:
        name = painter.__name__
        assert name not in DRAWINGS, f"two drawings are called {name}"
        DRAWINGS[name] = Drawing(title, description, height, painter)
        return painter

    return register
