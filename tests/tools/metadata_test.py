# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""exercise.toml: what it may say, and who shows it."""

import unittest

from fakes import LabTest
from lablib import metadata
from lablib.errors import LabError
from lablib.exercises import find_exercises

CONTRACT = "namespace lab::dot_product {\nenum class step { first, second };\n}\n"


class MetadataTest(LabTest):
    def setUp(self) -> None:
        super().setUp()
        self.exercises = find_exercises(self.root)
        self.vector_add, self.dot_product, *_ = self.exercises
        self.contract = self.dot_product.folder / "dot_product.hpp"
        self.contract.write_text(CONTRACT)
        for exercise in self.exercises:
            exercise.metadata_file.write_text("minutes = 30\nprerequisites = []\n")

    def write(self, text: str) -> None:
        self.dot_product.metadata_file.write_text(text)

    def test_what_is_read(self):
        bench = 'bench = ["--size 1M", "--size 16M --seed 2"]\n'
        points = "[points]\nfirst = 60\nsecond = 40\n"
        self.write('minutes = 60\nprerequisites = ["03.1"]\n' + bench + points)
        data = metadata.read(self.dot_product)
        self.assertEqual((60, ("03.1",)), (data.minutes, data.prerequisites))
        self.assertEqual(("--size 1M", "--size 16M --seed 2"), data.bench)
        self.assertEqual({"first": 60, "second": 40}, metadata.weights(self.dot_product))
        self.assertEqual([], metadata.problems(self.exercises))

    def test_steps_without_points_weigh_the_same(self):
        self.assertEqual({"first": 1, "second": 1}, metadata.weights(self.dot_product))
        self.dot_product.metadata_file.unlink()
        self.assertEqual({"first": 1, "second": 1}, metadata.weights(self.dot_product))

    def test_each_mistake_has_a_sentence_and_a_line(self):
        ok = "minutes = 30\nprerequisites = []\n"
        for text, line, pattern in (
            ("", 1, "minutes must be a whole number"),
            ("minutes = 0\nprerequisites = []\n", 1, "minutes must be"),
            ("minutes = true\nprerequisites = []\n", 1, "minutes must be"),
            ('minutes = "30"\nprerequisites = []\n', 1, "minutes must be"),
            ("minutes = 601\nprerequisites = []\n", 1, "minutes must be"),
            ("minutes = 30\n", 1, "prerequisites must be"),
            ('minutes = 30\nprerequisites = "03.1"\n', 2, "prerequisites must be"),
            ("minutes = 30\nprerequisites = [3.1]\n", 2, "prerequisites must be"),
            ('minutes = 30\nprerequisites = ["vector_add"]\n', 2, "prerequisites must be"),
            (f'{ok}bench = "--size 1M"\n', 3, "bench must be a list of arguments"),
            (f'{ok}bench = ["1M"]\n', 3, "bench must be a list of arguments"),
            (f"{ok}profile = 3\n", 3, "profile must be arguments"),
            (f'{ok}profile = "1M"\n', 3, "profile must be arguments"),
            (f"{ok}figures = 3\n", 3, "figures must be a sentence"),
            (f'{ok}kernels = "insert"\n', 3, "kernels must be a list of names"),
            (f"{ok}compared = 0\n", 3, "compared must be true or false"),
            (f'{ok}title = "x"\n', 3, "'title' has no meaning"),
            (f"{ok}points = 3\n", 3, "points must be a table"),
            (f"{ok}[points]\nfirst = 0\nsecond = 1\n", 3, "1 to 100 points"),
            (f"{ok}[points]\nfirst = 1\n", 3, "each step of the contract once: first, second"),
            (f"{ok}[points]\nfirst = 1\nsecond = 1\nthird = 1\n", 3, "each step"),
            ("minutes = 30\nprerequisites = [\n\nx", 4, "cannot be read"),
        ):
            self.write(text)
            with self.subTest(text):
                with self.assertRaisesRegex(LabError, pattern) as raised:
                    metadata.read(self.dot_product)
                place = f"{self.dot_product.metadata_file}:{line}: "
                self.assertTrue(str(raised.exception).startswith(place), raised.exception)

    def test_prerequisites_are_exercises_that_come_before_and_are_needed(self):
        self.dot_product.metadata_file.write_text('minutes = 30\nprerequisites = ["03.1"]\n')
        for prerequisites, pattern in (
            ('["04.1"]', "04.1 is not an exercise"),
            ('["05.2"]', "05.2 does not come before 05.2"),
            ('["15.10"]', "15.10 does not come before 05.2"),
            ('["05.1", "05.1"]', "05.1 is there twice"),
            ('["03.1", "05.1"]', "03.1 is a prerequisite of another one"),
        ):
            file = self.exercises[2].metadata_file
            file.write_text(f"minutes = 30\nprerequisites = {prerequisites}\n")
            with self.subTest(prerequisites):
                found = metadata.problems(self.exercises)
                self.assertEqual(1, len(found), found)
                self.assertRegex(found[0], pattern)
        file.write_text('minutes = 30\nprerequisites = ["05.1"]\n')
        self.assertEqual([], metadata.problems(self.exercises))

    def test_the_title_is_the_program_s_own_description(self):
        main = self.dot_product.folder / "main.cpp"
        main.write_text('lab::program program("05.1_x",\n   "A \\"dot\\" product, "\n  "twice.");')
        self.assertEqual('A "dot" product, twice.', metadata.title(self.dot_product))
        main.write_text("int main() {}\n")
        self.assertEqual("", metadata.title(self.dot_product))

    def test_chapters_get_one_line_an_exercise_and_keep_it_up_to_date(self):
        page = self.root / "docs" / "05_shared_memory.md"
        page.parent.mkdir()
        page.write_text("# 05\n\n## 05.1 dot_product\n\nText.\n\n## 05.2 divergent_barrier\n")
        self.write('minutes = 60\nprerequisites = ["03.1"]\n')
        file = self.exercises[2].metadata_file
        file.write_text('minutes = 1\nprerequisites = ["05.1"]\n')
        wanted = (
            "# 05\n\n## 05.1 dot_product\n\n"
            "*About 60 minutes. Do [03.1](03_vectors.md#031-vector_add) first.*\n\n"
            f"{self.files('1_dot_product')}\n\nText.\n\n"
            "## 05.2 divergent_barrier\n\n*About 1 minute. Do [05.1](#051-dot_product) first.*\n\n"
            f"{self.files('2_divergent_barrier')}\n"
        )
        self.assertEqual(wanted, metadata.with_summaries(page, self.exercises))
        page.write_text(wanted)
        self.assertEqual(wanted, metadata.with_summaries(page, self.exercises))
        self.write("minutes = 45\nprerequisites = []\n")
        given = self.dot_product.folder / "given.hpp"
        given.write_text("#include <thrust/sort.h>\n")
        self.assertIn(
            "\n*About 45 minutes. It needs Thrust.*\n",
            metadata.with_summaries(page, self.exercises),
        )
        given.unlink()
        self.assert_status(0, self.lab("dev", "starters"))
        lines = f"*About 45 minutes.*\n\n{self.files('1_dot_product')}\n\nText."
        self.assertIn(f"dot_product\n\n{lines}", page.read_text())

    @staticmethod
    def files(folder: str) -> str:
        """The links to an exercise's files, as chapter 05 has them."""
        lab, name = f"../labs/05_shared_memory/{folder}", folder.partition("_")[2]
        return (
            f"[your file]({lab}/{name}.cu) ·\n[contract]({lab}/{name}.hpp) ·\n"
            f"[program]({lab}/main.cpp) ·\n[tests](../tests/05_shared_memory/{name}_test.cpp) ·\n"
            f"[hints]({lab}/hints.md) ·\n"
            f"[solution](../solutions/05_shared_memory/{folder}/{name}.cu)"
        )

    def test_stale_links_to_files_are_replaced_and_other_languages_have_their_words(self):
        old = "## 05.1 dot_product\n\n*45 min*\n\n[twój plik](x) ·\n[inne](y)\n\nTekst.\n"
        names = metadata.FILES["pl"]
        text = metadata.with_files(old, [self.dot_product], "../..", names)
        self.assertEqual(text, metadata.with_files(text, [self.dot_product], "../..", names))
        self.assertIn("[twój plik](../../labs/05_shared_memory/1_dot_product/", text)
        self.assertIn("dot_product.cu)\n\nTekst.\n", text)
        self.assertNotIn("(x)", text)
        self.assertNotIn("(y)", text)

    def test_list_shows_it(self):
        main = self.dot_product.folder / "main.cpp"
        main.write_text('lab::program program("05.1_x", "A dot product.");')
        self.write('minutes = 60\nprerequisites = ["03.1"]\n')
        self.assertRegex(self.lab("list").stdout, r"05\.1 dot_product +60 min ")
        self.assertIn("    A dot product. First: 03.1.\n", self.lab("list", "05.1").stdout)
        main.write_text('#include <lab/mpi_job.hpp>\nlab::program program("05.1_x", "A sum.");')
        given = self.dot_product.folder / "given.hpp"
        given.write_text('  #  include "nccl.h"\n#include "own_nccl.hpp"\n// #include <GL/gl.h>\n')
        needs = "    A sum. First: 03.1. It needs Open MPI and NCCL on a GPU.\n"
        self.assertIn(needs, self.lab("list", "05.1").stdout)
        given.write_text('#include "own_nccl.hpp"\n')
        self.assertIn("First: 03.1. It needs Open MPI.\n", self.lab("list", "05.1").stdout)
        self.write("minutes =")
        self.assertRegex(self.lab("list").stdout, r"05\.1 dot_product +not started")


if __name__ == "__main__":
    unittest.main()
