// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "editor.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "walking.hpp"

namespace rewriter {
namespace {

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
    std::stable_sort(found.problems.begin(), found.problems.end(),
                     [](const problem& a, const problem& b) { return a.line < b.line; });
  }

  findings found;

 private:
  const tokens& ts() const { return *ts_; }
  bool in_block(std::size_t i) const {
    return macro_ != nullptr || file_.places[i].kind == scope_kind::block;
  }
  void report(int line, std::string sentence) {
    found.problems.push_back({name_, line, std::move(sentence)});
  }
  void replace(std::size_t begin, std::size_t end, std::string text) {
    found.edits.push_back({begin, end, std::move(text)});
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
      found.edits.insert(found.edits.begin(),
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

}  // namespace

findings examine(const source_file& file, const kernel_names& names, const std::string& name) {
  editor e(file, names, name);
  e.run();
  return std::move(e.found);
}

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

}  // namespace rewriter
