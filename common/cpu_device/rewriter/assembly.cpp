// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <string>
#include <string_view>

#include "ptx.hpp"
#include "stretch.hpp"

namespace rewriter {
namespace {

/// What a string literal of C++ holds. PTX needs no escapes but these.
std::string text_of(std::string_view literal) {
  if (literal.substr(0, 2) == "R\"") {
    const std::size_t open = literal.find('('), close = literal.rfind(')');
    return std::string(literal.substr(open + 1, close - open - 1));
  }
  std::string text;
  for (std::size_t i = 1; i + 1 < literal.size(); ++i) {
    if (literal[i] != '\\') {
      text += literal[i];
    } else {
      ++i;
      text += literal[i] == 'n' ? '\n' : literal[i] == 't' ? '\t' : literal[i];
    }
  }
  return text;
}

/// The string literals from i on, joined; i ends behind them.
std::string joined(const tokens& ts, std::size_t& i) {
  std::string text;
  for (; i < ts.size() && ts[i].kind == token_kind::string; ++i) text += text_of(ts[i].text);
  return text;
}

/// The operands of one part of the statement, from behind its colon to the next one; i ends there.
bool read_operands(const tokens& ts, std::size_t& i, std::size_t close, ptx_statement& into) {
  while (i < close && !ts[i].is(":") && !ts[i].is("::")) {
    ptx_operand one;
    one.constraint = joined(ts, i);
    if (!is(ts, i, "(")) return false;
    const std::size_t end = match_forward(ts, i);
    if (end == kNone || end >= close) return false;
    one.expression = flat(ts, i, end + 1);
    into.operands.push_back(one);
    i = end + 1;
    if (i < close && ts[i].is(",")) ++i;
  }
  return true;
}

/// The asm statement whose bracket is at `open`, if it is one of strings only.
bool read_statement(const tokens& ts, std::size_t open, ptx_statement& into) {
  const std::size_t close = match_forward(ts, open);
  if (close == kNone) return false;
  std::size_t i = open + 1;
  for (const char c : joined(ts, i))
    if (c != '%' || into.code.empty() || into.code.back() != '%') into.code += c;
  if (i >= close) return i == close;
  for (int part = 0; i < close; ++part) {
    if (ts[i].is("::"))
      ++part;
    else if (!ts[i].is(":"))
      return false;
    if (part >= 2) return true;  // what is overwritten
    ++i;
    if (!read_operands(ts, i, close, into)) return false;
    if (part == 0) into.outputs = into.operands.size();
  }
  return true;
}

/// The bracket of the asm at `at`, or kNone.
std::size_t bracket(const tokens& ts, std::size_t at) {
  std::size_t i = at + 1;
  while (is_identifier(ts, i)) ++i;  // volatile, goto
  return is(ts, i, "(") ? i : kNone;
}

bool is_empty(std::string_view text) { return text.find_first_not_of(" \n\t") == text.npos; }

}  // namespace

bool is_assembly(const token& t) { return is_one_of(t.text, {"asm", "__asm__", "__asm"}); }

bool can_be_translated(const tokens& ts, std::size_t at) {
  ptx_statement statement;
  const std::size_t open = bracket(ts, at);
  return open != kNone && read_statement(ts, open, statement) &&
         translate(statement).refused.empty();
}

std::size_t edit_assembly(const stretch& s, std::size_t at) {
  const std::size_t open = bracket(s.ts, at);
  if (open == kNone) return at;
  ptx_statement statement;
  const bool whole = read_statement(s.ts, open, statement);
  if (is_empty(statement.code)) return at;
  const bool device = s.macro == nullptr && s.file.scope_of(at).device;
  if (!device && !(s.in_block(at) && looks_like_ptx(statement.code))) return at;
  const ptx_translation done = translate(statement);
  if (whole && done.refused.empty()) {
    const std::size_t close = match_forward(s.ts, open);
    s.replace(s.ts[at].begin, s.ts[close].end(),
              done.text + s.newlines(s.ts[at].begin, s.ts[close].end()));
    s.found.uses_ptx = true;
    return close;
  }
  const std::string sentence =
      "inline PTX is machine code of a GPU, of which the CPU device runs a part (its docs/cuda.md "
      "lists it)" +
      (done.refused.empty() ? "" : "; not `" + done.refused + "`");
  const std::size_t close = match_forward(s.ts, open);
  if (s.ts[at].conditional) return at;
  if (!s.ts[at].uncertain || close == kNone) {
    s.report(s.ts[at].line, sentence);
    return at;
  }
  // Under `#ifdef PTX` or the like: the compiler knows whether it is compiled.
  s.replace(s.ts[at].begin, s.ts[close].end(),
            "static_assert(false, " + literal(sentence) + ")" +
                s.newlines(s.ts[at].begin, s.ts[close].end()));
  return close;
}

}  // namespace rewriter
