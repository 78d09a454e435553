# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What no exercise needs and no student's file may have: words that blind the checks, or that talk
to the CPU device behind the tests' back."""

import re

from lablib.cuda_tokens import all_tokens, code_only

_REFUSED = {
    "cpu_device": "talks to the CPU device itself",
    "no_sanitize": "switches checks off",
    "__no_sanitize__": "switches checks off",
    "no_sanitize_thread": "switches checks off",
    "__no_sanitize_thread__": "switches checks off",
    "no_sanitize_address": "switches checks off",
    "no_sanitize_undefined": "switches checks off",
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


_SPACE = r"(?:[^\S\n]|/\*.*?\*/)*"
_RENAMING = re.compile(
    rf"(?:^|\*/){_SPACE}(?:\#|%:|\?\?=){_SPACE}(?:line\b|\d+{_SPACE}[\"\w])",
    re.DOTALL | re.MULTILINE,
)


def by_text(text: str) -> str:
    """What can be said of a file without a compiler: the sentence that refuses it, or "".

    What looks like a directive that says which file this is, is taken for one, in a comment too:
    whoever reads comments as a compiler does can be misled.
    """
    if _RENAMING.search(re.sub(r"(?:\\|\?\?/)[^\S\n]*\n", "", text)):
        return "the file is refused: '#line' says where code comes from, and no exercise needs it."
    return by_word("\n".join(code_only(text)) + " cpu_device" * ("::cpu_device::" in text))


def by_word(text: str) -> str:
    """The sentence about the first word that no solution needs; "" if there is none."""
    for token in all_tokens(text):
        words = [token.text] if token.kind == "name" else []
        if token.kind == "string":
            words = re.findall(r"\w*cpu_device\w*|CPU_DEVICE_\w+|\bno_sanitize\w*", token.text)
            words = ["cpu_device" for _ in words]
        for word in words:
            if word in _REFUSED or word.startswith(("__tsan_", "__sanitizer_")):
                why = _REFUSED.get(word, "talks to the checks")
                return f"the file is refused: '{word}' {why}, and no exercise needs it."
    if re.search(r"#\s*pragma\s+(GCC|clang)\s+(optimize|attribute|target|push_options)", text):
        return "the file is refused: a #pragma changes how the compiler makes the checks."
    return ""
