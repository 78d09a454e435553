// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "source_file.hpp"

#include <algorithm>

#include "walking.hpp"

namespace rewriter {
namespace {

constexpr std::size_t kLongestHeader = 4096;  // tokens

// ---- Where a token stands -----------------------------------------------------------------------

/// Follows the braces of a file. Conditional branches start from the same place each.
class scope_walk {
 public:
  scope_walk(const source_tokens& source, const std::map<std::string_view, std::string>& unmatched,
             std::vector<scope>& scopes)
      : ts_(source.code), source_(source), unmatched_(unmatched), scopes_(scopes) {
    scopes_.emplace_back();
  }

  std::vector<std::uint32_t> run() {
    std::vector<std::uint32_t> places;
    places.reserve(ts_.size());
    std::size_t next_directive = 0;
    for (std::size_t i = 0; i < ts_.size(); ++i) {
      while (next_directive < source_.directives.size() &&
             source_.directives[next_directive].position <= i)
        follow(source_.directives[next_directive++]);
      places.push_back(state_.scope);
      if (ts_[i].is("(")) ++state_.parentheses;
      if (ts_[i].is(")")) state_.parentheses = std::max(0, state_.parentheses - 1);
      if (ts_[i].is(";") && state_.parentheses == 0) state_.header = i + 1;
      for (const char brace : braces_of(ts_, i, unmatched_)) brace == '{' ? open(i) : close(i);
    }
    return places;
  }

 private:
  struct state {
    std::uint32_t scope = 0;
    std::size_t header = 0;  // where the declaration starts that the next brace belongs to
    int parentheses = 0;
  };

  void follow(const directive& d) {
    if (d.name == "if" || d.name == "ifdef" || d.name == "ifndef") {
      saved_.push_back(state_);
    } else if ((d.name == "elif" || d.name == "else") && !saved_.empty()) {
      state_ = saved_.back();
    } else if (d.name == "endif" && !saved_.empty()) {
      saved_.pop_back();
    }
  }

  void open(std::size_t i) {
    scope next = classify(i);
    next.parent = state_.scope;
    next.brace = i;
    next.header = state_.header;
    next.parentheses = state_.parentheses;
    state_.scope = static_cast<std::uint32_t>(scopes_.size());
    scopes_.push_back(next);
    state_.header = i + 1;
    state_.parentheses = 0;
  }

  void close(std::size_t i) {
    if (state_.scope == 0) return;  // one too many: the compiler will say so
    const scope& closed = scopes_[state_.scope];
    state_.scope = closed.parent;
    state_.parentheses = closed.parentheses;
    // A constructor's members are initialised before its body. (A table of many rows looks alike:
    // its beginning is far away, and no row needs to know it.)
    const bool goes_on =
        (is(ts_, i + 1, ",") || is(ts_, i + 1, "{")) && i - closed.header < kLongestHeader;
    state_.header = goes_on ? closed.header : i + 1;
  }

  scope classify(std::size_t brace) const {
    scope result = scopes_[state_.scope];
    result.own = {};
    if (const std::size_t lambda = lambda_start(brace); lambda != kNone) {
      result.kind = scope_kind::block;
      if (read_flags(lambda, brace, result))
        result.marked_lambda = static_cast<std::uint32_t>(scopes_.size());
      return result;
    }
    std::size_t begin = state_.header;
    while (is(ts_, begin, "template") && is(ts_, begin + 1, "<")) {
      const std::size_t close = angle_forward(ts_, begin + 1);
      if (close == kNone || close >= brace) break;
      begin = close + 1;
    }
    bool has_parentheses = false, class_body = false;
    for (std::size_t i = begin; i < brace; ++i) {
      if (ts_[i].is("namespace")) {
        result.kind = scope_kind::outer;
        if (is_identifier(ts_, brace - 1) && brace - 1 > i)
          result.name = result.own = ts_[brace - 1].text;
        return result;
      }
      if (ts_[i].is("extern") && i + 2 == brace && ts_[i + 1].kind == token_kind::string)
        return result;  // extern "C" {
      if (is_class_key(ts_[i].text) && !has_parentheses) class_body = names_a_class(i + 1, brace);
      if (const std::size_t after = skip_attribute(ts_, i); after != i) {
        i = after - 1;
      } else if (ts_[i].is("(") || ts_[i].is("[")) {
        has_parentheses = has_parentheses || ts_[i].is("(");
        i = std::min(match_forward(ts_, i), brace);
      } else if (ts_[i].is("<") && i > begin && is_identifier(ts_, i - 1)) {
        if (const std::size_t close = angle_forward(ts_, i); close != kNone && close < brace)
          i = close;
      }
    }
    if (class_body) {
      result.local_type = result.local_type || result.kind == scope_kind::block;
      result.kind = scope_kind::type;
    } else if (result.kind != scope_kind::block && has_parentheses) {
      result.kind = scope_kind::block;
      read_flags(begin, brace, result);
    }
    return result;
  }

  /// After `struct`: is what stands before the brace a class head, not a function's?
  bool names_a_class(std::size_t i, std::size_t brace) const {
    while (i < brace) {
      if (const std::size_t after = skip_attribute(ts_, i); after != i) {
        i = after;
      } else if (ts_[i].is("(") || ts_[i].is("=") || ts_[i].is(";")) {
        return false;
      } else if (ts_[i].is("<")) {
        const std::size_t close = angle_forward(ts_, i);
        i = close == kNone ? i + 1 : close + 1;
      } else {
        ++i;
      }
    }
    return true;
  }

