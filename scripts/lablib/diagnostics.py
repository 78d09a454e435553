# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Compiler output, cut into messages, the student's own first."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import List, Optional, Tuple

# gcc and clang: path:12:5: error: text    nvcc: path(12): error: text    ld: path:12: undefined …
_START = re.compile(
    r"^(?P<path>[^\s:(][^:(]*)(?:\((?P<a>\d+)\)|:(?P<b>\d+)(?::\d+)?)\s*:\s*"
    r"(?P<kind>fatal error|error|warning)?"
)
_LINKER = re.compile(r"undefined reference to|multiple definition of|cannot find -l|ld returned")
# What stands before a message and belongs to it.
_BEFORE = re.compile(
    r": In .*:$|: in function .*:$|: At global scope:$|^In file included|^\s+from .*[:,]$"
)
_PART_FOLLOWS = "would be ill-formed:"  # the error after this note says why: it is no further one
_COMMAND = re.compile(  # what ninja prints: progress, the failed command
    r"^(\[\d+/\d+\]|FAILED:|ninja:|: && |cd .* && |\S*/(c\+\+|g\+\+|clang\+\+|nvcc)\S* )"
)


@dataclass
class Message:
    path: str
    line: int
    kind: str  # "error", "warning" or "link"
    lines: List[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def messages(output: List[str]) -> List[Message]:
    found: List[Message] = []
    before: List[str] = []
    current = None
    part_follows = False
    for line in output:
        if line.endswith(_PART_FOLLOWS):
            part_follows = True
        if _COMMAND.match(line):
            current, before, part_follows = None, [], False
        elif _BEFORE.search(line):
            before.append(line)
        else:
            message = _begin(line)
            if message is not None and part_follows and current is not None:
                part_follows = False
                current.lines.append(line)
            elif message is not None:
                current = message
                current.lines, before = before + [line], []
                found.append(current)
            elif current is not None:
                current.lines.append(line)
    for message in found:
        while not message.lines[-1].strip():
            message.lines.pop()
        _move_out_of_macro(message)
    return found


def _begin(line: str) -> Optional[Message]:
    match = _START.match(line)
    path, number = (match["path"], int(match["a"] or match["b"])) if match else ("", 0)
    if _LINKER.search(line):
        return Message(path, number, "link")
    if match and match["kind"]:
        return Message(path, number, "warning" if match["kind"] == "warning" else "error")
    return None


_PLACE = r"(?P<path>[^\s:][^:]*):(?P<line>\d+):\d+: "
_IN_MACRO = re.compile(_PLACE + "note: in expansion of macro")
_IN_DEFINITION = re.compile(_PLACE + "note: in definition of macro")


def _move_out_of_macro(message: Message) -> None:
    """What g++ says about the inside of a macro, such as CUDA_CHECK, is about the line that uses
    it. (clang and nvcc name that line themselves.)"""
    uses = [(n, match) for n, line in enumerate(message.lines) if (match := _IN_MACRO.match(line))]
    if not uses or message.kind == "link":
        return
    number, use = uses[-1]  # of macros in macros, the one that somebody wrote
    if use["path"] == message.path:
        return
    head = next(line for line in message.lines if _begin(line) is not None)
    said = re.sub("^" + _PLACE, "", head)
    shown = [line for line in message.lines[number + 1 :] if _SHOWN.match(line)][:1]
    message.path, message.line = use["path"], int(use["line"])
    message.lines = [f"{message.path}:{message.line}: {said}", *shown]


# A line of the source as the compiler shows it, and the marks below it.
_SHOWN = re.compile(r"^(\s*\d+ \|)(.*)$")
_MARKS = re.compile(r"^(\s*\|)([ ^~|]*)$")
# What it would write there, such as a semicolon.
_PROPOSED = re.compile(r"^\s*\| +")
# The CPU device turns a launch into a call of such an object: nobody wrote that.
_LAUNCH = re.compile(
    r"(?:cpu_device::)?(?:launch_with_defaults|(?:constant|pointer|deduced)_launch)<"
)


def readable(message: Message) -> List[str]:
    """Its lines without what only the generated C++ explains: marks and columns that point behind
    the end of the line, and the call that a launch becomes."""
    lines = _without_definitions(message.lines)
    lines = _launch_in_words(message, lines) or lines
    result: List[str] = []
    width = None  # of the source line above
    for line in lines:
        shown, marks = _SHOWN.match(line), _MARKS.match(line)
        if shown:
            width = len(shown[0])
        elif marks and width is not None:
            line = line[:width].rstrip()
            if line == marks[1].rstrip():
                continue
        elif width is not None and (proposed := _PROPOSED.match(line)):
            if proposed.end() > width:
                continue
        else:
            width = None
        result.append(line)
    text = [_SHOWN.match(line) for line in result]
    longest = max((len(match[2]) for match in text if match), default=None)
    for number, line in enumerate(result):
        column = re.match(r"^([^\s:][^:]*:\d+):(\d+)(: .*)$", line)
        if column and longest is not None and int(column[2]) > longest:
            result[number] = column[1] + column[3]
    return result


def _without_definitions(lines: List[str]) -> List[str]:
    """Without what a macro looks like inside: the error is in what somebody gave it."""
    kept: List[str] = []
    inside = False
    for line in lines:
        if _IN_DEFINITION.match(line):
            inside = True
        elif not inside or not (_SHOWN.match(line) or _MARKS.match(line)):
            inside = False
            kept.append(line)
    return kept


def _launch_in_words(message: Message, lines: List[str]) -> Optional[List[str]]:
    """What the compiler says about the arguments of a launch, or None if it is not about one."""
    number = next((n for n, line in enumerate(lines) if _START.match(line)), None)
    if message.kind != "error" or number is None:
        return None
    start = _LAUNCH.search(lines[number])
    if start is None or not re.search(r"no match(ing function)? for call", lines[number]):
        return None
    inside, end = _in_brackets(lines[number], start.end())
    place = f"{message.path}:{message.line}"
    # The parameters of the template: the kernel and its own; before them, how defaults are found.
    if start[0].endswith("launch_with_defaults<"):
        inside = inside[1:]
    elif not start[0].endswith("constant_launch<"):
        inside = []
    if not inside:
        said = [f"{place}: error: a kernel is launched with arguments that it does not take"]
    else:
        name = re.sub(r"^.*::", "", re.sub(r"<.*", "", inside[0]))
        said = [
            f"{place}: error: kernel `{name}` is launched with arguments that it does not take",
            f"  its parameters:    ({', '.join(map(_type, inside[1:]))})",
        ]
        given = lines[number].find("(", end)
        if given != -1:
            types, _ = _in_brackets(lines[number], given + 1)
            said.append(f"  the launch gives:  ({', '.join(map(_type, types))})")
    return said + [line for line in lines[number + 1 :] if _SHOWN.match(line)][:1]


def _in_brackets(text: str, begin: int) -> Tuple[List[str], int]:
    """The parts between commas up to the bracket that closes the one before `begin`."""
    parts, depth = [""], 1
    for position in range(begin, len(text)):
        letter = text[position]
        depth += (letter in "<({[") - (letter in ">)}]")
        if depth == 0:
            return [part.strip() for part in parts if part.strip()], position + 1
        if letter == "," and depth == 1:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()], len(text)


