// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "rewriter.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "tokens.hpp"

namespace rewriter {
namespace {

namespace fs = std::filesystem;
using tokens = std::vector<token>;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// ---- Walking over tokens ------------------------------------------------------------------------

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

/// The bracket that closes the one at i.
std::size_t match_forward(const tokens& ts, std::size_t i) {
  int depth = 0;
  for (; i < ts.size(); ++i) {
    if (opens(ts[i])) ++depth;
    if (closes(ts[i]) && --depth == 0) return i;
  }
  return kNone;
}

/// The bracket that opens the one at i.
std::size_t match_back(const tokens& ts, std::size_t i) {
  int depth = 0;
  for (++i; i-- > 0;) {
    if (closes(ts[i])) ++depth;
    if (opens(ts[i]) && --depth == 0) return i;
  }
  return kNone;
}

/// The `>` that closes template arguments opened at i.
std::size_t angle_forward(const tokens& ts, std::size_t i) {
  int depth = 0;
  for (; i < ts.size(); ++i) {
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

/// The `<` that opens template arguments closed at i.
std::size_t angle_back(const tokens& ts, std::size_t i) {
  int depth = 0;
  for (++i; i-- > 0;) {
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

/// Words after which an expression starts: not a type before a declared name.
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
/// Words that take parentheses and belong to a declaration without being its name.
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

/// After an attribute that starts at i (`__attribute__((...))`, `alignas(...)`, `[[...]]`), or i.
std::size_t skip_attribute(const tokens& ts, std::size_t i) {
  std::size_t close = kNone;
  if (is_double_bracket(ts, i)) close = match_forward(ts, i);
  if (is_identifier(ts, i) && is_attribute_word(ts[i].text) && is(ts, i + 1, "("))
    close = match_forward(ts, i + 1);
  return close == kNone ? i : close + 1;
}

/// The tokens of [begin, end) on one line, with a blank where the source has any.
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

// ---- Where a token stands -----------------------------------------------------------------------

enum class scope_kind { outer, type, block };  // namespace, class, function

struct scope {
  scope_kind kind = scope_kind::outer;
  bool device = false;       // the function can run on a device
  bool device_only = false;  // ... and only there
  std::string_view name;     // of a namespace
  std::size_t header = 0;    // where the declaration that owns the braces starts
  int parentheses = 0;       // how many were open before the braces
};

/// What is known of a place in the code.
struct place {
  scope_kind kind;
  bool device, device_only;
  std::string_view space;  // the innermost named namespace
};

/// Follows the braces of a file. Conditional branches start from the same place each.
class scope_walk {
 public:
  explicit scope_walk(const source_tokens& source) : ts_(source.code), source_(source) {}

  std::vector<place> run() {
    std::vector<place> places;
    places.reserve(ts_.size());
    std::size_t next_directive = 0;
    for (std::size_t i = 0; i < ts_.size(); ++i) {
      while (next_directive < source_.directives.size() &&
             source_.directives[next_directive].position <= i)
        follow(source_.directives[next_directive++]);
      const scope& here = state_.scopes.back();
      places.push_back({here.kind, here.device, here.device_only, here.name});
      if (ts_[i].is("(")) ++state_.parentheses;
      if (ts_[i].is(")")) state_.parentheses = std::max(0, state_.parentheses - 1);
      if (ts_[i].is(";") && state_.parentheses == 0) state_.header = i + 1;
      if (ts_[i].is("{")) open(i);
      if (ts_[i].is("}")) close(i);
    }
    return places;
  }

 private:
  struct state {
    std::vector<scope> scopes{scope{}};
    std::size_t header = 0;
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
    next.header = state_.header;
    next.parentheses = state_.parentheses;
    state_.scopes.push_back(next);
    state_.header = i + 1;
    state_.parentheses = 0;
  }

  void close(std::size_t i) {
    if (state_.scopes.size() == 1) return;  // one too many: the compiler will say so
    const scope closed = state_.scopes.back();
    state_.scopes.pop_back();
    state_.parentheses = closed.parentheses;
    const bool goes_on = is(ts_, i + 1, ",") || is(ts_, i + 1, "{");  // members' initialisers
    state_.header = goes_on ? closed.header : i + 1;
  }

  scope classify(std::size_t brace) const {
    scope result = state_.scopes.back();
    if (const std::size_t lambda = lambda_start(brace); lambda != kNone) {
      result.kind = scope_kind::block;
      read_flags(lambda, brace, result);
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
        if (is_identifier(ts_, brace - 1) && brace - 1 > i) result.name = ts_[brace - 1].text;
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

  void read_flags(std::size_t begin, std::size_t end, scope& result) const {
    bool global = false, device = false, host = false;
    for (std::size_t i = begin; i < end; ++i) {
      global = global || ts_[i].is("__global__");
      device = device || ts_[i].is("__device__");
      host = host || ts_[i].is("__host__");
    }
    if (!global && !device && !host) return;
    result.device = global || device;
    result.device_only = global || (device && !host);
  }

  const tokens& ts_;
  const source_tokens& source_;
  state state_;
  std::vector<state> saved_;
};

// ---- Kernels ------------------------------------------------------------------------------------

/// What the files together say of kernels.
struct kernel_names {
  std::map<std::string_view, std::set<std::string_view>> spaces;  // kernel -> its namespaces
  std::set<std::string_view> ordinary;  // names that something else has, too
};

/// A source, cut and read once.
struct source_file {
  explicit source_file(std::string_view text)
      : source(text), parts(cut(text)), places(scope_walk(parts).run()) {}

  std::string_view source;
  source_tokens parts;
  std::vector<place> places;
  std::set<std::size_t> kernel_declarations;  // which tokens of the code
};

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
        names.spaces[ts[j].text].insert(file.places[i].space);
        file.kernel_declarations.insert(j);
        break;
      }
      j = next;
    }
  }
}

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

void collect_ordinary(const source_file& file, kernel_names& names) {
  const tokens& ts = file.parts.code;
  for (std::size_t i = 0; i < ts.size(); ++i)
    if (is_identifier(ts, i) && names.spaces.count(ts[i].text) != 0 &&
        file.kernel_declarations.count(i) == 0 && declares(ts, i))
      names.ordinary.insert(ts[i].text);
}

// ---- Editing ------------------------------------------------------------------------------------

struct edit {
  std::size_t begin, end;  // what is replaced in the source
  std::string text;
};

std::string apply(std::string_view source, std::vector<edit> edits) {
  std::stable_sort(edits.begin(), edits.end(),
                   [](const edit& a, const edit& b) { return a.begin < b.begin; });
  std::string result;
  std::size_t at = 0;
  for (const edit& e : edits) {
    if (e.begin < at) throw std::logic_error("two edits of the same text");
    result.append(source, at, e.begin - at);
    result += e.text;
    at = e.end;
  }
  result.append(source, at);
  return result;
}

/// A declaration taken apart: `specifiers declarator, declarator;`.
struct declaration {
  struct declarator {
    std::size_t begin, name, end;  // end: the comma or semicolon after it
    std::size_t extents = kNone;   // the first `[`
    bool initialised = false;
  };
  std::size_t begin = 0, end = 0;  // end: the semicolon, or where the tokens end
  bool understood = false;
  std::vector<declarator> declarators;
  std::vector<std::pair<std::size_t, std::size_t>> alignments;  // [first, last)
  std::vector<std::pair<std::size_t, std::size_t>> attributes;  // alignments are among them
};

/// Writes the edits and finds the problems of one stretch of code: a file's, or a macro's.
class editor {
 public:
  editor(const source_file& file, const kernel_names& names, const std::string& name)
      : file_(file), names_(names), name_(name) {}

  void run() {
    ts_ = &file_.parts.code;
    macro_ = nullptr;
    if (report_open_brace()) return;  // all else would follow from it
    edit_all();
    edit_conditions();
    for (const directive& d : file_.parts.directives) {
      if (d.name != "define" || d.dead) continue;
      ts_ = &d.tokens;
      macro_ = &d;
      edit_all();
    }
    std::stable_sort(problems.begin(), problems.end(),
                     [](const problem& a, const problem& b) { return a.line < b.line; });
  }

  std::vector<edit> edits;
  std::vector<problem> problems;

 private:
  const tokens& ts() const { return *ts_; }
  bool in_block(std::size_t i) const {
    return macro_ != nullptr || file_.places[i].kind == scope_kind::block;
  }
  void report(int line, std::string sentence) {
    problems.push_back({name_, line, std::move(sentence)});
  }
  void replace(std::size_t begin, std::size_t end, std::string text) {
    edits.push_back({begin, end, std::move(text)});
  }

  /// The newlines between two offsets, as they must be written again.
  std::string newlines(std::size_t begin, std::size_t end) const {
    std::string result;
    for (std::size_t i = begin; i < end; ++i) {
      if (file_.source[i] != '\n') continue;
      if (macro_ != nullptr) result += '\\';
      if (i > 0 && file_.source[i - 1] == '\r') result += '\r';
      result += '\n';
    }
    return result;
  }

  void edit_all() {
    for (std::size_t i = 0; i < ts().size(); ++i) {
      const token& t = ts()[i];
      if (opens_launch(t)) {
        edit_launch(i);
        continue;
      }
      const bool attribute = is_double_bracket(ts(), i) ||
                             is_one_of(t.text, {"__attribute__", "__attribute", "__declspec"});
      if (const std::size_t after = skip_attribute(ts(), i); attribute && after != i) {
        i = after - 1;
        continue;
      }
      if (t.kind != token_kind::identifier) continue;
      if (t.is("__shared__"))
        edit_shared(i);
      else if (t.is("__launch_bounds__"))
        edit_launch_bounds(i);
      else if (t.is("__noinline__"))
        replace(t.begin, t.end(), "__attribute__((noinline))");
      else if (t.is("__forceinline__"))
        edit_forceinline(i);
      else if (is_one_of(t.text, {"asm", "__asm__", "__asm"}))
        check_assembly(i);
      else if (!edit_kernel_address(i) && macro_ == nullptr)
        check_call(i);
    }
  }

  // -- Conditions of the preprocessor --

  /// Code under `#ifdef __CUDACC__` is meant for whoever knows kernels, and that under
  /// `#if __CUDA_ARCH__ >= 700` for devices like this one. The macros themselves cannot be defined:
  /// Thrust would look for the rest of nvcc, and `#ifdef __CUDA_ARCH__` keeps code from hosts.
  void edit_conditions() {
    const std::vector<directive>& all = file_.parts.directives;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!is_one_of(all[i].name, {"if", "ifdef", "ifndef", "elif"})) continue;
      for (std::size_t k = 0; k < all[i].tokens.size(); ++k) {
        const token& t = all[i].tokens[k];
        if (t.is("__CUDACC__")) replace(t.begin, t.end(), "__CPU_DEVICE__");
        if (t.is("__CUDA_ARCH__") && is_compared(all[i].tokens, k) && !guards_assembly(i))
          replace(t.begin, t.end(), "__CPU_DEVICE_ARCH__");
      }
    }
  }

  /// With a number, and not just to know whether there is one.
  static bool is_compared(const tokens& ts, std::size_t at) {
    const auto comparison = [&](std::size_t i) {
      return i < ts.size() && is_one_of(ts[i].text, {"<", "<=", ">", ">=", "==", "!="});
    };
    const auto version = [&](std::size_t i) {
      return i < ts.size() && ts[i].kind == token_kind::number && !ts[i].is("0");
    };
    return (comparison(at + 1) && version(at + 2)) ||
           (at >= 2 && comparison(at - 1) && version(at - 2));
  }

  /// Whether one of the branches of this #if has inline assembly: then the one that is meant for no
  /// device at all is the best there is.
  bool guards_assembly(std::size_t at) const {
    const std::vector<directive>& all = file_.parts.directives;
    const auto opens = [&](std::size_t i) { return all[i].name.substr(0, 2) == "if"; };
    std::size_t first = at, last = at;
    for (int depth = opens(at) ? 0 : 1; depth > 0 && first > 0;) {
      --first;
      depth += all[first].name == "endif" ? 1 : opens(first) ? -1 : 0;
    }
    for (int depth = 1; depth > 0 && last + 1 < all.size();) {
      ++last;
      depth += opens(last) ? 1 : all[last].name == "endif" ? -1 : 0;
    }
    const auto is_assembly = [](const token& t) {
      return is_one_of(t.text, {"asm", "__asm__", "__asm"});
    };
    for (std::size_t i = first; i <= last; ++i)
      if (std::any_of(all[i].tokens.begin(), all[i].tokens.end(), is_assembly)) return true;
    const tokens& code = file_.parts.code;
    return std::any_of(code.begin() + static_cast<std::ptrdiff_t>(all[first].position),
                       code.begin() + static_cast<std::ptrdiff_t>(all[last].position), is_assembly);
  }

  // -- Braces --

  /// Whether every branch of every #if closes the braces that it opens. If not, counting them is
  /// no use: `#if A / void f() { / #else / void f(int) { / #endif` opens one brace, not two.
  bool branches_are_balanced() const {
    std::vector<int> open;  // braces of each branch that has not ended
    std::size_t i = 0;
    for (const directive& d : file_.parts.directives) {
      for (; i < d.position; ++i)
        if (!open.empty()) open.back() += ts()[i].is("{") ? 1 : ts()[i].is("}") ? -1 : 0;
      const bool begins = d.name.substr(0, 2) == "if";
      const bool ends = d.name == "endif" || d.name.substr(0, 2) == "el";
      if (ends && !open.empty()) {
        if (open.back() != 0) return false;
        open.pop_back();
      }
      if (begins || (ends && d.name != "endif")) open.push_back(0);
    }
    return true;
  }

  /// A function whose last brace is missing swallows the next one. The compiler would name what
  /// follows from that; this names the first line of the next function, which begins at the margin.
  bool report_open_brace() {
    std::vector<std::size_t> open;
    const token* next = nullptr;
    int from = 0;
    for (std::size_t i = 0; i < ts().size(); ++i) {
      const token& t = ts()[i];
      const bool at_margin = t.begin == 0 || file_.source[t.begin - 1] == '\n';
      if (next == nullptr && at_margin && !open.empty() && t.kind == token_kind::identifier &&
          file_.places[i].kind == scope_kind::block && !is(ts(), i + 1, ":")) {
        next = &t;
        from = ts()[open.back()].line;
      }
      if (t.is("{")) open.push_back(i);
      if (t.is("}") && !open.empty()) open.pop_back();
    }
    if (next == nullptr || open.empty() || !branches_are_balanced()) return false;
    report(next->line, "a `}` is missing above this line: the `{` of line " + std::to_string(from) +
                           " is still open here");
    return true;
  }

  // -- Launches --

  /// The first token of the kernel that is launched by the `<<<` at `open`.
  std::size_t callee_begin(std::size_t open) const {
    std::size_t i = open;
    while (i > 0) {
      const token& last = ts()[i - 1];
      if (last.is("]")) {
        i = match_back(ts(), i - 1);
        if (i == kNone) return kNone;
        continue;
      }
      if (last.is(")")) {
        i = match_back(ts(), i - 1);
        if (i == kNone) return kNone;
        if (i > 0 && continues_call(i)) continue;
        return i;
      }
      if (last.is(">")) {
        i = angle_back(ts(), i - 1);
        if (i == kNone || !is_identifier(ts(), i == 0 ? kNone : i - 1)) return kNone;
        continue;
      }
      if (last.kind != token_kind::identifier || is_expression_keyword(last.text) ||
          is_control_keyword(last.text))
        return kNone;
      --i;
      bool member = false;
      while (i > 0 && !member) {  // what qualifies the name
        const token& before = ts()[i - 1];
        if (before.is("##") && i > 1) {
          i -= 2;
        } else if (before.is("template")) {
          --i;
        } else if (before.is("::")) {
          --i;
          if (i > 0 && ts()[i - 1].is(">")) {
            const std::size_t angle = angle_back(ts(), i - 1);
            if (angle == kNone || angle == 0) return kNone;
            i = angle;
          }
          if (i > 0 && is_identifier(ts(), i - 1) && !is_expression_keyword(ts()[i - 1].text)) --i;
        } else if (before.is(".") || before.is("->")) {
          --i;
          member = true;
        } else {
          return i;
        }
      }
      if (!member) return i;
    }
    return kNone;
  }

  /// Is the `(` at i a call's, so that what is called stands before it?
  bool continues_call(std::size_t i) const {
    const token& before = ts()[i - 1];
    if (before.kind == token_kind::identifier)
      return !is_expression_keyword(before.text) && !is_control_keyword(before.text);
    if (before.is("]")) return true;
    if (before.is(">")) {
      const std::size_t angle = angle_back(ts(), i - 1);
      return angle != kNone && angle > 0 && is_identifier(ts(), angle - 1);
    }
    if (!before.is(")")) return false;
    const std::size_t open = match_back(ts(), i - 1);
    return open != kNone && open > 0 && is_identifier(ts(), open - 1) && continues_call(open);
  }

  /// The first `>` of the `>>>` that closes the launch whose `<<<` is at `open`.
  std::size_t config_end(std::size_t open, bool with_templates) const {
    int angles = 0;
    for (std::size_t i = open + 1; i < ts().size(); ++i) {
      const token& t = ts()[i];
      if (opens(t)) {
        i = match_forward(ts(), i);
        if (i == kNone) return kNone;
      } else if (closes(t) || t.is(";") || opens_launch(t)) {
        return kNone;
      } else if (t.is("<") && with_templates && is_identifier(ts(), i - 1)) {
        ++angles;
      } else if (t.is(">")) {
        if (angles > 0)
          --angles;
        else if (is(ts(), i + 1, ">") && is(ts(), i + 2, ">") && adjacent(ts(), i) &&
                 ts()[i + 2].line == ts()[i].line)  // `>> >` will do
          return i;
      }
    }
    return kNone;
  }

  void edit_launch(std::size_t open) {
    const token& mark = ts()[open];
    if (mark.text.size() > 3 && mark.text.find_first_not_of('<') == mark.text.npos) {
      report(mark.line, mark.text.size() == 7 ? "a merge conflict is left in this file"
                                              : "this is neither a launch nor a shift");
      return;
    }
    const std::size_t callee = callee_begin(open);
    if (callee == kNone) {
      report(mark.line, "no kernel stands before `<<<`: k<<<blocks, threads>>>(...)");
      return;
    }
    const std::string name = flat(ts(), callee, open);
    std::size_t close = config_end(open, true);
    if (close == kNone) close = config_end(open, false);
    if (close == kNone) {
      report(mark.line, "the launch of `" + name + "` has a `<<<` without its `>>>`");
      return;
    }
    if (macro_ == nullptr) {
      if (!is(ts(), close + 3, "(")) {
        report(ts()[close].line, "the launch of `" + name + "` lacks its arguments: " + name +
                                     "<<<blocks, threads>>>(...)");
        return;
      }
      if (!has_comma(open + 1, close)) {
        report(mark.line, "the launch of `" + name +
                              "` needs how many blocks and how many threads a block: " + name +
                              "<<<blocks, threads>>>(...)");
        return;
      }
      if (directive_between(callee, open)) {
        report(mark.line, "a preprocessor line stands between `" + name + "` and its `<<<`");
        return;
      }
      if (file_.places[callee].device_only && !ts()[callee].conditional)
        report(ts()[callee].line,
               "a kernel launches another kernel (dynamic parallelism): the CPU device does not "
               "support it");
    }
    std::string shown = literal(name);
    std::string line = std::to_string(ts()[callee].line);
    if (macro_ != nullptr) {
      line = "__LINE__";
      const auto& parameters = macro_->parameters;
      if (callee + 1 == open &&
          std::find(parameters.begin(), parameters.end(), name) != parameters.end())
        shown = "#" + name;
    }
    const std::size_t begin = ts()[callee].begin;
    const std::string by_name = "[&](auto&&... cpu_device_p) { " + name + "(cpu_device_p...); }";
    const std::string typed = "cpu_device_l.template typed<(" + name + ")>(";
    replace(begin, mark.end(),
            "::cpu_device::launch([&](auto cpu_device_l) { if constexpr (requires { " + typed +
                "0); }) return " + typed + by_name +
                "); else if constexpr (requires { cpu_device_l.typed(" + name +
                "); }) return cpu_device_l.typed(" + name + "); else return cpu_device_l.deduced(" +
                by_name + "); }, " + shown + ", __FILE__, " + line + ", " +
                newlines(begin, mark.end()));
    replace(ts()[close].begin, ts()[close + 2].end(), ")");
  }

  bool has_comma(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
      if (ts()[i].is(",")) return true;
      if (opens(ts()[i])) i = match_forward(ts(), i);
    }
    return false;
  }

