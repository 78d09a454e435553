# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The tokens of scripts/lab are those of the rewriter, on every source of the course.

usage: cuda_tokens_test.py CUDA_REWRITER
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import List, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from lablib.cuda_tokens import all_tokens, code_only  # noqa: E402

KINDS = {"identifier": "name", "number": "number", "string": "string", "character": "string"}
Piece = Tuple[str, int, int]  # kind, start, end


def of_the_rewriter(path: Path, text: str) -> List[Piece]:
    output = subprocess.run(
        [REWRITER, "--tokens", str(path)], check=True, capture_output=True, text=True
    ).stdout
    found: List[Piece] = []
    for line in output.splitlines():
        kind, start, length = line.split()[:3]
        begin, end = int(start), int(start) + int(length)
        found += pieces(KINDS.get(kind, "op"), begin, end, text)
    return found


def of_python(text: str) -> List[Piece]:
    found: List[Piece] = []
    for token in all_tokens(text):
        found += pieces(token.kind, token.start, token.end, text)
    return found


def pieces(kind: str, start: int, end: int, text: str) -> List[Piece]:
    """Operators by the character: how many make one is each one's own affair."""
    if kind != "op":
        return [(kind, start, end)]
    return [("op", i, i + 1) for i in range(start, end) if not text[i].isspace()]


class Tokens(unittest.TestCase):
    def expect_same(self, path: Path) -> None:
        text = path.read_bytes().decode("latin-1")  # a character a byte
        ours, theirs = of_python(text), of_the_rewriter(path, text)
        for mine, other in zip(ours, theirs):
            if mine != other:
                self.fail(f"{path}:{text.count(chr(10), 0, mine[1]) + 1}: {mine}, but {other}")
        self.assertEqual(len(ours), len(theirs), str(path))

    def test_are_the_same_for_all_sources(self) -> None:
        compared = 0
        for folder in ("solutions", "tests", "common"):
            for path in sorted((ROOT / folder).rglob("*")):
                if path.suffix not in (".cu", ".cuh", ".hpp", ".h", ".cpp"):
                    continue
                # The rewriter leaves out what is never compiled.
                if re.search(rb"^\s*#\s*if\s+(0|1|true|false)\s*$", path.read_bytes(), re.M):
                    continue
                self.expect_same(path)
                compared += 1
        self.assertGreater(compared, 300)

    def test_are_the_same_for_odd_ones(self) -> None:
        for text in (
            'auto a = R"x(" )" // )y" )x" + u8"b\\"c" + L\'\\\'\';\n',
            "int x = 1'000.5e-3f + 0x1p+4 + .5;\n",
            "// a comment \\\n that goes on\nint x;\n",
            "#define F(a) \\\n a\nint y; /* # */\n",
            "#define G /* a\n b */ 1\nint z;\n",
            "k<<<1, v<w<2>>>>>(); a <<= b >> c;\n",
        ):
            with tempfile.NamedTemporaryFile(suffix=".cu") as file:
                file.write(text.encode())
                file.flush()
                self.expect_same(Path(file.name))

    def test_without_comments_and_white_space(self) -> None:
        self.assertEqual(code_only("int  a; // b\n"), code_only("int a /* c */;"))
        self.assertNotEqual(code_only("return x;"), code_only("returnx;"))
        self.assertNotEqual(code_only("#define A 1\n"), code_only("#define A 2\n"))
        self.assertEqual(code_only("#define A 1  // one\n"), code_only("# define A 1\n"))
        self.assertNotEqual(code_only("#define A\nb"), code_only("#define A b"))


if __name__ == "__main__":
    REWRITER = sys.argv.pop(1)
    unittest.main()
