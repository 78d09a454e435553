# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Pages of what headers declare, with their comments, from the headers themselves.

Our headers have one form: comments in Markdown above what they are about, one layout (by
clang-format), no macros that make declarations. So a scanner of braces is enough, and nothing has
to be installed for it. What is private, in a namespace `detail` or the body of a function is left
out.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Optional, Tuple

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<raw>\w*)\(.*?\)(?P=raw)"|"(?:\\.|[^"\\\n])*"|\w+(?:'\w+)*"""
    r"""|'(?:\\.|[^'\\\n])+'|.""",
    re.DOTALL,
)
_TYPE = re.compile(r"(template <.*> *\n?\s*)?(class|struct|union|enum)\b[^()=]*$", re.DOTALL)


@dataclass
class Declaration:
    name: str
    code: str  # without the bodies of functions; of a class with members, its head
    comment: str = ""  # Markdown
    apart: bool = True  # a blank line or a comment is before it
    members: List["Declaration"] = field(default_factory=list)


@dataclass
class Header:
    summary: str
    declarations: List[Declaration]


def read(text: str) -> Header:
    """What a header declares for its users."""
    intro: List[str] = []
    for line in text.splitlines():
        if intro and not line.startswith("//"):
            break
        if line.startswith("//") and "SPDX" not in line:
            intro.append(line[2:].strip())
    return Header(" ".join(intro), _scope(text, visible=True))


def _scope(text: str, visible: bool) -> List[Declaration]:
    """The declarations of a namespace or a class, in their order."""
    found: List[Declaration] = []
    comment: List[str] = []
    apart, place = True, 0
    while True:
        gap = text[place : len(text) - len(text[place:].lstrip())]
        if gap.count("\n") > 1:
            comment, apart = [], True
        place += len(gap)
        rest = text[place:]
        line = rest.partition("\n")[0]
        if not rest:
            return found
        if rest.startswith("//"):
            place += len(line)
            if "\n" in gap or place == len(line):
                apart = True
                if not line.startswith("// ---"):  # which parts a long list
                    comment.append(re.sub(r"^///? ?", "", line))
            elif found and visible and not line.startswith("// namespace"):
                found[-1].code += f"  {line}"
        elif rest.startswith("#"):
            whole = re.match(r"(?:[^\n]*\\\n)*[^\n]*", rest)
            macro = re.match(r"#define (\w+)(\([^)]*\))?", rest)
            if macro and comment and visible:
                found.append(Declaration(macro[1], macro[0], "\n".join(comment)))
            comment, place = [], place + len(whole[0] if whole else line)
        elif access := re.match(r"(public|private|protected):", rest):
            visible, comment, apart = access[1] == "public", [], True
            place += access.end()
        else:
            head, body, length = _statement(rest)
            place += length
            if re.match(r"(inline )?namespace\b", head):
                found += _namespace(head, body)
            elif visible and (made := _declared(head, body, len(gap.rpartition("\n")[2]))):
                made.comment, made.apart = "\n".join(comment), apart
                found.append(made)
            comment, apart = [], False


def _statement(text: str) -> Tuple[str, str, int]:
    """The first declaration: what is before its body or semicolon, the body, and its length."""
    depth, place, opened = 0, 0, -1
    while token := _TOKEN.match(text, place):
        mark = token[0]
        if mark in ("(", "[", "{"):
            # A body has a space before it, a braced initialiser has none.
            if mark == "{" and depth == 0 and text[place - 1].isspace() and opened < 0:
                opened = place
            depth += 1
        elif mark in (")", "]", "}"):
            depth -= 1
            if mark == "}" and depth == 0 and opened >= 0:
                head, body = text[:opened].rstrip(), text[opened + 1 : place]
                ends_later = _TYPE.match(head) or head.endswith("=")
                return head, body, (text.index(";", place) if ends_later else place) + 1
        elif mark == ";" and depth == 0:
            return text[:place], "", place + 1
        place = token.end()
    return text, "", len(text)


def _namespace(head: str, body: str) -> List[Declaration]:
    """What it declares, unless it has no name, or one that says that it is not for users."""
    name = head.rpartition("namespace")[2].strip()
    return [] if not name or name.endswith("detail") else _scope(body, visible=True)


def _declared(head: str, body: str, indent: int) -> Optional[Declaration]:
    """The declaration as users see it; nothing if it is not for them."""
    if not head.strip() or head.startswith(("friend ", "static_assert", "using namespace")):
        return None
    head, body = (re.sub(rf"\n {{{indent}}}", "\n", part) for part in (head, body))
    if _TYPE.match(head):
        if not body:  # declared only, and defined where users do not look
            return None
        types = r"\b(class|struct|union|enum(?: class)?)\s+(\w+)"
        kind, name = re.findall(types, head.partition(" : ")[0])[-1]  # after template parameters
        functions = "(" in re.sub(r"//[^\n]*", "", body)
        if not kind.startswith("enum") and (functions or kind == "class"):
            return Declaration(name, f"{head};", members=_scope(body, visible=kind != "class"))
        end = "\n" if "\n" in body else " "
        return Declaration(name, f"{head} {{{body.rstrip()}{end}}};")
    if body and head.endswith("="):
        return Declaration(_name(head), f"{head} {{{body}}};")
    # A constructor's initialisers are as private as its body.
    code = re.sub(r"\)(\s*noexcept)?\s*:\s(?!:).*", r")\1", head, flags=re.DOTALL)
    return Declaration(_name(head), f"{code};")


def _name(head: str) -> str:
    plain = re.sub(r"^template\s*<.*?>\s*(?=\w)", "", head, flags=re.DOTALL)
    plain = re.sub(r"^requires\b[^\n]*\n\s*", "", plain)
    if operator := re.search(r"operator\s*([^\s(]+|\(\))", plain):
        return f"operator {operator[1]}" if operator[1][0].isalpha() else f"operator{operator[1]}"
    if alias := re.match(r"using\s+(\w+)", plain):
        return alias[1]
    words: List[str] = re.findall(r"~?\w+", re.split(r"[(=\[{]", plain, maxsplit=1)[0])
    return words[-1] if words else ""


# --- pages ---------------------------------------------------------------------------------------


def headers(root: Path) -> Dict[str, str]:
    """The headers that have pages: their paths, and their pages' names."""
    own = "common/cpu_device/include/cpu_device.h"
    ours = sorted((root / "common/include/lab").glob("*.hpp"))
    return {own: "cpu_device", **{p.relative_to(root).as_posix(): p.stem for p in ours}}


def pages(root: Path) -> Dict[str, str]:
    """The pages by their names in the site; `api` lists the others."""
    found: Dict[str, str] = {}
    rows = []
    for path, name in headers(root).items():
        header = read((root / path).read_text(encoding="utf-8"))
        title = path.partition("/include/")[2]
        found[f"api/{name}"] = page(title, header, path)
        rows.append(f"| [`{title}`](/api/{name}.md) | {header.summary} |")
    listed = "\n".join(found)
    own, *others = rows
    found["api"] = "\n".join(
        [
            "# What the headers offer\n",
            "These pages are made from the headers' own comments. Exercises and their programs"
            " include `lab/…`. `cpu_device.h` is what the CPU device offers beyond CUDA: a program"
            " that includes it runs on that device alone.\n",
            *("| header | what it has |", "|---|---|", *others, own),
            f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n",
        ]
    )
    return found


def page(title: str, header: Header, source: str) -> str:
    """A header's page; `source` is its path."""
    parts = [f"# `{title}`", header.summary, f"Declared in [`{source}`](/files/{source}.md)."]
    for group in _groups(header.declarations):
        parts += _shown(group, level=2)
    return "\n\n".join(filter(None, parts)) + "\n"


def _groups(declarations: List[Declaration]) -> List[List[Declaration]]:
    """What stands together, below one comment."""
    found: List[List[Declaration]] = []
    for each in declarations:
        if not found or each.apart or each.members or found[-1][-1].members:
            found.append([])
        found[-1].append(each)
    return found


def _shown(group: List[Declaration], level: int) -> List[str]:
    """Members have no headings, unless they are classes themselves."""
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(each.name for each in group))
    members = group[0].members
    parts = [f"{'#' * level} {names}"] if level == 2 or members else []
    code = "\n".join(each.code for each in group)
    parts += [f"```cpp\n{code}\n```", _markdown(group[0].comment)]
    for each in _groups(members):
        parts += _shown(each, level + 1)
    return parts


def _markdown(comment: str) -> str:
    """The comment, with what it indents as a block of C++."""
    lines: List[str] = []
    block: List[str] = []
    for line in [*comment.splitlines(), "end"]:
        begins = line.startswith("    ") and (not lines or not lines[-1])
        if begins or (block and (not line or line.startswith("    "))):
            block.append(line[4:])
            continue
        if block:
            lines += ["```cpp", *"\n".join(block).rstrip().splitlines(), "```", ""]
            block = []
        lines.append(line)
    return "\n".join(lines[:-1]).strip()
