# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""All drawings: as files for those who read the repository, and as parts of the site's pages."""

import importlib
import pkgutil
from pathlib import Path
from typing import Dict, List, Mapping

import words

from diagrams import registry
from lablib.drawing.picture import Picture

FOLDER = "docs/images/diagrams"

# Importing a module registers what it draws: each file beside this one is one.
for _module in pkgutil.iter_modules([str(Path(__file__).parent)]):
    if f"diagrams.{_module.name}" != __name__:
        importlib.import_module(f"diagrams.{_module.name}")


def names() -> List[str]:
    return sorted(registry.DRAWINGS)


def picture(name: str, translations: Mapping[str, str] = {}) -> Picture:
    """With those of its words that have no translation as they are, such as names in code."""
    drawing = registry.DRAWINGS[name]
    canvas = drawing.drawn(translations)
    title, description = (translations.get(w, w) for w in (drawing.title, drawing.description))
    again = registry.narrow(name)
    on_a_phone = Picture(f"{name}_narrow", title, description, again) if again else None
    return Picture(name, title, description, canvas, on_a_phone)


def pictures() -> Dict[str, Picture]:
    """By their files. A drawing whose title is translated is there in that language, too."""
    found = {f"{FOLDER}/{name}.svg": picture(name) for name in names()}
    for language, known in words.DRAWINGS.items():
        for name in names():
            if registry.DRAWINGS[name].title in known:
                found[f"{FOLDER}/{language}/{name}.svg"] = picture(name, known)
    return found


def _files() -> Dict[str, str]:
    return {path: drawn.standalone() for path, drawn in pictures().items()}


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
    there = [p.relative_to(root).as_posix() for p in sorted((root / FOLDER).rglob("*.svg"))]
    return found + [path for path in there if path not in files]
