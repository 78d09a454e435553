// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>

#include "stretch.hpp"

namespace rewriter {

void edit_forceinline(const stretch& s, std::size_t at) {
  bool inline_already = false, in_lambda = false;
  for (std::size_t i = at; i > 0; --i) {
    if (s.ts[i - 1].is("]") && !(i > 1 && s.ts[i - 2].is("]"))) in_lambda = true;
    if (!is_identifier(s.ts, i - 1)) break;
    inline_already =
        inline_already || is_one_of(s.ts[i - 1].text, {"inline", "__inline__", "__forceinline__"});
  }
  for (std::size_t i = at + 1; is_identifier(s.ts, i); ++i)
    inline_already = inline_already || is_one_of(s.ts[i].text, {"inline", "__inline__"});
  s.replace(s.ts[at].begin, s.ts[at].end(),
            in_lambda        ? ""
            : inline_already ? "__attribute__((always_inline))"
                             : "inline __attribute__((always_inline))");
}

}  // namespace rewriter
