# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Mutations: general mistakes with CUDA, made at every place of a solution where they fit.

A mutation is one edit of the text. Its name is its kind, the line, and its number among those of
this kind in the line: `no_barrier@57.1`. Comments, strings, preprocessor lines and static_asserts
are never touched. The code is read by tokens, not parsed: it relies on the layout of clang-format
(`a < b` is a comparison, `span<int>` is none).
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Callable, Dict, Iterator, List, Optional, Set, Tuple

from lablib.cuda_tokens import Token, all_tokens


@dataclass(frozen=True)
class Mutation:
    kind: str
    line: int
    ordinal: int  # from 1, among those of its kind in its line
    start: int
    end: int
    replacement: str
    function: str = ""  # the name of the one that it stands in

    @property
    def name(self) -> str:
        return f"{self.kind}@{self.line}.{self.ordinal}"

    def apply(self, text: str) -> str:
        return text[: self.start] + self.replacement + text[self.end :]

    def changed_line(self, text: str) -> Tuple[str, str]:
        """The first line that differs, before and after, without the white space around it."""
        changed = self.apply(text)
        at = text.count("\n", 0, self.start)
        return text.split("\n")[at].strip(), changed.split("\n")[at].strip()


def tokens_of(text: str) -> List[Token]:
    """What the compiler sees, without preprocessor lines and static_asserts."""
    return _without_static_asserts(all_tokens(text))


def _without_static_asserts(tokens: List[Token]) -> List[Token]:
    kept: List[Token] = []
    depth, skipping = 0, False
    for token in tokens:
        if token.text == "static_assert" and token.kind == "name":
            depth, skipping = 0, True
        if not skipping:
            kept.append(token)
            continue
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        skipping = not (token.text == ";" and depth == 0)
    return kept


Edit = Tuple[int, int, str]  # start, end, replacement
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OTHER_WAY = {
    "cudaMemcpyHostToDevice": "cudaMemcpyDeviceToHost",
    "cudaMemcpyDeviceToHost": "cudaMemcpyHostToDevice",
}
_QUALIFIERS = ("const", "constexpr", "static", "__restrict__", "__shared__", "&")
_STATEMENT_ENDS = (";", "{", "}", ")", "else", ":", "do")


