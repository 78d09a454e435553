// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "tokens.hpp"

#include <algorithm>
#include <array>

namespace rewriter {
namespace {

bool starts_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool continues_identifier(char c) { return starts_identifier(c) || is_digit(c); }

/// Walks through the source, one token or directive at a time.
class cutter {
 public:
  explicit cutter(std::string_view source) : source_(source) {}

  source_tokens run() {
    if (source_.substr(0, 3) == "\xEF\xBB\xBF") at_ = 3;  // a byte order mark
    bool line_start = true;
    while (true) {
      line_start = skip_blanks(line_start, /*in_directive=*/false);
      if (at_ >= source_.size()) break;
      if (source_[at_] == '#' && line_start) {
        read_directive();
        line_start = true;
      } else {
        token next = read_token(result_.code);
        next.conditional = conditional();
        next.uncertain = uncertain();
        if (!dead()) result_.code.push_back(next);
        line_start = false;
      }
    }
    match_brackets(result_.code);
    return std::move(result_);
  }

 private:
  static void match_brackets(std::vector<token>& ts) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < ts.size(); ++i) {
      if (ts[i].is("(") || ts[i].is("[") || ts[i].is("{")) open.push_back(i);
      if (!(ts[i].is(")") || ts[i].is("]") || ts[i].is("}")) || open.empty()) continue;
      ts[i].match = open.back();
      ts[open.back()].match = i;
      open.pop_back();
    }
  }

  struct condition {
    bool dead;         // this branch is never compiled
    bool was_true;     // `#if 1`: the other branches are never compiled
    bool conditional;  // it names __CUDA_ARCH__ or the like
    bool uncertain;    // nobody knows from the text which branch is compiled
    bool in_dead, in_conditional, in_uncertain;  // what holds around it
  };

  char peek(std::size_t ahead) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  void step() {
    if (source_[at_] == '\n') ++line_;
    ++at_;
  }
  /// The length of a backslash-newline here, or 0.
  std::size_t splice() const {
    if (peek(0) != '\\') return 0;
    if (peek(1) == '\n') return 2;
    return peek(1) == '\r' && peek(2) == '\n' ? 3 : 0;
  }

