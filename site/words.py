# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What the site says around a translated page, in that page's language.

The theme has most of its words in its templates, out of reach of Sphinx's translations. So they are
replaced in the pages that are built; the tests find a word that is missing here. What scripts write
into a page is in static/site.js.
"""

import re
from typing import Dict, Tuple

# What a page says while the English text is ahead of it.
BEHIND = {
    "pl": "Angielski tekst tego rozdziału zmienił się od czasu tłumaczenia. Liczba akapitów,"
    " których to dotyczy: {count}."
}

# Below the heading of an exercise: links to its files.
FILES: Dict[str, Tuple[str, str, str, str]] = {
    "en": ("your file, contract, program", "tests", "hints", "solution"),
    "pl": ("twój plik, kontrakt, program", "testy", "wskazówki", "rozwiązanie"),
}

# Below a picture that is wider than the screen; the second is a link.
ALONE: Dict[str, Tuple[str, str]] = {
    "en": ("← It scrolls sideways. →", "Open it alone"),
    "pl": ("← Przewija się w poziomie. →", "Otwórz osobno"),
}

THEME: Dict[str, Dict[str, str]] = {
    "pl": {
        "Auto light/dark, in dark mode": "Automatycznie, teraz tryb ciemny",
        "Auto light/dark, in light mode": "Automatycznie, teraz tryb jasny",
        "Back to top": "Na początek strony",
        "Contents": "Spis treści",
        "Dark mode": "Tryb ciemny",
        "Expand": "Rozwiń",
        "Index": "Indeks",
        "Light mode": "Tryb jasny",
        "Link to this heading": "Odnośnik do tego nagłówka",
        "Made with": "Strona utworzona w",
        "Next": "Następna",
        "On this page": "Na tej stronie",
        "Previous": "Poprzednia",
        "Search": "Szukaj",
        "Skip to content": "Przejdź do treści",
        "Toggle Light / Dark / Auto color theme": "Zmień kolory: jasne, ciemne, automatyczne",
        "Toggle site navigation sidebar": "Pokaż lub ukryj spis rozdziałów",
        "Toggle table of contents sidebar": "Pokaż lub ukryj spis treści strony",
    }
}


def translated(page: str, language: str) -> str:
    """The page's HTML with the theme's words in its language. Titles of other pages stay English,
    and say so."""
    for english, words in THEME[language].items():
        page = re.sub(rf'([">]\s*){re.escape(english)}(?=\s*["<])', rf"\g<1>{words}", page)
    return re.sub(r'<div (?=class="(?:sidebar-tree|title)")', '<div lang="en" ', page)
