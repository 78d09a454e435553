# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Finding exercises in the tree, and what a student may call them."""

import os
import unittest

from fakes import Tree
from lablib.errors import USAGE, LabError
from lablib.exercises import find_exercises, resolve, resolve_all, resolve_one


class FindTest(Tree):
    def test_folders_are_the_list_and_numbers_the_order(self):
        (self.root / "labs" / "05_shared_memory" / "images").mkdir()
        (self.root / "labs" / "05_shared_memory" / "3_empty").mkdir()  # no main.cpp, no header
        header_only = self.root / "labs" / "05_shared_memory" / "9_header_only"
        header_only.mkdir()
        (header_only / "header_only.hpp").write_text("")
        self.add_exercise("05_shared_memory", "10_last")
        self.assertEqual(
            [
                "03.1_vector_add",
                "05.1_dot_product",
                "05.2_divergent_barrier",
                "05.9_header_only",
                "05.10_last",
                "15.10_dot_with_lock",
            ],
            [exercise.full_name for exercise in find_exercises(self.root)],
        )

    def test_two_folders_with_one_number_are_an_error(self):
        self.add_exercise("05_shared_memory", "1_other")
        with self.assertRaisesRegex(LabError, r"05\.1.*1_dot_product.*1_other"):
            find_exercises(self.root)


class ResolveTest(Tree):
    def one(self, text):
        return resolve_one(self.root, text).full_name

    def assert_usage(self, text, pattern):
        with self.assertRaisesRegex(LabError, pattern) as caught:
            resolve_one(self.root, text)
        self.assertEqual(USAGE, caught.exception.exit_code)

    def test_all_ways_to_name_an_exercise(self):
        for text in (
            "05.1",
            "5.1",
            "dot_product",
            "DOT-product",
            "dot_prod",
            "05.1_dot_product",
            "1_dot_product",
            "labs/05_shared_memory/1_dot_product",
            "labs/05_shared_memory/1_dot_product/",
            "solutions/05_shared_memory/1_dot_product/dot_product.cu",
            str(self.root / "labs/05_shared_memory/1_dot_product/dot_product.cu"),
            "dot_product.cu",
        ):
            with self.subTest(text):
                self.assertEqual("05.1_dot_product", self.one(text))

    def test_a_path_is_seen_from_the_current_folder(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.root / "labs" / "05_shared_memory" / "2_divergent_barrier")
        self.assertEqual("05.2_divergent_barrier", self.one("."))
        self.assertEqual("05.1_dot_product", self.one("../1_dot_product"))

    def test_numbers_are_not_compared_as_text(self):
        self.assertEqual("15.10_dot_with_lock", self.one("15.10"))
        self.assert_usage("15.1", "no exercise '15.1'")

    def test_a_chapter_is_one_exercise_only_where_it_has_one(self):
        self.assertEqual("03.1_vector_add", self.one("03"))
        self.assert_usage("05", r"05\.1 dot_product and 05\.2 divergent_barrier")
        self.assertEqual(2, len(resolve(self.root, "shared_memory")))
        self.assertEqual(2, len(resolve(self.root, "labs/05_shared_memory")))

    def test_an_exact_name_wins_over_a_part(self):
        self.add_exercise("12_multi_gpu", "1_zero_copy_dot_product")
        self.assertEqual("05.1_dot_product", self.one("dot_product"))

    def test_an_ambiguous_part_lists_the_candidates(self):
        self.assert_usage("dot", r"05\.1 dot_product and 15\.10 dot_with_lock")

    def test_an_unknown_name_gets_the_nearest(self):
        self.assert_usage(
            "dot_produkt", r"no exercise 'dot_produkt'.*Did you mean 05\.1 dot_product"
        )
        self.assert_usage("", "no exercise")
        self.assert_usage("zzzzzz", "scripts/lab list")

    def test_several_come_in_their_order_and_once(self):
        names = [exercise.id for exercise in resolve_all(self.root, ["05", "vector_add", "05.1"])]
        self.assertEqual(["03.1", "05.1", "05.2"], names)


if __name__ == "__main__":
    unittest.main()
