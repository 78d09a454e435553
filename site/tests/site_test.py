#!/usr/bin/env python3
# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The built site, as it is read from a file: its links, and its pages in a browser.

`.ci/lanes/site` builds it and runs this with the tools of site/tools.txt; Chromium and its driver
come from the system.
"""

import functools
import html
import io
import math
import os
import posixpath
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata
import unittest
import urllib.parse
import xml.etree.ElementTree as ElementTree
import zipfile
import zlib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Set, Tuple

import axe_core_python
import pypdf
from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build/site/html"
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "site")]

import animate
import api
import words
from diagrams import drawings, registry

from lablib import benchmark_page, counters, exercises, hints, profile_page, translations, version
from lablib.drawing import style
from lablib.grading import reports

# Words, and a page that the search must name for each.
SEARCHES = {
    "occupancy": "03_vectors",
    "coalescing": "03_vectors",
    "barrier": "05_shared_memory",
    "reduction": "05_shared_memory",
    "wavefront": "05_shared_memory",
    "pitch": "06_matrices",
    "tiling": "06_matrices",
    "broadcast": "07_constant_memory",
    "mirror": "08_textures",
    "stencil": "08_textures",
    "OpenGL": "09_graphics_interop",
    "privatization": "10_atomics",
    "shuffle": "10_atomics",
    "histogram": "10_atomics",
    "cudaMemcpyAsync": "11_streams",
    "pinned": "02_measuring",
    "portable": "12_multi_gpu",
    "residual": "13_cublas",
    "comparator": "14_sorting",
    "deadlock": "15_locks_and_hash_tables",
    "fibers": "decisions",
    "WSL": "systems",
    "device_buffer": "api/device_buffer",
    "set_thread_order": "api/cpu_device",
}

WIDTHS = (360, 768, 1440)

# What readers call something, and where the first result leads.
FOUND_FIRST = {
    "race": "glossary.html#race-condition",
    "coalesced": "glossary.html#coalescing",
    "unified memory": "glossary.html#unified-managed-memory",
    "warp shuffle": "glossary.html#shuffle",
    "out of memory": "01_getting_started.html#015-error_handling",
    "segmentation fault": "debugging.html#an-index-past-the-end-on-the-host",
    "no GPU": "start.html#you-want-to-learn-cuda",
    "install": "systems.html#your-system",
    "grade": "instructors.html",
}

LISTINGS = ("files", "solutions", "tests")  # folders of pages that show source files

# Folders of pages that are made alike. A browser looks at a tenth of them, which the commit chooses
# (CI_WHOLE=1: at all), and at those where least fits; axe, at one of each.
ALIKE = (*LISTINGS, "answers", "api", "hints")
OF_THOSE = ("files/01.1_hello_gpu", "answers/01_getting_started", "api/command_line")
OF_THOSE += ("hints/01.1_hello_gpu", "solutions/01.1_hello_gpu", "tests/01.1_hello_gpu")

# In each field of an explorer: the widest text that it accepts, and one that it refuses.
TYPED = {
    "Index of lane i": ("1000000 - 32 * i" + " + 0 * i" * 20, "x" * 99),
    "Peak rate": ("1000000000", "1e300"),
    "Bandwidth": ("0.001", "-1"),
    "Your kernel": ("1000000000", "x" * 99),
    "Calls of the host": ("\n".join(200 * [f"{10**9 - 1} kernel 100"]), "x" * 99),
}


# What is seen of an explorer.
SHOWN = """
    const shown = (kinds) => [...document.querySelector(".explorer").querySelectorAll(kinds)]
      .filter((e) => e.getClientRects().length);
"""

# Chooses an option of a list, if one is given, and writes into all fields the widest text that they
# accept, or one that they refuse. Returns what the explorer complains about, and what was done.
FILL = (
    SHOWN
    + """
    const [choice, typed, accepted] = arguments;
    const tell = (e, event) => e.dispatchEvent(new Event(event, {bubbles: true}));
    let done = accepted ? "as loaded, but for what is typed" : "refused";
    if (choice) {
      const list = shown("select")[choice[0]];
      list.selectedIndex = choice[1];
      done = list.selectedOptions[0].text;
      tell(list, "change");
    }
    for (const slider of shown("input[type=range]")) {
      slider.value = slider.max;
      tell(slider, "input");
    }
    for (const field of shown("input[type=text], textarea")) {
      const label = field.labels[0].textContent;
      const start = Object.keys(typed).find((each) => label.startsWith(each));
      field.value = typed[start][1 - accepted];
      tell(field, "input");
    }
    const problems = shown(".problem").map((e) => e.textContent).filter(Boolean);
    for (const button of shown(".buttons button")) button.click();
    for (const thread of shown(".thread:last-child")) thread.focus();  // which shows its text
    return [problems, done];
