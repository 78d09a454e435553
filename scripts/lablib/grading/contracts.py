#!/usr/bin/env python3
# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The two ends of a contract, made from its header: the proxy that a grader's test calls, and the
stub that a worker answers with.

    contracts.py CONTRACT.hpp --proxy proxy.cpp --stub stub.cpp

The header is read as tokens: in its namespace, what ends in `)` and `;` is a function to cross, and
a class derived from an exception crosses when it is thrown. Everything else (structures, what they
hold) is the compiler's knowledge: grading/wire/codec.hpp.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lablib.cuda_tokens import Token, all_tokens  # noqa: E402

_OPEN = {"(": ")", "[": "]", "{": "}"}
_NO_NAMES = {"int", "unsigned", "long", "short", "char", "float", "double", "bool", "const"}


class NotUnderstood(Exception):
    """A declaration that this reader does not know."""


@dataclass(frozen=True)
class Function:
    name: str
    result: str
    parameters: Tuple[str, ...]  # their types

    @property
    def key(self) -> str:
        """What it is called on the wire: overloads have names of their own."""
        return f"{self.name}({', '.join(self.parameters)})"


@dataclass(frozen=True)
class Thrown:
    """An exception class, made from its text or from a member, which its constructor takes."""

    name: str
    member: Optional[str] = None


@dataclass(frozen=True)
class Contract:
    header: Path
    namespace: str
    functions: Tuple[Function, ...]
    exceptions: Tuple[Thrown, ...]