  bool directive_between(std::size_t first, std::size_t last) const {
    const auto& all = file_.parts.directives;
    return std::any_of(all.begin(), all.end(), [&](const directive& d) {
      return d.position > first && d.position <= last;
    });
  }

  // -- Launch bounds --

  /// Has the kernel's body note what the `__launch_bounds__` at `at` says.
  void edit_launch_bounds(std::size_t at) {
    const auto found = file_.kernel_declarations.upper_bound(at);
    if (macro_ != nullptr || found == file_.kernel_declarations.end() || !is(ts(), at + 1, "(") ||
        file_.places[at].kind != scope_kind::outer)
      return;
    const std::size_t name = *found;
    std::size_t body = name + 1;
    const bool specialised = is(ts(), body, "<");
    if (specialised) body = angle_forward(ts(), body) + 1;
    const std::size_t parameters = body;
    if (body == 0 || !is(ts(), body, "(")) return;
    body = match_forward(ts(), body) + 1;
    while (is(ts(), body, "noexcept") || skip_attribute(ts(), body) != body)
      body = std::max(body + 1, skip_attribute(ts(), body));
    if (!is(ts(), body, "{") || directive_between(at, body)) return;  // no definition
    for (std::size_t i = at; i < name; ++i)
      if (is_one_of(ts()[i].text, {";", "{", "}"})) return;  // another declaration

    std::size_t begin = at;  // of the declaration
    while (begin > 0 && !is_one_of(ts()[begin - 1].text, {";", "{", "}"})) --begin;
    std::string kernel = flat(ts(), name, parameters);
    if (is(ts(), begin, "template") && is(ts(), begin + 1, "<") && !specialised) {
      const std::optional<std::string> names = parameter_names(begin + 1);
      if (!names) return;
      kernel += "<" + *names + ">";
    }
    const std::size_t bound = argument_end(at + 2, match_forward(ts(), at + 1));
    const std::string note = "cpu_device_b.template kernel<(" + kernel + ")>()";
    const std::size_t where = ts()[body].end();
    replace(where, where,
            " ::cpu_device::launch_bounds<(" + flat(ts(), at + 2, bound) +
                ")>([]([[maybe_unused]] auto cpu_device_b) { if constexpr (requires { " + note +
                "; }) " + note + "; });");
  }

