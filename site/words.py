# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What the site says around a translated page, in that page's language.

The theme has most of its words in its templates, out of reach of Sphinx's translations. So they are
replaced in the pages that are built; the tests find a word that is missing here. What scripts write
into a page is in static/site.js.
"""

import html
import re
from typing import Dict, Tuple

# What a page says while the English text is ahead of it.
BEHIND = {
    "pl": "Angielski tekst tego rozdziału zmienił się od czasu tłumaczenia. Liczba akapitów,"
    " których to dotyczy: {count}."
}

# Below a picture that is wider than the screen; the second is a link.
ALONE: Dict[str, Tuple[str, str]] = {
    "en": ("← It scrolls sideways. →", "Open it alone"),
    "pl": ("← Przewija się w poziomie. →", "Otwórz osobno"),
}

# The words in drawings that translated pages show, and what they say to those who cannot see them.
DRAWINGS: Dict[str, Dict[str, str]] = {
    "pl": {
        "A grid of two blocks with five threads each": "Siatka z dwóch bloków po pięć wątków",
        "The launch hello<<<2, 5>>>() makes a grid. The grid holds block 0 and block 1. Each block"
        " holds five threads, which are numbered 0 to 4 in both blocks.": "Uruchomienie"
        " hello<<<2, 5>>>() tworzy siatkę. Siatka zawiera blok 0 i blok 1. Każdy blok ma pięć"
        " wątków, w obu blokach ponumerowanych od 0 do 4.",
        "launches a grid of 2 blocks, each with 5 threads": "uruchamia siatkę 2 bloków po 5 wątków",
        "grid": "siatka",
        "block 0": "blok 0",
        "block 1": "blok 1",
        "The numbers in the green boxes are threadIdx.x.": "Liczby w zielonych polach to"
        " threadIdx.x.",
        "Five steps between host memory and device memory": "Pięć kroków między pamięcią hosta a"
        " pamięcią urządzenia",
        "Step 1: cudaMalloc makes room in device memory. Step 2: cudaMemcpy copies 2 and 7 from"
        " host memory to device memory. Step 3: a kernel launch has a thread add them there, which"
        " gives 9. Step 4: cudaMemcpy copies 9 back to host memory. Step 5: cudaFree frees the"
        " device memory.": "Krok 1: cudaMalloc rezerwuje miejsce w pamięci urządzenia. Krok 2:"
        " cudaMemcpy kopiuje 2 i 7 z pamięci hosta do pamięci urządzenia. Krok 3: wątek"
        " uruchomionego jądra dodaje je tam, co daje 9. Krok 4: cudaMemcpy kopiuje 9 z powrotem do"
        " pamięci hosta. Krok 5: cudaFree zwalnia pamięć urządzenia.",
        "host memory": "pamięć hosta",
        "device memory": "pamięć urządzenia",
        "freed": "zwolniona",
        "What a device consists of": "Z czego składa się urządzenie",
        "A device has from a few to hundreds of multiprocessors. Each has cores, registers, and"
        " shared memory with the L1 cache. All of them use one L2 cache, and below it, over the"
        " memory bus, global memory. Lower levels are larger and slower. The host is connected by"
        " a bus that is slower still.": "Urządzenie ma od kilku do kilkuset multiprocesorów. Każdy"
        " ma rdzenie, rejestry oraz pamięć współdzieloną z pamięcią podręczną L1. Wszystkie"
        " używają jednej pamięci podręcznej L2, a pod nią, przez szynę pamięci, pamięci globalnej."
        " Niższe poziomy są większe i wolniejsze. Host jest podłączony szyną, która jest jeszcze"
        " wolniejsza.",
        "device": "urządzenie",
        "multiprocessor": "multiprocesor",
        "cores": "rdzenie",
        "registers": "rejestry",
        "shared memory, L1": "współdzielona, L1",
        "L2 cache": "pamięć podręczna L2",
        "memory bus": "szyna pamięci",
        "global memory": "pamięć globalna",
        "host": "host",
        "PCIe or NVLink": "PCIe lub NVLink",
        "fast,": "szybka,",
        "small,": "mała,",
        "close": "blisko",
        "slow,": "wolna,",
        "large,": "duża,",
        "far": "daleko",
    }
}

# The contents: titles of parts and of English pages.
TITLES: Dict[str, Dict[str, str]] = {
    "pl": {
        "Begin": "Na początek",
        "Part I": "Część I",
        "Part II, today's CUDA": "Część II, dzisiejsza CUDA",
        "Explorers": "Do wypróbowania",
        "Reference": "Do sprawdzania",
        "The project": "Projekt",
        "The CPU device": "Urządzenie CPU",
        "Translations": "Tłumaczenia",
        "Start here": "Zacznij tutaj",
        "The map of the course": "Mapa kursu",
        "Your system": "Twój system",
        "01 Getting started": "01 Pierwsze kroki",
        "02 Measuring": "02 Pomiary",
        "03 Vectors": "03 Wektory",
        "04 Images": "04 Obrazy",
        "05 Shared memory": "05 Pamięć współdzielona",
        "06 Matrices": "06 Macierze",
        "07 Constant memory": "07 Pamięć stała",
        "08 Textures": "08 Tekstury",
        "09 Graphics interop": "09 Współpraca z grafiką",
        "10 Atomics": "10 Operacje atomowe",
        "11 Streams": "11 Strumienie",
        "12 Several GPUs": "12 Kilka GPU",
        "14 Sorting": "14 Sortowanie",
        "15 Locks and hash tables": "15 Blokady i tablice mieszające",
        "16 Warps and groups": "16 Warpy i grupy",
        "17 Asynchrony": "17 Asynchroniczność",
        "18 Tensor cores": "18 Rdzenie tensorowe",
        "19 Many GPUs": "19 Wiele GPU",
        "20 Many nodes": "20 Wiele węzłów",
        "21 Profiling": "21 Profilowanie",
        "A launch": "Uruchomienie",
        "A memory access": "Dostęp do pamięci",
        "A reduction": "Redukcja",
        "Streams": "Strumienie",
        "Occupancy": "Zajętość",
        "The roofline": "Model roofline",
        "Glossary": "Słowniczek",
        "Benchmarks": "Pomiary wydajności",
        "Benchmarks: Part I": "Pomiary: część I",
        "Benchmarks: Part II": "Pomiary: część II",
        "Tools": "Narzędzia",
        "Debugging a kernel": "Szukanie błędów w jądrze",
        "Editors": "Edytory",
        "What the headers offer": "Co oferują pliki nagłówkowe",
        "For instructors": "Dla prowadzących",
        "Contributing": "Jak pomóc",
        "How long builds and tests take": "Ile trwają kompilacja i testy",
        "Architecture": "Architektura",
        "Decisions": "Decyzje",
        "Changelog": "Lista zmian",
        "How to cite": "Jak cytować",
        "Counters and the timeline": "Liczniki i oś czasu",
        "What there is of CUDA": "Co jest z CUDA",
        "Tests, benchmarks, and how to add to it": "Testy, pomiary i jak coś dodać",
        "Where it differs from a GPU": "Czym różni się od GPU",
        "Environment variables": "Zmienne środowiskowe",
        "How it works": "Jak działa",
        "Libraries": "Biblioteki",
        "Reports": "Raporty",
        "On code that was not written for it": "Kod, który nie był dla niego pisany",
    }
}

# Before the title of a page that has others below it.
TOGGLE = {"en": "Toggle navigation of ", "pl": "Pokaż lub ukryj strony poniżej: "}

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


# Beside a link to a page in English.
ENGLISH = {"pl": "(ang.)"}


def translated(page: str, language: str) -> str:
    """The page's HTML with the theme's words, and titles of other pages, in its language. Links to
    English pages say that they are."""
    for english, words in THEME[language].items():
        page = re.sub(rf'([">]\s*){re.escape(english)}(?=\s*["<])', rf"\g<1>{words}", page)
    found = TITLES[language]

    def shown(match: "re.Match[str]") -> str:
        title = html.unescape(match[2]).strip()
        words = found.get(title, f'<span lang="en">{match[2].strip()}</span>')
        mark = f' <span class="english">{ENGLISH[language]}</span>'
        marks = "" if "caption-text" in match[1] else mark
        return f"{match[1]}{words}{marks}"

    to_english = (
        r'class="caption-text">\s*',
        r'class="reference internal" href="[.][.]/[^"]*">\s*',
        r'class="(?:next|prev)-page" href="[.][.]/[^"]*">(?:(?!</a>).)*?class="title">\s*',
    )
    sidebar, article, rest = re.split(r"(<article.*</article>)", page, flags=re.DOTALL)
    for pattern in to_english:
        whole = re.compile(rf"({pattern})([^<>]+|<code.*?</code>)", re.DOTALL)
        sidebar, rest = (whole.sub(shown, part) for part in (sidebar, rest))
    page = sidebar + article + rest
    toggle = rf'(?<="){re.escape(TOGGLE["en"])}([^"]*)'
    return re.sub(toggle, lambda m: TOGGLE[language] + found.get(m[1], m[1]), page)
