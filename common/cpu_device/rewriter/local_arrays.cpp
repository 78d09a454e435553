// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <string>

#include "declarations.hpp"
#include "locals.hpp"
#include "stretch.hpp"

namespace rewriter {
namespace {

/// Whether the threads of a block wait for each other somewhere in [begin, end).
bool has_barrier(const tokens& ts, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    if (ts[i].is("__syncthreads") || (ts[i].is("sync") && is(ts, i + 1, "("))) return true;
  return false;
}

/// Whether the declaration is of variables of one thread.
bool is_local(const tokens& ts, const declaration& d) {
  for (std::size_t i = d.begin; i < d.end; ++i)
    if (is_one_of(ts[i].text, {"__shared__", "__device__", "__constant__", "static", "extern",
                               "const", "constexpr", "using", "typedef"}))
      return false;
  return d.understood && d.end < ts.size();
}

}  // namespace

void edit_local_arrays(const stretch& s) {
  const tokens& ts = s.ts;
  for (std::size_t open = 0; open + 1 < ts.size(); ++open) {
    if (!ts[open].is("{") || s.in_block(open) || !s.in_block(open + 1)) continue;
    const std::size_t close = match_forward(ts, open);  // of a function's body
    if (close == kNone) return;
    if (has_barrier(ts, open, close)) {
      for (std::size_t i = open + 1; i < close; ++i) {
        if (!s.in_block(i) ||  // a member of a local class: only an object of it is an array
            !is_one_of(ts[i - 1].text, {"{", "}", ";"}) || !is_identifier(ts, i) ||
            is_expression_keyword(ts[i].text) || is_control_keyword(ts[i].text) ||
            is_class_key(ts[i].text))
          continue;
        const declaration d = read_declaration(ts, i);
        if (d.begin != i || !is_local(ts, d)) continue;
        std::string births;
        for (const declaration::declarator& one : d.declarators) {
          if (one.extents == kNone || one.initialised) continue;
          const token& name = ts[one.name];
          births += " ::cpu_device::local_birth(" + std::string(name.text) + ", " +
                    literal(name.text) + ", __FILE__, " + std::to_string(name.line) + ");";
        }
        if (!births.empty()) s.replace(ts[d.end].end(), ts[d.end].end(), births);
        i = d.end;
      }
    }
    open = close;
  }
}

}  // namespace rewriter