  /// The comma that ends an argument or a parameter, or `close`.
  std::size_t argument_end(std::size_t i, std::size_t close) const {
    for (; i < close && !ts()[i].is(","); ++i) {
      std::size_t last = kNone;
      if (opens(ts()[i])) last = match_forward(ts(), i);
      if (ts()[i].is("<") && is_identifier(ts(), i - 1)) last = angle_forward(ts(), i);
      if (last < close) i = last;
    }
    return i;
  }

  /// The names of the template's parameters `<int N, class... T>` at `open`, as its arguments
  /// "N, T..."; nothing if one has no name.
  std::optional<std::string> parameter_names(std::size_t open) const {
    const std::size_t close = angle_forward(ts(), open);
    if (close == kNone) return std::nullopt;
    std::string names;
    for (std::size_t i = open + 1, end = i; i < close; i = end + 1) {
      end = argument_end(i, close);
      std::size_t after = i;  // the name
      while (after < end && !ts()[after].is("=")) ++after;
      const std::size_t name = after - 1;
      if (name <= i || !is_identifier(ts(), name) || ts()[name - 1].is("::") ||
          is_one_of(ts()[name].text, {"bool", "char", "short", "int", "unsigned", "signed", "long",
                                      "auto", "class", "typename", "const"}))
        return std::nullopt;
      names += (names.empty() ? "" : ", ") + std::string(ts()[name].text);
      if (ts()[name - 1].is(".")) names += "...";  // a pack
    }
    return names;
  }