  /// Blanks and comments. In a directive a newline ends it and is not skipped.
  bool skip_blanks(bool line_start, bool in_directive) {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (const std::size_t length = splice(); length != 0) {
        at_ += length;
        ++line_;
      } else if (c == '\n') {
        if (in_directive) return line_start;
        line_start = true;
        step();
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        step();
      } else if (c == '/' && peek(1) == '/') {
        while (at_ < source_.size() && source_[at_] != '\n') {
          if (const std::size_t spliced = splice(); spliced != 0) {
            at_ += spliced;
            ++line_;
          } else {
            ++at_;
          }
        }
      } else if (c == '/' && peek(1) == '*') {
        at_ += 2;
        while (at_ < source_.size() && !(source_[at_] == '*' && peek(1) == '/')) step();
        at_ = std::min(at_ + 2, source_.size());
      } else {
        break;
      }
    }
    return line_start;
  }

  token finish(token_kind kind, std::size_t begin, int line) const {
    return {kind, source_.substr(begin, at_ - begin), begin, line};
  }

  void read_quoted(char quote) {
    ++at_;  // the opening quote
    while (at_ < source_.size() && source_[at_] != quote) {
      if (source_[at_] == '\n') return;  // not closed: an apostrophe in `#if 0` prose
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) {
        if (peek(1) == '\r' && peek(2) == '\n') step();
        step();
      }
      step();
    }
    at_ = std::min(at_ + 1, source_.size());
  }

  void read_raw_string() {
    const std::size_t open = source_.find('(', at_);
    if (open == std::string_view::npos) {
      at_ = source_.size();
      return;
    }
    const std::string close = ')' + std::string(source_.substr(at_ + 1, open - at_ - 1)) + '"';
    const std::size_t found = source_.find(close, open);
    const std::size_t end = found == std::string_view::npos ? source_.size() : found + close.size();
    while (at_ < end) step();
  }

  token read_token(const std::vector<token>& before) {
    const std::size_t begin = at_;
    const int line = line_;
    const char c = source_[at_];
    if (starts_identifier(c)) {
      while (at_ < source_.size() && continues_identifier(source_[at_])) ++at_;
      const std::string_view word = source_.substr(begin, at_ - begin);
      if (peek(0) == '"' &&
          (word == "R" || word == "u8R" || word == "uR" || word == "UR" || word == "LR")) {
        read_raw_string();
        return finish(token_kind::string, begin, line);
      }
      const bool prefix = word == "u8" || word == "u" || word == "U" || word == "L";
      if (prefix && peek(0) == '"') {
        read_quoted('"');
        return finish(token_kind::string, begin, line);
      }
      if (prefix && peek(0) == '\'') {
        read_quoted('\'');
        return finish(token_kind::character, begin, line);
      }
      return finish(token_kind::identifier, begin, line);
    }
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      ++at_;
      while (at_ < source_.size()) {
        const char d = source_[at_];
        const char last = source_[at_ - 1];
        const bool sign_of_exponent =
            (d == '+' || d == '-') && (last == 'e' || last == 'E' || last == 'p' || last == 'P');
        if (continues_identifier(d) || d == '.' || sign_of_exponent ||
            (d == '\'' && continues_identifier(peek(1))))
          ++at_;
        else
          break;
      }
      return finish(token_kind::number, begin, line);
    }
    if (c == '"') {
      read_quoted('"');
      return finish(token_kind::string, begin, line);
    }
    if (c == '\'') {
      read_quoted('\'');
      return finish(token_kind::character, begin, line);
    }
    if (c == '<' && peek(1) == '<' && !(!before.empty() && before.back().is("operator"))) {
      // `<< <`, too, as some formatters write it
      const std::size_t third = source_.find_first_not_of(" \t", at_ + 2);
      if (third != source_.npos && source_[third] == '<') {
        at_ = third;
        while (peek(0) == '<') ++at_;
        return finish(token_kind::punctuation, begin, line);
      }
    }
    static constexpr std::array<std::string_view, 12> kLong = {
        "<=>", "<<=", "<=", ">=", "<<", "::", "->", "##", "==", "!=", "&&", "||"};
    for (const std::string_view text : kLong)
      if (source_.substr(at_, text.size()) == text) {
        at_ += text.size();
        return finish(token_kind::punctuation, begin, line);
      }
    ++at_;
    return finish(token_kind::punctuation, begin, line);
  }

  void read_directive() {
    directive result;
    result.line = line_;
    result.position = result_.code.size();
    ++at_;  // the #
    skip_blanks(false, true);
    if (at_ < source_.size() && starts_identifier(source_[at_])) result.name = read_token({}).text;
    if (result.name == "define") {
      skip_blanks(false, true);
      if (at_ < source_.size() && starts_identifier(source_[at_])) {
        result.macro = read_token({}).text;
        if (peek(0) == '(') read_parameters(result.parameters);
      }
    }
    while (true) {
      skip_blanks(false, true);
      if (at_ >= source_.size() || source_[at_] == '\n') break;
      result.tokens.push_back(read_token(result.tokens));
    }
    follow_condition(result);
    result.dead = dead();
    result.conditional = conditional();
    result.uncertain = uncertain();
    for (token& t : result.tokens) {
      t.conditional = result.conditional;
      t.uncertain = result.uncertain;
    }
    match_brackets(result.tokens);
    result_.directives.push_back(std::move(result));
  }

  void read_parameters(std::vector<std::string_view>& parameters) {
    while (true) {
      skip_blanks(false, true);
      if (at_ >= source_.size() || source_[at_] == '\n') return;
      const token next = read_token({});
      if (next.kind == token_kind::identifier) parameters.push_back(next.text);
      if (next.is(")")) return;
    }
  }

  void follow_condition(const directive& d) {
    if (d.name == "if" || d.name == "ifdef" || d.name == "ifndef") {
      conditions_.push_back({false, false, false, false, dead(), conditional(), uncertain()});
      set_condition(conditions_.back(), d);
    } else if (d.name == "define" && guards(d)) {
      conditions_.back().uncertain = false;
    } else if ((d.name == "elif" || d.name == "else") && !conditions_.empty()) {
      condition& c = conditions_.back();
      c.dead = c.was_true;
      if (d.name == "elif" && !c.was_true) set_condition(c, d);
    } else if (d.name == "endif" && !conditions_.empty()) {
      conditions_.pop_back();
    }
  }

  /// `#ifndef X` with `#define X` right behind it: a header keeps itself from being read twice.
  bool guards(const directive& d) const {
    if (conditions_.empty() || result_.directives.empty()) return false;
    const directive& last = result_.directives.back();
    return last.name == "ifndef" && last.tokens.size() == 1 && last.tokens[0].is(d.macro) &&
           last.position == d.position;
  }

  static void set_condition(condition& c, const directive& d) {
    const bool single = d.name != "ifdef" && d.name != "ifndef" && d.tokens.size() == 1;
    c.dead = single && (d.tokens[0].is("0") || d.tokens[0].is("false"));
    c.was_true = single && (d.tokens[0].is("1") || d.tokens[0].is("true"));
    c.uncertain = !c.dead && !c.was_true;
    for (const token& t : d.tokens)
      if (t.is("__CUDA_ARCH__") || t.is("__NVCC__") || t.is("__CPU_DEVICE__"))
        c.conditional = true;  // holds for the other branches as well
  }

  // Each condition knows what those around it say: there may be many, and every token asks.
  bool dead() const {
    return !conditions_.empty() && (conditions_.back().dead || conditions_.back().in_dead);
  }
  bool conditional() const {
    return !conditions_.empty() &&
           (conditions_.back().conditional || conditions_.back().in_conditional);
  }
  bool uncertain() const {
    return !conditions_.empty() &&
           (conditions_.back().uncertain || conditions_.back().in_uncertain);
  }

  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1;
  source_tokens result_;
  std::vector<condition> conditions_;
};

}  // namespace

source_tokens cut(std::string_view source) { return cutter(source).run(); }

bool opens_launch(const token& t) {
  return t.kind == token_kind::punctuation && t.text.size() >= 3 && t.text.substr(0, 2) == "<<" &&
         t.text.back() == '<';
}

}  // namespace rewriter
