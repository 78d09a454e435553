// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "declarations.hpp"

#include <cstddef>

namespace rewriter {
namespace {

bool read_declarators(const tokens& ts, declaration& d) {
  bool class_key = false;
  std::size_t words = 0;  // words of the type, as far as they can be told from its name
  std::size_t name = kNone, pointer = kNone;
  std::size_t i = d.begin;
  for (; i < d.end; ++i) {
    const token& t = ts[i];
    if (const std::size_t after = skip_attribute(ts, i); after != i) {
      if (t.is("decltype") || t.is("__typeof__") || t.is("typeof")) {
        ++words;
      } else {
        d.attributes.emplace_back(i, after);
        if (is_alignment(t.text) && !class_key) d.alignments.emplace_back(i, after);
      }
      i = after - 1;
    } else if (is_class_key(t.text)) {
      class_key = true;
    } else if (t.is("{") && class_key && (name == kNone || words != 0 || name == i - 1)) {
      i = match_forward(ts, i);
      ++words;
      name = kNone;
      class_key = false;
    } else if (t.kind == token_kind::identifier) {
      if (is_one_of(t.text,
                    {"extern", "static", "__shared__", "__device__", "__constant__", "__managed__",
                     "const", "volatile", "inline", "typename", "__restrict__"}))
        continue;
      if (name != kNone) ++words;
      name = i;
      if (is(ts, i + 1, "<")) {
        const std::size_t close = angle_forward(ts, i + 1);
        if (close == kNone || close > d.end) return false;
        i = close;
      }
    } else if (t.is("*") || t.is("&")) {
      if (pointer == kNone) pointer = i;
    } else if (!t.is("::")) {
      break;
    }
  }
  if (name == kNone || words == 0 || name + 1 != i) return false;
  if (is(ts, i, "(") && (is(ts, i + 1, "*") || is(ts, i + 1, "&"))) return false;
  std::size_t begin = pointer == kNone ? name : pointer;
  while (true) {
    declaration::declarator one{begin, name, i, kNone, false};
    while (i < d.end && !ts[i].is(",")) {
      if (const std::size_t after = skip_attribute(ts, i); after != i) {
        d.attributes.emplace_back(i, after);
        i = after;
      } else if (ts[i].is("[") && !one.initialised) {
        if (one.extents == kNone) one.extents = i;
        i = match_forward(ts, i) + 1;
      } else if (one.initialised) {
        i = opens(ts[i]) ? match_forward(ts, i) + 1 : i + 1;
      } else if (ts[i].is("=") || ts[i].is("{") || ts[i].is("(")) {
        one.initialised = true;
      } else {
        return false;
      }
    }
    one.end = i;
    d.declarators.push_back(one);
    if (i >= d.end) return true;
    begin = ++i;
    while (is(ts, i, "*") || is(ts, i, "&") || is(ts, i, "const")) ++i;
    if (!is_identifier(ts, i) || i >= d.end) return false;
    name = i++;
  }
}

}  // namespace

/// Takes apart the declaration that the `__shared__` at `at` is part of.
declaration read_declaration(const tokens& ts, std::size_t at) {
  declaration d;
  d.begin = at;
  while (d.begin > 0) {
    const token& before = ts[d.begin - 1];
    if (before.kind == token_kind::identifier && !is_expression_keyword(before.text) &&
        !is_class_key(before.text)) {
      --d.begin;
    } else if (before.is(")") || before.is("]")) {
      const std::size_t open = match_back(ts, d.begin - 1);
      const std::size_t first = open == kNone || before.is("]") ? open : open - 1;
      if (open == kNone || first == kNone || skip_attribute(ts, first) != d.begin) break;
      d.begin = first;
    } else {
      break;
    }
  }
  d.end = ts.size();
  for (std::size_t i = at; i < ts.size(); ++i) {
    if (opens(ts[i])) {
      i = match_forward(ts, i);
      if (i == kNone) return d;
    } else if (closes(ts[i])) {
      return d;
    } else if (ts[i].is(";")) {
      d.end = i;
      break;
    }
  }
  d.understood = read_declarators(ts, d);
  return d;
}

}  // namespace rewriter
