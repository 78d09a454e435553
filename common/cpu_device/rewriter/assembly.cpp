// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <string>
#include <string_view>

#include "stretch.hpp"

namespace rewriter {
namespace {

/// PTX names the type in the instruction: `add.u32`.
bool looks_like_ptx(std::string_view text) {
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    if (text[i] != '.' || !is_one_of(text.substr(i + 1, 1), {"u", "s", "b", "f"})) continue;
    if (text[i + 2] == '8' || is_one_of(text.substr(i + 2, 2), {"16", "32", "64"})) return true;
  }
  return false;
}

}  // namespace

void check_assembly(const stretch& s, std::size_t at) {
  std::size_t i = at + 1;
  while (is_identifier(s.ts, i)) ++i;  // volatile, goto
  if (!is(s.ts, i, "(") || s.ts[at].conditional) return;
  bool code = false;
  std::string text;
  for (++i; i < s.ts.size() && s.ts[i].kind == token_kind::string; ++i) text += s.ts[i].text;
  for (const char c : text) code = code || (c != '"' && c != ' ');
  if (!code) return;
  const bool device = s.macro == nullptr && s.file.scope_of(at).device;
  if (device || (s.in_block(at) && looks_like_ptx(text)))
    s.report(s.ts[at].line, "inline PTX is machine code of a GPU; the CPU device cannot run it");
}

}  // namespace rewriter