  // -- Shared memory --

  /// Takes apart the declaration that the `__shared__` at `at` is part of.
  declaration read_declaration(std::size_t at) const {
    declaration d;
    d.begin = at;
    while (d.begin > 0) {
      const token& before = ts()[d.begin - 1];
      if (before.kind == token_kind::identifier && !is_expression_keyword(before.text) &&
          !is_class_key(before.text)) {
        --d.begin;
      } else if (before.is(")") || before.is("]")) {
        const std::size_t open = match_back(ts(), d.begin - 1);
        const std::size_t first = open == kNone || before.is("]") ? open : open - 1;
        if (open == kNone || first == kNone || skip_attribute(ts(), first) != d.begin) break;
        d.begin = first;
      } else {
        break;
      }
    }
    d.end = ts().size();
    for (std::size_t i = at; i < ts().size(); ++i) {
      if (opens(ts()[i])) {
        i = match_forward(ts(), i);
        if (i == kNone) return d;
      } else if (closes(ts()[i])) {
        return d;
      } else if (ts()[i].is(";")) {
        d.end = i;
        break;
      }
    }
    d.understood = read_declarators(d);
    return d;
  }

  bool read_declarators(declaration& d) const {
    bool class_key = false;
    std::size_t words = 0;  // words of the type, as far as they can be told from its name
    std::size_t name = kNone, pointer = kNone;
    std::size_t i = d.begin;
    for (; i < d.end; ++i) {
      const token& t = ts()[i];
      if (const std::size_t after = skip_attribute(ts(), i); after != i) {
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
        i = match_forward(ts(), i);
        ++words;
        name = kNone;
        class_key = false;
      } else if (t.kind == token_kind::identifier) {
        if (is_one_of(t.text, {"extern", "static", "__shared__", "__device__", "const", "volatile",
                               "inline", "typename", "__restrict__"}))
          continue;
        if (name != kNone) ++words;
        name = i;
        if (is(ts(), i + 1, "<")) {
          const std::size_t close = angle_forward(ts(), i + 1);
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
    if (is(ts(), i, "(") && (is(ts(), i + 1, "*") || is(ts(), i + 1, "&"))) return false;
    std::size_t begin = pointer == kNone ? name : pointer;
    while (true) {
      declaration::declarator one{begin, name, i, kNone, false};
      while (i < d.end && !ts()[i].is(",")) {
        if (const std::size_t after = skip_attribute(ts(), i); after != i) {
          d.attributes.emplace_back(i, after);
          i = after;
        } else if (ts()[i].is("[") && !one.initialised) {
          if (one.extents == kNone) one.extents = i;
          i = match_forward(ts(), i) + 1;
        } else if (one.initialised) {
          i = opens(ts()[i]) ? match_forward(ts(), i) + 1 : i + 1;
        } else if (ts()[i].is("=") || ts()[i].is("{") || ts()[i].is("(")) {
          one.initialised = true;
        } else {
          return false;
        }
      }
      one.end = i;
      d.declarators.push_back(one);
      if (i >= d.end) return true;
      begin = ++i;
      while (is(ts(), i, "*") || is(ts(), i, "&") || is(ts(), i, "const")) ++i;
      if (!is_identifier(ts(), i) || i >= d.end) return false;
      name = i++;
    }
  }

  void edit_shared(std::size_t at) {
    const declaration d = read_declaration(at);
    for (std::size_t i = d.begin; i < at; ++i)
      if (ts()[i].is("extern")) return edit_dynamic_shared(at, d);
    if (is(ts(), at + 1, "extern")) return edit_dynamic_shared(at, d);

    const std::size_t specifiers_end = d.declarators.empty() ? at + 2 : d.declarators.front().name;
    for (std::size_t i = d.begin; i < specifiers_end && i < ts().size(); ++i) {
      if (ts()[i].is("{")) i = std::min(match_forward(ts(), i), specifiers_end);
      if (!is(ts(), i, "static")) continue;
      const std::size_t end = ts()[i].end();
      const bool blank = end < file_.source.size() && file_.source[end] == ' ';
      replace(ts()[i].begin, end + (blank ? 1 : 0), "");
    }
    if (!d.understood) return;
    // `static thread_local alignas(16) float x` is not C++: alignas comes first.
    for (const auto& [first, last] : d.alignments) {
      if (first == d.begin || first > specifiers_end) continue;
      edits.insert(edits.begin(),
                   {ts()[d.begin].begin, ts()[d.begin].begin, flat(ts(), first, last) + ' '});
      replace(ts()[first].begin, ts()[last - 1].end(),
              newlines(ts()[first].begin, ts()[last - 1].end()));
    }
    std::string all;
    for (const declaration::declarator& one : d.declarators) {
      const token& name = ts()[one.name];
      if (one.initialised && !name.conditional)
        report(name.line, "`__shared__` variable `" + std::string(name.text) +
                              "` cannot have an initialiser: every block has its own copy, so a "
                              "thread must write the first value (then __syncthreads())");
      all += ", " + std::string(name.text);
    }
    if (in_block(at) && d.end < ts().size())
      replace(ts()[d.end].end(), ts()[d.end].end(),
              " ::cpu_device::shared_birth([] {}" + all + ");");
  }

  void edit_dynamic_shared(std::size_t at, const declaration& d) {
    bool understood = d.understood;
    for (const declaration::declarator& one : d.declarators)
      if (one.initialised) understood = false;
    if (!understood || (macro_ == nullptr && d.end == ts().size())) {
      if (macro_ == nullptr && !ts()[at].conditional)
        report(ts()[at].line,
               "this `extern __shared__` is not understood: extern __shared__ float name[];");
      return;
    }
    const std::string type = type_of(d, d.begin, d.declarators.front().begin);
    const bool block = in_block(at);
    std::string text;
    for (std::size_t k = 0; k < d.declarators.size(); ++k) {
      const declaration::declarator& one = d.declarators[k];
      std::string whole = type + type_of(d, one.begin, one.name);
      if (one.extents != kNone) whole += type_of(d, match_forward(ts(), one.extents) + 1, one.end);
      const bool array = one.extents != kNone;
      if (k != 0) text += "; ";
      text += block ? (array ? "[[maybe_unused]] auto* const " : "[[maybe_unused]] auto& ")
                    : "[[maybe_unused]] static constexpr ::cpu_device::dynamic_shared_array<" +
                          whole + "> ";
      if (k == 0) {  // the name keeps its line
        replace(ts()[d.begin].begin, ts()[one.name].begin,
                text + newlines(ts()[d.begin].begin, ts()[one.name].begin));
        text.clear();
      } else {
        text += ts()[one.name].text;
      }
      text += block ? std::string(array ? " = " : " = *") + "static_cast<::std::add_pointer_t<" +
                          whole + ">>(::cpu_device::dynamic_shared())"
                    : "{}";
    }
    const std::size_t from = ts()[d.declarators.front().name].end();
    const std::size_t to = ts()[d.end - 1].end();
    replace(from, to, text + newlines(from, to));
  }

  /// The words of [begin, end) that belong to a type.
  std::string type_of(const declaration& d, std::size_t begin, std::size_t end) const {
    std::string type;
    for (std::size_t i = begin; i < end; ++i) {
      const auto attribute = std::find_if(d.attributes.begin(), d.attributes.end(),
                                          [&](const auto& range) { return range.first == i; });
      if (attribute != d.attributes.end()) {
        i = attribute->second - 1;
        continue;
      }
      if (is_one_of(ts()[i].text, {"extern", "static", "__shared__", "__device__"})) continue;
      if (!type.empty() && (!adjacent(ts(), i - 1) || type.back() == ' ')) type += ' ';
      type += ts()[i].text;
    }
    return type;
  }

  // -- Small things --

  void edit_forceinline(std::size_t at) {
    bool inline_already = false, in_lambda = false;
    for (std::size_t i = at; i > 0; --i) {
      if (ts()[i - 1].is("]") && !(i > 1 && ts()[i - 2].is("]"))) in_lambda = true;
      if (!is_identifier(ts(), i - 1)) break;
      inline_already = inline_already ||
                       is_one_of(ts()[i - 1].text, {"inline", "__inline__", "__forceinline__"});
    }
    for (std::size_t i = at + 1; is_identifier(ts(), i); ++i)
      inline_already = inline_already || is_one_of(ts()[i].text, {"inline", "__inline__"});
    replace(ts()[at].begin, ts()[at].end(),
            in_lambda        ? ""
            : inline_already ? "__attribute__((always_inline))"
                             : "inline __attribute__((always_inline))");
  }

  void check_assembly(std::size_t at) {
    std::size_t i = at + 1;
    while (is_identifier(ts(), i)) ++i;  // volatile, goto
    if (!is(ts(), i, "(") || ts()[at].conditional) return;
    bool code = false;
    std::string text;
    for (++i; i < ts().size() && ts()[i].kind == token_kind::string; ++i) text += ts()[i].text;
    for (const char c : text) code = code || (c != '"' && c != ' ');
    if (!code) return;
    const bool device = macro_ == nullptr && file_.places[at].device;
    if (device || (in_block(at) && looks_like_ptx(text)))
      report(ts()[at].line, "inline PTX is machine code of a GPU; the CPU device cannot run it");
  }

  /// PTX names the type in the instruction: `add.u32`.
  static bool looks_like_ptx(std::string_view text) {
    for (std::size_t i = 0; i + 2 < text.size(); ++i) {
      if (text[i] != '.' || !is_one_of(text.substr(i + 1, 1), {"u", "s", "b", "f"})) continue;
      if (text[i + 2] == '8' || is_one_of(text.substr(i + 2, 2), {"16", "32", "64"})) return true;
    }
    return false;
  }

  /// A kernel whose address leaves its type behind: whoever launches it will need that.
  bool edit_kernel_address(std::size_t at) {
    if (names_.spaces.count(ts()[at].text) == 0 || names_.ordinary.count(ts()[at].text) != 0 ||
        (macro_ == nullptr && file_.kernel_declarations.count(at) != 0))
      return false;
    std::size_t end = at + 1;  // behind the template's arguments
    if (is(ts(), end, "<")) {
      const std::size_t close = angle_forward(ts(), end);
      if (close == kNone) return false;
      end = close + 1;
    }
    if (is(ts(), end, "(") || (end < ts().size() && opens_launch(ts()[end]))) return false;
    std::size_t begin = at;  // before the name's namespaces
    while (begin > 0 && ts()[begin - 1].is("::")) {
      --begin;
      if (begin > 0 && is_identifier(ts(), begin - 1) &&
          !is_expression_keyword(ts()[begin - 1].text))
        --begin;
    }
    const std::size_t name = begin;
    if (begin > 0 && ts()[begin - 1].is("&")) --begin;
    if (!loses_type(begin)) return false;
    const std::string shown = flat(ts(), name, end);
    replace(ts()[name].begin, ts()[name].begin,
            "::cpu_device::remember_kernel(" + literal(shown) + ", ");
    replace(ts()[end - 1].end(), ts()[end - 1].end(), ")");
    if (name != begin) replace(ts()[begin].begin, ts()[begin].end(), "");  // the &
    return true;
  }

  /// Does a cast to a void pointer, or a function that launches, stand before i?
  bool loses_type(std::size_t i) const {
    if (i < 2) return false;
    if (ts()[i - 1].is(")")) {
      const std::size_t open = match_back(ts(), i - 1);
      return open != kNone && is_void_pointer(open + 1, i - 1);
    }
    if (!ts()[i - 1].is("(")) return false;
    if (ts()[i - 2].is(">")) {
      const std::size_t angle = angle_back(ts(), i - 2);
      return angle != kNone && angle > 0 &&
             is_one_of(ts()[angle - 1].text, {"reinterpret_cast", "static_cast"}) &&
             is_void_pointer(angle + 1, i - 2);
    }
    return is_one_of(ts()[i - 2].text, {"cudaLaunchKernel", "cudaLaunchCooperativeKernel"});
  }

  /// void*, const void*, void const*
  bool is_void_pointer(std::size_t begin, std::size_t end) const {
    bool is_void = false;
    for (std::size_t i = begin; i < end; ++i) {
      if (ts()[i].is("void"))
        is_void = true;
      else if (!ts()[i].is("const") && !(ts()[i].is("*") && i + 1 == end))
        return false;
    }
    return is_void && end > begin && ts()[end - 1].is("*");
  }

  void check_call(std::size_t at) {
    const token& t = ts()[at];
    const auto kernel = names_.spaces.find(t.text);
    if (kernel == names_.spaces.end() || names_.ordinary.count(t.text) != 0 ||
        file_.kernel_declarations.count(at) != 0 || t.conditional || !in_block(at))
      return;
    std::size_t next = at + 1;
    if (is(ts(), next, "<")) {
      const std::size_t close = angle_forward(ts(), next);
      if (close == kNone) return;
      next = close + 1;
    }
    if (!is(ts(), next, "(")) return;
    if (at > 0) {
      const token& before = ts()[at - 1];
      if (before.is(".") || before.is("->") || before.is("template")) return;
      if (before.is("::")) {
        const bool named =
            at > 1 && is_identifier(ts(), at - 2) && !is_expression_keyword(ts()[at - 2].text);
        const std::string_view space = named ? ts()[at - 2].text : std::string_view();
        if (kernel->second.count(space) == 0) return;
      }
      if (before.kind == token_kind::identifier && !is_expression_keyword(before.text)) return;
    }
    report(t.line, "kernel `" + std::string(t.text) +
                       "` is called like an ordinary function; a kernel is launched: " +
                       flat(ts(), at, next) + "<<<blocks, threads>>>(...)");
  }

  const source_file& file_;
  const kernel_names& names_;
  const std::string& name_;
  const tokens* ts_ = nullptr;
  const directive* macro_ = nullptr;  // whose tokens these are, if it is a macro's
};

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// The text of a rewritten file, which says of itself where it comes from.
std::string marker(const std::string& file) { return "#line 1 " + literal(file) + "\n"; }

std::string finished(std::string_view source, const std::vector<edit>& edits,
                     const std::string& file) {
  std::string text = apply(source, edits);
  if (text.substr(0, 3) == kByteOrderMark) text.erase(0, 3);
  return marker(file) + text;
}

// ---- Files --------------------------------------------------------------------------------------

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) throw std::runtime_error(path.string() + " cannot be read");
  return text;
}

/// Replaces a file only when the new one is whole.
void write_file(const fs::path& path, const std::string& text) {
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  const fs::path part = path.string() + ".part" + std::to_string(getpid());
  {
    std::ofstream out(part, std::ios::binary);
    out << text;
    out.close();
    if (!out) {
      std::error_code ignored;
      fs::remove(part, ignored);
      throw std::runtime_error(path.string() + " cannot be written");
    }
  }
  fs::rename(part, path);
}

fs::path clean(const fs::path& path) { return fs::absolute(path).lexically_normal(); }

/// The input or one of its headers.
struct unit {
  unit(fs::path where, std::string content)
      : path(std::move(where)), name(path.string()), text(std::move(content)), file(text) {}