def _type(text: str) -> str:
    text = text.rstrip("&").strip()
    return "std::size_t" if text in ("long unsigned int", "unsigned long") else text


def undefined(found: List[Message]) -> List[str]:
    """The functions that the linker looks for in vain, as one would write them, each once."""
    names = []
    for message in found:
        for name in re.findall(r"undefined reference to [`‘](.*?)['’]$", message.text, re.M):
            name = name.replace(", 18446744073709551615ul>", ">")  # a span of any length
            name = re.sub(r"(\w+) const\b", r"const \1", name)
            names.append(name.replace("unsigned long", "size_t"))
    return list(dict.fromkeys(names))


def lost_includes(text: str, starter: str) -> List[str]:
    """The #include lines that a file began with and that are gone."""

    def includes(source: str) -> List[str]:
        found = re.findall(r'^[ \t]*#[ \t]*include[ \t]*([<"][^>"]+[>"])', source, re.MULTILINE)
        return list(dict.fromkeys(found))

    now = includes(text)
    return [f"#include {name}" for name in includes(starter) if name not in now]


def own_first(found: List[Message], own_folder: Path) -> List[Message]:
    """The student's own errors, then other errors, then what the linker says, then warnings."""

    def rank(message: Message) -> int:
        own = is_in(message, own_folder)
        if message.kind == "error":
            return 0 if own else 2
        if message.kind == "warning":
            return 1 if own else 4
        return 3

    return sorted(found, key=rank)


def is_in(message: Message, folder: Path) -> bool:
    """Whether it is about a file in there, or about a template that a file in there uses."""
    tail = "/".join(folder.parts[-3:]) + "/"  # labs/05_shared_memory/1_dot_product/
    used = [line for line in message.lines if re.search(r"required (from|by) |instantiat", line)]
    return any(tail in text for text in [message.path, *used])


def shorten(text: str, root: Path) -> str:
    """Paths as seen from the root of the repository; `../../` of the build folder goes too."""
    text = text.replace(str(root) + "/", "")
    return re.sub(r"(?:\.\./)+(?=(labs|solutions|tests|common)/)", "", text)