class Source:
    """The tokens of a file, and what is asked of them again and again."""

    def __init__(self, text: str):
        self.text = text
        self.tokens = tokens_of(text)
        self.partner: Dict[int, int] = {}  # of a bracket, both ways
        opened: List[int] = []
        for i, token in enumerate(self.tokens):
            if token.kind != "op":
                continue
            if token.text in _CLOSING:
                opened.append(i)
            elif token.text in _CLOSING.values() and opened:
                start = opened.pop()
                self.partner[start], self.partner[i] = i, start
        self.dim3_names = set(re.findall(r"\bdim3\s+(\w+)", text))
        self.bodies = self._device_functions()
        self.types = self._declared_types()

    def is_at(self, i: int, *texts: str) -> bool:
        """Whether the tokens from number i on are these."""
        return i >= 0 and [token.text for token in self.tokens[i : i + len(texts)]] == list(texts)

    def get(self, i: int) -> str:
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def between(self, first: int, last: int) -> str:
        """The text of the tokens first … last."""
        return self.text[self.tokens[first].start : self.tokens[last].end]

    def edit(self, first: int, last: int, replacement: str) -> Edit:
        return self.tokens[first].start, self.tokens[last].end, replacement

    def split(self, first: int, last: int, separator: str) -> List[Tuple[int, int]]:
        """The tokens first … last, cut at each separator that is in no bracket."""
        parts, start, i = [], first, first
        while i <= last:
            token = self.tokens[i]
            if token.kind == "op" and token.text in _CLOSING:
                i = self.partner.get(i, i)
            elif token.kind == "op" and token.text == separator:
                parts.append((start, i - 1))
                start = i + 1
            i += 1
        parts.append((start, last))
        return [(begin, end) for begin, end in parts if begin <= end]

    def arguments(self, open_bracket: int) -> List[Tuple[int, int]]:
        return self.split(open_bracket + 1, self.partner[open_bracket] - 1, ",")

    def calls(self, *names: str) -> Iterator[int]:
        """The numbers of the tokens that are one of these names, with a ( behind it."""
        return self.calls_like("|".join(map(re.escape, names)))

    def calls_like(self, pattern: str) -> Iterator[int]:
        """The same, of names that match a pattern."""
        for i, token in enumerate(self.tokens):
            if token.kind == "name" and self.is_at(i + 1, "(") and i + 1 in self.partner:
                if re.fullmatch(pattern, token.text):
                    yield i

    def statement(self, call: int) -> Optional[Tuple[int, int]]:
        """First and last token of a statement that is nothing but this call, perhaps checked by
        CUDA_CHECK(…), perhaps of a member."""
        first, last = call, self.partner[call + 1]
        while self.get(first - 1) in (".", "->", "::") and self.tokens[first - 2].kind == "name":
            first -= 2
        if self.get(first - 1) == "(" and self.get(first - 2).startswith("CUDA_CHECK"):
            if self.partner.get(first - 1) != last + 1:
                return None
            first, last = first - 2, last + 1
        elif self.is_at(first - 3, "(", "void", ")"):
            first -= 3
        if self.get(last + 1) != ";" or self.get(first - 1) not in _STATEMENT_ENDS:
            return None
        return first, last + 1

    def types_of(self, argument: str) -> Set[str]:
        """Those with which this file declares the last name of an argument such as `&a` or
        `source.width`. Where it declares none, names that begin alike may be of the same."""
        last = re.findall(r"\w+(?:\(\)|\[\w+\])?", argument)[-1]
        if last not in self.types:
            known = last if last.endswith(")") else "[]" if last.endswith("]") else last[:5]
            return {argument[0] * (argument[0] in "&*") + known}
        return {argument[0] * (argument[0] in "&*") + type_ for type_ in self.types[last]}

    def _declared_types(self) -> Dict[str, Set[str]]:
        found: Dict[str, Set[str]] = {}
        for i, token in enumerate(self.tokens):
            first = i
            while self.get(first - 1) in ("*", "&", "::", ">", "<", "const", "__restrict__") or (
                first > 0 and self.tokens[first - 1].kind == "name"
            ):
                first -= 1
            words = [t.text for t in self.tokens[first:i] if t.text not in _QUALIFIERS]
            if token.kind == "name" and words and words[0] not in ("*", "&", "::", "<", "return"):
                found.setdefault(token.text, set()).add("".join(words))
        return found

    def statements(self) -> Iterator[Tuple[int, int]]:
        """First and last token of each statement that ends with a ; and has no braces of its own
        before that."""
        for last, token in enumerate(self.tokens):
            if token.text != ";":
                continue
            first = last
            while first > 0 and self.get(first - 1) not in (";", "{", "}", "(", "["):
                first = self.partner[first - 1] if self.get(first - 1) in (")", "]") else first - 1
            if first < last and self.get(first - 1) in (";", "{", "}"):
                yield first, last

    def _device_functions(self) -> List[Tuple[int, int, bool]]:
        """Of each function that runs on the device: the brackets of its body, and whether it
        returns nothing."""
        found = []
        for i, token in enumerate(self.tokens):
            if token.text not in ("__global__", "__device__"):
                continue
            j, is_void = i, False
            while j < len(self.tokens) and self.get(j) not in ("{", ";"):
                is_void = is_void or self.get(j) == "void"
                j = self.partner.get(j, j) + 1 if self.get(j) == "(" else j + 1
            if self.get(j) == "{" and j in self.partner:
                found.append((j, self.partner[j], is_void))
        return found

    def function_at(self, place: int) -> str:
        """The name of the innermost function around a place of the text; "" outside of all."""
        name = ""
        for i, token in enumerate(self.tokens):
            if token.start > place:
                break
            if token.text != "{" or self.tokens[self.partner.get(i, i)].end <= place:
                continue
            j = i - 1
            while self.get(j) in ("const", "noexcept", "override"):
                j -= 1
            head = self.partner.get(j, 0) - 1
            if self.get(j) == ")" and head >= 0 and self.tokens[head].kind == "name":
                if self.get(head) not in ("if", "constexpr", "for", "while", "switch", "catch"):
                    name = self.get(head)
        return name

    def is_in_function(self, i: int) -> bool:
        """Whether the token stands in the braces of a function (or of a lambda)."""
        depth = i
        while depth >= 0:
            if self.get(depth) == "{" and self.partner.get(depth, -1) > i:
                before = self.get(depth - 1)
                if before in (")", "const", "noexcept", "override"):
                    return True
            depth -= 1
        return False

    def spaced(self, i: int) -> bool:
        """Whether there is white space on both sides: an operator, no bracket of a template."""
        token = self.tokens[i]
        return self.text[token.start - 1].isspace() and self.text[token.end].isspace()


