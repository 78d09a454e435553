// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <string>

#include "declarations.hpp"
#include "stretch.hpp"

namespace rewriter {
namespace {

/// The words of [begin, end) that belong to a type.
std::string type_of(const stretch& s, const declaration& d, std::size_t begin, std::size_t end) {
  std::string type;
  for (std::size_t i = begin; i < end; ++i) {
    const auto attribute = std::find_if(d.attributes.begin(), d.attributes.end(),
                                        [&](const auto& range) { return range.first == i; });
    if (attribute != d.attributes.end()) {
      i = attribute->second - 1;
      continue;
    }
    if (is_one_of(s.ts[i].text, {"extern", "static", "__shared__", "__device__"})) continue;
    if (!type.empty() && (!adjacent(s.ts, i - 1) || type.back() == ' ')) type += ' ';
    type += s.ts[i].text;
  }
  return type;
}

/// A type in one word, if it is one of the language's: "unsigned int" and "unsigned" are the same.
std::string basic_type(const stretch& s, const declaration& d) {
  const declaration::declarator& one = d.declarators.front();
  if (s.ts[one.begin].is("*") || s.ts[one.begin].is("&")) return {};
  std::string base;
  int longs = 0;
  bool is_unsigned = false, is_signed = false;
  for (std::size_t i = d.begin; i < one.begin; ++i) {
    const token& t = s.ts[i];
    const auto attribute = std::find_if(d.attributes.begin(), d.attributes.end(),
                                        [&](const auto& range) { return range.first == i; });
    if (attribute != d.attributes.end()) {
      i = attribute->second - 1;
    } else if (t.is("long")) {
      ++longs;
    } else if (t.is("unsigned")) {
      is_unsigned = true;
    } else if (t.is("signed")) {
      is_signed = true;
    } else if (is_one_of(t.text, {"char", "short", "float", "double", "bool"}) ||
               (t.is("int") && base.empty())) {
      base = t.text;
    } else if (!is_one_of(t.text, {"extern", "__shared__", "int"})) {
      return {};
    }
  }
  if (base == "int" && longs != 0) base.clear();
  if (is_signed && base == "char") base = "signed char";
  const std::string text = std::string(is_unsigned ? "unsigned " : "") +
                           (longs > 0 ? "long " : "") + (longs > 1 ? "long " : "") + base;
  return text == "unsigned " ? "unsigned int" : text;
}

/// Refuses a second `extern __shared__` of one name, with another type.
void check_other_types(const stretch& s, std::size_t at, const declaration& d) {
  const std::string type = basic_type(s, d);
  if (type.empty() || s.macro != nullptr || s.ts[at].uncertain) return;
  const std::string_view name = s.ts[d.declarators.front().name].text;
  for (std::size_t i = 0; i < d.begin; ++i) {
    if (!s.ts[i].is("__shared__") || s.ts[i].uncertain) continue;
    const declaration other = read_declaration(s.ts, i);
    if (!other.understood || other.declarators.front().extents == kNone ||
        s.ts[other.declarators.front().name].text != name)
      continue;
    const bool dynamic = std::any_of(s.ts.begin() + static_cast<std::ptrdiff_t>(other.begin),
                                     s.ts.begin() + static_cast<std::ptrdiff_t>(other.end),
                                     [](const token& t) { return t.is("extern"); });
    const std::string before = basic_type(s, other);
    if (dynamic && !before.empty() && before != type)
      return s.report(s.ts[at].line, "`" + std::string(name) + "` is `" + before + "` in line " +
                                         std::to_string(s.ts[i].line) + " and `" + type +
                                         "` here: `extern __shared__` arrays of one name are one "
                                         "variable of the file, so give this one another name");
  }
}

void edit_dynamic_shared(const stretch& s, std::size_t at, const declaration& d) {
  bool understood = d.understood;
  for (const declaration::declarator& one : d.declarators)
    if (one.initialised) understood = false;
  if (!understood || (s.macro == nullptr && d.end == s.ts.size())) {
    if (s.macro == nullptr && !s.ts[at].conditional)
      s.report(s.ts[at].line,
               "this `extern __shared__` is not understood: extern __shared__ float name[];");
    return;
  }
  check_other_types(s, at, d);
  const std::string type = type_of(s, d, d.begin, d.declarators.front().begin);
  const bool block = s.in_block(at);
  std::string text;
  for (std::size_t k = 0; k < d.declarators.size(); ++k) {
    const declaration::declarator& one = d.declarators[k];
    std::string whole = type + type_of(s, d, one.begin, one.name);
    if (one.extents != kNone) whole += type_of(s, d, match_forward(s.ts, one.extents) + 1, one.end);
    const bool array = one.extents != kNone;
    if (k != 0) text += "; ";
    text += block ? (array ? "[[maybe_unused]] auto* const " : "[[maybe_unused]] auto& ")
                  : "[[maybe_unused]] static constexpr ::cpu_device::dynamic_shared_array<" +
                        whole + "> ";
    if (k == 0) {  // the name keeps its line
      s.replace(s.ts[d.begin].begin, s.ts[one.name].begin,
                text + s.newlines(s.ts[d.begin].begin, s.ts[one.name].begin));
      text.clear();
    } else {
      text += s.ts[one.name].text;
    }
    text += block ? std::string(array ? " = " : " = *") + "static_cast<::std::add_pointer_t<" +
                        whole + ">>(::cpu_device::dynamic_shared())"
                  : "{}";
  }
  const std::size_t from = s.ts[d.declarators.front().name].end();
  const std::size_t to = s.ts[d.end - 1].end();
  s.replace(from, to, text + s.newlines(from, to));
}

}  // namespace

void edit_shared(const stretch& s, std::size_t at) {
  const declaration d = read_declaration(s.ts, at);
  for (std::size_t i = d.begin; i < at; ++i)
    if (s.ts[i].is("extern")) return edit_dynamic_shared(s, at, d);
  if (is(s.ts, at + 1, "extern")) return edit_dynamic_shared(s, at, d);

  const std::size_t specifiers_end = d.declarators.empty() ? at + 2 : d.declarators.front().name;
  for (std::size_t i = d.begin; i < specifiers_end && i < s.ts.size(); ++i) {
    if (s.ts[i].is("{")) i = std::min(match_forward(s.ts, i), specifiers_end);
    if (!is(s.ts, i, "static")) continue;
    const std::size_t end = s.ts[i].end();
    const bool blank = end < s.file.source.size() && s.file.source[end] == ' ';
    s.replace(s.ts[i].begin, end + (blank ? 1 : 0), "");
  }
  if (!d.understood) return;
  // `static thread_local alignas(16) float x` is not C++: alignas comes first.
  for (const auto& [first, last] : d.alignments) {
    if (first == d.begin || first > specifiers_end) continue;
    s.replace(s.ts[d.begin].begin, s.ts[d.begin].begin, flat(s.ts, first, last) + ' ');
    s.replace(s.ts[first].begin, s.ts[last - 1].end(),
              s.newlines(s.ts[first].begin, s.ts[last - 1].end()));
  }
  std::string names;
  for (const declaration::declarator& one : d.declarators) {
    const token& name = s.ts[one.name];
    if (one.initialised && !name.conditional)
      s.report(name.line, "`__shared__` variable `" + std::string(name.text) +
                              "` cannot have an initialiser: every block has its own copy, so a "
                              "thread must write the first value (then __syncthreads())");
    names += (names.empty() ? "" : ", ") + std::string(name.text);
  }
  if (!s.in_block(at) || d.end == s.ts.size()) return;
  for (const declaration::declarator& one : d.declarators) {
    const std::size_t begin = s.ts[one.begin].begin;
    const bool touches = s.ts[one.begin - 1].end() == begin;  // as in `char* p`
    s.replace(begin, begin,
              (touches ? " CPU_DEVICE_GAP(" : "CPU_DEVICE_GAP(") +
                  std::string(s.ts[one.name].text) + ", " +
                  (one.extents == kNone ? "" : type_of(s, d, one.extents, one.end)) + ") ");
  }
  s.replace(s.ts[d.end].end(), s.ts[d.end].end(),
            " ::cpu_device::shared_birth([] { return \"" + names + "\"; }, " + names + ");");
}

}  // namespace rewriter
