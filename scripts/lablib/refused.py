# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What no exercise needs and no student's file may have: words that blind the checks, or that talk
to the CPU device behind the tests' back.

The text is a stranger's and is read outside of any sandbox, so the time that reading takes must
grow with its length and no faster: no pattern here fails slowly, or matches one text in two ways.
"""

import re

_REFUSED = {
    "disable_sanitizer_instrumentation": "switches checks off",
    "no_instrument_function": "switches checks off",
    "asm": "is assembly, which no check sees",
    "__asm": "is assembly, which no check sees",
    "__asm__": "is assembly, which no check sees",
    "setenv": "changes the environment",
    "putenv": "changes the environment",
    "unsetenv": "changes the environment",
    "environ": "reads or changes the environment",
}

# Anywhere in a name or a string: functions of the CPU device have names in which theirs is a part,
# for the linker and for dlsym().
_PARTS = {
    "cpu_device": "talks to the CPU device itself",
    "CPU_DEVICE_": "talks to the CPU device itself",  # __CPU_DEVICE__ does not
    "no_sanitize": "switches checks off",
}
_WORD = re.compile(
    rf"(?<!\w)(?:{'|'.join(_REFUSED)}|__tsan_\w*|__sanitizer_\w*)(?!\w)"
    # (The variables that the rewriter makes are only its own.)
    r"|cpu_device(?!_(?:[blp]|carry|r?\d+)\b)|CPU_DEVICE_(?!_\b)|no_sanitize"
)
_PRAGMA = re.compile(r"#\s*pragma\s+(GCC|clang)\s+(optimize|attribute|target|push_options)")
_RENAMING = re.compile(
    r"(?:^|\*/)[^\S\n]*(?:\#|%:|\?\?=)[^\S\n]*(?:line\b|/\*|\d+[^\S\n]*(?:[\"\w]|/\*))",
    re.MULTILINE,
)
_SPLICE = re.compile(r"(?:\\|\?\?/)[^\S\n]*\n")
_COMMENT_OR_STRING = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|R"([^(\s]{0,16})\(.*?(?:\)\1"|\Z)"""
    r"""|"(?:\\.|[^"\\\n]+)*"?|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n]+)*'?""",
    re.DOTALL,
)


def by_text(text: str) -> str:
    """What can be said of a file without a compiler: the sentence that refuses it, or "".

    What looks like a directive that says which file this is, is taken for one, in a comment too:
    whoever reads comments as a compiler does can be misled. So is any directive with a comment
    before its name.
    """
    as_written, text = text, _SPLICE.sub("", text)
    if _RENAMING.search(text) or _RENAMING.search(as_written):  # raw strings keep their lines
        return "the file is refused: '#line' says where code comes from, and no exercise needs it."
    # In a comment too: the rewriter's own words look like this.
    if "::cpu_device::" in text or "CPU_DEVICE_GAP" in text:
        return by_word("cpu_device")
    if not by_word(text):
        return ""
    return by_word(
        _COMMENT_OR_STRING.sub(lambda match: " " if match[0][0] == "/" else match[0], text)
    )


def by_word(text: str) -> str:
    """The sentence about the first word that no solution needs; "" if there is none. What looks
    like a comment counts: there are none where a preprocessor has been."""
    if match := _WORD.search(text):
        word = match[0]
        why = _REFUSED.get(word) or _PARTS.get(word, "talks to the checks")
        return f"the file is refused: '{word}' {why}, and no exercise needs it."
    if _PRAGMA.search(text):
        return "the file is refused: a #pragma changes how the compiler makes the checks."
    return ""