# --- the kinds -----------------------------------------------------------------------------------
# Each takes a Source and yields edits. Its name is the name of the kind, its sentence what --list
# says of it.


def no_barrier(source: Source) -> Iterator[Edit]:
    """a barrier is left out"""
    barriers = ("__syncthreads", "__syncwarp", "__syncthreads_and", "__syncthreads_or", "sync")
    yield from _without_calls(source, *barriers)


def no_fence(source: Source) -> Iterator[Edit]:
    """a memory fence is left out"""
    yield from _without_calls(
        source, "__threadfence", "__threadfence_block", "__threadfence_system"
    )


def no_sync(source: Source) -> Iterator[Edit]:
    """the host does not wait, or a stream does not"""
    yield from _without_calls(
        source,
        "cudaDeviceSynchronize",
        "cudaStreamSynchronize",
        "cudaEventSynchronize",
        "cudaStreamWaitEvent",
        "cudaEventRecord",
    )


def no_launch_check(source: Source) -> Iterator[Edit]:
    """nobody asks whether the launch has failed"""
    yield from _without_calls(source, "cudaGetLastError", "cudaPeekAtLastError")


def no_free(source: Source) -> Iterator[Edit]:
    """memory, a stream, an event … is not given back"""
    names = {
        token.text
        for token in source.tokens
        if re.fullmatch(r"cuda(Free\w*|\w*Destroy\w*|HostUnregister)", token.text)
    }
    yield from _without_calls(source, *names)


def no_zeroing(source: Source) -> Iterator[Edit]:
    """memory is not set before it is used"""
    yield from _without_calls(source, "cudaMemset", "cudaMemsetAsync", "cudaMemset2D")
    for i in range(2, len(source.tokens) - 2):
        if not (source.is_at(i, "=") and _is_zero(source.get(i + 1)) and source.is_at(i + 2, ";")):
            continue
        first = i - 1
        if source.get(first) == "]":
            while source.get(first) == "]":
                first = source.partner[first] - 1
        elif source.get(first - 1) != "*":
            continue
        while source.get(first - 1) in (".", "->", "::", "*"):
            first -= 1 if source.get(first - 1) == "*" else 2
        if source.get(first - 1) in _STATEMENT_ENDS:
            yield source.edit(first, i + 2, "{}")


def starts_at_one(source: Source) -> Iterator[Edit]:
    """a sum, or a loop, begins at 1 instead of at 0"""
    for i in range(2, len(source.tokens) - 2):
        if not source.is_at(i, "=") or not source.is_in_function(i):
            continue
        name = source.tokens[i - 1]
        if name.kind == "op" and name.text == "]":  # float sums[4] = {};
            if source.is_at(i + 1, "{", "}"):
                yield source.edit(i + 1, i + 2, "{1}")
        elif name.kind == "name" and _is_zero(source.get(i + 1)):
            declared = source.tokens[i - 2].kind == "name" or source.get(i - 2) in (",", ">")
            if declared and source.get(i + 2) in (";", ",") and not _is_filled_by_a_call(source, i):
                yield source.edit(i + 1, i + 1, "1")


