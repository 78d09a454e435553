# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""CUDA C++ cut into tokens, for what reads sources without a build.

The rewriter of the CPU device has a tokeniser of its own, in C++. A test compares the two on all
sources of the course (tests/cpu_device/cuda_tokens_test.py).
"""

import re
from dataclasses import dataclass
from typing import List

_TOKEN = re.compile(
    r"""
    (?P<directive>^(?:[ \t]|/\*(?:[^*]|\*(?!/))*\*/)*\#(?P<line>(?:/\*.*?\*/|\\\n|[^\n])*))
  | (?P<skip>\n|\\\n|[^\S\n]+|//(?:\\\n|[^\n])*|/\*.*?\*/)
  | (?P<string>(?:u8|[uUL])?(?:R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"
                              |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
  | (?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<op><<<|>>>|<=>|<<=|>>=|->\*?|::|\+\+|--|&&|\|\||<<|[-+*/%&|^<>=!]=|.)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Token:
    kind: str  # name, number, string or op
    text: str
    start: int
    end: int


def all_tokens(text: str) -> List[Token]:
    """The tokens outside of comments and preprocessor lines."""
    found: List[Token] = []
    for match in _TOKEN.finditer(text):
        kind = "string" if match["string"] is not None else str(match.lastgroup)
        if kind not in ("directive", "skip"):
            found.append(Token(kind, match[0], *match.span()))
    return found


def code_only(text: str) -> List[str]:
    """What is left without comments and white space, preprocessor lines included."""
    found: List[str] = []
    for match in _TOKEN.finditer(text):
        if match["directive"] is not None:
            found += ["#", *code_only(match["line"].replace("\\\n", " ")), "\n"]
        elif match["skip"] is None:
            found.append(match[0])
    return found
