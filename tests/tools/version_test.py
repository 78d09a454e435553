# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The version: where it is read, and that CMakeLists.txt, changelog and tag agree."""

import subprocess
import unittest

from fakes import REPOSITORY, LabTest
from lablib import version


class VersionTest(LabTest):
    def setUp(self) -> None:
        super().setUp()
        self.changelog = self.root / "docs/changelog.md"
        self.changelog.parent.mkdir(exist_ok=True)
        self.cmake("1.2.3")
        self.sections("1.2.3, unreleased", "1.2.2, 2030-01-31")
        self.git("init", "--quiet")
        self.git("commit", "--quiet", "--allow-empty", "--message", "First")

    def git(self, *arguments: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=self.root, check=True)

    def cmake(self, number: str) -> None:
        text = (
            f"cmake_minimum_required(VERSION 3.25)\nproject(cuda_labs VERSION {number} LANGUAGES C)"
        )
        (self.root / "CMakeLists.txt").write_text(text)

    def sections(self, *headings: str) -> None:
        self.changelog.write_text("# Changelog\n" + "".join(f"\n## {h}\n\n- x\n" for h in headings))

    def problems(self) -> str:
        return " ".join(f"{path}:{line} {text}" for path, line, text in version.problems(self.root))

    def test_before_a_tag_the_commit_is_named(self) -> None:
        done = self.lab("--version")
        self.assert_status(0, done)
        self.assertRegex(done.stdout, r"^CUDA Labs 1\.2\.3, not released, commit [0-9a-f]{7,}\n$")
        self.assertEqual("", self.problems())

    def test_with_a_tag_it_is_that(self) -> None:
        self.sections("1.2.3, 2030-12-31", "1.2.2, 2030-01-31")
        self.git("tag", "v1.2.3")
        self.assertEqual("1.2.3", version.describe(self.root))
        self.assertEqual("", self.problems())

    def test_a_tag_that_differs(self) -> None:
        self.git("tag", "v1.2.3")
        self.assertIn("changelog.md:3 this commit has the tag v1.2.3: give its", self.problems())
        self.git("tag", "v1.3.0")
        self.git("update-ref", "-d", "refs/tags/v1.2.3")
        self.assertIn("the version is 1.2.3, and this commit's tag v1.3.0", self.problems())
        self.assertIn("1.2.3, not released, commit", version.describe(self.root))

    def test_a_changelog_that_differs(self) -> None:
        for headings, sentence in (
            (["1.2.4, unreleased"], "changelog.md:3 the first section is not that of 1.2.3"),
            ([], "changelog.md:1 the first section is not that of 1.2.3"),
            (["Unreleased"], "changelog.md:3 a heading is `## 1.2.3, 2030-12-31`"),
            (["1.2.3, unreleased", "1.10.0, 2030-01-01"], ":7 this version is not below the one"),
            (["1.2.3, 2030-01-01", "1.2.2, unreleased"], ":7 only the first section can be"),
        ):
            with self.subTest(headings):
                self.sections(*headings)
                self.assertIn(sentence, self.problems())

    def test_numbers_are_compared_as_numbers(self) -> None:
        self.cmake("1.10.0")
        self.sections("1.10.0, unreleased", "1.9.0, 2030-01-01")
        self.assertEqual("", self.problems())

    def test_a_citation_that_differs(self) -> None:
        citation = self.root / "CITATION.cff"
        complaint = "there is no `version: 1.2.3`, as in CMakeLists.txt"
        for text, problem in (
            ("title: x\nversion: 1.2.3\n", ""),
            ("title: x\nversion: 1.2.2\n", f"CITATION.cff:2 {complaint}"),
            ("cff-version: 1.2.3\n", f"CITATION.cff:1 {complaint}"),
        ):
            with self.subTest(text):
                citation.write_text(text)
                self.assertEqual(problem, self.problems())

    def test_the_address_of_the_repository(self) -> None:
        page = "git clone ADDRESS-OF-THE-REPOSITORY course"
        self.assertEqual(page, version.with_address(page, self.root))
        citation = self.root / "CITATION.cff"
        course = "https://forge.example/us/course"
        for line, address in (
            (f'repository-code: "{course}"', course),
            (f"repository-code: {course}", course),
            ("title: no repository-code: x", ""),
        ):
            with self.subTest(line):
                citation.write_text(f"title: x\n{line}\nversion: 1.2.3\n")
                self.assertEqual(address, version.address(self.root))
                self.assertEqual(
                    f"git clone {address or 'ADDRESS-OF-THE-REPOSITORY'} course",
                    version.with_address(page, self.root),
                )

    def test_the_page_on_citing_has_the_title_and_the_license_of_the_file(self) -> None:
        cited = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
        page = (REPOSITORY / "docs/citing.md").read_text(encoding="utf-8")
        title = next(x for x in cited.splitlines() if x.startswith("title: "))[len("title: ") :]
        self.assertIn(f"*{title[1:-1]}.*", page)
        self.assertIn("license: Apache-2.0\n", cited)

    def test_without_a_number(self) -> None:
        (self.root / "CMakeLists.txt").write_text("project(cuda_labs LANGUAGES C)")
        self.assertIn("there is no `project(cuda_labs VERSION", self.problems())
        self.assertTrue(version.describe(self.root).startswith("not released, commit"))

    def test_this_course_has_one(self) -> None:
        self.assertRegex(version.read(REPOSITORY), r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