def _is_filled_by_a_call(source: Source, i: int) -> bool:
    """Whether what is declared before the = at i is next used as in cudaGetDevice(&device)."""
    name = source.get(i - 1)
    for j in range(i + 1, len(source.tokens)):
        if source.get(j) == name:
            return source.get(j - 1) == "&" and source.get(j - 2) in ("(", ",")
    return False


def no_guard(source: Source) -> Iterator[Edit]:
    """a condition is taken for fulfilled: a guard, or a part of one"""
    for i in source.calls("if"):
        first, last = i + 2, source.partner[i + 1] - 1
        if len(source.split(first, last, ";")) > 1:
            continue
        body = source.partner[i + 1] + 1
        body += source.get(body) == "{"
        leaves = source.get(body) in ("throw", "return", "continue", "break")
        yield from _without_conditions(source, first, last, leaves)
    for i in source.calls("refuse_if"):  # (condition, what is said)
        yield from _without_conditions(source, *source.arguments(i + 1)[0], leaves=True)
    for i, token in enumerate(source.tokens):
        if token.kind == "op" and token.text == "?":
            first = i
            while first > 0 and source.get(first - 1) not in (
                *("=", "return", ",", ";", "{", "}", "(", "[", "?", ":", "+=", "<<<"),
            ):
                first = source.partner.get(first - 1, first - 1)
            yield from _without_conditions(source, first, i - 1, False)


def _without_conditions(source: Source, first: int, last: int, leaves: bool) -> Iterator[Edit]:
    # What leaves the function keeps others out: there, dropping it means that it never happens.
    for begin, end in source.split(first, last, "||" if leaves else "&&"):
        yield source.edit(begin, end, "false" if leaves else "true")


def comparison(source: Source) -> Iterator[Edit]:
    """< for <=, and the like"""
    other = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
    for i, token in enumerate(source.tokens):
        if token.kind == "op" and token.text in other and source.spaced(i):
            yield source.edit(i, i, other[token.text])


def no_rounding_up(source: Source) -> Iterator[Edit]:
    """(n + block - 1) / block without the rounding"""
    for i, token in enumerate(source.tokens):
        if token.text != "-" or not source.is_at(i, "-", "1", ")"):
            continue
        if source.get(i + 3) != "/" and source.get(i + 4) != "/":
            continue
        plus = i - 1
        while plus > 0 and (
            source.tokens[plus].kind in ("name", "number") or source.get(plus) in (".", "::")
        ):
            plus -= 1
        if source.get(plus) == "+":
            yield source.tokens[plus - 1].end, source.tokens[i + 1].end, ""


def one_less(source: Source) -> Iterator[Edit]:
    """a block, or a thread of each block, less is launched"""
    for parts in _launches(source):
        for begin, end in parts[:2]:
            name = source.get(begin)
            if name != "dim3" and name not in source.dim3_names and source.get(end) != "1":
                yield source.edit(begin, end, _in_parentheses(source, begin, end) + " - 1")
    for open_bracket in _dim3_brackets(source):
        for begin, end in source.arguments(open_bracket):
            if source.get(end) != "1":
                yield source.edit(begin, end, _in_parentheses(source, begin, end) + " - 1")


def swap_xy(source: Source) -> Iterator[Edit]:
    """x for y, and y for x"""
    for i, token in enumerate(source.tokens):
        if token.text in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
            if source.get(i + 1) == "." and source.get(i + 2) in ("x", "y"):
                yield source.edit(i + 2, i + 2, "y" if source.get(i + 2) == "x" else "x")
    for open_bracket in _dim3_brackets(source):
        parts = source.arguments(open_bracket)
        if len(parts) > 1:
            texts = [source.between(*part) for part in parts[:2]]
            if texts[0] != texts[1]:
                yield source.edit(parts[0][0], parts[1][1], f"{texts[1]}, {texts[0]}")