"""
)


ALL = Keys.CONTROL + "a" + Keys.NULL  # of a field: what is typed next replaces it

# Of each explorer, by keys alone: the next control that Tab reaches (after "<", the one before),
# the keys that it gets, and then a line of the results.
BY_KEYS = {
    "launch": [
        ("Kernel", [Keys.ARROW_DOWN], "rounds", "1"),
        ("gridDim.x", [Keys.ARROW_LEFT], "rounds", "2"),
        ("blockDim.x", [Keys.ARROW_RIGHT], "threads", "18"),
        ("n (elements)", [Keys.END], "rounds", "15"),
        ("blockIdx.x = 0, threadIdx.x = 0", [], "", "computes elements 0, 18, 36, "),
        ("blockIdx.x = 0, threadIdx.x = 0", [Keys.ARROW_DOWN], "", "threadIdx.x = 1: "),
        ("<n (elements)", [Keys.HOME], "rounds", "0"),
        ("<blockDim.x", [Keys.HOME], "threads", "2"),
        ("<gridDim.x", [Keys.END], "threads", "8"),
        ("<Kernel", [Keys.ARROW_DOWN], "threads", "96"),
        ("gridDim.x", [Keys.ARROW_RIGHT], "threads", "128"),
        ("gridDim.y", [Keys.ARROW_RIGHT], "threads", "192"),
        ("blockDim.x", [Keys.ARROW_RIGHT], "threads", "240"),
        ("blockDim.y", [Keys.ARROW_RIGHT], "threads that the guard stops", "240"),
        ("width", [Keys.END], "pixels that nobody computes", "72"),
        ("height", [Keys.END], "pixels that nobody computes", "724"),
        ("block (0, 0), thread (0, 0)", [Keys.ARROW_DOWN], "", "y = 1; pixel 32"),
    ],
    "access": [
        ("Index of lane i", [ALL + "2*i"], "in global memory: sectors", "8 (best: 4)"),
        ("Examples", [Keys.ARROW_DOWN], "in global memory: sectors", "4 (best: 4)"),
        ("Bytes", [Keys.ARROW_DOWN], "in global memory: sectors", "8 (best: 8)"),
        ("Address", [Keys.ARROW_RIGHT], "in global memory: sectors", "9 (best: 8)"),
        ("Lanes", [Keys.ARROW_LEFT], "in global memory: sectors", "8 (best: 8)"),
        ("Global memory: the sectors", [], "in shared memory: wavefronts", "2 (best: 2)"),
    ],
    "reduction": [
        ("__syncthreads()", [Keys.SPACE], "step", "0 of 7"),
        ("Order", [Keys.ARROW_DOWN], "step", "0 of 7"),
        ("Start again", [Keys.ENTER], "step", "0 of 7"),
        ("Back", [Keys.ENTER], "step", "0 of 7"),
        ("Next step", [Keys.ENTER, Keys.SPACE], "step", "2 of 7"),
        ("<Back", [Keys.ENTER, Keys.ENTER], "step", "0 of 7"),
        ("Next step", [], "step", "0 of 7"),
        ("To the end", [Keys.ENTER], "sum", "25: right"),
        ("<Next step", [Keys.ENTER], "step", "7 of 7"),
        ("<Back", [Keys.ENTER], "step", "6 of 7"),
        ("<Start again", [Keys.SPACE], "step", "0 of 7"),
    ],
    "streams": [
        ("Examples", [Keys.ARROW_DOWN], "time", "32"),
        ("Engines", [Keys.ARROW_DOWN], "time", "30"),
        ("Calls of the host", [ALL + "0 in 3", Keys.ENTER, "1 kernel 5"], "time", "5"),
        ("the timeline", [], "without any overlap", "8"),
        ("When each call", [], "gain", "1.60 times as fast"),
    ],
    "occupancy": [
        ("Compute capability", [Keys.ARROW_UP], "warps", "48 of 48"),
        ("Threads in a block", [Keys.END], "warps", "32 of 48"),
        ("Registers", [Keys.END], "limited by", "registers"),
        ("Shared memory", [Keys.END], "blocks on a multiprocessor", "0"),
        ("How many blocks", [], "occupancy", "0 %"),
        ("Other block sizes", [], "occupancy", "0 %"),
    ],
    "roofline": [
        ("Peak rate", [ALL + "1000"], "the ridge is at", "0.208 operations per byte"),
        ("Bandwidth", [ALL + "500"], "the ridge is at", "2 operations per byte"),
        ("Your kernel", [ALL + "3"], "it is", "compute bound"),
        ("The most that kernels can reach", [], "it is", "compute bound"),
    ],
}


class Page(HTMLParser):
    """What a page links to, loads, and has as anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: List[str] = []
        self.loads: List[str] = []
        self.ids: List[str] = []
        self.without_alt: List[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: List[Tuple[str, Any]]) -> None:
        values = dict(attributes)
        if values.get("id"):
            self.ids.append(values["id"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag == "link" and values.get("href"):
            self.loads.append(values["href"])
        if tag in ("img", "script", "iframe", "source", "video", "audio") and values.get("src"):
            self.loads.append(values["src"])
        if tag == "img" and not values.get("alt", "").strip():
            self.without_alt.append(values.get("src", ""))

    handle_startendtag = handle_starttag


def plain(text: str) -> str:
    """The letters and digits of what is in a page, or in Markdown."""
    text = re.sub(r"\]\([^)]*\)", "", re.sub("<[^>]+>", "", text))
    return re.sub(r"[\W_]", "", html.unescape(text))


def beginning(markdown: str) -> str:
    return plain(re.sub(r"```\w*", "", markdown).replace("<", "&lt;"))[:40]


def page_names() -> List[str]:
    paths = (path.relative_to(SITE) for path in sorted(SITE.rglob("*.html")))
    return [path.as_posix() for path in paths if "_static" not in path.parts]


@functools.lru_cache(maxsize=None)
def built_pages() -> Dict[str, Page]:
    """Only of the tags that a Page looks at: few, of what is in the files."""
    tags = re.compile(r"<(?:img\b|[a-z]\w*\s[^>]*?\b(?:id|href|src)=)[^>]*>|</script>")
    found = {}
    for name in page_names():
        text = (SITE / name).read_text(encoding="utf-8")
        found[name] = Page("".join(tags.findall(text)))
    return found


def longest_words(name: str) -> Dict[Tuple[str, ...], int]:
    """Of each kind of element in a page's article, the longest word; of code, the longest line."""
    text = (SITE / name).read_text(encoding="utf-8")
    article = text[text.index("<article") : text.index("</article>")]
    folder = name.partition("/")[0]
    found: Dict[Tuple[str, ...], int] = {}
    for code in re.findall(r"<pre>(.*?)</pre>", article, re.DOTALL):
        lines = re.sub(r"<[^>]+>", "", code).splitlines()
        found[folder, "pre"] = max([found.get((folder, "pre"), 0), *map(len, lines)])
    rest = re.sub(r"<pre>.*?</pre>", "", article, flags=re.DOTALL)
    for tag, attributes, text in re.findall(r"<(/?\w+)([^>]*)>([^<]*)", rest):
        kind = (folder, tag, *re.findall(r'class="[^"]*"', attributes))
        found[kind] = max([found.get(kind, 0), *map(len, text.split())])
    return found


def most_demanding(names: Iterable[str]) -> Set[str]:
    """Of pages that are made alike: for each kind of element, the page with the longest word."""
    longest: Dict[Tuple[str, ...], Tuple[int, str]] = {}
    for name in names:
        for kind, length in longest_words(name).items():
            longest[kind] = max(longest.get(kind, (-1, "")), (length, name))
    return {name for _, name in longest.values()}


def chosen(names: Iterable[str]) -> Set[str]:
    """The tenth of them that the commit chooses, so that each has its turn."""
    git = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout
    every = 1 if os.environ.get("CI_WHOLE") else 10
    return {name for name in names if zlib.crc32((commit + name).encode()) % every == 0}


class FilesTest(unittest.TestCase):
    """Without a browser."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.pages = built_pages()

    def test_there_are_pages(self) -> None:
        self.assertGreater(len(self.pages), 100)
        chapters = [name for name in self.pages if re.match(r"\d\d_", name)]
        self.assertEqual(len(chapters), len(list((ROOT / "docs").glob("[0-9][0-9]_*.md"))))

    def test_hints_and_answers_lead_back_to_their_chapter(self) -> None:
        asked = [name for name in self.pages if re.match(r"(hints|answers)/", name)]
        self.assertGreater(len(asked), 100)
        for name in asked:
            text = (SITE / name).read_text(encoding="utf-8")
            article = text[text.index("<article") : text.index("</article>")]
            chapter = r"\d\d_\w+" if name.startswith("hints/") else re.escape(Path(name).stem)
            self.assertRegex(article, rf'href="\.\./(\.\./)?{chapter}\.html', name)

    def test_the_pages_of_an_exercise_lead_to_each_other_but_not_to_themselves(self) -> None:
        folders = ("files", "tests", "hints", "solutions")
        for exercise in exercises.find_exercises(ROOT):
            for here in folders:
                page = f"{here}/{exercise.full_name}.html"
                text = (SITE / page).read_text(encoding="utf-8")
                links = re.search("<p>Chapter: (.*?)</p>", text, re.DOTALL)
                assert links, page
                to = re.findall(r'href="\.\./(\w+)/', links[1])
                self.assertEqual(to, [each for each in folders if each != here], page)
                self.assertNotIn('href="#', links[1], page)

    def test_the_map_leads_to_every_chapter(self) -> None:
        text = (SITE / "map.html").read_text(encoding="utf-8")
        chapters = [page.stem for page in (ROOT / "docs").glob("[0-9][0-9]_*.md")]
        for kind in ("wide", "narrow"):
            svg = re.findall(rf'(?s)<svg class="drawing {kind}".*?</svg>', text)
            self.assertEqual(len(svg), 1, kind)
            drawn = re.findall(r'<a href="(\w+)\.html">\s*<rect', svg[0])
            self.assertEqual(sorted(drawn), sorted(chapters), kind)
        alone = (SITE / "_images/course_map.svg").read_text(encoding="utf-8")
        self.assertNotIn("<a ", alone, "it does not know where the pages are")

    def test_answers_of_hints_are_closed_until_they_are_asked_for(self) -> None:
        for exercise in exercises.find_exercises(ROOT):
            text = (SITE / f"hints/{exercise.full_name}.html").read_text(encoding="utf-8")
            closed = re.findall(r'(?s)<details class="answer"><summary>.*?</details>', text)
            article = text[text.index("<article") : text.index("</article>")]
            rest = re.sub(r"(?s)<details.*?</details>", "", article)
            self.assertNotIn("<summary>", rest, f"{exercise.id}: it would be open")
            asked = [hint for hint in hints.read_hints(exercise.hints_file) if hint.question]
            self.assertEqual(len(closed), len(asked), exercise.id)
            for hint, answer in zip(asked, closed):
                last = beginning(hint.text.partition("\n\n")[2].rpartition("\n\n")[2])
                self.assertIn(last, plain(answer), f"{exercise.id}: its last paragraph, too")
                self.assertIn(beginning(hint.question), plain(rest), f"{exercise.id}: it is shown")
                self.assertNotIn(beginning(hint.question), plain(answer), exercise.id)

    def test_chapters_have_drawings_say_how_a_professional_does_it_and_what_to_read(self) -> None:
        drawn = "|".join(drawings.names())
        for page in sorted((ROOT / "docs").glob("[0-9][0-9]_*.md")):
            text = page.read_text(encoding="utf-8")
            shown = set(re.findall(rf"images/diagrams/({drawn})\.svg", text))
            self.assertGreaterEqual(len(shown), 3, page.name)
            box = text.partition("\n## How a professional does it\n\n")[2].partition("\n## ")[0]
            self.assertGreaterEqual(len(re.findall(r"^> \*\*", box, re.MULTILINE)), 2, page.name)
            read_on = text.partition("\n## Read on\n")[2]
            links = re.findall(r"(?m)^- \[[^]]+\]\(https://\S+\)", read_on)
            self.assertIn(len(links), (2, 3, 4), f"{page.name}: documents and papers to read on")

    def test_what_to_read_on_is_a_section_or_said_to_be_a_whole_document(self) -> None:
        """Not a front page from which readers look for it themselves."""
        whole = (
            "nvjpeg/",
            "gpudirect-rdma/",
            "deploy/mps/",
            "NVTX/",
            "raytracing-docs.nvidia.com/",
        )
        for page in sorted((ROOT / "docs").rglob("[0-9][0-9]_*.md")):
            read_on = re.split(r"\n## (?:Read on|Czytaj dalej)\n", page.read_text("utf-8"))[1]
            for item in re.split(r"\n(?=- )", read_on.strip()):
                words = " ".join(item.split())
                link = re.match(r"- \[[^]]+\]\((\S+?)\)([^:]*)", words)
                assert link, words
                document = re.search(r"docs\.nvidia\.com|nvidia\.github\.io", link[1])
                if document and link[1].endswith("/") and not link[1].endswith(whole):
                    named = re.search(r"[\"“`]|CUB's", link[2])
                    self.assertTrue(named, f"{page.name}: which section? {words}")

    def test_the_glossary_is_sorted_and_each_term_has_an_anchor(self) -> None:
        text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
        terms = re.findall(r"^\*\*(.+?)\.\*\*", text, re.MULTILINE)
        self.assertGreater(len(terms), 200)

        def key(term: str) -> str:
            term = re.sub(r"\s*\(.*?\)", "", term.replace("-", " "))
            return re.sub(r"[^\w ]", "", term).casefold()

        self.assertEqual(terms, sorted(terms, key=key))
        names = [
            key(name) for term in terms for name in re.sub(r"\s*\(.*?\)", "", term).split(", ")
        ]
        names += [key(name) for term in terms for name in re.findall(r"\((.*?)\)", term)]
        twice = [name for name, count in Counter(names).items() if count > 1]
        self.assertEqual(twice, [])
        ids = self.pages["glossary.html"].ids
        anchors = [re.sub(r"[^\w\- ]", "", term.lower()).replace(" ", "-") for term in terms]
        self.assertEqual([anchor for anchor in anchors if anchor not in ids], [])
        links = self.pages["glossary.html"].links
        self.assertEqual([anchor for anchor in anchors if f"#{anchor}" not in links], [])
        for letter in {key(term)[0] for term in terms}:
            self.assertIn(f"#{letter}", links, "to jump to")
            self.assertIn(letter, ids)

    def test_exercises_lead_to_their_files_in_the_repository_and_in_the_site(self) -> None:
        found = exercises.find_exercises(ROOT)
        for exercise in found:
            text = exercise.chapter_page.read_text(encoding="utf-8")
            links = set(self.pages[f"{exercise.chapter_folder}.html"].links)
            for file, folder in (
                (exercise.lab_file, "files"),
                (exercise.contract_file, "files"),
                (exercise.tests_folder / f"{exercise.name}_test.cpp", "tests"),
                (exercise.hints_file, "hints"),
                (exercise.solution_file, "solutions"),
            ):
                self.assertIn(f"](../{file.relative_to(ROOT).as_posix()})", text)
                page = f"{folder}/{exercise.full_name}.html"
                self.assertTrue(any(link.partition("#")[0] == page for link in links), page)

    def test_lines_of_listings_can_be_linked_to(self) -> None:
        lines = (ROOT / "labs/05_shared_memory/1_dot_product/dot_product.cu").read_text("utf-8")
        page = self.pages["files/05.1_dot_product.html"]
        for n in range(1, len(lines.splitlines()) + 1):
            self.assertIn(f"dot_productcu-l{n}", page.ids)
            self.assertIn(f"#dot_productcu-l{n}", page.links)

    def test_pages_say_which_version_they_are(self) -> None:
        for name in ("index.html", "api/cpu_device.html"):
            text = (SITE / name).read_text(encoding="utf-8")
            self.assertIn(f'<span class="sidebar-version" lang="en">{version.read(ROOT)}', text)

    def test_pages_say_what_they_are_about(self) -> None:
        """By words of their own, which are in them."""
        pages = {}
        for name in self.pages:
            if re.fullmatch(r"(pl/)?\w+\.html", name) and name != "search.html":
                text = (SITE / name).read_text(encoding="utf-8")
                said = re.findall(r'<meta name="description" content="([^"]{60,210})">', text)
                self.assertEqual(len(said), 1, name)
                self.assertIn(f'<meta property="og:description" content="{said[0]}">', text)
                heading = re.search(r"<h1>(.*?)<a class=.headerlink", text)
                assert heading, name
                title = re.search(r'<meta property="og:title" content="([^"<]+)">', text)
                assert title, name
                self.assertEqual(plain(title[1]), plain(heading[1]), name)
                self.assertRegex(text, r'<link rel="shortcut icon" href="[^":]*favicon\.svg"')
                article = text[text.index("<article") : text.index("</article>")]
                self.assertIn(plain(said[0].removesuffix(" …")), plain(article), name)
                pages[name] = said[0]
        self.assertGreaterEqual(len(pages), 40)
        same = [said for said, count in Counter(pages.values()).items() if count > 1]
        self.assertEqual(same, [])

    def test_options_keep_their_two_hyphens(self) -> None:
        text = (SITE / "benchmarks/part_i.html").read_text(encoding="utf-8")
        self.assertIn("--size 256M", re.sub("<svg.*?</svg>", "", text, flags=re.DOTALL))
        self.assertNotIn("\u2013size", text)

    def test_links_and_anchors_lead_somewhere(self) -> None:
        problems = []
        files = {path.relative_to(SITE).as_posix() for path in SITE.rglob("*") if path.is_file()}
        ids = {name: {*page.ids, "top"} for name, page in self.pages.items()}
        for name, page in self.pages.items():
            for link in {*page.links}:
                if re.match("https?:|mailto:", link):
                    continue
                path, _, anchor = urllib.parse.unquote(link).partition("#")
                here = posixpath.join(posixpath.dirname(name), path)
                to = posixpath.normpath(here) if path else name
                if to not in files:
                    problems.append(f"{name}: {link}: no such file")
                elif anchor and to in ids and anchor not in ids[to]:
                    problems.append(f"{name}: {link}: no such anchor")
        self.assertEqual(problems, [])

    def test_nothing_is_loaded_from_elsewhere_and_all_of_it_is_there(self) -> None:
        problems = []
        for name, page in self.pages.items():
            for load in page.loads:
                parts = urllib.parse.urlsplit(load)
                if parts.scheme == "data" or load == "#":  # itself: where it is in the contents
                    continue
                path = (SITE / name).parent / urllib.parse.unquote(parts.path)
                if parts.scheme or parts.netloc or not path.is_file():
                    problems.append(f"{name}: {load}")
        for sheet in (SITE / "_static").rglob("*.css"):
            text = sheet.read_text(encoding="utf-8")
            for url in re.findall(r"url\(\s*['\"]?(?!data:)([^)'\"]+)", text):
                if re.match(r"(https?:)?//", url):
                    problems.append(f"{sheet.name}: {url}")
        self.assertEqual(problems, [])

    def test_anchors_are_used_once_in_a_page(self) -> None:
        for name, page in self.pages.items():
            twice = [i for i, count in Counter(page.ids).items() if count > 1]
            self.assertEqual(twice, [], name)

    def test_pictures_say_what_they_show(self) -> None:
        for name, page in self.pages.items():
            self.assertEqual(page.without_alt, [], name)


HEADER = """\
// SPDX
// Two of a kind.
#pragma once

namespace lab {

/// First.
class pair_of_things : public thing {
 public:
  /// Takes both.
  explicit pair_of_things(int a) noexcept : a_(a), b_{f(a)} { check("}", '{'); }
  int size() const { return 2; }  // always
  int a() const;

  class inner {
   public:
    void open();

   private:
    int secret;
  };

 private:
  int a_;
  /// Hidden.
  int b_;
};

namespace detail {
/// Hidden, too.
void helper();
}  // namespace detail

// --- a divider ---

/// Second:
///
///     twice(1);
///
/// Done.
template <class T>
T twice(T value = {}) {
  return value + value;
}

enum class kind { one, two };
struct plain {
  int x = 0;  ///< across
};
constexpr int kMost = 3;

/// Checks.
#define LAB_CHECK(x) \\
  detail::helper(x)

}  // namespace lab
"""


class ApiTest(unittest.TestCase):
    maxDiff = None

    def test_a_page_is_what_a_header_declares(self) -> None:
        text = api.page("lab/x.hpp", api.read(HEADER), "common/x.hpp")
        blocks = text.split("\n\n")
        self.assertEqual(
            blocks[:4],
            [
                "# `lab/x.hpp`",
                "Two of a kind.",
                "Declared in [`common/x.hpp`](/files/common/x.hpp.md).",
                "## `pair_of_things`",
            ],
        )
        for block in (
            "```cpp\nclass pair_of_things : public thing;\n```\n\nFirst.",
            "```cpp\nexplicit pair_of_things(int a) noexcept;\nint size() const;  // always\n"
            "int a() const;\n```\n\nTakes both.",
            "### `inner`\n\n```cpp\nclass inner;\n```\n\n```cpp\nvoid open();\n```",
            "## `twice`\n\n```cpp\ntemplate <class T>\nT twice(T value = {});\n```\n\n"
            "Second:\n\n```cpp\ntwice(1);\n```\n\nDone.",
            "## `kind`, `plain`, `kMost`\n\n```cpp\nenum class kind { one, two };\n"
            "struct plain {\n  int x = 0;  ///< across\n};\nconstexpr int kMost = 3;\n```",
            "## `LAB_CHECK`\n\n```cpp\n#define LAB_CHECK(x)\n```\n\nChecks.",
        ):
            self.assertIn(block, text)
        for word in ("Hidden", "helper", "secret", "return", "a_", "divider", "namespace"):
            self.assertNotIn(word, text)

    def test_no_comment_of_the_cpu_device_is_lost(self) -> None:
        path = "common/cpu_device/include/cpu_device.h"
        header = (ROOT / path).read_text(encoding="utf-8")
        text = api.pages(ROOT)["api/cpu_device"]
        comments = re.findall(r"^ */// ?(.+)", header, re.MULTILINE)
        self.assertGreater(len(comments), 40)
        for comment in comments:
            self.assertIn(comment, text)
        for function in re.findall(r"\b(\w+)\([^()]*\);", header):
            self.assertIn(f"{function}(", text)

    def test_every_header_has_its_page_in_the_contents(self) -> None:
        listed = Page((SITE / "api.html").read_text(encoding="utf-8")).links
        for name in api.headers(ROOT).values():
            self.assertIn(f"api/{name}.html", listed)
        self.assertIn("api.html", Page((SITE / "index.html").read_text(encoding="utf-8")).links)


class TranslationsTest(unittest.TestCase):
    def test_pages_say_their_language_and_lead_to_the_english_ones_and_back(self) -> None:
        found = translations.all_pages(ROOT)
        self.assertGreater(len(found), 0)
        pages = built_pages()
        for path in found:
            language, name = path.parent.name, path.stem
            text = (SITE / f"{language}/{name}.html").read_text(encoding="utf-8")
            self.assertIn(f'<html class="no-js" lang="{language}"', text)
            self.assertIn(f"../{name}.html", pages[f"{language}/{name}.html"].links)
            self.assertIn(f"{language}/{name}.html", pages[f"{name}.html"].links)
            self.assertEqual("Angielski" in text, bool(translations.behind(path)))
            files = [
                set(re.findall(r"(?:files|tests|hints|solutions)/\d\d[.]\w+", t))
                for t in (text, (SITE / f"{name}.html").read_text(encoding="utf-8"))
            ]
            self.assertEqual(*files)

    def neighbours(self, page: str) -> Dict[str, Tuple[str, str]]:
        """The pages before and after it, and how they are called."""
        text = (SITE / f"{page}.html").read_text(encoding="utf-8")
        around = text[text.index('<div class="related-pages">') :]
        found = re.findall(
            r'(?s)class="(next|prev)-page" href="([^"]+)\.html">.*?<div class="title">(.*?)</div>',
            around,
        )
        here = posixpath.dirname(page)
        return {
            side: (posixpath.normpath(posixpath.join(here, to)), html.unescape(title))
            for side, to, title in found
        }

    def test_chapters_follow_each_other(self) -> None:
        chapters = [page.stem for page in sorted((ROOT / "docs").glob("[0-9][0-9]_*.md"))]
        around = ["systems", *chapters, "explorers/launch"]
        for before, page, after in zip(around, chapters, around[2:]):
            wanted = {}
            for side, name in (("prev", before), ("next", after)):
                text = (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")
                wanted[side] = (name, text.partition("\n")[0][len("# ") :])
            self.assertEqual(self.neighbours(page), wanted, page)

    def test_they_have_the_neighbours_of_the_english_pages(self) -> None:
        pages = {path.parent.name + "/" + path.stem for path in translations.all_pages(ROOT)}
        for page in pages:
            language, name = page.split("/")
            own, english = self.neighbours(page), self.neighbours(name)
            self.assertEqual(len(english), 2, name)
            for side, (to, _) in english.items():
                wanted = f"{language}/{to}" if f"{language}/{to}" in pages else to
                self.assertEqual(own[side][0], wanted)

    def test_no_english_page_leads_on_to_a_translated_one(self) -> None:
        for name in built_pages():
            text = (SITE / name).read_text(encoding="utf-8")
            if '<html class="no-js" lang="en"' not in text:
                continue
            for language in translations.LANGUAGES:
                around = rf'class="(?:next|prev)-page" href="(?:\.\./)*{language}/'
                self.assertNotRegex(text, around, name)

    def test_links_to_english_pages_say_so_and_the_contents_lead_to_translated_ones(self) -> None:
        for path in translations.all_pages(ROOT):
            language, name = path.parent.name, path.stem
            mark = re.escape(words.ENGLISH[language].strip("()"))  # also "(rozdział 05, ang.)"
            text = (SITE / f"{language}/{name}.html").read_text(encoding="utf-8")
            sidebar = text[text.index('class="sidebar-tree"') : text.index("<article")]
            self.assertRegex(sidebar, r'class="current reference internal" href="#">')
            self.assertNotIn(f'href="../{name}.html"', sidebar)
            rest = text[text.index("<article") :]
            link_to_page = re.compile(
                r'<a [^>]*href="\.\./([^"]*)"[^>]*>(.*?)</a>(.{,12})', re.DOTALL
            )
            for part in (sidebar, rest):
                for link in link_to_page.finditer(part):
                    to_code = re.match("(files|tests|solutions|_images)/", link[1])
                    if not to_code and "English" not in link[2]:
                        self.assertRegex(link[2] + link[3], mark, link[0][:200])


class BooksTest(unittest.TestCase):
    """What `scripts/lab docs --all` has built."""

    def chapters(self) -> List[str]:
        found = []
        for page in sorted((ROOT / "docs").glob("[0-9][0-9]_*.md")):
            found.append(page.read_text(encoding="utf-8").splitlines()[0][len("# ") :])
        return found

    def test_the_first_page_leads_to_them(self) -> None:
        for name in ("cuda_labs.epub", "cuda_labs.pdf"):
            self.assertIn(name, built_pages()["index.html"].links)
            self.assertEqual((SITE / name).read_bytes(), (SITE.parent / name).read_bytes())

    def test_the_book_for_e_readers_is_whole(self) -> None:
        with zipfile.ZipFile(SITE.parent / "cuda_labs.epub") as book:
            self.assertEqual(book.infolist()[0].filename, "mimetype")
            files = {name: book.read(name) for name in book.namelist()}
        package = ElementTree.fromstring(files["content.opf"])
        items = [e.get("href", "") for e in package.iter() if e.tag.endswith("}item")]
        self.assertEqual(sorted(items), sorted({*items} & {*files}), "listed, but not there")
        pages = {name: text for name, text in files.items() if name.endswith(".xhtml")}
        self.assertEqual([name for name in pages if "explorers" in name or "hints" in name], [])
        invited = rb"Try it: (a launch|what an access costs|step by step|the roofline)"
        self.assertEqual([name for name, text in pages.items() if re.search(invited, text)], [])
        ids, links = {}, []
        for name, text in pages.items():
            page = ElementTree.fromstring(re.sub(rb"&nbsp;", b" ", text))  # which is well-formed
            ids[name] = {e.get("id") for e in page.iter()}
            for element in page.iter():
                link = element.get("href") or element.get("src") or ""
                if link and not re.match(r"https?:|mailto:", link):
                    links.append((name, link))
        problems = []
        for name, link in links:
            path, _, anchor = urllib.parse.unquote(link).partition("#")
            to = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            if to not in files or (anchor and to in ids and anchor not in ids[to]):
                problems.append(f"{name}: {link}")
        self.assertEqual(problems, [])
        contents = "".join(ElementTree.fromstring(files["nav.xhtml"]).itertext())
        for title in self.chapters():
            self.assertIn(title, contents)

        for name, text in files.items():
            if name.endswith(".css"):
                self.assertNotIn(b"@page", text, f"{name}: e-readers know no margin boxes")
        self.assertIn(f"Version {version.read(ROOT)}".encode(), files["index.xhtml"])

    def test_the_printed_book_is_whole(self) -> None:
        """Each chapter begins on a page of its own, where the outline and the contents lead."""
        book = pypdf.PdfReader(SITE.parent / "cuda_labs.pdf")
        self.assertGreater(len(book.pages), 100)

        def entries(outline: List[Any]) -> Iterator[Any]:
            for entry in outline:
                yield from entries(entry) if isinstance(entry, list) else [entry]

        starts = {e.title: book.get_destination_page_number(e) for e in entries(book.outline)}
        places = {
            name.partition("document-")[2]: book.get_destination_page_number(place)
            for name, place in book.named_destinations.items()
        }

        def words_of(page: pypdf.PageObject) -> str:
            # "fi" may be one character on paper.
            return " ".join(unicodedata.normalize("NFKC", page.extract_text()).split())

        pages = book.pages[starts["Contents"] : starts["Start here"]]
        contents = " ".join(words_of(page) for page in pages)
        for title in self.chapters():
            start = starts[title]
            words = words_of(book.pages[start])
            # of the page, after its foot: the number, and the chapter
            self.assertRegex(words, rf"^{start + 1} ?{re.escape(title)} {re.escape(title)} ")
            self.assertIn(f"{title} {start + 1} ", contents)
            name = next(p.stem for p in (ROOT / "docs").glob(f"{title[:2]}_*.md"))
            self.assertEqual(places[name], start, "where links to the chapter lead")
        exercise = "05.1 dot_product"
        self.assertIn(f"{exercise} {starts[exercise] + 1} ", contents)
        self.assertIn(f"Version {version.read(ROOT)}", book.pages[0].extract_text())

    def lab(self, *arguments: str, **environment: str) -> Tuple[int, str]:
        environment = {**os.environ, **environment}
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True)
        return done.returncode, done.stderr

    def test_what_cannot_be_written_is_refused_in_a_sentence_before_anything_is_built(self) -> None:
        lab = str(ROOT / "scripts/lab")
        with tempfile.TemporaryDirectory() as folder:
            for file, complaint in (
                (f"{folder}/no/x.pdf", f"lab: there is no folder {folder}/no for x.pdf.\n"),
                (folder, f"lab: {folder} is a folder; the book is a file.\n"),
            ):
                self.assertEqual(self.lab(lab, "docs", "--pdf", file), (2, complaint))
            if os.geteuid():  # root may write anywhere
                os.chmod(folder, 0o500)
                complaint = f"lab: you may not write into {folder}.\n"
                self.assertEqual(self.lab(lab, "docs", "--epub", f"{folder}/x"), (2, complaint))
            both = "lab: --all builds both books; --epub and --pdf build them alone.\n"
            self.assertEqual(self.lab(lab, "docs", "--all", "--pdf"), (2, both))
            self.assertEqual(os.listdir(folder), [])
            build = str(ROOT / "site/build.py")
            status, words = self.lab(sys.executable, build, folder, "--pdf", PATH="")
            self.assertEqual(status, 1)
            self.assertRegex(words, r"^Chromium prints the PDF, and it is not there: .*\n$")
            self.assertEqual(os.listdir(folder), [])


class DrawingsTest(unittest.TestCase):
    def test_files_are_what_would_be_drawn(self) -> None:
        self.assertEqual(drawings.stale(ROOT), [], "scripts/lab docs --draw")

    def test_every_drawing_is_shown_and_has_words(self) -> None:
        pages = " ".join(p.read_text(encoding="utf-8") for p in (ROOT / "docs").rglob("*.md"))
        for name in drawings.names():
            self.assertIn(f"images/diagrams/{name}.svg)", pages, "no page shows it")
            drawing = registry.DRAWINGS[name]
            self.assertGreater(len(drawing.title), 8, name)
            self.assertGreater(len(drawing.description), 60, name)
            ElementTree.fromstring(drawings.picture(name).standalone())

    def test_translated_drawings_have_no_english_words(self) -> None:
        for language, known in words.DRAWINGS.items():
            found = set()
            for drawing in registry.DRAWINGS.values():
                if drawing.title in known:
                    found |= {drawing.title, drawing.description}
                    parts = " ".join(drawing.drawn().parts)
                    texts = re.findall(r"<text((?: class=\"[^\"]*\")?)[^>]*>([^<]+)<", parts)
                    found |= {html.unescape(text) for kind, text in texts if "code" not in kind}
            found = {text for text in found if re.search("[a-z]{2}", text)}
            self.assertEqual(sorted(found), sorted(known), f"site/words.py, {language}")

    def test_charts_are_in_the_pages_of_benchmarks_and_in_chapters(self) -> None:
        """As parts of the pages, in the reader's colours. Which chapters: their text says."""
        pages = built_pages()
        charts = benchmark_page.pictures(ROOT)
        self.assertGreater(len(charts), 0)
        shown = [i for n, page in pages.items() if n.startswith("benchmarks/") for i in page.ids]
        titles = [i for i in shown if i.endswith("-title")]
        self.assertEqual(sorted(titles), sorted(f"{c.name}-title" for c in charts.values()))
        for page in sorted((ROOT / "docs").glob("[0-9][0-9]_*.md")):
            for name in re.findall(r"images/benchmarks/(.+)\.svg\)", page.read_text("utf-8")):
                self.assertIn(f"{name}-title", pages[f"{page.stem}.html"].ids)

    def test_a_chapter_has_at_least_three(self) -> None:
        for page in sorted((ROOT / "docs").glob("[0-9][0-9]_*.md")):
            count = page.read_text(encoding="utf-8").count("images/diagrams/")
            self.assertGreaterEqual(count, 3, page.name)

    def test_words_can_be_read_on_every_colour(self) -> None:
        for scheme in (style.LIGHT, style.DARK):
            for fill in ("page", *style.FILLS):
                self.assertGreaterEqual(contrast(scheme["ink"], scheme[fill]), 7, fill)
            for fill in ("page", "panel"):
                self.assertGreaterEqual(contrast(scheme["muted"], scheme[fill]), 4.5, fill)
                for colour in style.FILLS[1:]:
                    edge = scheme[f"{colour}-edge"]
                    self.assertGreaterEqual(contrast(edge, scheme[fill]), 4.5, colour)


def contrast(one: str, other: str) -> float:
    """As the Web Content Accessibility Guidelines define it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


class Browser(webdriver.Chrome):
    def __init__(self) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
            options.add_argument(f"--{argument}")
        # All pages are from one place: one process may show them, and keep no older ones.
        for argument in ("renderer-process-limit=1", "process-per-site"):
            options.add_argument(f"--{argument}")
        options.add_argument("--disable-back-forward-cache")
        # file:// pages that ask for a network get an error at once, and the console says so.
        options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        super().__init__(options, webdriver.ChromeService(shutil.which("chromedriver") or ""))
        self.set_page_load_timeout(120)
        self.set_script_timeout(120)
        self.minimized = False

    def open(self, page: str) -> None:
        self.get((SITE / page).as_uri() if "?" not in page else f"{SITE.as_uri()}/{page}")

    def search(self, words: str) -> None:
        """Looks for words, as the page of the search does; it is loaded, with its index, once."""
        if urllib.parse.urlsplit(self.current_url).path.endswith("/search.html"):
            self.execute_script(
                """
                document.getElementById("search-results").replaceChildren();
                Search.performSearch(arguments[0]);
                """,
                words,
            )
        else:
            self.open(f"search.html?q={urllib.parse.quote(words)}")

    def width(self, width: int) -> None:
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def minimize(self, minimized: bool) -> None:
        """A minimized window has its pages laid out, but does not paint them."""
        if minimized != self.minimized:
            window = self.execute_cdp_cmd("Browser.getWindowForTarget", {})["windowId"]
            bounds = {"windowState": "minimized" if minimized else "normal"}
            self.execute_cdp_cmd("Browser.setWindowBounds", {"windowId": window, "bounds": bounds})
            self.minimized = minimized

    def messages(self) -> List[str]:
        return [entry["message"] for entry in self.get_log("browser")]


class Browsers:
    """Two that share the pages, so that neither of two processors is idle."""

    def __init__(self) -> None:
        self.all = [Browser(), Browser()]

    def quit(self) -> None:
        for browser in self.all:
            browser.quit()

    def each(self, names: Iterable[str], look: Callable[[Browser, str], Any]) -> List[Any]:
        """What `look` finds on each of these pages."""
        idle: queue.SimpleQueue[Browser] = queue.SimpleQueue()
        for browser in self.all:
            idle.put(browser)

        def look_at(name: str) -> Any:
            browser = idle.get()
            try:
                return look(browser, name)
            finally:
                idle.put(browser)

        with ThreadPoolExecutor(len(self.all)) as pool:
            return [*pool.map(look_at, names)]


def axe(browser: Browser, where: Any = None, **options: Any) -> List[str]:
    """What axe finds in the page as it is now, or in what selectors name. (It would load style
    sheets for rules that are not used, which a page in a file may not do.)"""
    script = Path(axe_core_python.__file__).parent / "axe.min.js"
    if not browser.execute_script("return !!window.axe;"):
        browser.execute_script(script.read_text(encoding="utf-8"))
    found: List[str] = browser.execute_async_script(
        """
        const done = arguments[arguments.length - 1];
        axe.run(arguments[0] ?? document, arguments[1]).then((r) => done(
          r.violations.flatMap((v) => v.nodes.map(
            (n) => `${v.id}: ${n.target.join(" ")}: ${n.failureSummary}`))));
        """,
        where,
        {**options, "resultTypes": ["violations"], "preload": False},
    )
    return found


# Marks the first element with words of each look, but for looks that are known. What else a
# contrast depends on is the same. Returns how many looks there are, and those that are marked.
MARK_LOOKS = """
    const known = new Set(arguments[0]), looks = new Set(), boxes = new Map();
    const behind = (box) => {
      if (!box) return "";
      if (!boxes.has(box)) {
        const {backgroundColor, backgroundImage, filter, opacity} = getComputedStyle(box);
        const seen = [backgroundColor, backgroundImage, filter, opacity].join();
        const bare = seen == "rgba(0, 0, 0, 0),none,none,1";
        boxes.set(box, (bare ? "" : seen + ";") + behind(box.parentElement));
      }
      return boxes.get(box);
    };
    for (const e of document.querySelectorAll("body *:not(svg *, script, style)")) {
      delete e.dataset.look;
      if (![...e.childNodes].some((n) => n.nodeType == Node.TEXT_NODE && n.data.trim())) continue;
      const {color, fontSize, fontWeight, textShadow, visibility} = getComputedStyle(e);
      const look = [color, fontSize, fontWeight, textShadow, visibility,
                    e.getClientRects().length > 0, e.disabled, e.ariaDisabled, behind(e)].join();
      if (!looks.has(look) && !known.has(look)) e.dataset.look = looks.size;
      looks.add(look);
    }
    return [looks.size, [...looks].filter((look) => !known.has(look))];
"""


# The contents beside a page, but for where its links lead and which of them is marked.
CONTENTS = """
    return document.querySelector(".sidebar-drawer").outerHTML
      .replace(/ (href|class|checked|aria-expanded)(="[^"]*")?/g, "");
"""


def violations(browser: Browser, good: Set[str]) -> List[str]:
    """What axe finds, and of contrasts in the light and in the dark. These take most of its time,
    so it measures them once for each look. What is `good`, a look or the contents beside a page, is
    not looked at on other pages."""
    contents = browser.execute_script(CONTENTS)
    where = {"exclude": [[".sidebar-drawer"]]} if contents in good else None
    problems = axe(browser, where, rules={"color-contrast": {"enabled": False}})
    good |= {contents} if not problems else set()
    for theme in ("light", "dark"):
        browser.execute_script(f"document.body.dataset.theme = '{theme}';")
        count, new = browser.execute_script(MARK_LOOKS, [*good])
        assert count > 5
        if new:
            found = axe(browser, {"include": [["[data-look]"]]}, runOnly=["color-contrast"])
            problems += [f"{theme}: {problem}" for problem in found]
            good |= {*new} if not found else set()
    return problems


class ProfilePageTest(unittest.TestCase):
    """The page of `scripts/lab profile --html`, which is no part of the site."""

    def test_it_can_be_read_everywhere(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        source = Path(folder.name) / "k.cu"
        source.write_text("out[i] = " + "very_long_name" * 20 + ";\n")
        rows = []
        for access, size, stride in (
            ("global load", 4, 8),
            ("global store", 1, 1),
            ("shared load", 4, 32),
            ("shared store", 16, 1),
            ("shared atomic", 4, 0),
        ):
            rows.append(counters.Row("k", access, str(source), 1, size, 1234567, 64, 64))
            rows[-1].worst = " ".join(str(lane * size * stride) for lane in range(32))
        page = Path(folder.name) / "page.html"
        page.write_text(profile_page.page(rows, "05.1 dot_product", [source.parent]), "utf-8")
        browser = Browser()
        self.addCleanup(browser.quit)
        browser.get(page.as_uri())
        for width in (360, 1440):
            browser.width(width)
            wide = browser.execute_script(
                """
                const right = document.documentElement.clientWidth + 1;
                return [...document.querySelectorAll("body *")].filter(
                  (e) => e.getBoundingClientRect().right > right
                    || (e.tagName == "I" && e.scrollWidth > e.clientWidth + 1)
                ).slice(0, 3).map((e) => `${e.tagName} ${e.textContent.slice(0, 30)}`);
                """
            )
            self.assertEqual(wide, [], f"{width} pixels")
        for scheme in ("light", "dark"):
            feature = {"name": "prefers-color-scheme", "value": scheme}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            self.assertEqual(axe(browser), [], scheme)
        self.assertEqual(browser.messages(), [])


class GradingPagesTest(unittest.TestCase):
    """The pages of `scripts/lab grade`, which are no part of the site: they have no script, and are
    looked at in a browser that would run none."""

    browser: Browser
    long = "a_name_of_one_word_" * 20
    names = (
        "Ann Lee_4711",
        "محمد بن عبد الله",
        "שרה כהן",
        long,
        "한국 사람 " * 30,
        '<b>"=1&',
        "\udcff",
    )

    @classmethod
    def setUpClass(cls) -> None:
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.quit)
        cls.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.exercises = [exercises.resolve_one(ROOT, id) for id in ("05.1", "10.4", "06.5")]

    def record(self, exercise: exercises.Exercise, number: int) -> Dict[str, Any]:
        """As grade.py makes them, but that nothing was graded. Every third did not compile."""
        tests = [f"{self.long}.{name}" for name in "ABC"]
        parts = [
            {"name": name, "share": 0.5, "weight": 1.0, "has_work": has_work}
            | {"passed": tests[:1], "failed": failed}
            for name, has_work, failed in (("a_step", True, []), (self.long, False, tests[1:]))
        ]
        compiles = number % 3 != 2
        return {
            "exercise": exercise.id,
            "name": exercise.name,
            "state": "graded" if compiles else "does not compile",
            "points": 100 / 3 if compiles else 0.0,
            "of": 100,
            "parts": parts if compiles else [],
            "passed": {},
            "without_work": [self.long],
            "speed": {},
            "remarks": [self.long],
            "hidden": [],
            "late": "it was handed in late, by 1:00:00, which takes 10 % of the points.",
            "cases": dict.fromkeys(tests, "failed"),
            "hazards": tests[1:2] if compiles else [],
            "failures": [{"case": tests[1], "text": "3 of 257\n" + self.long}] if compiles else [],
            "problem": "" if compiles else f"dot_product.cu:1: error: '{self.long}'",
            "notes": [f"'{self.long}' is another file, and was not graded."],
        }

    def grade(self, count: int) -> List[str]:
        """Writes the pages of so many students, and returns these."""
        every = [*self.names, *(f"Student {number}" for number in range(count))][:count]
        table = {
            name: {one.id: self.record(one, number) for one in self.exercises}
            for number, name in enumerate(every)
        }
        title = f"Week 5 {self.long}"
        reports.write_all(self.folder, table, self.exercises, "no sandbox: …", title)
        return every

    def too_wide(self) -> List[str]:
        """What sticks out on either side, but for what is in a box that scrolls; and text that is
        cut off."""
        found: List[str] = self.browser.execute_script(
            """
            const {clientWidth, scrollWidth} = document.documentElement, found = [];
            if (scrollWidth > clientWidth) found.push(`the page: ${scrollWidth}`);
            for (const e of document.querySelectorAll("body *:not(.scroll *)")) {
              const {left, right} = e.getBoundingClientRect();
              if (left < -1 || right > clientWidth + 1)
                found.push(`${e.tagName} ${e.textContent.slice(0, 30)}`);
            }
            return found.slice(0, 3);
            """
        )
        return found

    def look(self, page: Path) -> List[str]:
        problems = []
        for width in (360, 1440):
            self.browser.width(width)
            if width == 360:
                self.browser.get(page.as_uri())
            problems += [f"{page.name}, {width} pixels: {what}" for what in self.too_wide()]
        return problems + self.browser.messages()

    def rows(self) -> List[str]:
        table = self.browser.find_elements(By.CSS_SELECTOR, "table")[0]
        rows: List[str] = self.browser.execute_script(
            "return [...arguments[0].rows].map((row) => row.cells[0].textContent);", table
        )
        return rows[1:]

    def test_no_script_would_run(self) -> None:
        page = self.folder / "page.html"
        page.write_text("<p id=p>off</p><script>p.textContent = 'on'</script>", "utf-8")
        self.browser.get(page.as_uri())
        self.assertEqual(self.browser.find_element(By.ID, "p").text, "off")

    def test_readers_with_disabilities_can_use_them(self) -> None:
        """axe is a script, the only one."""

        def run_scripts(value: bool) -> None:
            self.browser.execute_cdp_cmd(
                "Emulation.setScriptExecutionDisabled", {"value": not value}
            )

        run_scripts(True)
        self.addCleanup(run_scripts, False)
        self.grade(len(self.names))
        for page in sorted(self.folder.rglob("*.html")):
            self.browser.get(page.as_uri())
            for width in (360, 1440):
                self.browser.width(width)
                self.assertEqual(axe(self.browser), [], f"{page.name}, {width} pixels")

    def test_pages_of_no_student_and_of_one_fit_every_width(self) -> None:
        for count in (0, 1):
            every = self.grade(count)
            self.assertEqual(self.look(self.folder / "index.html"), [], count)
            self.assertEqual(self.rows(), every)
            said = self.browser.find_element(By.TAG_NAME, "body").text
            self.assertIn(f"{count} submission", said)
            self.assertIn("nothing was isolated", said)

    def test_pages_of_a_large_class_fit_every_width(self) -> None:
        every = self.grade(500)
        self.assertEqual(self.look(self.folder / "index.html"), [])
        shown = [reports.shown(name) for name in every]
        self.assertEqual(self.rows(), shown)
        # Names are written in their own direction, and the points stay on the right.
        places = self.browser.execute_script(
            """
            return [...document.querySelectorAll("td[dir=auto]")].slice(0, 3).map((cell) => {
              const [name, box] = [cell.firstChild, cell].map((e) => e.getBoundingClientRect());
              return [name.left - box.left < box.right - name.right,
                      cell.nextSibling.getBoundingClientRect().left >= box.right - 1];
            });
            """
        )
        self.assertEqual(places, [[True, True], [False, True], [False, True]])
        links = self.browser.execute_script(
            "return [...document.querySelectorAll('td a')].map((link) => link.href);"
        )
        self.assertEqual(len({*links}), 500)
        for name, link in list(zip(shown, links))[: len(self.names)]:
            page = Path(urllib.parse.unquote(urllib.parse.urlsplit(link).path))
            self.assertEqual(self.look(page), [])
            self.assertEqual(
                self.browser.find_element(By.TAG_NAME, "h1").text, " ".join(name.split())
            )


Looked = Dict[str, List[str]]  # what is looked for -> the problems


class BrowserTest(unittest.TestCase):
    """Each page is loaded once, and looked at in every way. The tests are about what was seen."""

    browsers: Browsers
    looked: Dict[str, Looked]
    good: Set[str] = set()  # what no other page is looked at for
    maxDiff = None

    @classmethod
    def setUpClass(cls) -> None:
        cls.browsers = Browsers()
        cls.addClassCleanup(cls.browsers.quit)
        alike = [name for name in page_names() if cls.made_alike(name)]
        one_each = {f"{name}.html" for name in OF_THOSE}
        left_out = {*alike} - chosen(alike) - most_demanding(alike) - one_each
        names = [name for name in page_names() if name not in left_out]
        print(f"of {len(alike)} pages that are made alike, {len(left_out)} were left out")
        names.sort(key=cls.made_alike)  # what takes longest comes first
        cls.looked = dict(zip(names, cls.browsers.each(names, cls.look)))

    def setUp(self) -> None:
        for browser in self.browsers.all:
            browser.minimize(False)
            browser.width(1440)

    @staticmethod
    def made_alike(name: str) -> bool:
        return name.startswith(tuple(f"{folder}/" for folder in ALIKE))

    def problems(self, kind: str, least: int) -> List[str]:
        """Of at least so many pages."""
        seen = {name: looked[kind] for name, looked in self.looked.items() if kind in looked}
        self.assertGreaterEqual(len(seen), least, kind)
        return [f"{name}: {problem}" for name, found in seen.items() for problem in found]

    @classmethod
    def look(cls, browser: Browser, name: str) -> Looked:
        """Pages that are made alike have no scripts of their own, and none of them is painted."""
        looked: Looked = {"widths": [], "drawings": []}
        browser.minimize(cls.made_alike(name))
        for width in WIDTHS:
            browser.width(width)
            if width == WIDTHS[0]:
                browser.open(name)
            looked["widths"] += [f"{width} pixels: {what}" for what in cls.too_wide(browser)]
            if width == WIDTHS[0]:
                looked["edges"] = cls.without_edges(browser)
                looked["wrapped"] = cls.not_wrapped(browser)
                looked["drawings"] += cls.words_outside(browser)
            if width == WIDTHS[-1]:
                looked["cut"] = cls.cut(browser, 120 if name.startswith(LISTINGS) else 116)
            looked["drawings"] += [f"{width} pixels: {what}" for what in cls.unreadable(browser)]
        looked["messages"] = browser.messages()
        looked["drawings"] += cls.words_outside(browser)
        if not browser.find_elements(By.CSS_SELECTOR, "svg.drawing"):
            del looked["drawings"]
        if not cls.made_alike(name) or name in {f"{n}.html" for n in OF_THOSE}:
            looked["axe"] = violations(browser, cls.good)
        if name.startswith("explorers/"):
            browser.messages()  # of axe
            browser.width(WIDTHS[0])
            looked["typed"] = [
                f"{place}: {what}"
                for place in cls.fill(browser)
                for what in cls.too_wide(browser) + cls.words_outside(browser) + browser.messages()
            ]
        return looked

    @staticmethod
    def too_wide(browser: Browser) -> List[str]:
        """The theme clips what is too wide, so it is looked for; scrolling boxes may hold it."""
        found: List[str] = browser.execute_script(
            """
            const found = [];
            const right = document.documentElement.clientWidth + 1;
            if (document.documentElement.scrollWidth > right) found.push("the page");
            const boxes = ".diagram, .highlight, .table-wrapper, .table, .timeline";
            for (const e of document.querySelectorAll(".main article :not(pre *, svg *)")) {
              const box = e.getBoundingClientRect();
              const words = box.left + e.scrollWidth;  // which may stick out of their box
              if (box.right <= right && words <= right) continue;
              const clipped = box.right <= right && getComputedStyle(e).overflowX != "visible";
              if (!clipped && !e.parentElement.closest(boxes))
                found.push(`${e.tagName} ${e.className} ${e.textContent.slice(0, 30)}`);
            }
            return found.slice(0, 3);
            """
        )
        return found

    @staticmethod
    def without_edges(browser: Browser) -> List[str]:
        """Code and tables that scroll sideways, and neither show it nor can be used by keyboard."""
        found: List[str] = browser.execute_script(
            """
            const names = new Set(), found = [];
            for (const e of document.querySelectorAll(".main article pre, .table-wrapper")) {
              if (e.scrollWidth <= e.clientWidth + 1) continue;
              const name = e.getAttribute("aria-label");
              const shown = getComputedStyle(e).boxShadow.includes("inset");
              if (!shown || e.tabIndex != 0 || e.getAttribute("role") != "region"
                  || !name || names.has(name))
                found.push(`${e.tagName} ${name} ${e.textContent.slice(0, 30)}`);
              names.add(name);
            }
            const others = ".explorer *, .diagram";  // boxes of their own
            for (const e of document.querySelectorAll(others)) {
              if (!["auto", "scroll"].includes(getComputedStyle(e).overflowX)) continue;
              if (e.scrollWidth <= e.clientWidth + 1 || e.matches("input, textarea")) continue;
              if (e.tabIndex != 0 || !["region", "group"].includes(e.getAttribute("role"))
                  || !e.getAttribute("aria-label"))
                found.push(`${e.tagName} ${e.className}`);
            }
            return found.slice(0, 3);
            """
        )
        return found

    @staticmethod
    def not_wrapped(browser: Browser) -> List[str]:
        """Wide output of programs, and wide commands, that scroll sideways."""
        found: List[str] = browser.execute_script(
            """
            const wide = document.querySelectorAll(".wide[class*=highlight-none] pre");
            return [...wide].filter((pre) => pre.scrollWidth > pre.clientWidth + 1)
              .map((pre) => pre.textContent.slice(0, 40));
            """
        )
        return found

    @staticmethod
    def cut(browser: Browser, columns: int) -> List[str]:
        """Code that scrolls sideways although its lines have no more than so many characters, and
        prose whose lines are too long to be read."""
        found: List[str] = browser.execute_script(
            """
            const found = [];
            for (const pre of document.querySelectorAll("article pre")) {
              const length = Math.max(...pre.textContent.split("\\n").map((l) => [...l].length));
              if (pre.scrollWidth > pre.clientWidth + 1 && length <= arguments[0])
                found.push(`${length} characters need ${pre.scrollWidth} pixels`);
            }
            for (const p of document.querySelectorAll("article section > p"))
              if (p.clientWidth > 736) found.push(`${p.clientWidth} pixels of prose`);
            return found.slice(0, 3);
            """,
            columns,
        )
        return found

    @staticmethod
    def unreadable(browser: Browser) -> List[str]:
        """Drawings that are too small to read, and those that scroll and do not say so."""
        found: List[str] = browser.execute_script(
            """
            const found = [];
            for (const svg of document.querySelectorAll("svg.drawing")) {
              const title = svg.querySelector("title").textContent;
              const shown = svg.parentElement.querySelectorAll(":scope > svg");
              if ([...shown].filter((each) => each.getClientRects().length).length != 1)
                found.push(`${title}: not shown once`);
              if (!svg.getClientRects().length) continue;  // for another width
              const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
              const sizes = [...svg.querySelectorAll("text")].map(
                (text) => parseFloat(getComputedStyle(text).fontSize));
              const size = scale * Math.min(...sizes);
              if (size < 8.99) found.push(`${title}: words of ${size} pixels`);
              const {scrollWidth, clientWidth} = svg.parentElement;
              const hint = svg.closest(".picture").querySelector(".alone a");
              if (scrollWidth > clientWidth != hint.getClientRects().length > 0)
                found.push(`${title}: whether it scrolls is not what is said`);
            }
            return found;
            """
        )
        return found

    @staticmethod
    def words_outside(browser: Browser) -> List[str]:
        found: List[str] = browser.execute_script(
            """
            const found = [];
            for (const svg of document.querySelectorAll("svg.drawing, .explorer svg")) {
              if (!svg.getClientRects().length) continue;
              const title = svg.querySelector("title")?.textContent ?? svg.ariaLabel;
              const {width, height} = svg.viewBox.baseVal;
              for (const text of svg.querySelectorAll("text")) {
                const b = text.getBBox();
                if (b.x < 0 || b.y < 0 || b.x + b.width > width || b.y + b.height > height)
                  found.push(`${title}: ${text.textContent}`);
              }
            }
            return found;
            """
        )
        return found

    @classmethod
    def fill(cls, browser: Browser) -> Iterator[str]:
        """Gives an explorer the widest input that it accepts, with each choice of its lists, and
        then what it refuses. Says each time what it has done. (Events, not keys: ExplorersTest
        presses those.)"""

        def write(chosen: Any, accepted: bool) -> Any:
            problems, done = browser.execute_script(FILL, chosen, TYPED, accepted)
            assert bool(problems) != accepted, problems
            return done

        lists = browser.execute_script(
            f"{SHOWN} return shown('select').map((list) => list.options.length);"
        )
        yield write(None, True)
        for number, count in enumerate(lists):
            for option in range(count):
                yield write([number, option], True)
        if browser.execute_script(f"{SHOWN} return shown('input[type=text], textarea').length;"):
            yield write(None, False)

    def test_pages_load_quietly_and_fit_every_width(self) -> None:
        """All pages that are written by hand, and those of the others where least fits."""
        self.assertEqual(self.problems("widths", 100), [])
        self.assertEqual(self.problems("messages", 100), [])

    def test_on_a_wide_screen_no_usual_line_of_code_is_cut(self) -> None:
        self.assertEqual(self.problems("cut", 100), [])

    def test_wide_output_of_programs_is_wrapped(self) -> None:
        self.assertEqual(self.problems("wrapped", 100), [])

    def test_the_map_is_seen_whole_on_a_phone(self) -> None:
        browser = self.browsers.all[0]
        browser.width(360)
        browser.open("map.html")
        links = browser.execute_script(
            """
            const seen = [...document.querySelectorAll(".diagram a")].map(
              (link) => link.getBoundingClientRect()).filter(({width}) => width);
            return seen.map(({left, right, height}) => [left, right, height]);
            """
        )
        self.assertEqual(len(links), len([n for n in page_names() if re.match(r"\d\d_", n)]))
        for left, right, height in links:
            self.assertTrue(left >= 0 and right <= 360 and height >= 24, (left, right, height))

    def test_what_scrolls_sideways_shows_it_and_can_be_reached_by_keyboard(self) -> None:
        self.assertEqual(self.problems("edges", 100), [])
        browser = self.browsers.all[0]
        browser.width(360)
        browser.open("05_shared_memory.html")
        edges = browser.execute_async_script(
            """
            const done = arguments[arguments.length - 1];
            const area = document.querySelector(".more-right");
            const before = area.className;
            area.addEventListener("scroll", () => setTimeout(() => done([before, area.className])));
            area.scrollLeft = area.scrollWidth;
            """
        )
        self.assertNotIn("more-left", edges[0])
        self.assertNotIn("more-right", edges[1])
        self.assertIn("more-left", edges[1])

    def test_the_first_column_of_a_table_can_be_read_while_the_others_scroll(self) -> None:
        browser = self.browsers.all[0]
        browser.width(360)
        for page in ("17_asynchrony", "benchmarks/part_i", "pl/01_getting_started"):
            browser.open(f"{page}.html")
            columns = browser.execute_script(
                """
                const tables = [...document.querySelectorAll(".table-wrapper")].filter(
                  (area) => area.scrollWidth > area.clientWidth + 1);
                return tables.map((area) => {
                  area.scrollLeft = area.scrollWidth;
                  const [box, cell] = [area, area.querySelector("td")].map(
                    (each) => each.getBoundingClientRect());
                  return [cell.left - box.left, cell.width / box.width];
                });
                """
            )
            self.assertGreater(len(columns), 1, page)
            for left, share in columns:
                self.assertLess(abs(left), 8, page)
                self.assertLess(share, 0.5, page)

    def test_the_first_screen_says_for_whom_the_course_is_and_where_to_begin(self) -> None:
        browser = self.browsers.all[0]
        for width, height in ((1440, 900), (360, 740)):
            browser.width(width)
            browser.open("index.html")
            for words_of_it in (
                "//strong[.='This course is for you']",
                "//a[contains(., 'Start here')]",
            ):
                place = browser.find_element(By.XPATH, f"//article{words_of_it}").rect
                bottom = place["y"] + place["height"]
                self.assertLess(bottom, height, f"{words_of_it}, {width} pixels")

    def test_what_only_a_screen_needs_is_not_printed(self) -> None:
        browser = self.browsers.all[0]
        browser.open("05_shared_memory.html")
        seen = [".skip-to-content", ".exercise-files"]
        for media, there in (("", [True, True]), ("print", [False, False])):
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})
            shown = [
                browser.execute_script(
                    "return getComputedStyle(document.querySelector(arguments[0])).display;", each
                )
                != "none"
                for each in seen
            ]
            self.assertEqual(there, shown, media)
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

    def test_on_a_narrow_screen_the_contents_open_and_close_by_keyboard(self) -> None:
        """And nothing that is not seen has the focus."""
        browser = self.browsers.all[0]
        browser.width(768)
        browser.open("05_shared_memory.html")
        named = []
        for _ in range(12):
            ActionChains(browser).send_keys(Keys.TAB).perform()
            named.append(browser.switch_to.active_element.accessible_name)
            left, right = browser.execute_script(
                "const {left, right} = document.activeElement.getBoundingClientRect();"
                "return [left, right];"
            )
            self.assertTrue(left >= 0 and right <= 768, named)
        self.assertIn("Toggle site navigation sidebar", named)
        self.assertIn("Toggle table of contents sidebar", named)
        for icon, drawer in (("nav", ".sidebar-drawer"), ("toc", ".toc-drawer")):
            selector = f".mobile-header button.{icon}-overlay-icon"
            button = browser.find_element(By.CSS_SELECTOR, selector)
            contents = browser.find_element(By.CSS_SELECTOR, drawer)
            button.send_keys(Keys.ENTER)
            self.assertEqual(button.get_attribute("aria-expanded"), "true")
            inside = browser.execute_script(
                "return arguments[0].contains(document.activeElement);", contents
            )
            self.assertTrue(inside, drawer)
            ActionChains(browser).send_keys(Keys.ESCAPE).perform()
            self.assertEqual(button.get_attribute("aria-expanded"), "false")
            self.assertEqual(browser.switch_to.active_element, button)
            WebDriverWait(browser, 10).until(lambda _, each=contents: not each.is_displayed())

    def test_explorers_are_quiet_and_fit_whatever_is_typed(self) -> None:
        self.assertEqual(self.problems("typed", 6), [])

    def test_drawings_can_be_read_and_their_words_stay_within_them(self) -> None:
        self.assertEqual(self.problems("drawings", 11), [])

    def test_readers_with_disabilities_can_use_it(self) -> None:
        """axe's rules, on all pages that are written by hand, and on one of each other kind."""
        self.assertEqual(self.problems("axe", 50), [])

    def test_what_is_looked_for_would_be_found(self) -> None:
        """Mistakes that are made on purpose, after a look that finds none."""
        browser, good = self.browsers.all[0], set[str]()
        browser.width(360)
        for page, spoil, find in (
            (
                "05_shared_memory",
                "document.querySelector('svg.drawing text').textContent += ' more'.repeat(40)",
                self.words_outside,
            ),
            (
                "map",
                "[...document.querySelectorAll('svg.narrow text')].at(-1).setAttribute('x', 330)",
                self.words_outside,
            ),
            (
                "explorers/roofline",
                "document.querySelector('.explorer svg text').setAttribute('x', -9)",
                self.words_outside,
            ),
            (
                "17_asynchrony",
                "document.querySelector('.table-wrapper[role]').removeAttribute('role')",
                self.without_edges,
            ),
            (
                "explorers/streams",
                "document.querySelector('.timeline').removeAttribute('tabindex')",
                self.without_edges,
            ),
            (
                "editors",
                "document.querySelector('article p').style.background = '#888'",
                functools.partial(violations, good=good),
            ),
            (
                "map",
                "document.querySelector('article p').style.minWidth = '400px'",
                self.too_wide,
            ),
        ):
            browser.open(f"{page}.html")
            self.assertEqual(find(browser), [], page)
            browser.execute_script(spoil)
            self.assertNotEqual(find(browser), [], f"{page}: {spoil}")

    def test_search_finds_what_it_should(self) -> None:
        def look(browser: Browser, word: str) -> str:
            browser.search(word)
            # Results come in one by one; then the summary says how many there are.
            WebDriverWait(browser, 60).until(
                lambda b: re.search(
                    r"found|did not match", b.find_element(By.ID, "search-results").text
                )
            )
            link = f'#search-results a[href^="{SEARCHES[word]}.html"]'
            try:
                WebDriverWait(browser, 20).until(lambda b: b.find_elements(By.CSS_SELECTOR, link))
            except TimeoutException:
                return f"{word}: not found in {SEARCHES[word]}"
            return ""

        self.assertEqual([p for p in self.browsers.each(SEARCHES, look) if p], [])

    def test_results_of_a_search_show_prose_with_the_words(self) -> None:
        """No list of an exercise's files, no words of pictures, and no answer of a hint."""
        browser = self.browsers.all[0]
        browser.open("search.html")
        script = """
            const [query, page] = arguments;
            const terms = Search._parseQuery(query)[1];
            const shown = Search.makeSearchSummary(page, terms, null);
            return shown && [shown.textContent, [...terms],
              [...shown.querySelectorAll("strong")].map((word) => word.textContent)];
            """
        searched = [*SEARCHES.items(), ("bank conflict", "05_shared_memory")]
        searched += [("memory", "07_constant_memory"), ("race", "05_shared_memory")]
        searched += [("atomics", "10_atomics"), ("solution", "10_atomics")]
        for query, name in searched:
            page = (SITE / f"{name}.html").read_text(encoding="utf-8")
            text, terms, bold = browser.execute_script(script, query, page)
            self.assertGreater(len(terms), 0)
            for term in terms:  # a stem, as of "memory"
                stem = term.removesuffix("i")
                self.assertTrue(any(stem in each.lower() for each in bold), (query, text))
            self.assertLess(len(text), 260, query)
            self.assertNotRegex(text, r"\n|contract · program|‒|#$", query)
        hint = (SITE / "hints/05.1_dot_product.html").read_text(encoding="utf-8")
        answers = re.findall(r'(?s)<details class="answer">.*?</details>', hint)
        rest = re.sub(r'(?s)<details class="answer">.*?</details>', "", hint).lower()
        only = {w for a in answers for w in re.findall(r"[a-z]{6,}", re.sub("<.*?>", "", a))}
        only = {word for word in sorted(only) if word[:5] not in rest}
        self.assertGreater(len(only), 3)
        for word in only:
            text = (browser.execute_script(script, word, hint) or [""])[0]
            self.assertNotIn(word, text.lower())
        listing = (SITE / "solutions/05.1_dot_product.html").read_text(encoding="utf-8")
        text = (browser.execute_script(script, "syncthreads", listing) or [""])[0]
        self.assertNotIn("syncthreads", text)

    @staticmethod
    def results(browser: Browser, word: str, least: int = 1) -> List[str]:
        browser.search(word)
        WebDriverWait(browser, 60).until(
            lambda b: "found" in b.find_element(By.ID, "search-results").text
        )
        links = "#search-results li a[href]"
        WebDriverWait(browser, 20).until(
            lambda b: len(b.find_elements(By.CSS_SELECTOR, links)) >= least
        )
        found: List[str] = browser.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((link) => link.href);", links
        )
        return found

    def test_search_knows_what_readers_call_it(self) -> None:
        found = self.browsers.each(FOUND_FIRST, self.results)
        for (word, place), links in zip(FOUND_FIRST.items(), found):
            path, _, anchor = place.partition("#")
            first = urllib.parse.urlsplit(links[0])
            self.assertEqual((Path(first.path).name, first.fragment), (path, anchor), word)

    def test_the_links_to_the_pages_around_are_named_after_them(self) -> None:
        browser = self.browsers.all[0]
        browser.open("05_shared_memory.html")
        for side, name in (("prev", "Previous 04 Images"), ("next", "Next 06 Matrices")):
            link = browser.find_element(By.CSS_SELECTOR, f"a.{side}-page")
            self.assertEqual(link.accessible_name, name)

    def test_search_finds_the_glossary_first_and_listings_and_hints_after_chapters(self) -> None:
        words_ = ("TMA", "warp", "bank", "bank conflict")
        look = functools.partial(self.results, least=3)
        for word, found in zip(words_, self.browsers.each(words_, look)):
            self.assertRegex(found[0], "/glossary.html#", word)
            chapter = next(i for i, to in enumerate(found) if re.search(r"/html/\d\d_", to))
            later = [i for i, to in enumerate(found) if re.search("/html/(files|hints)/", to)]
            self.assertLess(chapter, min(later, default=len(found)), word)

    def test_what_is_around_a_translated_page_is_translated(self) -> None:
        """What the English page says there, too, is the theme's, and was forgotten."""
        script = """
            const words = new Set();
            for (const e of document.querySelectorAll("[rel=index], [rel=search], body *")) {
              if (e.closest("body [lang=en], script, style, code")) continue;
              const found = ["aria-label", "title", "placeholder", "data-tooltip"].map(
                (name) => e.getAttribute(name) ?? "");
              if (!e.closest("article, .toc-tree, .current-page"))
                for (const node of e.childNodes)
                  if (node.nodeType == Node.TEXT_NODE) found.push(node.data);
              for (const word of found) if (/\\p{L}{2}/u.test(word)) words.add(word.trim());
            }
            return [...words];
            """
        browser = self.browsers.all[0]
        for path in translations.all_pages(ROOT):
            found = []
            for folder in ("", f"{path.parent.name}/"):
                browser.open(f"{folder}{path.stem}.html")
                found.append({*browser.execute_script(script)})
            self.assertGreater(len(found[0]), 20)
            names = {"CUDA Labs", "Furo", "Menu", "Copyright © The CUDA Labs authors"}
            names.add(path.read_text(encoding="utf-8").partition("\n")[0][len("# ") :])
            self.assertEqual(found[0] & found[1] - names, set(), path.name)

    def test_a_copy_button_and_the_permalinks_are_there(self) -> None:
        browser = self.browsers.all[0]
        browser.open("01_getting_started.html")
        self.assertTrue(browser.find_elements(By.CSS_SELECTOR, "button.copybtn"))
        self.assertTrue(browser.find_elements(By.CSS_SELECTOR, "h2 a.headerlink"))
        self.assertTrue(browser.find_elements(By.CSS_SELECTOR, ".toc-tree a"))
        self.assertTrue(browser.find_elements(By.CSS_SELECTOR, "a.next-page"))


class AnimationsTest(unittest.TestCase):
    """Ripple and heat: what their exercises compute, for as long as the reader wants."""

    browser: Browser

    @classmethod
    def setUpClass(cls) -> None:
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.quit)
        cls.browser.width(1024)

    def open(self, page: str, motion: str) -> Any:
        features = [{"name": "prefers-reduced-motion", "value": motion}]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.browser.open(page)
        return self.browser.find_element(By.CSS_SELECTOR, ".animation")

    def frames(self, box: Any) -> int:
        return int(box.get_attribute("data-frames") or 0)

    def test_they_play_and_stop(self) -> None:
        for page in ("04_images.html", "08_textures.html"):
            box = self.open(page, "no-preference")
            WebDriverWait(self.browser, 20).until(lambda _, box=box: self.frames(box) > 2)
            button = box.find_element(By.TAG_NAME, "button")
            self.assertEqual(button.text, "Pause")
            button.send_keys(Keys.ENTER)
            self.assertEqual(button.text, "Play")
            label = box.find_element(By.TAG_NAME, "canvas").get_attribute("aria-label")
            self.assertGreater(len(label), 20)

    def test_they_stand_still_for_those_who_want_less_motion(self) -> None:
        box = self.open("04_images.html", "reduce")
        button = box.find_element(By.TAG_NAME, "button")
        self.assertEqual(button.text, "Play")
        self.browser.execute_async_script("setTimeout(arguments[0], 300)")  # six frames' time
        self.assertEqual(self.frames(box), 0)
        self.assertTrue(box.find_element(By.TAG_NAME, "img").is_displayed())
        button.send_keys(Keys.SPACE)
        WebDriverWait(self.browser, 20).until(lambda _: self.frames(box) > 2)

    def test_they_compute_what_the_exercises_do(self) -> None:
        self.open("04_images.html", "reduce")
        for tick, x, y in ((0, 0, 0), (5, 32, 20), (60, 63, 1)):
            d = math.hypot(x - 32, y - 20)
            self.assertAlmostEqual(
                self.browser.execute_script(
                    "return LabAnimations.rippleAt(64, 40, ...arguments)", tick, x, y
                ),
                128 + 127 * math.cos(d / 10 - tick / 7) / (d / 10 + 1),
            )
        heaters = [0, 0, 1, 0, 0, 0.5]
        before = [0.25, 0.75, 0, 0, 0.5, 0]  # 3 cells wide, 2 high
        after = self.browser.execute_script(
            "return [...LabAnimations.heatStep({width: 3, height: 2,"
            " heaters: arguments[0], cells: arguments[1]}).cells]",
            heaters,
            before,
        )
        warm = [h or c for h, c in zip(heaters, before)]
        for i, value in enumerate(after):
            x, y = i % 3, i // 3
            at = [(x, max(y - 1, 0)), (x, min(y + 1, 1)), (max(x - 1, 0), y), (min(x + 1, 2), y)]
            mean = sum(warm[b * 3 + a] for a, b in at) / 4  # at this speed it is their mean
            self.assertAlmostEqual(value, mean)

    def test_the_recorded_ones_are_what_is_computed(self) -> None:
        """So they are neither stale, nor other than the page's. Both have rounded the colours."""
        self.open("04_images.html", "reduce")
        heat = """
            if (!window.plate) [window.plate, window.steps] = [LabAnimations.plate(SIZE, SIZE), 0];
            for (; window.steps < tick * 90; ++window.steps) plate = LabAnimations.heatStep(plate);
            return [...plate.cells].map(LabAnimations.colourOf);"""
        ripple = """
            return Array.from({length: SIZE * SIZE}, (_, i) => Array(3).fill(Math.floor(
              LabAnimations.rippleAt(SIZE, SIZE, tick, i % SIZE, Math.floor(i / SIZE)))));"""
        for name, script in (("ripple", ripple), ("heat", heat)):
            png = (ROOT / f"docs/images/{name}.png").read_bytes()
            self.assertLessEqual(len(png), animate.MOST)
            recorded = animate.read(png)
            animation = animate.ANIMATIONS[name]
            self.assertEqual(len(recorded.pixels), int(animation.arguments[1]))
            self.assertTrue(recorded.still == recorded.pixels[animation.still], f"{name}: stale")
            for tick in (0, 1, len(recorded.pixels) - 1):
                script_of_tick = f"const SIZE = {recorded.width}, tick = {tick};{script}"
                computed = [b for p in self.browser.execute_script(script_of_tick) for b in p]
                far = [a for a, b in zip(computed, recorded.pixels[tick]) if abs(a - b) > 6]
                self.assertLess(len(far), 1e-3 * len(computed), f"{name}, frame {tick}: stale")

    def test_where_nothing_moves_there_is_a_still(self) -> None:
        with zipfile.ZipFile(SITE.parent / "cuda_labs.epub") as book:
            for name in animate.ANIMATIONS:
                recorded = animate.read((ROOT / f"docs/images/{name}.png").read_bytes())
                for png in (
                    book.read(f"_images/{name}.png"),
                    (SITE / f"_images/{name}.png").read_bytes(),
                ):
                    self.assertNotIn(b"acTL", png)
                    self.assertTrue(animate.read(png).still == recorded.still, name)


def table(name: str) -> List[str]:
    """The rows of a table of numbers that the explorers must give."""
    lines = (ROOT / f"site/tests/{name}.csv").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


class ExplorersTest(unittest.TestCase):
    browser: Browser

    @classmethod
    def setUpClass(cls) -> None:
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.quit)
        cls.browser.width(1024)

    def open(self, name: str) -> None:
        self.browser.open(f"explorers/{name}.html")
        WebDriverWait(self.browser, 10).until(
            lambda b: b.find_elements(By.CSS_SELECTOR, "[data-explorer][data-ready]")
        )

    def model(self, call: str, *arguments: Any) -> Any:
        return self.browser.execute_script(f"return LabModels.{call};", *arguments)

    def facts(self) -> Dict[str, str]:
        rows = self.browser.execute_script(
            "return [...document.querySelectorAll('.facts > div')].map("
            "(row) => ['dt', 'dd'].map((kind) => row.querySelector(kind).textContent));"
        )
        return dict(rows)

    def control(self, label: str) -> Any:
        labels = self.browser.find_elements(By.CSS_SELECTOR, ".explorer .control label")
        found = next(element for element in labels if element.text.startswith(label))
        return self.browser.find_element(By.ID, found.get_attribute("for"))

    def test_accesses_cost_what_the_cpu_device_counts(self) -> None:
        self.open("access")
        rows = table("access_costs")
        self.assertGreaterEqual(len(rows), 100)
        for row in rows:
            expression, numbers = row.split(";")
            lanes, size, sectors, ideal, used, wavefronts, *indices = map(int, numbers.split())
            cost = self.model(
                """access(Array.from({length: 32}, (_, i) => i < arguments[1]
                  ? LabModels.parse(arguments[0])({i, blockDim: 32, blockIdx: 0}) : null),
                  arguments[2])""",
                expression,
                lanes,
                size,
            )
            self.assertEqual(
                [cost[k] for k in ("sectors", "idealSectors", "bytesUsed", "wavefronts")],
                [sectors, ideal, used, wavefronts],
                row,
            )
            self.assertEqual([a // size for a in cost["addresses"] if a is not None], indices, row)

    def test_a_bank_conflict_is_shown_where_there_is_one(self) -> None:
        self.open("access")
        words = ".bank .words"
        cases = (("8", "i", 1), ("16", "i", 1), ("4", "2 * i", 2), ("8", "2 * i", 2))
        for size, index, most in cases:
            Select(self.control("Bytes of an element")).select_by_value(size)
            field = self.control("Index of lane i")
            field.clear()
            field.send_keys(index)
            shown = [e.text for e in self.browser.find_elements(By.CSS_SELECTOR, words)]
            self.assertEqual(max(map(int, shown)), most, (size, index))
            many = self.browser.find_elements(By.CSS_SELECTOR, ".bank.many")
            self.assertEqual(bool(many), most > 1, (size, index))

    def test_an_access_is_typed(self) -> None:
        self.open("access")
        field = self.control("Index of lane i")
        field.clear()
        field.send_keys("32*i")
        facts = self.facts()
        self.assertEqual(facts["in global memory: sectors"], "32 (best: 4)")
        self.assertEqual(facts["in shared memory: wavefronts"], "32 (best: 1)")
        field.send_keys(" +")
        alert = self.browser.find_element(By.CSS_SELECTOR, ".problem")
        self.assertEqual(alert.text, "The expression ends too early.")
        self.assertEqual(self.facts(), {})
        field.clear()
        field.send_keys("i / 0")
        self.assertEqual(alert.text, "Division by zero.")
        field.clear()
        field.send_keys("i - 1")
        self.assertIn("Lane 0 has the index -1", alert.text)
        field.clear()
        field.send_keys("010 * i")
        self.assertIn("base 8", alert.text)

    def test_threads_compute_what_they_do_on_the_cpu_device(self) -> None:
        self.open("launch")
        rows = table("launches")
        self.assertGreaterEqual(len(rows), 30)
        for row in rows:
            given, counts, owners = row.split(";")
            kernel, *numbers = given.split()
            if kernel == "two":
                gx, gy, bx, by, width, height = map(int, numbers)
                elements = width * height
                made = self.model("plane(...arguments)", [gx, gy], [bx, by], [width, height])
                work = {}
                for c in made["cells"]:
                    block = c["block"][1] * gx + c["block"][0]
                    thread = c["thread"][1] * bx + c["thread"][0]
                    work[block * bx * by + thread] = [] if c["pixel"] is None else [c["pixel"]]
                made["rounds"] = max(map(len, work.values()))
            else:
                grid, size, elements = map(int, numbers)
                made = self.model("launch(...arguments)", grid, size, elements, kernel == "stride")
                work = dict(enumerate(mine for block in made["blocks"] for mine in block))
            self.assertEqual(len(work), made["threads"], row)
            owner = [-1] * elements
            for thread, mine in work.items():
                for element in mine:
                    self.assertEqual(owner[element], -1, row)
                    owner[element] = thread
            keys = ("threads", "warps", "emptyLanes", "idle", "missed", "rounds")
            self.assertEqual([made[key] for key in keys], [*map(int, counts.split())], row)
            self.assertEqual(owner, [*map(int, owners.split())], row)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.browser.switch_to.active_element.send_keys(key)

    def go_to(self, name: str, back: bool) -> None:
        """By Tab, in a few steps: past links in the text before, or what scrolls."""
        for _ in range(6):
            self.press(Keys.SHIFT + Keys.TAB if back else Keys.TAB)
            if self.focus().startswith(name):
                return
        self.fail(f"Tab does not reach {name}, but {self.focus()}")

    def focus(self) -> str:
        return str(self.browser.switch_to.active_element.accessible_name)

    def test_every_control_is_reached_and_changed_by_keyboard(self) -> None:
        self.assertEqual({*BY_KEYS}, {path.stem for path in (SITE / "explorers").glob("*.html")})
        for explorer, steps in BY_KEYS.items():
            self.open(explorer)
            self.browser.execute_script(
                """
                document.addEventListener("focusin", (e) => { e.target.dataset.reached = ""; });
                document.querySelector("h1 a").focus();
                """
            )
            for name, keys, fact, value in steps:
                said = f"{explorer}: {name}, then {keys}"
                if not self.focus().startswith(name):
                    self.go_to(name.lstrip("<"), back=name.startswith("<"))
                self.press(*keys)
                if fact:
                    self.assertEqual(self.facts().get(fact), value, said)
                    self.assertTrue(self.focus().startswith(name.lstrip("<")), f"{said}: lost")
                else:
                    about = self.browser.find_element(By.CSS_SELECTOR, ".about").text
                    self.assertIn(value, about, said)
            for _ in range(12):  # to the end
                self.press(Keys.TAB)
            missed = self.browser.execute_script(
                SHOWN
                + """
                return shown("a, input, select, textarea, button, [tabindex]").filter(
                  (e) => e.tabIndex >= 0 && !("reached" in e.dataset)).map((e) => e.outerHTML);
                """
            )
            self.assertEqual(missed, [], explorer)

    def test_a_launch_is_changed_by_keyboard(self) -> None:
        self.open("launch")
        self.assertEqual(self.facts()["threads"], "24")
        self.assertEqual(self.facts()["threads that the guard stops"], "4")
        self.control("gridDim.x").send_keys(Keys.ARROW_LEFT)  # 2 blocks of 8 for 20 elements
        facts = self.facts()
        self.assertEqual(facts["threads"], "16")
        self.assertEqual(facts["elements that nobody computes"], "4")
        Select(self.control("Kernel")).select_by_value("stride")
        facts = self.facts()
        self.assertEqual(facts["rounds"], "2")
        self.assertEqual(facts["elements that nobody computes"], "0")
        first = self.browser.find_element(By.CSS_SELECTOR, ".thread")
        first.send_keys(Keys.ARROW_RIGHT)
        about = self.browser.find_element(By.CSS_SELECTOR, ".about").text
        self.assertEqual(
            about,
            "blockIdx.x = 0, threadIdx.x = 1: index 0 * 8 + 1 = 1; computes elements 1, 17",
        )
        Select(self.control("Kernel")).select_by_value("two")
        self.assertEqual(self.facts()["threads"], "96")  # 3 × 2 blocks of 4 × 4
        self.assertEqual(self.facts()["threads that the guard stops"], "36")  # 10 × 6 pixels
        first = self.browser.find_element(By.CSS_SELECTOR, ".thread")
        first.send_keys(Keys.ARROW_DOWN)
        about = self.browser.find_element(By.CSS_SELECTOR, ".about").text
        self.assertEqual(about, "block (0, 0), thread (0, 1): x = 0, y = 1; pixel 10")

    def test_a_reduction_adds_up_as_on_the_cpu_device(self) -> None:
        """Step by step, with what is in shared memory after each."""
        self.open("reduction")
        rows = table("reductions")
        self.assertGreaterEqual(len(rows), 15)
        for row in rows:
            given, result, order, additions = row.split(";")
            barrier, _, *words = given.split()
            numbers = [*map(int, words)]
            steps = [*map(int, additions.split())]
            expected = [tuple(steps[k : k + 4]) for k in range(0, len(steps), 4)]
            run = self.model(
                "reduction(...arguments)", numbers, barrier == "with", [*map(int, order.split())]
            )
            added = [step for step in run["steps"] if not step.get("barrier")]
            made = [(s["half"], s["thread"], s["a"], s["b"]) for s in added]
            if barrier == "with":  # within a level any order is right, and random orders change
                made.sort(reverse=True)
                expected.sort(reverse=True)
            self.assertEqual(made, expected, row)
            cache = list(numbers)
            for step in run["steps"]:
                if not step.get("barrier"):
                    cache[step["thread"]] = step["a"] + step["b"]
                self.assertEqual(step["cache"], cache, row)
            self.assertEqual(run["result"], int(result), row)
            self.assertEqual(run["right"], sum(numbers), row)
            self.assertTrue(run["ok"] or barrier == "without", row)

    def test_each_sum_that_is_shown_is_that_of_the_cpu_device(self) -> None:
        self.open("reduction")
        shown = "3 1 7 0 4 1 6 3"
        last = self.browser.find_element(By.XPATH, "//button[.='To the end']")
        for barrier in ("with", "without"):
            if barrier == "without":
                self.control("__syncthreads()").send_keys(Keys.SPACE)
            for value, order in (("up", "forward"), ("down", "reverse"), ("mixed", "random")):
                Select(self.control("Order")).select_by_value(value)
                last.send_keys(Keys.ENTER)
                given = f"{barrier} {order} {shown};"
                row = next(row for row in table("reductions") if row.startswith(given))
                result = int(row.split(";")[1])
                verdict = "right" if result == 25 else "wrong"
                self.assertEqual(self.facts()["sum"], f"{result}: {verdict}", row)

    def test_a_reduction_needs_its_barrier(self) -> None:
        self.open("reduction")
        last = self.browser.find_element(By.XPATH, "//button[.='To the end']")
        last.send_keys(Keys.ENTER)
        self.assertEqual(self.facts()["sum"], "25: right")
        self.control("__syncthreads()").send_keys(Keys.SPACE)
        last.send_keys(Keys.ENTER)
        self.assertEqual(self.facts()["sum"], "15: wrong")
        Select(self.control("Order")).select_by_value("down")
        last.send_keys(Keys.ENTER)
        self.assertEqual(self.facts()["sum"], "25: right", "luck")

    def plan(self, row: str, engines: int) -> List[Tuple[str, int, str, int, int]]:
        """Call, stream, engine, from and to: what the orders of the CPU device leave free overlaps,
        except for the work of one engine, which is in the order of the calls."""
        given, *orders = row.split(";")
        places = [[*map(int, order.split())] for order in orders]
        done: List[Tuple[str, int, str, int, int]] = []
        for number, call in enumerate(given.split(",")):
            stream, kind, duration = call.split()
            engine = "kernels" if kind == "kernel" else "copies" + f" {kind}" * (engines - 1)
            start = 0
            for earlier, (_, _, other, _, end) in enumerate(done):
                always = all(o.index(earlier) < o.index(number) for o in places)
                if always or other == engine:
                    start = max(start, end)
            done.append((kind, int(stream), engine, start, start + int(duration)))
        return done

    def test_streams_overlap_what_the_cpu_device_may_turn_round(self) -> None:
        self.open("streams")
        rows = table("streams")
        self.assertGreaterEqual(len(rows), 10)
        for row in rows:
            calls = row.split(";")[0].replace(", ", "\n")
            for engines in (1, 2):
                made = self.model(
                    "schedule(LabModels.parseCalls(arguments[0]), arguments[1])", calls, engines
                )
                placed = [
                    (c["kind"], c["stream"], c["engine"], c["start"], c["start"] + c["duration"])
                    for c in made["placed"]
                ]
                expected = self.plan(row, engines)
                self.assertEqual(placed, expected, row)
                self.assertEqual(made["end"], max(end for *_, end in expected), row)

    def test_each_example_of_streams_is_shown_as_the_cpu_device_orders_it(self) -> None:
        self.open("streams")
        rows = {row.split(";")[0]: row for row in table("streams")}
        for example in ("depth", "breadth", "one", "four"):
            Select(self.control("Examples")).select_by_value(example)
            calls = self.control("Calls of the host").get_attribute("value")
            expected = self.plan(rows[calls.replace("\n", ", ")], 1)
            shown = self.browser.execute_script(
                "return [...document.querySelectorAll('.explorer tbody tr')]"
                ".map((row) => [...row.cells].map((cell) => cell.textContent));"
            )
            self.assertEqual(shown, [[*map(str, call)] for call in expected], example)

    def test_streams_are_scheduled_as_in_chapter_11(self) -> None:
        self.open("streams")
        chunk = "{0} in 2\n{0} in 2\n{0} kernel 4\n{0} out 2\n"
        depth = chunk.format(0) + chunk.format(1)
        lines = [chunk.format(s).splitlines() for s in (0, 1)]
        breadth = "\n".join(line for pair in zip(*lines) for line in pair)
        for calls, engines, time in ((depth, 1, 20), (breadth, 1, 16), (depth, 2, 14)):
            plan = self.model(
                "schedule(LabModels.parseCalls(arguments[0]), arguments[1])", calls, engines
            )
            self.assertEqual(plan["end"], time, (calls, engines))
        field = self.control("Calls of the host")
        field.clear()
        field.send_keys("0 in 3\n1 kernel 5")
        self.assertEqual(self.facts()["time"], "5")
        field.send_keys("\nx")
        alert = self.browser.find_element(By.CSS_SELECTOR, ".problem")
        self.assertIn("Line 3: “x” is not a call", alert.text)

    def test_occupancy_follows_the_limits(self) -> None:
        self.open("occupancy")
        for capability, threads, registers, shared, blocks, limit in (
            ("9.0", 256, 32, 0, 8, "warps"),
            ("9.0", 32, 32, 0, 32, "blocks"),
            ("9.0", 1024, 64, 0, 1, "registers"),
            ("9.0", 1024, 65, 0, 0, "registers"),
            ("9.0", 256, 40, 0, 6, "registers"),  # 1280 for a warp: 12 a quarter, 48 in all
            ("9.0", 256, 32, 100 * 1024, 2, "shared memory"),
            ("9.0", 256, 32, 228 * 1024, 0, "shared memory"),
            ("8.6", 256, 32, 0, 6, "warps"),
            ("8.6", 32, 32, 0, 16, "blocks"),
            ("7.5", 1024, 32, 0, 1, "warps"),
            ("8.9", 33, 32, 0, 24, "warps"),  # 33 threads are two warps
        ):
            fit = self.model(
                "occupancy(arguments[0],"
                " {threads: arguments[1], registers: arguments[2], shared: arguments[3]})",
                capability,
                threads,
                registers,
                shared,
            )
            self.assertEqual(fit["blocks"], blocks, (capability, threads, registers, shared))
            self.assertIn(limit, fit["limitedBy"])
        self.assertEqual(self.facts()["occupancy"], "100 %")
        self.control("Registers").send_keys(Keys.END)  # 255: 8192 for a warp, 8 warps in all
        self.assertEqual(self.facts()["occupancy"], "13 %")

    def test_as_many_blocks_fit_as_nvidia_says(self) -> None:
        self.open("occupancy")
        rows = [line.split() for line in table("occupancy")]
        self.assertEqual({row[0] for row in rows}, {*self.model("LIMITS")})
        fit = self.browser.execute_script(
            """
            return arguments[0].map(([capability, threads, registers, shared]) =>
              LabModels.occupancy(capability, {threads, registers, shared}).blocks);
            """,
            [[row[0], *map(int, row[1:4])] for row in rows],
        )
        far = [" ".join(row) for row, blocks in zip(rows, fit) if blocks != int(row[-1])]
        self.assertEqual(far, [])

    def test_the_roof_has_two_sides(self) -> None:
        self.open("roofline")
        self.assertEqual(self.facts()["it is"], "memory bound")
        self.assertEqual(self.facts()["your kernel reaches at most"], "4,800 GFLOP/s")
        field = self.control("Your kernel")
        field.clear()
        field.send_keys("100")
        self.assertEqual(self.facts()["it is"], "compute bound")
        self.assertEqual(self.facts()["your kernel reaches at most"], "67,000 GFLOP/s")
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(Keys.BACKSPACE)
        alert = self.browser.find_element(By.CSS_SELECTOR, ".problem")
        self.assertEqual(alert.text, "All three must be numbers from 0.001 to 1,000,000,000.")


def run(name: str) -> Tuple[bool, str]:
    """The tests of a class, and what is to be read about them."""
    said = io.StringIO()
    tests = unittest.defaultTestLoader.loadTestsFromTestCase(globals()[name])
    done = unittest.TextTestRunner(said, verbosity=2).run(tests)
    return done.wasSuccessful() and done.testsRun > 0, said.getvalue()


def main() -> int:
    """All classes, two at a time: most of them wait for one browser, which is busy on one core."""
    names = [name for name, one in globals().items() if isinstance(one, type)]
    names = [name for name in names if issubclass(globals()[name], unittest.TestCase)]
    names.sort(key=lambda name: name != "BrowserTest")  # which takes longest
    passed = []
    with ProcessPoolExecutor(2) as pool:
        for done in as_completed([pool.submit(run, name) for name in names]):
            good, said = done.result()
            print(said, flush=True)
            passed.append(good)
    return 0 if all(passed) else 1


if __name__ == "__main__":
    if sys.argv[1:]:  # names of tests
        unittest.main(verbosity=2)
    sys.exit(main())
