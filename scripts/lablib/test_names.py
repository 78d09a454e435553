# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Words in names of tests that look misspelled. The lane `spelling` runs this as a program.

A list of common slips does not find RefusesATolerancThatIsNone. So each word of a name must be in
the dictionary, or be used elsewhere in the repository: CUDA's words are, and slips are not.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from lablib.errors import FAILED, NOT_POSSIBLE, OK  # noqa: E402

DICTIONARY = Path("/usr/share/dict/american-english")  # of Debian's package wamerican

# Right, but in no dictionary.
OURS = set(
    "cubics cudas encodings exponentials googletest marsaglias multisets parities unstaged".split()
)

_NAME = re.compile(
    r"\b(?:TYPED_)?TEST(?:_[A-Z]+)?\(\s*(\w+),\s*(\w+)\)|\bdef (test_\w+)|\bclass (\w*Test\w*)"
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def words(text: str) -> Iterator[str]:
    """The words of names and prose, in lower case: RefusesNaN is refuses, na, n."""
    for match in _WORD.finditer(text):
        yield match[0].lower()


def unknown(files: Dict[str, str], dictionary: Set[str]) -> List[Tuple[str, str, str]]:
    """`file:line`, name and word for each word that is neither in the dictionary nor elsewhere."""
    known = dictionary | OURS
    for text in files.values():
        known.update(words(_NAME.sub("", text)))
    return [
        (f"{file}:{text.count(chr(10), 0, match.start()) + 1}", name, word)
        for file, text in files.items()
        for match in _NAME.finditer(text)
        for name in filter(None, match.groups())
        for word in words(name)
        # "A block's sum" is ABlocksSum.
        if len(word) > 3 and not {word, re.sub("s$", "'s", word)} & known
    ]


def main() -> int:
    try:
        lines = DICTIONARY.read_text(encoding="utf-8").splitlines()
    except OSError:
        print(f"{DICTIONARY} is not here: `scripts/setup --author` installs it.", file=sys.stderr)
        return NOT_POSSIBLE
    listed = subprocess.run(["git", "ls-files", "-z"], stdout=subprocess.PIPE, check=True).stdout
    files = {
        file: Path(file).read_text(encoding="utf-8")
        for file in listed.decode().split("\0")
        if re.search(r"\.(cpp|cu|h|hpp|md|py|toml|txt)$", file) and Path(file).is_file()
    }
    found = unknown(files, {line.lower() for line in lines})
    for place, name, word in found:
        print(f"{place}: '{word}' in {name} is in no dictionary, and nowhere else here.")
    if found:
        print("Next: mend the names, or add a word that is right to OURS in " + sys.argv[0] + ".")
    return FAILED if found else OK


if __name__ == "__main__":
    sys.exit(main())