  fs::path path;  // absolute
  std::string name;
  std::string text;
  source_file file;
  fs::path copy;  // where a rewritten one goes, under the output's folder
  bool copied = false;
  std::vector<edit> edits;
  std::vector<std::pair<token, unit*>> includes;  // the file name in quotes, and what it is
};

/// The input with all headers that it includes in quotes and that were found.
class project {
 public:
  explicit project(const request& wanted)
      : wanted_(wanted), out_dir_(clean(wanted.output).parent_path()) {}

  std::vector<problem> run() {
    unit* const main = load(wanted_.input, clean(wanted_.output).filename());
    std::vector<problem> problems = rewrite_all();
    if (!problems.empty()) return problems;
    for (const auto& u : units_) {
      std::error_code missing;
      if (fs::equivalent(out_dir_ / u->copy, u->path, missing))
        throw std::runtime_error("the output must not stand in the folder of the source: " +
                                 u->name);
    }
    main->copied = true;
    spread_copies();
    for (const auto& u : units_)
      if (u.get() != main) write_header(*u);
    if (!wanted_.depfile.empty()) write_file(wanted_.depfile, dependencies());
    write_file(wanted_.output, emitted(*main));
    return {};
  }

 private:
  unit* load(const fs::path& path, const fs::path& copy) {
    const fs::path identity = fs::weakly_canonical(path);
    if (const auto known = by_identity_.find(identity); known != by_identity_.end())
      return known->second;
    units_.push_back(std::make_unique<unit>(clean(path), read_file(path)));
    unit* const u = units_.back().get();
    by_identity_[identity] = u;
    u->copy = unused_name(copy);
    for (const directive& d : u->file.parts.directives) {
      if (d.name != "include" || d.dead || d.tokens.empty()) continue;
      const token name = d.tokens[0];
      if (name.kind != token_kind::string || name.text.size() < 3 || name.text[0] != '"') continue;
      const fs::path spelled = name.text.substr(1, name.text.size() - 2);
      if (const std::optional<fs::path> found = find(*u, spelled))
        u->includes.emplace_back(name, load(*found, u->copy.parent_path() / spelled));
    }
    return u;
  }

