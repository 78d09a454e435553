// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>

#include "declarations.hpp"
#include "stretch.hpp"

namespace rewriter {
namespace {

bool is_qualifier(const token& t) {
  return is_one_of(t.text, {"__device__", "__constant__", "__managed__"});
}

/// Whether the qualifier at `at` is the first of a variable that all files would share.
bool starts_shared_variable(const stretch& s, std::size_t at) {
  if (s.file.scope_of(at).kind != scope_kind::outer) return false;
  const declaration d = read_declaration(s.ts, at);
  if (!d.understood || d.end == s.ts.size()) return false;
  if (d.begin > 0 && s.ts[d.begin - 1].is(">")) return false;  // a template's
  const std::size_t name = d.declarators.front().name;
  if (is(s.ts, name + 1, "(") || s.ts[name - 1].is("::")) return false;  // a function's, a member's
  for (std::size_t i = d.begin; i < name; ++i) {
    if (is_one_of(s.ts[i].text, {"extern", "static", "inline", "__shared__"})) return false;
    if (i < at && is_qualifier(s.ts[i])) return false;
  }
  return true;
}

}  // namespace

void edit_device_variables(const stretch& s) {
  for (std::size_t i = 0; i < s.ts.size(); ++i)
    if (is_qualifier(s.ts[i]) && starts_shared_variable(s, i))
      s.replace(s.ts[i].begin, s.ts[i].begin, "static ");
}

}  // namespace rewriter
