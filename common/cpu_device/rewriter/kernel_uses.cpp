// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <string>
#include <string_view>

#include "stretch.hpp"

namespace rewriter {
namespace {

/// void*, const void*, void const*
bool is_void_pointer(const stretch& s, std::size_t begin, std::size_t end) {
  bool is_void = false;
  for (std::size_t i = begin; i < end; ++i) {
    if (s.ts[i].is("void"))
      is_void = true;
    else if (!s.ts[i].is("const") && !(s.ts[i].is("*") && i + 1 == end))
      return false;
  }
  return is_void && end > begin && s.ts[end - 1].is("*");
}

/// Does a cast to a void pointer, or a function that launches, stand before i?
bool loses_type(const stretch& s, std::size_t i) {
  if (i < 2) return false;
  if (s.ts[i - 1].is(")")) {
    const std::size_t open = match_back(s.ts, i - 1);
    return open != kNone && is_void_pointer(s, open + 1, i - 1);
  }
  if (!s.ts[i - 1].is("(")) return false;
  if (s.ts[i - 2].is(">")) {
    const std::size_t angle = angle_back(s.ts, i - 2);
    return angle != kNone && angle > 0 &&
           is_one_of(s.ts[angle - 1].text, {"reinterpret_cast", "static_cast"}) &&
           is_void_pointer(s, angle + 1, i - 2);
  }
  return is_one_of(s.ts[i - 2].text, {"cudaLaunchKernel", "cudaLaunchCooperativeKernel"});
}

}  // namespace

/// A kernel whose address leaves its type behind: whoever launches it will need that.
bool edit_kernel_address(const stretch& s, std::size_t at) {
  if (s.names.spaces.count(s.ts[at].text) == 0 || s.names.ordinary.count(s.ts[at].text) != 0 ||
      (s.macro == nullptr && s.file.kernel_declarations.count(at) != 0))
    return false;
  std::size_t end = at + 1;  // behind the template's arguments
  if (is(s.ts, end, "<")) {
    const std::size_t close = angle_forward(s.ts, end);
    if (close == kNone) return false;
    end = close + 1;
  }
  if (is(s.ts, end, "(") || (end < s.ts.size() && opens_launch(s.ts[end]))) return false;
  std::size_t begin = at;  // before the name's namespaces
  while (begin > 0 && s.ts[begin - 1].is("::")) {
    --begin;
    if (begin > 0 && is_identifier(s.ts, begin - 1) && !is_expression_keyword(s.ts[begin - 1].text))
      --begin;
  }
  const std::size_t name = begin;
  if (begin > 0 && s.ts[begin - 1].is("&")) --begin;
  if (!loses_type(s, begin)) return false;
  const std::string shown = flat(s.ts, name, end);
  s.replace(s.ts[name].begin, s.ts[name].begin,
            "::cpu_device::remember_kernel(" + literal(shown) + ", ");
  s.replace(s.ts[end - 1].end(), s.ts[end - 1].end(), ")");
  if (name != begin) s.replace(s.ts[begin].begin, s.ts[begin].end(), "");  // the &
  return true;
}

void check_call(const stretch& s, std::size_t at) {
  const token& t = s.ts[at];
  const auto kernel = s.names.spaces.find(t.text);
  if (kernel == s.names.spaces.end() || s.names.ordinary.count(t.text) != 0 ||
      s.file.kernel_declarations.count(at) != 0 || t.conditional || !s.in_block(at))
    return;
  std::size_t next = at + 1;
  if (is(s.ts, next, "<")) {
    const std::size_t close = angle_forward(s.ts, next);
    if (close == kNone) return;
    next = close + 1;
  }
  if (!is(s.ts, next, "(")) return;
  if (at > 0) {
    const token& before = s.ts[at - 1];
    if (before.is(".") || before.is("->") || before.is("template")) return;
    if (before.is("::")) {
      const bool named =
          at > 1 && is_identifier(s.ts, at - 2) && !is_expression_keyword(s.ts[at - 2].text);
      const std::string_view space = named ? s.ts[at - 2].text : std::string_view();
      if (kernel->second.count(space) == 0) return;
    }
    if (before.kind == token_kind::identifier && !is_expression_keyword(before.text)) return;
  }
  s.report(t.line, "kernel `" + std::string(t.text) +
                       "` is called like an ordinary function; a kernel is launched: " +
                       flat(s.ts, at, next) + "<<<blocks, threads>>>(...)");
}

}  // namespace rewriter