def read(header: Path) -> Contract:
    try:
        tokens = all_tokens(header.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise NotUnderstood(f"{header} cannot be read: {error}") from error
    namespace, body = _namespace(tokens, header)
    functions: List[Function] = []
    exceptions: List[Thrown] = []
    for declaration in _declarations(body):
        words = [token.text for token in declaration]
        if words[0] in ("class", "struct") and ":" in words and "{" in words:
            exceptions += _exception(words)
        elif words[0] in ("using", "template", "inline", "constexpr", "static", "friend"):
            continue  # whole where it stands
        elif words[-1] in (")", "noexcept"):
            functions.append(_function(declaration, header))
    if not functions:
        raise NotUnderstood(f"{header} declares no function")
    return Contract(header, namespace, tuple(functions), tuple(exceptions))


def _namespace(tokens: Sequence[Token], header: Path) -> Tuple[str, Sequence[Token]]:
    words = [token.text for token in tokens]
    try:
        at = words.index("namespace")
        start = words.index("{", at)
    except ValueError:
        raise NotUnderstood(f"{header} has no namespace") from None
    end = _closing(words, start)
    if "namespace" in words[end:]:
        raise NotUnderstood(f"{header} has more than one namespace")
    return "".join(words[at + 1 : start]), tokens[start + 1 : end]


def _closing(words: Sequence[str], start: int) -> int:
    depth = 0
    for i in range(start, len(words)):
        if words[i] in _OPEN:
            depth += 1
        elif words[i] in _OPEN.values():
            depth -= 1
            if depth == 0:
                return i
    raise NotUnderstood(f"no {_OPEN[words[start]]} for a {words[start]}")


def _declarations(body: Sequence[Token]) -> List[List[Token]]:
    found: List[List[Token]] = []
    current: List[Token] = []
    depth = 0
    is_body = False  # what the outermost braces are
    for token in body:
        if depth == 0 and token.text == ";":
            if current:
                found.append(current)
            current = []
            continue
        if token.text in _OPEN:
            if depth == 0:
                is_body = bool(current) and current[-1].text in (")", "noexcept")
            depth += 1
        elif token.text in _OPEN.values():
            depth -= 1
        current.append(token)
        # The body of a function ends without a semicolon.
        if depth == 0 and token.text == "}" and is_body:
            found.append(current)
            current = []
    return found


def _exception(words: Sequence[str]) -> List[Thrown]:
    name = words[1]
    start = words.index("{")
    bases = "".join(words[words.index(":") : start])
    if "error" not in bases and "exception" not in bases:
        return []
    body = words[start + 1 : _closing(words, start)]
    if "using" in body:
        return [Thrown(name)]
    # explicit NAME(const TYPE& …) … and a member `TYPE name;`
    for i in range(len(body) - 5):
        if body[i : i + 3] == ["explicit", name, "("] and body[i + 3] == "const":
            type_name = body[i + 4]
            for j in range(len(body) - 2):
                if body[j] == type_name and body[j + 2] == ";":
                    return [Thrown(name, body[j + 1])]
    raise NotUnderstood(f"the exception {name} cannot cross: nothing says how to make one")


def _text(tokens: Sequence[Token]) -> str:
    """The tokens with as much white space as C++ needs."""
    text = ""
    for token in tokens:
        word_like = token.kind in ("name", "number")
        if text and word_like and (text[-1].isalnum() or text[-1] in "_>&*"):
            text += " "
        text += token.text
    return text


def _function(declaration: Sequence[Token], header: Path) -> Function:
    words = [token.text for token in declaration]
    start = words.index("(")
    end = _closing(words, start)
    if words[0] == "[":  # [[nodiscard]]
        first = _closing(words, 0) + 1
    else:
        first = 0
    if words[end + 1 :] not in ([], ["noexcept"]) or start < first + 2:
        raise NotUnderstood(f"{header}: this is no function that can cross: {' '.join(words)}")
    parameters = [_type(each) for each in _split(declaration[start + 1 : end])]
    return Function(words[start - 1], _text(declaration[first : start - 1]), tuple(parameters))


def _split(tokens: Sequence[Token]) -> List[List[Token]]:
    """At the commas that separate parameters."""
    found: List[List[Token]] = []
    current: List[Token] = []
    depth = 0
    for token in tokens:
        if token.text in (*_OPEN, "<"):
            depth += 1
        elif token.text in (*_OPEN.values(), ">"):
            depth -= 1
        if token.text == "," and depth == 0:
            found.append(current)
            current = []
        else:
            current.append(token)
    return [*found, current] if current else found


def _type(parameter: Sequence[Token]) -> str:
    """Without the name and the default."""
    tokens = list(parameter)
    words = [token.text for token in tokens]
    if "=" in words:
        del tokens[words.index("=") :]
    is_name = tokens[-1].kind == "name" and tokens[-1].text not in _NO_NAMES
    if len(tokens) > 1 and is_name and tokens[-2].text != "::":
        tokens.pop()
    return _text(tokens)


def proxy(contract: Contract) -> str:
    lines = _head(contract, "The proxy", "proxy/worker.hpp")
    for function in contract.functions:
        named = [f"{kind} a{i}" for i, kind in enumerate(function.parameters)]
        types = "".join(f", {kind}" for kind in function.parameters)
        passed = "".join(f", a{i}" for i in range(len(named)))
        lines += [
            f"{function.result} {function.name}({', '.join(named)}) {{",
            f'  return ::wire::call<{function.result}{types}>(::grading::function("{function.key}")'
            f"{passed});",
            "}",
        ]
    return "\n".join([*lines, *_exceptions(contract), f"}}  // namespace {contract.namespace}", ""])


def stub(contract: Contract) -> str:
    lines = _head(contract, "The stub", "stub/stub.hpp")
    lines += ["namespace {", "const ::worker::offer kOffers[] = {"]
    for function in contract.functions:
        types = ", ".join(function.parameters)
        pointer = f"static_cast<{function.result} (*)({types})>(&{function.name})"
        both = ", ".join([function.result, *function.parameters])
        lines.append(f'  {{"{function.key}", ::wire::handler_of<{both}>({pointer})}},')
    lines += ["};", "}  // namespace", *_exceptions(contract)]
    return "\n".join([*lines, f"}}  // namespace {contract.namespace}", ""])


def _head(contract: Contract, what: str, side: str) -> List[str]:
    return [
        f"// {what} of {contract.header.name}, made by scripts/lablib/grading/contracts.py.",
        f'#include "{contract.header.name}"',
        f'#include "grading/{side}"',
        '#include "grading/wire/exceptions.hpp"',
        f"namespace {contract.namespace} {{",
    ]


def _exceptions(contract: Contract) -> List[str]:
    if not contract.exceptions:
        return []
    lines = ["namespace {", "[[maybe_unused]] const bool kExceptions[] = {"]
    for each in contract.exceptions:
        member = f"&{each.name}::{each.member}" if each.member else ""
        lines.append(f"  ::wire::add_exception<{each.name}>({member}),")
    return [*lines, "};", "}  // namespace"]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Makes both ends of a contract.")
    parser.add_argument("header", type=Path)
    parser.add_argument("--proxy", type=Path, required=True)
    parser.add_argument("--stub", type=Path, required=True)
    options = parser.parse_args(arguments)
    try:
        contract = read(options.header)
    except NotUnderstood as error:
        print(f"contracts.py: {error}.", file=sys.stderr)
        return 1
    options.proxy.write_text(proxy(contract), encoding="utf-8")
    options.stub.write_text(stub(contract), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