  /// Where the lambda whose body starts at `brace` starts, or kNone if it is none.
  std::size_t lambda_start(std::size_t brace) const {
    std::size_t i = brace;
    const std::size_t limit = brace > 24 ? brace - 24 : 0;
    for (std::size_t k = brace; k-- > limit;) {  // a trailing return type
      if (ts_[k].is(";") || ts_[k].is("{") || ts_[k].is("}")) break;
      if (ts_[k].is("->") && k > 0 && (ts_[k - 1].is(")") || is_identifier(ts_, k - 1))) {
        i = k;
        break;
      }
    }
    const auto skip_words = [&] {
      while (i > 0 && is_identifier(ts_, i - 1) &&
             (is_one_of(ts_[i - 1].text, {"mutable", "noexcept", "constexpr"}) ||
              ts_[i - 1].text.substr(0, 2) == "__"))
        --i;
    };
    skip_words();
    if (i > 0 && ts_[i - 1].is(")")) {
      const std::size_t open = match_back(ts_, i - 1);
      if (open == kNone) return kNone;
      i = open;
      skip_words();
    }
    if (i == 0 || !ts_[i - 1].is("]")) return kNone;
    const std::size_t open = match_back(ts_, i - 1);
    if (open == kNone) return kNone;
    if (open > 0 && (ts_[open - 1].is(")") || ts_[open - 1].is("]") ||
                     (is_identifier(ts_, open - 1) && !is_expression_keyword(ts_[open - 1].text))))
      return kNone;  // an array
    return open;
  }

  /// Whether there are any.
  bool read_flags(std::size_t begin, std::size_t end, scope& result) const {
    bool global = false, device = false, host = false;
    for (std::size_t i = begin; i < end; ++i) {
      global = global || ts_[i].is("__global__");
      device = device || ts_[i].is("__device__");
      host = host || ts_[i].is("__host__");
    }
    if (!global && !device && !host) return false;
    result.device = global || device;
    result.device_only = global || (device && !host);
    return true;
  }

  const tokens& ts_;
  const source_tokens& source_;
  const std::map<std::string_view, std::string>& unmatched_;
  std::vector<scope>& scopes_;
  state state_;
  std::vector<state> saved_;
};

// ---- Kernels ------------------------------------------------------------------------------------

/// Does a declaration that is no kernel's give the name at i?
bool declares(const tokens& ts, std::size_t i) {
  if (i == 0) return false;
  const token& before = ts[i - 1];
  if (before.kind == token_kind::identifier) {
    if (is_expression_keyword(before.text) || before.is("template")) return false;
  } else if (before.is("*") || before.is("&") || before.is("&&")) {
    if (i < 2 || !(is_identifier(ts, i - 2) || ts[i - 2].is("(") || ts[i - 2].is(">")) ||
        is_expression_keyword(ts[i - 2].text))
      return false;
    if (ts[i - 2].is("(") && !is(ts, i + 1, ")")) return false;  // f(&kernel, ...)
    if (ts[i - 2].is("(") && !is(ts, i + 2, "(")) return false;  // f(&kernel)
  } else if (!before.is(">")) {
    return false;
  }
  std::size_t start = i;  // `template void kernel<int>(int*);` declares nothing new
  while (start > 0 && !is_one_of(ts[start - 1].text, {";", "{", "}"})) --start;
  return !(is(ts, start, "template") && !is(ts, start + 1, "<"));
}

std::map<std::string_view, std::string> unmatched_braces(const std::vector<directive>& directives) {
  std::map<std::string_view, std::string> found;
  for (const directive& d : directives) {
    if (d.name != "define" || d.dead) continue;
    std::string braces;
    int open = 0, deepest = 0;
    for (const token& t : d.tokens) {
      if (!t.is("{") && !t.is("}")) continue;
      braces += t.text;
      open += t.is("{") ? 1 : -1;
      deepest = std::min(deepest, open);
    }
    if (open != 0 || deepest != 0) found[d.macro] = braces;
  }
  return found;
}

}  // namespace

std::string_view braces_of(const std::vector<token>& code, std::size_t i,
                           const std::map<std::string_view, std::string>& unmatched) {
  if (code[i].is("{") || code[i].is("}")) return code[i].text;
  if (unmatched.empty() || code[i].kind != token_kind::identifier) return {};
  const auto macro = unmatched.find(code[i].text);
  return macro == unmatched.end() ? std::string_view{} : macro->second;
}

source_file::source_file(std::string_view text)
    : source(text),
      parts(cut(text)),
      unmatched(unmatched_braces(parts.directives)),
      places(scope_walk(parts, unmatched, scopes).run()) {}

void collect_kernels(source_file& file, kernel_names& names) {
  const tokens& ts = file.parts.code;
  for (std::size_t i = 0; i < ts.size(); ++i) {
    if (!ts[i].is("__global__")) continue;
    for (std::size_t j = i + 1; j < ts.size();) {
      if (const std::size_t after = skip_attribute(ts, j); after != j) {
        j = after;
        continue;
      }
      if (!is_identifier(ts, j) && !is_one_of(ts[j].text, {"::", "*", "&"})) break;
      std::size_t next = j + 1;
      if (is_identifier(ts, j) && is(ts, next, "<")) {
        const std::size_t close = angle_forward(ts, next);
        if (close == kNone) break;
        next = close + 1;
      }
      if (is_identifier(ts, j) && is(ts, next, "(")) {
        names.spaces[ts[j].text].insert(file.scope_of(i).name);
        file.kernel_declarations.insert(j);
        break;
      }
      j = next;
    }
  }
}

void collect_ordinary(const source_file& file, kernel_names& names) {
  const tokens& ts = file.parts.code;
  for (std::size_t i = 0; i < ts.size(); ++i)
    if (is_identifier(ts, i) && names.spaces.count(ts[i].text) != 0 &&
        file.kernel_declarations.count(i) == 0 && declares(ts, i))
      names.ordinary.insert(ts[i].text);
}

}  // namespace rewriter
