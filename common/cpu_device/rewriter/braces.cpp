// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <string>
#include <vector>

#include "stretch.hpp"

namespace rewriter {
namespace {

/// Whether every branch of every #if closes the braces that it opens. If not, counting them is
/// no use: `#if A / void f() { / #else / void f(int) { / #endif` opens one brace, not two.
bool branches_are_balanced(const stretch& s) {
  std::vector<int> open;  // braces of each branch that has not ended
  std::size_t i = 0;
  for (const directive& d : s.file.parts.directives) {
    for (; i < d.position; ++i)
      for (const char brace : braces_of(s.ts, i, s.file.unmatched))
        if (!open.empty()) open.back() += brace == '{' ? 1 : -1;
    const bool begins = d.name.substr(0, 2) == "if";
    const bool ends = d.name == "endif" || d.name.substr(0, 2) == "el";
    if (ends && !open.empty()) {
      if (open.back() != 0) return false;
      open.pop_back();
    }
    if (begins || (ends && d.name != "endif")) open.push_back(0);
  }
  return true;
}

}  // namespace

/// A function whose last brace is missing swallows the next one. The compiler would name what
/// follows from that; this names the first line of the next function, which begins at the margin.
bool report_open_brace(const stretch& s) {
  std::vector<std::size_t> open;
  const token* next = nullptr;
  int from = 0;
  for (std::size_t i = 0; i < s.ts.size(); ++i) {
    const token& t = s.ts[i];
    const bool at_margin = t.begin == 0 || s.file.source[t.begin - 1] == '\n';
    if (next == nullptr && at_margin && !open.empty() && t.kind == token_kind::identifier &&
        s.file.scope_of(i).kind == scope_kind::block && !is(s.ts, i + 1, ":")) {
      next = &t;
      from = s.ts[open.back()].line;
    }
    for (const char brace : braces_of(s.ts, i, s.file.unmatched)) {
      if (brace == '{')
        open.push_back(i);
      else if (!open.empty())
        open.pop_back();
    }
  }
  if (next == nullptr || open.empty() || !branches_are_balanced(s)) return false;
  s.report(next->line, "a `}` is missing above this line: the `{` of line " + std::to_string(from) +
                           " is still open here");
  return true;
}

}  // namespace rewriter
