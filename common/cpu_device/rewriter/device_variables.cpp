// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "declarations.hpp"
#include "stretch.hpp"

namespace rewriter {
namespace {

bool is_qualifier(const token& t) {
  return is_one_of(t.text, {"__device__", "__constant__", "__managed__"});
}

/// Whether the qualifier at `at` is the first one of a variable outside functions and classes.
bool starts_variable(const stretch& s, std::size_t at, const declaration& d) {
  if (!d.understood || d.end == s.ts.size()) return false;
  if (d.begin > 0 && s.ts[d.begin - 1].is(">")) return false;  // a template's
  const std::size_t name = d.declarators.front().name;
  if (is(s.ts, name + 1, "(") || s.ts[name - 1].is("::")) return false;  // a function's, a member's
  for (std::size_t i = d.begin; i < at; ++i)
    if (is_qualifier(s.ts[i])) return false;
  return true;
}

/// Where `static` goes if the declaration's first qualifier is at `at`. In C++ only the type may
/// come after it: `static __device__ alignas(16) char b[64]` is none.
std::size_t behind_attributes(const tokens& ts, std::size_t at) {
  for (;;) {
    const bool names_type = is_one_of(ts[at].text, {"decltype", "typeof", "__typeof__"});
    const std::size_t after = is_qualifier(ts[at]) ? at + 1 : skip_attribute(ts, at);
    if (names_type || after == at) return at;
    at = after;
  }
}

/// What makes the declaration's variables known to the runtime.
std::string noted(const stretch& s, const declaration& d, bool is_extern) {
  std::string text;
  for (const declaration::declarator& one : d.declarators) {
    const bool reference = s.ts[one.name - 1].is("&");
    if (reference || is(s.ts, one.name + 1, "(") || (is_extern && !one.initialised)) continue;
    const std::string name(s.ts[one.name].text);
    text += " static const ::cpu_device::device_variable cpu_device_v_" + name + '(' + name + ");";
  }
  return text;
}

/// What holds `__constant__` variables to the memory that there is: their sizes may be known only
/// to the compiler. `sizes`: the terms of those before them that have the same braces around them.
std::string limited(const stretch& s, const declaration& d, bool is_extern, std::string& sizes) {
  std::string here = sizes;
  for (const declaration::declarator& one : d.declarators) {
    const bool reference = s.ts[one.name - 1].is("&");
    if (reference || is(s.ts, one.name + 1, "(") || (is_extern && !one.initialised)) continue;
    here += (here.empty() ? "sizeof(" : " + sizeof(") + std::string(s.ts[one.name].text) + ")";
  }
  if (here == sizes) return "";
  if (!s.ts[d.declarators.front().name].uncertain) sizes = here;
  return " static_assert(" + here + " <= " + std::to_string(kConstantMemory) +
         ", \"the `__constant__` variables of this file have more bytes than the " +
         std::to_string(kConstantMemory) +
         " that there are: put the large ones into `__device__` memory\");";
}

}  // namespace

void edit_device_variables(const stretch& s, bool whole_program) {
  std::map<std::uint32_t, std::string> sizes;  // of the constants between the same braces
  for (std::size_t i = 0; i < s.ts.size(); ++i) {
    if (!is_qualifier(s.ts[i]) || s.file.scope_of(i).kind != scope_kind::outer) continue;
    const declaration d = read_declaration(s.ts, i);
    if (!starts_variable(s, i, d)) continue;
    const auto is_declared = [&](std::string_view word) {
      for (std::size_t k = d.begin; k < d.declarators.front().name; ++k)
        if (s.ts[k].is(word)) return true;
      return false;
    };
    if (is_declared("__shared__")) continue;
    const bool is_extern = is_declared("extern");
    if (whole_program && !is_extern && !is_declared("static") && !is_declared("inline")) {
      const std::size_t place = s.ts[behind_attributes(s.ts, i)].begin;
      s.replace(place, place, "static ");
    }
    if (is_declared("__managed__")) continue;
    const std::size_t end = s.ts[d.end].end();
    std::string text = noted(s, d, is_extern);
    if (is_declared("__constant__")) text += limited(s, d, is_extern, sizes[s.file.places[i]]);
    if (!text.empty()) s.replace(end, end, text);
  }
}

}  // namespace rewriter
