# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Nothing is used before it is taught: names of CUDA in code, terms of the glossary in chapters."""

import unittest
from typing import List

from fakes import LabTest
from lablib import pages, vocabulary
from lablib.exercises import find_exercises


class NamesTest(unittest.TestCase):
    def names(self, text: str) -> List[str]:
        return [name for _, name in vocabulary.names_in(text)]

    def test_what_a_name_is(self):
        for text, wanted in (
            ("cudaMalloc(&p, 4);", ["cudaMalloc"]),
            ("cudaStream_t s; cublasDdot(h);", ["cudaStream_t", "cublasDdot"]),
            ("__global__ void f() { __syncthreads(); }", ["__global__", "__syncthreads"]),
            ("atomicAdd_block(p, 1); tex1Dfetch<float>(v, i)", ["atomicAdd_block", "tex1Dfetch"]),
            ("threadIdx.x + blockDim.y", ["threadIdx", "blockDim"]),
            ("cuda::atomic_ref<int> a; cg::sync(b);", ["cuda::atomic_ref", "cg::sync"]),
            ("#pragma unroll\nfor (;;) {}", ["#pragma unroll"]),
            ("lab::cuda_check(x); cudart; my_atomicAdd; __FILE__; std::cuda", []),
            ('// cudaMalloc\n/* __syncthreads */ "cudaFree"', []),
        ):
            with self.subTest(text):
                self.assertEqual(wanted, self.names(text))

    def test_lines(self):
        text = "\n// x\n__global__ void f();\n\n#pragma unroll\ncudaFree(p);\n"
        self.assertEqual(
            [(3, "__global__"), (5, "#pragma unroll"), (6, "cudaFree")],
            list(vocabulary.names_in(text)),
        )


class VocabularyTest(LabTest):
    def setUp(self) -> None:
        super().setUp()
        self.docs = self.root / "docs"
        self.docs.mkdir()
        for exercise in find_exercises(self.root):
            exercise.chapter_page.write_text(f"# {exercise.chapter}\n")

    def write(self, chapter: str, text: str) -> None:
        (self.docs / f"{chapter}.md").write_text(text)

    def code(self, tree: str, text: str) -> None:
        path = self.root / tree / "05_shared_memory/1_dot_product/dot_product.cu"
        path.write_text(text)

    def found(self) -> List[str]:
        exercises = find_exercises(self.root)
        return [
            f"{problem.path.relative_to(self.root)}:{problem.line}: {problem.message}"
            for problem in (
                *vocabulary.untaught_names(self.root, exercises),
                *vocabulary.untaught_terms(self.root),
            )
        ]

    def test_a_name_that_no_chapter_explains(self):
        self.code("solutions", "int x;\ncudaMalloc();\ncudaMalloc();\n")
        (problem,) = self.found()
        self.assertRegex(
            problem,
            r"^solutions/05_shared_memory/1_dot_product/dot_product.cu:2: cudaMalloc is .*"
            r" no chapter explains it: say in docs/05_shared_memory.md what it is$",
        )

    def test_a_name_that_a_later_chapter_explains(self):
        self.code("labs", "cudaMalloc();\n")
        self.write("15_locks", "`cudaMalloc` allocates.\n")
        (problem,) = self.found()
        self.assertRegex(problem, "^labs/.*:1: cudaMalloc .* explained only in chapter 15")

    def test_the_table_has_a_line_for_each_name(self):
        self.code("labs", "cudaFree(); cudaMalloc();\n")
        self.code("solutions", "cudaMalloc(); warpSize;\n")
        self.write("15_locks", "`cudaMalloc`\n")
        self.assertEqual(
            vocabulary.table(self.root, find_exercises(self.root)).split("\n"),
            [
                "name        first use         explained in",
                "cudaFree    05.1 dot_product",
                "cudaMalloc  05.1 dot_product  15",
                "warpSize    05.1 dot_product",
            ],
        )

    def test_the_own_chapter_and_those_before_explain(self):
        for chapter in ("03_vectors", "05_shared_memory"):
            for text in (
                "`cudaMalloc(&p, n)` allocates, and `memory_order_acquire` orders.\n",
                "All `cudaMal…` allocate, and so do all `memory_order_…`.\n",
            ):
                with self.subTest(chapter=chapter, text=text):
                    self.code("labs", "cudaMalloc(); cuda::memory_order_acquire;\n")
                    self.write(chapter, text)
                    self.assertEqual([], self.found())
            self.write(chapter, "# empty\n")

    def test_a_part_of_a_word_explains_nothing(self):
        self.code("labs", "cudaMalloc();\n#pragma unroll\n")
        self.write("05_shared_memory", "`cudaMallocPitch`, `cudaM`, unroll, cu…\n")
        self.assertEqual(2, len(self.found()))
        self.write("05_shared_memory", "`cudaMalloc` and `#pragma unroll`\n")
        self.assertEqual([], self.found())

    def test_the_section_on_libraries_explains_nothing(self):
        self.code("labs", "cudaMalloc();\n")
        box = f"## {pages.LIBRARIES}\n\n> `cudaMalloc`, `cudaM…`\n"
        for text, problems in (
            (f"{box}\n## Questions\n", 1),
            (box, 1),
            (f"`cudaMalloc`\n\n{box}", 0),
            (f"{box}\n## Questions\n\n1. `cudaMalloc`?\n", 0),
        ):
            with self.subTest(text=text):
                self.write("05_shared_memory", text)
                self.assertEqual(problems, len(self.found()))

    def test_terms_of_the_glossary(self):
        glossary = (
            "# Glossary\n\n**Fused multiply-add (FMA).** One\ninstruction."
            " [Chapter 05](05_shared_memory.md)\n\n**Unknown.** It has no chapter.\n"
        )
        self.write("glossary", glossary)
        link = "[chapter 05](05_shared_memory.md)"
        for text, line in (
            ("# 03\n\nA fused multiply-add.\n", 3),
            ("# 03\n\nTwo\nFMAs.\n", 4),
            ("# 03\n\nAn unknown FMAX.\n", 0),
            (f"# 03\n\nAn FMA ({link}).\n", 0),
            (f"# 03\n\nAn FMA, which is in\n{link}.\n", 0),
            (f"# 03\n\nAn FMA, but\n\nsomewhere\n\nelse {link}.\n", 3),
            ("# 03\n\n```\nFMA\n```\n", 0),
            ("# 03\n\n[that](glossary.md#fma)\n", 0),
        ):
            with self.subTest(text):
                self.write("03_vectors", text)
                found = self.found()
                if line:
                    (problem,) = found
                    self.assertRegex(problem, rf"^docs/03_vectors.md:{line}: 'Fused .* chapter 05")
                else:
                    self.assertEqual([], found)
        self.write("03_vectors", "An FMA.\n")
        self.write("glossary", glossary.replace("[Chap", "[03.1](03_vectors.md), [Chap"))
        self.assertEqual([], self.found())


if __name__ == "__main__":
    unittest.main()
