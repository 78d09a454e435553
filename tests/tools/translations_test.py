# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Translated pages: which paragraphs are behind the English ones."""

import re
import unittest
from pathlib import Path
from typing import List, Tuple

from fakes import REPOSITORY, LabTest
from lablib import pages, translations

ENGLISH = """\
# Title

First line
of a paragraph.

```
code, with

a gap
```

## Heading

Last.
"""
POLISH = """\
# Tytuł

Pierwszy akapit.

```
kod, z

przerwą
```

## Nagłówek

Ostatni.
"""


class TranslationsTest(LabTest):
    def setUp(self) -> None:
        super().setUp()
        self.english = self.root / "docs/01_title.md"
        self.page = self.root / "docs/pl/01_title.md"
        self.page.parent.mkdir(parents=True)
        self.english.write_text(ENGLISH)
        self.page.write_text(POLISH)
        translations.record(self.page)

    def behind(self, old: str, new: str) -> List[Tuple[str, int, int]]:
        """Change, English line and Polish line once the English page has new for old."""
        self.assertEqual(1, ENGLISH.count(old))
        self.english.write_text(ENGLISH.replace(old, new))
        return [(d.change, d.english, d.translated) for d in translations.behind(self.page)]

    def test_what_has_not_changed_is_not_behind(self) -> None:
        self.assertEqual([], translations.behind(self.page))
        self.assertEqual([], self.behind("line\nof a", "line of\na"), "lines that break elsewhere")

    def test_a_paragraph_that_has_changed(self) -> None:
        self.assertEqual([("changed", 3, 3)], self.behind("First", "Second"))
        self.assertEqual([("changed", 6, 5)], self.behind("a gap", "a  gap"), "code is exact")

    def test_a_paragraph_that_is_new(self) -> None:
        self.assertEqual(
            [("new", 12, 11), ("new", 14, 11)], self.behind("## H", "New.\n\nNewer.\n\n## H")
        )
        self.assertEqual([("new", 16, 13)], self.behind("Last.", "Last.\n\nMore."))

    def test_a_paragraph_that_is_gone(self) -> None:
        self.assertEqual([("gone", 12, 13)], self.behind("\nLast.\n", ""))
        self.assertEqual([("gone", 3, 3)], self.behind("First line\nof a paragraph.\n\n", ""))

    def test_the_command_names_them_and_records_that_they_are_done(self) -> None:
        self.behind("Last.", "The end.")
        done = self.lab("dev", "translations")
        self.assert_status(0, done)
        self.assertIn(
            "docs/pl/01_title.md:13: changed in docs/01_title.md:14: The end.", done.stdout
        )
        self.assertIn("docs/pl/01_title.md: 1 of 5 paragraphs are behind", done.stdout)
        done = self.lab("dev", "translations", "--record", "pl/01")
        self.assertIn("docs/pl/01_title.md: up to date", done.stdout)
        self.assertEqual([], translations.behind(self.page))

    def test_pages_that_do_not_match_are_refused(self) -> None:
        self.page.write_text(POLISH + "\nI jeszcze.\n")
        ((line, problem),) = translations.problems(self.page)
        self.assertEqual(15, line)
        self.assertIn("this page has 6 paragraphs, and its file .english knows 5", problem)
        self.assert_status(1, self.lab("dev", "translations"))
        self.page.write_text(POLISH.replace("## Nag", "### Nag"))
        ((line, problem),) = translations.problems(self.page)
        self.assertEqual(11, line)
        self.assertIn("a heading of level 3 stands for a heading of level 2", problem)

    def test_a_name_of_no_page(self) -> None:
        done = self.lab("dev", "translations", "--record", "pl/02")
        self.assert_status(2, done)
        self.assertIn("'pl/02' is not one translated page; there are: pl/01_title.", done.stderr)


class CourseTest(unittest.TestCase):
    """The pages that there are."""

    def code(self, page: Path) -> List[str]:
        """Blocks of code without their comments, which are translated."""
        found = [p.text for p in translations.paragraphs(page.read_text()) if p.kind == "code"]
        return [
            "\n".join(x.split("//")[0].split(" #")[0].rstrip() for x in b.split("\n"))
            for b in found
        ]

    def links(self, text: str) -> List[str]:
        """Links, those to headings of the same page by the heading's number; drawings may be
        translated."""
        own = {f"#{anchor}": f"#{n}" for n, anchor in enumerate(pages.anchors(text))}
        targets = [target.replace("../", "") for _, target in pages.links(text)]
        targets = [re.sub("(?<=diagrams/)[a-z]{2}/", "", target) for target in targets]
        return [own.get(target, target) for target in targets]

    def test_what_need_not_be_translated_is_the_same(self) -> None:
        for page in translations.all_pages(REPOSITORY):
            original = translations.original(page)
            self.assertEqual([], list(translations.problems(page)))
            if translations.behind(page):
                continue
            text, english = page.read_text(), original.read_text()
            for here, there in zip(self.code(page), self.code(original)):
                if "scripts/lab" in there or ";" in there:
                    self.assertEqual(there, here)
            self.assertEqual(self.links(english), self.links(text))


if __name__ == "__main__":
    unittest.main()
