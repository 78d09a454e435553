# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Misspelled names of tests."""

import unittest

from fakes import REPOSITORY  # noqa: F401  (finds lablib)
from lablib.test_names import unknown

DICTIONARY = {"refuses", "that", "none", "test", "tolerance", "block's", "takes"}


def words(text, **others):
    files = {"a_test.cpp": text, **{f"{name}.md": other for name, other in others.items()}}
    return [(place, word) for place, _, word in unknown(files, DICTIONARY)]


class UnknownTest(unittest.TestCase):
    def test_a_word_that_is_in_no_dictionary_is_found_with_its_line(self):
        text = "// A test.\nTEST(Block, RefusesATolerancThatIsNone) {\n"
        self.assertEqual([("a_test.cpp:2", "toleranc")], words(text, page="A block"))

    def test_a_word_of_python_is_found(self):
        self.assertEqual([("a_test.cpp:1", "toleranc")], words("def test_takes_toleranc(self):\n"))

    def test_words_used_elsewhere_and_possessives_are_right(self):
        text = "TEST_P(Warp, TakesABlocksTexels) {\n"
        self.assertEqual([], words(text, page="a texel, its texels; a warp"))
        self.assertEqual([("a_test.cpp:1", "texels")], words(text, page="a warp"))

    def test_another_name_does_not_make_it_right(self):
        text = "TEST(None, RefusesToleranc) {\n}\nTEST(None, TakesToleranc) {\n"
        self.assertEqual(["toleranc", "toleranc"], [word for _, word in words(text)])


if __name__ == "__main__":
    unittest.main()