def dimension_is_one(source: Source) -> Iterator[Edit]:
    """blockDim or gridDim is forgotten in a product"""
    for i, token in enumerate(source.tokens):
        if token.text in ("blockDim", "gridDim") and source.get(i + 1) == ".":
            around = (source.get(i - 1), source.get(i + 3))
            if "*" in around or around == ("{", "}"):
                yield source.edit(i, i + 2, "1U")


def plain_update(source: Source) -> Iterator[Edit]:
    """an atomic operation is done in steps"""
    plain = {
        "atomicAdd": "*({0}) += ({1})",
        "atomicSub": "*({0}) -= ({1})",
        "atomicOr": "*({0}) |= ({1})",
        "atomicAnd": "*({0}) &= ({1})",
        "atomicXor": "*({0}) ^= ({1})",
        "atomicExch": "*({0}) = ({1})",
        "atomicMax": "*({0}) = max(*({0}), ({1}))",
        "atomicMin": "*({0}) = min(*({0}), ({1}))",
        "atomicCAS": "if (*({0}) == ({1})) *({0}) = ({2})",
    }
    names = [f"{name}{scope}" for name in plain for scope in ("", "_block", "_system")]
    for i in source.calls(*names):
        close = source.partner[i + 1]
        arguments = [source.between(*part) for part in source.arguments(i + 1)]
        steps = plain[source.get(i).split("_")[0]]
        if len(arguments) != (3 if "{2}" in steps else 2):
            continue
        steps = steps.format(*arguments)
        if source.get(close + 1) == ";" and source.get(i - 1) in _STATEMENT_ENDS:
            yield source.edit(i, close, steps)
        else:  # its value, which is the old one, is used
            old = f"auto* at_ = {arguments[0]}; auto old_ = *at_;"
            steps = steps.replace(f"*({arguments[0]})", "*at_")
            yield source.edit(i, close, f"[&] {{ {old} {steps}; return old_; }}()")


def wrong_direction(source: Source) -> Iterator[Edit]:
    """a copy in the wrong direction"""
    other = {**_OTHER_WAY, "cudaMemcpyDeviceToDevice": "cudaMemcpyHostToDevice"}
    for i, token in enumerate(source.tokens):
        if token.text in other:
            yield source.edit(i, i, other[token.text])


def swapped_copy(source: Source) -> Iterator[Edit]:
    """source and destination of a copy change places"""
    for i in source.calls("cudaMemcpy", "cudaMemcpyAsync"):
        parts = source.arguments(i + 1)
        if len(parts) >= 4:
            to, from_, bytes_, way = [source.between(*part) for part in parts[:4]]
            if to != from_:
                yield source.edit(parts[0][0], parts[1][1], f"{from_}, {to}")
                if way in _OTHER_WAY:  # the whole copy the other way round
                    back = f"{from_}, {to}, {bytes_}, {_OTHER_WAY[way]}"
                    yield source.edit(parts[0][0], parts[3][1], back)


def wrong_bytes(source: Source) -> Iterator[Edit]:
    """elements are counted where bytes are meant"""
    for i, token in enumerate(source.tokens):
        if token.text == "size_bytes":
            yield source.edit(i, i, "size")
        elif token.text == "sizeof" and source.get(i + 1) == "(":
            close = source.partner[i + 1]
            if source.get(i - 1) == "*":
                yield source.tokens[i - 2].end, source.tokens[close].end, ""
            elif source.get(close + 1) == "*":
                yield source.tokens[i].start, source.tokens[close + 2].start, ""


def int_for_size(source: Source) -> Iterator[Edit]:
    """32 bits for an index or a size"""
    for i in range(len(source.tokens) - 4):
        if not source.is_at(i, "std", "::", "size_t") or not source.is_in_function(i):
            continue
        if source.get(i + 3) == "{" and source.get(i + 4) != "}":
            close = source.partner[i + 3]
            yield source.edit(i, close, f"({source.between(i + 4, close - 1)})")
        elif source.tokens[i + 3].kind == "name" and source.get(i + 4) == "=":
            yield source.edit(i, i + 2, "int")


