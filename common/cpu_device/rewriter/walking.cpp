// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "walking.hpp"

#include <algorithm>

namespace rewriter {
namespace {

constexpr std::size_t kLongestArguments = 4096;  // tokens, a bracket and its content counted once

}  // namespace

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}
bool is(const tokens& ts, std::size_t i, std::string_view text) {
  return i < ts.size() && ts[i].text == text && ts[i].kind != token_kind::string;
}
bool is_identifier(const tokens& ts, std::size_t i) {
  return i < ts.size() && ts[i].kind == token_kind::identifier;
}
bool adjacent(const tokens& ts, std::size_t i) { return ts[i].end() == ts[i + 1].begin; }

bool opens(const token& t) { return t.is("(") || t.is("[") || t.is("{"); }
bool closes(const token& t) { return t.is(")") || t.is("]") || t.is("}"); }

std::size_t match_forward(const tokens& ts, std::size_t i) {
  return i < ts.size() && opens(ts[i]) ? ts[i].match : kNone;
}

std::size_t match_back(const tokens& ts, std::size_t i) {
  return i < ts.size() && closes(ts[i]) ? ts[i].match : kNone;
}

std::size_t angle_forward(const tokens& ts, std::size_t i) {
  int depth = 0;
  for (std::size_t steps = 0; i < ts.size() && steps < kLongestArguments; ++i, ++steps) {
    if (opens(ts[i])) {
      i = match_forward(ts, i);
      if (i == kNone) return kNone;
    } else if (closes(ts[i]) || ts[i].is(";") || opens_launch(ts[i])) {
      return kNone;
    } else if (ts[i].is("<")) {
      ++depth;
    } else if (ts[i].is(">") && --depth == 0) {
      return i;
    }
  }
  return kNone;
}

std::size_t angle_back(const tokens& ts, std::size_t i) {
  int depth = 0;
  std::size_t steps = 0;
  for (++i; i-- > 0 && ++steps < kLongestArguments;) {
    if (closes(ts[i])) {
      i = match_back(ts, i);
      if (i == kNone) return kNone;
    } else if (opens(ts[i]) || ts[i].is(";") || opens_launch(ts[i])) {
      return kNone;
    } else if (ts[i].is(">")) {
      ++depth;
    } else if (ts[i].is("<") && --depth == 0) {
      return i;
    }
  }
  return kNone;
}

bool is_expression_keyword(std::string_view word) {
  return is_one_of(word, {"return", "else", "do", "case", "goto", "throw", "new", "delete",
                          "sizeof", "co_return", "co_await", "co_yield", "and", "or", "not"});
}
bool is_control_keyword(std::string_view word) {
  return is_one_of(word, {"if", "while", "for", "switch", "constexpr", "catch"});
}
bool is_class_key(std::string_view word) {
  return is_one_of(word, {"struct", "class", "union", "enum"});
}
bool is_attribute_word(std::string_view word) {
  return is_one_of(
      word, {"alignas", "__align__", "__builtin_align__", "__attribute__", "__attribute",
             "__declspec", "decltype", "__typeof__", "typeof", "__launch_bounds__", "__maxnreg__",
             "__cluster_dims__", "__block_size__", "noexcept", "explicit"});
}
bool is_alignment(std::string_view word) {
  return is_one_of(word, {"alignas", "__align__", "__builtin_align__"});
}
bool is_double_bracket(const tokens& ts, std::size_t i) {
  return is(ts, i, "[") && is(ts, i + 1, "[") && adjacent(ts, i);
}

std::size_t skip_attribute(const tokens& ts, std::size_t i) {
  std::size_t close = kNone;
  if (is_double_bracket(ts, i)) close = match_forward(ts, i);
  if (is_identifier(ts, i) && is_attribute_word(ts[i].text) && is(ts, i + 1, "("))
    close = match_forward(ts, i + 1);
  return close == kNone ? i : close + 1;
}

std::string flat(const tokens& ts, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) {
    if (i != begin && !adjacent(ts, i - 1)) text += ' ';
    text += ts[i].text;
  }
  return text;
}

std::string literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result + '"';
}

}  // namespace rewriter