  std::optional<fs::path> find(const unit& from, const fs::path& spelled) const {
    std::error_code missing;
    fs::path candidate = from.path.parent_path() / spelled;
    if (fs::is_regular_file(candidate, missing)) return candidate;
    for (const fs::path& dir : wanted_.include_dirs) {
      candidate = dir / spelled;
      if (fs::is_regular_file(candidate, missing)) return candidate;
    }
    return std::nullopt;
  }

  /// A place under the output's folder that no other file has.
  fs::path unused_name(const fs::path& wanted) {
    fs::path inside;
    for (const fs::path& part : wanted.lexically_normal().relative_path())
      inside /= part == ".." ? fs::path("up") : part;
    fs::path name = inside;
    for (int i = 2; !names_taken_.insert(name).second; ++i)
      name = inside.parent_path() / (std::to_string(i) + "_" + inside.filename().string());
    return name;
  }

  std::vector<problem> rewrite_all() {
    kernel_names names;
    for (const auto& u : units_) collect_kernels(u->file, names);
    for (const auto& u : units_) collect_ordinary(u->file, names);
    std::vector<problem> problems;
    for (const auto& u : units_) {
      editor e(u->file, names, u->name);
      e.run();
      u->edits = std::move(e.edits);
      u->copied = !u->edits.empty();
      problems.insert(problems.end(), e.problems.begin(), e.problems.end());
    }
    return problems;
  }