def wrong_shared_bytes(source: Source) -> Iterator[Edit]:
    """too little dynamic shared memory"""
    for parts in _launches(source):
        if len(parts) > 2 and source.between(*parts[2]) != "0":
            yield source.edit(*parts[2], _in_parentheses(source, *parts[2]) + " / 2")
            yield source.edit(*parts[2], "0")


def wrong_stream(source: Source) -> Iterator[Edit]:
    """the default stream instead of the one that was meant"""
    for parts in _launches(source):
        if len(parts) > 3 and source.between(*parts[3]) != "0":
            yield source.edit(*parts[3], "0")
    last = {"cudaMemcpyAsync": 5, "cudaMemsetAsync": 4}
    used_by = r"cuda\w*Async|nccl\w+|cudaEventRecord|cudaStreamWaitEvent|cublasSetStream"
    stream = re.compile(r"(stream|queue)\w*(\[[^]]*\]|\(\)|\.get)*$", re.IGNORECASE)
    for i in source.calls_like(used_by):
        parts = source.arguments(i + 1)
        for part in parts:
            is_last = part == parts[-1] and len(parts) == last.get(source.get(i))
            if is_last or stream.search(source.between(*part)):
                yield source.edit(*part, "0")


def early_return(source: Source) -> Iterator[Edit]:
    """threads without work leave before a barrier"""
    barriers = ("__syncthreads", "sync", "__syncwarp")
    for begin, end, is_void in source.bodies:
        if not is_void:
            continue
        own = [i for i in source.calls(*barriers) if begin < i < end]
        for i in source.calls("if"):
            close = source.partner[i + 1]
            if not begin < i < end or source.get(close + 1) in ("return", "continue", "break"):
                continue
            if any(barrier > i for barrier in own):
                condition = source.between(i + 2, close - 1)
                yield source.edit(i, close, f"if (!({condition})) return; else")


def off_by_one(source: Source) -> Iterator[Edit]:
    """the neighbouring element"""
    for i, token in enumerate(source.tokens):
        if token.kind != "op" or token.text != "[" or i not in source.partner:
            continue
        inside = source.tokens[i + 1 : source.partner[i]]
        names = [t.text for t in inside if t.kind == "name"]
        if all(re.fullmatch(r"k?[A-Z]\w*", name) for name in names):  # a larger array
            continue
        head = i - 1
        while source.get(head) == "]":
            head = source.partner[head] - 1
        if source.get(head) in ("(", ",", "=", "["):  # a lambda
            continue
        text = source.between(i + 1, source.partner[i] - 1)
        if "," not in text and "=" not in text and text != "&":
            first, last = i + 1, source.partner[i] - 1
            yield source.edit(first, last, _in_parentheses(source, first, last) + " + 1")


def swapped_arguments(source: Source) -> Iterator[Edit]:
    """two arguments of a call change places, where their type may be the same"""
    name = r"[*&]?[A-Za-z_]\w*((\.|->|::)\w+(\(\))?|\[\w+\])*"
    for open_bracket, close in source.partner.items():
        before = source.tokens[open_bracket - 1]
        called = before.kind == "name" and before.text not in _NO_CALLS
        if source.get(open_bracket) != "(" or not (called or before.text == ">>>"):
            continue
        if not source.is_in_function(open_bracket) or close == open_bracket + 1:
            continue
        parts = source.arguments(open_bracket)
        # Between two matrices stand their type and leading dimension.
        reach = 3 if re.match("cublas|cudaMemcpy", before.text) else 1
        for i, (begin, end) in enumerate(parts):
            for other_begin, other_end in parts[i + 1 : i + 1 + reach]:
                a, b = source.between(begin, end), source.between(other_begin, other_end)
                if a == b or not (re.fullmatch(name, a) and re.fullmatch(name, b)):
                    continue
                if source.types_of(a) & source.types_of(b):
                    middle = source.text[source.tokens[end].end : source.tokens[other_begin].start]
                    yield source.edit(begin, other_end, f"{b}{middle}{a}")


