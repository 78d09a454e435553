# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The verb completion: what a shell runs at its start to complete verbs, options and exercises.

The shells' scripts know nothing of verbs: at each Tab they ask `scripts/lab completion words`, so
that they need not change with the course.
"""

import argparse
import shlex
from pathlib import Path
from typing import Dict, Iterator, List, Sequence, Tuple

from lablib.errors import OK, USAGE, LabError
from lablib.exercises import find_exercises
from lablib.verbs.verb import Parser, Verb

_BASH = """\
# Completion of scripts/lab for bash. In ~/.bashrc:
#   source <(LAB completion bash)
_cuda_labs() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("${line%%$'\\t'*}")
  done < <(LAB completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _cuda_labs lab
"""

_ZSH = """\
# Completion of scripts/lab for zsh. In ~/.zshrc, after compinit:
#   source <(LAB completion zsh)
_cuda_labs() {
  local -a found
  found=("${(@f)$(LAB completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("${(@)found%%$'\\t'*}")
  if [[ -n ${found[1]} ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _cuda_labs lab
"""

_FISH = """\
# Completion of scripts/lab for fish. In ~/.config/fish/config.fish:
#   LAB completion fish | source
function __cuda_labs
  set -l words (commandline -opc) (commandline -ct)
  LAB completion words -- $words[2..-1] 2>/dev/null
end
complete -c lab -a '(__cuda_labs)'
"""

_SHELLS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def _arguments(parser: Parser) -> None:
    parser.positional("shell", metavar="SHELL", help=" or ".join(_SHELLS))


def _completion(root: Path, options: argparse.Namespace) -> int:
    if options.shell == "words":
        for word, what in candidates(root, options.rest):
            print(f"{word}\t{what}")
        return OK
    if options.shell not in _SHELLS or options.rest:
        raise LabError(
            f"there is completion for {', '.join(_SHELLS)}: `scripts/lab completion bash`.", USAGE
        )
    lab = str(root / "scripts" / "lab")
    quoted = shlex.quote(lab)
    if options.shell == "fish":
        quoted = "'" + lab.replace("\\", "\\\\").replace("'", "\\'") + "'"
    print(_SHELLS[options.shell].replace("LAB", quoted), end="")
    return OK


def candidates(root: Path, words: List[str]) -> Iterator[Tuple[str, str]]:
    """What the last word can become, given those before it; each with a few words about it."""
    from lablib.cli import all_verbs  # this verb is one of them

    *before, current = words or [""]
    if "--" in before:
        return  # arguments of a program
    for word, what in _choices(root, tuple(all_verbs()), before, current):
        if word.startswith(current):
            yield word, what


def _choices(
    root: Path, verbs: Sequence[Verb], before: List[str], current: str
) -> Iterator[Tuple[str, str]]:
    while True:
        if not before:
            yield from ((verb.name, verb.sentence) for verb in verbs)
            return
        verb = next((verb for verb in verbs if verb.name == before[0]), None)
        if verb is None:
            return
        before = before[1:]
        if not verb.parts:
            break
        verbs = verb.parts
    if before and before[-1] == "--device":
        yield from (("cpu", "the CPU device"), ("gpu", "an NVIDIA GPU"))
    elif current.startswith("-"):
        yield from _options(verb).items()
    elif verb.name == "completion" and not before:
        yield from ((shell, "") for shell in _SHELLS)
    elif verb.takes_exercises:
        for exercise in find_exercises(root):
            yield exercise.id, exercise.name
            if current:  # else each would be there twice
                yield exercise.name, exercise.id


def _options(verb: Verb) -> Dict[str, str]:
    parser = Parser(add_help=False)
    verb.arguments(parser)
    return {**parser.options, "--help": "what the verb does, and its options"}


VERBS = (
    Verb(
        "completion",
        "Print a script that has your shell complete verbs, options and exercises. It says itself"
        " where it belongs.",
        _arguments,
        _completion,
        takes_rest=True,
    ),
)
