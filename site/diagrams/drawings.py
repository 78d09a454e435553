# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""All drawings: as files for those who read the repository, and as parts of the site's pages."""

from html import escape
from pathlib import Path
from typing import Dict, List

from diagrams import arrays, basics, parallel, registry, shared, style, systems
from diagrams.canvas import WIDTH

FOLDER = "docs/images/diagrams"
_MODULES = (arrays, basics, parallel, shared, systems)


def names() -> List[str]:
    assert _MODULES  # importing them has registered what they draw
    return sorted(registry.DRAWINGS)


def _body(name: str) -> str:
    drawing = registry.DRAWINGS[name]
    canvas = drawing.drawn()
    return "\n".join(
        [
            f'<title id="{name}-title">{escape(drawing.title)}</title>',
            f'<desc id="{name}-text">{escape(drawing.description)}</desc>',
            f'<rect class="page" width="{WIDTH}" height="{canvas.height:g}"/>',
            *canvas.parts,
        ]
    )


def _open(name: str, extra: str) -> str:
    height = registry.DRAWINGS[name].drawn().height
    return (
        f'<svg {extra}viewBox="0 0 {WIDTH} {height:g}" role="img"'
        f' aria-labelledby="{name}-title {name}-text"'
    )


def standalone(name: str) -> str:
    """A file of its own, in the colours of the reader's system."""
    height = registry.DRAWINGS[name].drawn().height
    return (
        "<!-- SPDX-FileCopyrightText: The CUDA Labs authors -->\n"
        "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
        f"{_open(name, 'xmlns=' + chr(34) + 'http://www.w3.org/2000/svg' + chr(34) + ' ')}"
        f' width="{WIDTH}" height="{height:g}">\n'
        f"<style>\n{style.own_css()}</style>\n{_body(name)}\n</svg>\n"
    )


def inline(name: str) -> str:
    """For a page of the site, whose style sheet has the colours."""
    return _open(name, 'class="drawing" ') + f">\n{_body(name)}\n</svg>"


def _files() -> Dict[str, str]:
    return {f"{FOLDER}/{name}.svg": standalone(name) for name in names()}


def draw(root: Path) -> List[str]:
    """Writes all files; returns those that have changed, or that no drawing has any more."""
    changed = stale(root)
    files = _files()
    for path in changed:
        if path in files:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(files[path], encoding="utf-8")
        else:
            (root / path).unlink()
    return changed


def stale(root: Path) -> List[str]:
    """The files that are not as they would be drawn."""
    files = _files()
    found = [
        path
        for path, text in files.items()
        if not (root / path).is_file() or (root / path).read_text(encoding="utf-8") != text
    ]
    there = [p.relative_to(root).as_posix() for p in sorted((root / FOLDER).glob("*.svg"))]
    return found + [path for path in there if path not in files]