# What takes its arguments in any order, and words that are no names of functions.
_NO_CALLS = (
    *("if", "for", "while", "switch", "return", "sizeof", "catch", "alignas", "decltype"),
    *("min", "max", "fmin", "fmax", "fminf", "fmaxf", "swap", "gcd", "lcm", "hypot"),
)


def one_of_two(source: Source) -> Iterator[Edit]:
    """one of two similar statements in a row is left out"""

    def shape(first: int, last: int) -> List[str]:
        return [
            token.text if token.kind == "op" or source.get(i + 1) == "(" else ""
            for i, token in enumerate(source.tokens[first : last + 1], first)
        ]

    no_use = ("return", "break", "continue", "throw", "using", "const", "constexpr", "auto", "else")
    chosen: Dict[int, int] = {}
    all_of_them = list(source.statements())
    for (first, last), (then_first, then_last) in zip(all_of_them, all_of_them[1:]):
        is_declaration = [token.kind for token in source.tokens[first : first + 2]] == ["name"] * 2
        if then_first != last + 1 or is_declaration or source.get(first) in no_use:
            continue
        if source.get(first + 1) in ("*", "::") and source.get(last - 1) != ")":
            continue
        if shape(first, last) == shape(then_first, then_last) and source.is_in_function(first):
            chosen[first], chosen[then_first] = last, then_last
    for first, last in chosen.items():
        yield source.edit(first, last, "{}")


def float_for_double(source: Source) -> Iterator[Edit]:
    """a sum, or another variable, has half the bits"""
    for i, token in enumerate(source.tokens):
        if token.text == "double" and source.get(i - 1) not in ("(", ",", "<", "const"):
            is_variable = source.tokens[i + 1].kind == "name" and source.get(i + 2) in "=[{;"
            if is_variable and source.is_in_function(i):
                yield source.edit(i, i, "float")


def narrower_scope(source: Source) -> Iterator[Edit]:
    """a fence or an atomic operation for too few threads, or one without an order"""
    other = {
        "__threadfence": "__threadfence_block",
        "__threadfence_system": "__threadfence",
        "thread_scope_device": "thread_scope_block",
        "thread_scope_system": "thread_scope_device",
        "memory_order_acquire": "memory_order_relaxed",
        "memory_order_release": "memory_order_relaxed",
        "memory_order_acq_rel": "memory_order_relaxed",
        "memory_order_seq_cst": "memory_order_relaxed",
    }
    for i, token in enumerate(source.tokens):
        if token.text in other:
            yield source.edit(i, i, other[token.text])
    for i in source.calls_like(r"atomic[A-Z][A-Za-z]+(_system)?"):
        name, _, is_system = source.get(i).partition("_")
        yield source.edit(i, i, name if is_system else f"{name}_block")


def moved_barrier(source: Source) -> Iterator[Edit]:
    """a barrier too early, too late, or inside the loop before it"""
    all_of_them = dict(source.statements())
    ending = {last: first for first, last in all_of_them.items()}
    for i in source.calls("__syncthreads", "__syncwarp", "sync"):
        own = source.statement(i)
        if own is None:
            continue
        first, last = own
        barrier = source.between(first, last)
        before, after = ending.get(first - 1), all_of_them.get(last + 1)
        if before is not None and source.get(before) != "else":
            statement = source.between(before, first - 1)
            yield source.edit(before, last, f"{barrier} {statement}")
        if after is not None and source.get(after + 1) != "else":
            yield source.edit(first, after, f"{source.between(last + 1, after)} {barrier}")
        if source.get(first - 1) == "}":
            yield source.edit(first - 1, last, f"{barrier} }}")


def wrong_lane(source: Source) -> Iterator[Edit]:
    """a shuffle takes the value of the lane beside the right one, or goes the other way"""
    for i in source.calls_like(r"__shfl(_\w+)?_sync|shfl(_\w+)?"):
        parts = source.arguments(i + 1)
        place = 2 if source.get(i).startswith("__") else 1
        if len(parts) > place:
            yield source.edit(*parts[place], _in_parentheses(source, *parts[place]) + " + 1")
        for way, back in (("_up", "_down"), ("_down", "_up")):
            if way in source.get(i):
                yield source.edit(i, i, source.get(i).replace(way, back))