  /// A header that includes a rewritten one must be rewritten to find it.
  void spread_copies() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& u : units_)
        for (const auto& [name, header] : u->includes)
          if (header->copied && !u->copied) u->copied = changed = true;
    }
  }

  std::string emitted(const unit& u) const {
    std::vector<edit> edits = u.edits;
    const fs::path folder = u.copy.parent_path();
    for (const auto& [name, header] : u.includes) {
      const fs::path spelled = name.text.substr(1, name.text.size() - 2);
      std::string now = spelled.string();
      if (header->copied) {
        if ((folder / spelled).lexically_normal() != header->copy)
          now = header->copy.lexically_relative(folder.empty() ? "." : folder).string();
      } else if (u.path.parent_path() != units_.front()->path.parent_path()) {
        now = header->path.string();  // the compiler looks only beside the input
      }
      if (now != spelled.string()) edits.push_back({name.begin, name.end(), '"' + now + '"'});
    }
    return finished(u.text, edits, u.name);
  }

  void write_header(const unit& u) const {
    const fs::path copy = out_dir_ / u.copy;
    std::error_code missing;
    const bool there = fs::is_regular_file(copy, missing);
    if (u.copied) {
      const std::string text = emitted(u);
      if (!there || read_file(copy) != text) write_file(copy, text);
    } else if (there && read_file(copy).substr(0, marker(u.name).size()) == marker(u.name)) {
      fs::remove(copy);
    }
  }

  std::string dependencies() const {
    const auto escaped = [](const std::string& path) {
      std::string result;
      for (const char c : path) {
        if (c == ' ' || c == '#') result += '\\';
        if (c == '$') result += '$';
        result += c;
      }
      return result;
    };
    std::string text = escaped(wanted_.output.string()) + ":";
    for (const auto& u : units_) text += " \\\n  " + escaped(u->name);
    return text + "\n";
  }

  const request& wanted_;
  const fs::path out_dir_;
  std::vector<std::unique_ptr<unit>> units_;  // the input first
  std::map<fs::path, unit*> by_identity_;
  std::set<fs::path> names_taken_;
};

}  // namespace

rewritten rewrite(std::string_view source, const std::string& file) {
  source_file parsed(source);
  kernel_names names;
  collect_kernels(parsed, names);
  collect_ordinary(parsed, names);
  editor e(parsed, names, file);
  e.run();
  return {finished(source, e.edits, file), !e.edits.empty(), std::move(e.problems)};
}

std::vector<problem> rewrite_files(const request& wanted) { return project(wanted).run(); }

}  // namespace rewriter