def first_for_all(source: Source) -> Iterator[Edit]:
    """the first stream, event, buffer, device … is used for all"""
    for i in range(1, len(source.tokens)):
        named = re.search(r"(stream|event|buffer|device|comm|graph|rank)\w*$", source.get(i - 1))
        if source.get(i) == "[" and named and i in source.partner:
            close = source.partner[i]
            if source.get(i + 1) not in ("0", "]") and source.is_in_function(i):
                yield source.edit(i + 1, close - 1, "0")


def no_sign(source: Source) -> Iterator[Edit]:
    """what is below 0 is taken for 0, where a float or a double is compared with it"""
    numbers = set(re.findall(r"\b(?:float|double)\s+(\w+)", source.text))
    other = {"==": "<=", "!=": ">"}
    for i, token in enumerate(source.tokens):
        if token.text in other and _is_zero(source.get(i + 1)) and source.get(i - 1) in numbers:
            yield source.edit(i, i, other[token.text])


def _in_parentheses(source: Source, first: int, last: int) -> str:
    text = source.between(first, last)
    return text if first == last else f"({text})"


def _is_zero(text: str) -> bool:
    return re.fullmatch(r"0(?:\.0?)?[uUlLfF]*", text) is not None


def _without_calls(source: Source, *names: str) -> Iterator[Edit]:
    for i in source.calls(*names):
        statement = source.statement(i)
        if statement is not None:
            yield source.edit(*statement, "{}")


def _launches(source: Source) -> Iterator[List[Tuple[int, int]]]:
    """The arguments between <<< and >>> of each launch."""
    for i, token in enumerate(source.tokens):
        if token.text == "<<<":
            close = i
            while close < len(source.tokens) and source.get(close) != ">>>":
                close += 1
            yield source.split(i + 1, close - 1, ",")


def _dim3_brackets(source: Source) -> Iterator[int]:
    """dim3(a, b) and dim3 block(a, b), but not a function that returns a dim3."""
    for i, token in enumerate(source.tokens):
        if token.text != "dim3":
            continue
        j = i + 1 + (source.get(i + 2) == "(" and source.tokens[i + 1].kind == "name")
        if source.get(j) == "(" and source.partner.get(j, j + 1) > j + 1:
            if j == i + 1 or source.is_in_function(i):
                yield j


KINDS: Tuple[Callable[[Source], Iterator[Edit]], ...] = (
    no_barrier,
    no_fence,
    no_sync,
    no_launch_check,
    no_free,
    no_zeroing,
    starts_at_one,
    no_guard,
    comparison,
    no_rounding_up,
    one_less,
    swap_xy,
    dimension_is_one,
    plain_update,
    wrong_direction,
    swapped_copy,
    wrong_bytes,
    int_for_size,
    wrong_shared_bytes,
    wrong_stream,
    early_return,
    off_by_one,
    swapped_arguments,
    one_of_two,
    float_for_double,
    narrower_scope,
    moved_barrier,
    wrong_lane,
    first_for_all,
    no_sign,
)


def find(text: str) -> List[Mutation]:
    """All mutations of a file, in the order of their places; the same text gives the same ones."""
    source = Source(text)
    starts = [0] + [match.end() for match in re.finditer("\n", text)]
    found: List[Mutation] = []
    made: Set[Edit] = set()
    for kind in KINDS:
        ordinals: Dict[int, int] = {}
        edits = set(kind(source)) - made
        made |= edits
        for start, end, replacement in sorted(edits):
            line = bisect_right(starts, start)
            ordinals[line] = ordinals.get(line, 0) + 1
            where = source.function_at(start)
            found.append(
                Mutation(kind.__name__, line, ordinals[line], start, end, replacement, where)
            )
    order = {kind.__name__: number for number, kind in enumerate(KINDS)}
    return sorted(found, key=lambda m: (m.line, order[m.kind], m.ordinal))
