// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "spaces.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>

#include "functions.hpp"
#include "host_library.hpp"
#include "locals.hpp"

namespace rewriter {
namespace {

/// Which functions are compiled at all: templates and inline ones only if something names them.
class compiled_set {
 public:
  compiled_set(const std::vector<listed_file>& files, const declared& all)
      : files_(files), all_(all), in_(all.functions.size(), false) {
    for (std::size_t i = 0; i < all.functions.size(); ++i) {
      const function& f = all.functions[i];
      const bool waits = f.templated || (f.when_used && !f.where.global);
      if (!waits || f.name[0] == '~' || f.name == f.owner) add(i);
    }
    for (const std::string_view name : all.mentioned) add_all(name);
    while (!open_.empty()) {
      const function& f = all_.functions[open_.back()];
      open_.pop_back();
      const tokens& ts = files_[f.file].file->parts.code;
      const std::size_t end = match_forward(ts, f.body);
      for (std::size_t i = f.parameters; i < end; ++i) {
        if (ts[i].kind == token_kind::identifier) add_all(ts[i].text);
        if (ts[i].kind == token_kind::punctuation) add_operator(ts, i);
      }
    }
  }
  bool contains(std::size_t i) const { return in_[i]; }

 private:
  void add_operator(const tokens& ts, std::size_t i) {
    if (ts[i].is("(") || ts[i].is("[")) {
      add_all(ts[i].is("(") ? "operator()" : "operator[]");
    } else if (!opens(ts[i]) && !closes(ts[i])) {
      add_all("operator" + std::string(ts[i].text));
      if (is(ts, i + 1, "=") || is(ts, i + 1, ts[i].text))
        add_all("operator" + std::string(ts[i].text) + std::string(ts[i + 1].text));
    }
  }
  void add_all(std::string_view name) {
    if (!seen_.insert(std::string(name)).second) return;
    const auto [first, last] = all_.by_name.equal_range(name);
    for (auto at = first; at != last; ++at) add(at->second);
  }
  void add(std::size_t i) {
    if (in_[i]) return;
    in_[i] = true;
    if (all_.functions[i].body != kNone) open_.push_back(i);
  }

  const std::vector<listed_file>& files_;
  const declared& all_;
  std::vector<bool> in_;
  std::vector<std::size_t> open_;
  std::set<std::string, std::less<>> seen_;
};

/// Looks through one function's body.
class body_check {
 public:
  body_check(const std::vector<listed_file>& files, const declared& all, const function& f,
             bool compiled, bool relaxed_constexpr,
             const std::set<std::string_view>& called_by_host, std::vector<problem>& problems)
      : files_(files),
        all_(all),
        f_(f),
        compiled_(compiled),
        relaxed_constexpr_(relaxed_constexpr),
        file_(*files[f.file].file),
        ts_(file_.parts.code),
        called_by_host_(called_by_host),
        problems_(problems),
        end_(match_forward(ts_, f.body)) {}

  void run() {
    if (end_ == kNone) return;
    locals_ = read_locals(ts_, f_.begin, f_.parameters, f_.body);
    for (std::size_t i = f_.body + 1; i < end_; ++i) {
      if (const std::size_t after = skip_unevaluated(i); after != i) {
        i = after - 1;
        continue;
      }
      const token& t = ts_[i];
      const scope& here = file_.scope_of(i);
      if (t.uncertain || here.local_type) continue;
      read_space(here);
      if (opens_launch(t)) check_launch(i);
      if (device_ && !host_ && compiled_) {
        check_device(i);
        if (t.kind == token_kind::punctuation) check_operator(i);
      }
      if (host_ && !device_ && compiled_ && !f_.templated && !f_.where.unknown &&
          t.kind == token_kind::punctuation && !t.is("(") && !t.is("["))
        check_operator(i);
      if (t.kind != token_kind::identifier) continue;
      if (device_ && host_ && compiled_) check_variable(i, t);
      if (host_ && !f_.where.unknown) check_host(i);
      if (device_) check_statement(i);
    }
  }

 private:
  // -- Where the code is, and what is no code --

  void read_space(const scope& here) {
    if (here.marked_lambda != 0) {
      device_ = here.device;
      host_ = !here.device_only;
      // Marks of a function that is defined in here are the lambda's own, or it has none.
      if (file_.scopes[here.marked_lambda].brace > f_.body) return;
    }
    device_ = f_.where.on_device();
    host_ = !f_.where.device_only();
  }

  /// Behind code that is never executed, or not in this template, at i.
  std::size_t skip_unevaluated(std::size_t i) const {
    if (!is_identifier(ts_, i)) return i;
    if (is_one_of(ts_[i].text, {"sizeof", "decltype", "alignof", "noexcept", "__typeof__"}) &&
        is(ts_, i + 1, "(")) {
      const std::size_t close = match_forward(ts_, i + 1);
      return close == kNone ? i : close + 1;
    }
    if (ts_[i].is("requires")) {
      std::size_t k = i + 1;
      if (is(ts_, k, "(") && match_forward(ts_, k) != kNone) k = match_forward(ts_, k) + 1;
      if (is(ts_, k, "{") && match_forward(ts_, k) != kNone) k = match_forward(ts_, k) + 1;
      return k;
    }
    if (!f_.templated || !ts_[i].is("if") || !is(ts_, i + 1, "constexpr") || !is(ts_, i + 2, "("))
      return i;
    std::size_t k = match_forward(ts_, i + 2);
    while (k != kNone && k < end_) {
      k = end_of_statement(k + 1);
      if (k == kNone || !is(ts_, k + 1, "else")) break;
      ++k;
      if (is(ts_, k + 1, "if")) {
        while (k < end_ && !is(ts_, k, "(")) ++k;
        k = match_forward(ts_, k);
      }
    }
    return k == kNone || k >= end_ ? end_ : k + 1;
  }

  std::size_t end_of_statement(std::size_t i) const {
    if (is(ts_, i, "{")) return match_forward(ts_, i);
    for (; i < end_ && !ts_[i].is(";"); ++i)
      if (opens(ts_[i])) i = std::min(match_forward(ts_, i), end_);
    return i < end_ ? i : kNone;
  }

  std::string who() const {
    if (f_.where.global) return "kernel `" + f_.name + "`";
    if (f_.name.substr(0, 8) == "operator" || f_.name[0] == '~' || f_.name == f_.owner)
      return "`" + std::string(f_.owner) + (f_.owner.empty() ? "" : "::") + f_.name + "`";
    return "`" + f_.name + "`";
  }

  void report(std::size_t at, std::string sentence) {
    problems_.push_back({files_[f_.file].name, ts_[at].line, std::move(sentence)});
  }

  std::string place_of(const function& g) const {
    const int line = files_[g.file].file->parts.code[g.at].line;
    std::string text = "line " + std::to_string(line);
    if (g.file != f_.file) {
      const std::string& path = files_[g.file].name;
      text += " of " + path.substr(path.find_last_of('/') + 1);
    }
    return text;
  }

  // -- Names --

  struct call {
    std::size_t name;        // the token
    std::size_t open;        // the `(`
    std::string_view owner;  // what stands before `::`
    bool qualified = false;
  };

  /// The call of a function by its name at i, if it is one.
  std::optional<call> read_call(std::size_t i) const {
    if (!is_identifier(ts_, i)) return std::nullopt;
    call c{i, i + 1, {}, false};
    if (is(ts_, c.open, "<")) {
      const std::size_t close = angle_forward(ts_, c.open);
      if (close == kNone) return std::nullopt;
      c.open = close + 1;
    }
    if (!is(ts_, c.open, "(")) return std::nullopt;
    const token& before = ts_[i - 1];
    if (before.is(".") || before.is("->") || before.is("~")) return std::nullopt;
    if (before.is("::")) {
      c.qualified = true;
      if (is_identifier(ts_, i - 2) && !is_expression_keyword(ts_[i - 2].text))
        c.owner = ts_[i - 2].text;
      else if (is(ts_, i - 2, ">"))
        return std::nullopt;
    } else if (before.kind == token_kind::identifier && !is_expression_keyword(before.text)) {
      return std::nullopt;  // a declaration
    }
    return c;
  }

  bool is_local(std::string_view name) const { return locals_.count(name) != 0; }

  /// The functions that a call can mean; none if one of them might be any function.
  std::vector<const function*> candidates(const call& c) const {
    std::vector<const function*> found;
    const std::string_view name = ts_[c.name].text;
    if (all_.macros.count(name) != 0 || all_.classes.count(name) != 0 ||
        all_.variables.count(name) != 0 || all_.members.count(name) != 0 ||
        (!c.qualified && is_local(name)))
      return found;
    const auto [first, last] = all_.by_name.equal_range(name);
    for (auto at = first; at != last; ++at) {
      const function& g = all_.functions[at->second];
      if (!c.qualified && !g.owner.empty() && g.owner != f_.owner) {
        if (all_.derived.count(f_.owner) != 0) return {};  // it may be the base's
        continue;
      }
      if (c.qualified && !c.owner.empty() && g.owner != c.owner && !ends_with(g.space, c.owner))
        continue;
      if (g.uncertain || g.defaulted) return {};
      found.push_back(&g);
    }
    const std::size_t arguments = count_arguments(ts_, c.open);
    const std::string here = space_of(file_, file_.places[f_.at]);
    const bool fits = std::any_of(found.begin(), found.end(), [&](const function* g) {
      const bool visible =
          c.qualified || !g->owner.empty() || here.substr(0, g->space.size()) == g->space ||
          all_.used_spaces.count(g->space) != 0 || all_.used_names.count(g->space + g->name) != 0;
      return visible && (arguments == kNone || (arguments >= g->least && arguments <= g->most));
    });
    return fits ? found : std::vector<const function*>();
  }

  static bool ends_with(const std::string& space, std::string_view last) {
    const std::string end = std::string(last) + "::";
    return space.size() >= end.size() &&
           space.compare(space.size() - end.size(), end.size(), end) == 0 &&
           (space.size() == end.size() || space[space.size() - end.size() - 1] == ':');
  }

  std::string what_to_write(const function& g) const {
    const bool both = called_by_host_.count(g.name) != 0;
    return std::string("write ") + (both ? "`__host__ __device__`" : "`__device__`") +
           " before its declaration (" + place_of(g) + ")";
  }

  void refuse_host_function(std::size_t at, const function& g, const std::string& shown) {
    report(at, "`" + shown + "` is a function of the host, and " + who() +
                   " runs on the device: " + what_to_write(g));
  }

  // -- Code of the device --

  void check_device(std::size_t i) {
    const token& t = ts_[i];
    if (t.kind != token_kind::identifier) return;
    if (check_library(i) || check_std_object(i) || check_object(i) || check_address(i)) return;
    if (const auto c = read_call(i)) {
      const std::vector<const function*> found = candidates(*c);
      if (!found.empty() && std::all_of(found.begin(), found.end(), [&](const function* g) {
            return is_only_for_host(*g) && (c->qualified || !overloads_cuda(*g));
          })) {
        std::string shown(t.text);
        if (!c->owner.empty()) shown = std::string(c->owner) + "::" + shown;
        return refuse_host_function(i, *found.front(), shown);
      }
    }
    check_built_in(i);
    check_variable(i, t);
    check_static_member(i);
    check_conversion(i);
    check_returned_list(i);
  }

  /// `float f = a;`, where the class of `a` has only a conversion of the host.
  void check_conversion(std::size_t i) {
    if (!is_one_of(ts_[i].text, {"float", "double", "int", "bool", "unsigned"}) ||
        !begins_statement_with(i) || !is_identifier(ts_, i + 1) || !is(ts_, i + 2, "=") ||
        !is(ts_, i + 4, ";"))
      return;
    const std::string_view type = class_of(i + 3, false);
    if (type.empty() || all_.derived.count(type) != 0 || locals_.at(ts_[i + 3].text).array) return;
    const function* found = nullptr;
    const auto [first, last] = all_.by_name.equal_range("operator conversion");
    for (auto at = first; at != last; ++at) {
      const function& g = all_.functions[at->second];
      if (g.owner != type) continue;
      if (found != nullptr || !is_only_for_host(g) || g.uncertain || g.templated || g.defaulted)
        return;
      found = &g;
    }
    if (found == nullptr) return;
    const tokens& ts = files_[found->file].file->parts.code;
    refuse_host_function(i + 3, *found,
                         std::string(type) + "::" + flat(ts, found->at, found->parameters));
  }

  /// `return {a};`, where what is returned is of a class with constructors of the host.
  void check_returned_list(std::size_t i) {
    if (!ts_[i].is("return") || !is(ts_, i + 1, "{") || f_.templated || f_.at == 0) return;
    if (!is_identifier(ts_, f_.at - 1) || is(ts_, f_.at - 2, "::")) return;
    const std::string_view type = ts_[f_.at - 1].text;
    const auto known = all_.classes.find(type);
    if (known == all_.classes.end() || known->second != 1) return;
    for (std::size_t k = f_.body; k < end_; ++k)  // a lambda returns something else
      if (ts_[k].is("[") && !is_identifier(ts_, k - 1) && !ts_[k - 1].is("]") &&
          !ts_[k - 1].is(")"))
        return;
    const std::size_t arguments = count_arguments(ts_, i + 1);
    if (arguments == 0 || arguments == kNone ||
        (arguments == 1 && (is_identifier(ts_, i + 2) && class_of(i + 2, false) == type)))
      return;
    const auto constructors = host_members(type, type, arguments);
    if (!constructors.empty()) refuse_constructor(i, type, *constructors.front());
  }

  void refuse_constructor(std::size_t at, std::string_view type, const function& g) {
    report(at, "the constructor of `" + std::string(type) + "` is a function of the host, and " +
                   who() + " runs on the device: " + what_to_write(g));
  }

  /// A function of the host that is named and not called: `auto f = twice;`
  bool check_address(std::size_t i) {
    const auto [first, last] = all_.by_name.equal_range(ts_[i].text);
    if (first == last || std::next(first) != last) return false;
    const function& g = all_.functions[first->second];
    const std::string_view name = ts_[i].text;
    const bool of = is(ts_, i - 1, "&") && !is_identifier(ts_, i - 2);
    if (!is_one_of(ts_[of ? i - 2 : i - 1].text, {"=", "(", ",", "return"}) ||
        !is_one_of(ts_[i + 1].text, {";", ",", ")"}) || !g.owner.empty() || g.templated ||
        g.defaulted || g.uncertain || !is_only_for_host(g) || is_local(name) ||
        all_.macros.count(name) != 0 || all_.variables.count(name) != 0 ||
        all_.classes.count(name) != 0 || all_.members.count(name) != 0)
      return false;
    const std::string here = space_of(file_, file_.places[f_.at]);
    if (here.substr(0, g.space.size()) != g.space) return false;
    refuse_host_function(i, g, g.name);
    return true;
  }

  bool is_only_for_host(const function& g) const {
    return g.where.host_only() && !g.is_consteval && !(relaxed_constexpr_ && g.is_constexpr);
  }

  /// Whether it stands beside a function of CUDA by that name, which a call then means as well: in
  /// a namespace that is only opened here, for classes of its own.
  bool overloads_cuda(const function& g) const {
    const std::string here = space_of(file_, file_.places[f_.at]);
    return here.substr(0, g.space.size()) != g.space && g.owner.empty() && is_math_function(g.name);
  }

  bool check_library(std::size_t i) {
    const token& t = ts_[i];
    const bool in_std =
        i >= 2 && ts_[i - 1].is("::") && ts_[i - 2].is("std") && !(i >= 3 && ts_[i - 3].is("::"));
    const bool opened = !in_std && all_.used_spaces.count("std::") != 0 && is_unknown(i);
    const auto refuse = [&](std::string_view advice) {
      report(i, (in_std || opened ? "`std::" : "`") + std::string(t.text) +
                    "` exists only on the host, and " + who() +
                    " runs on the device: " + std::string(advice));
      return true;
    };
    if (t.is("errno") && is_unknown(i)) return refuse("nothing sets it in kernels");
    if (in_std && t.is("numeric_limits") && is(ts_, i + 1, "<")) {
      if (relaxed_constexpr_) return false;
      const std::size_t close = angle_forward(ts_, i + 1);
      if (close != kNone && is(ts_, close + 1, "::") && is(ts_, close + 3, "("))
        return refuse(
            "FLT_MAX, INT_MAX and INFINITY (cfloat, climits, cmath) work in kernels, and "
            "so does a `constexpr` of the file");
      return false;
    }
    if (in_std && is_one_of(t.text, {"chrono", "this_thread"})) {
      std::size_t last = i;
      while (is(ts_, last + 1, "::") && is_identifier(ts_, last + 2)) last += 2;
      return is(ts_, last + 1, "(") &&
             refuse(t.is("chrono") ? "clock64() counts the processor's clock in kernels"
                                   : "__nanosleep() waits in kernels");
    }
    if (in_std && t.is("hypot") && is(ts_, i + 1, "(") && count_arguments(ts_, i + 1) == 3)
      return refuse("norm3d() and norm3df() take three numbers in kernels");
    if (in_std && t.is("source_location") && is(ts_, i + 2, "current") && is(ts_, i + 5, "."))
      return !relaxed_constexpr_ && refuse("__FILE__ and __LINE__ work in kernels");
    if (in_std || opened) {
      if (const auto name = host_only_std(t.text)) {
        if (opened && is_one_of(t.text, {"max", "min"})) return false;  // CUDA has them
        if (opened && (name->is_common || is_one_of(t.text, {"begin", "end", "beta"})))
          return false;  // so may others
        if (relaxed_constexpr_ && name->is_constexpr) return false;
        if (name->kind == library_kind::object) return refuse(name->advice);
        if (name->kind == library_kind::function) {
          if (const auto c = read_call(i)) return refuse(name->advice);
          return false;
        }
        std::size_t next = i + 1;
        if (is(ts_, next, "<")) {
          const std::size_t close = angle_forward(ts_, next);
          if (close == kNone) return false;
          next = close + 1;
        }
        if (name->kind == library_kind::functor) {  // it may be made, but not called
          const std::size_t close =
              next < ts_.size() && opens(ts_[next]) ? match_forward(ts_, next) : kNone;
          return close != kNone && is(ts_, close + 1, "(") && refuse(name->advice);
        }
        if (is_identifier(ts_, next) || is(ts_, next, "(") || is(ts_, next, "{"))
          return refuse(name->advice);
        return false;
      }
    }
    const bool global = i >= 1 && ts_[i - 1].is("::") && !(i >= 2 && is_identifier(ts_, i - 2));
    if (!(in_std || global || is_unknown(i)) || !read_call(i)) return false;
    if (const std::string_view advice = host_only_function(t.text); !advice.empty())
      return all_.by_name.count(t.text) == 0 && refuse(advice);
    return false;
  }

  /// A name on its own that the program gives to nothing.
  bool is_unknown(std::size_t i) const {
    const token& before = ts_[i - 1];
    if (before.is(".") || before.is("->") || before.is("::")) return false;
    const std::string_view name = ts_[i].text;
    return !is_local(name) && all_.by_name.count(name) == 0 && all_.macros.count(name) == 0 &&
           all_.variables.count(name) == 0 && all_.classes.count(name) == 0 &&
           all_.members.count(name) == 0;
  }

  // -- Variables --

  void check_variable(std::size_t i, const token& t) {
    const auto [first, last] = all_.variables.equal_range(t.text);
    if (first == last || is_local(t.text) || all_.macros.count(t.text) != 0 ||
        all_.members.count(t.text) != 0 || all_.classes.count(t.text) != 0)
      return;
    const token& before = ts_[i - 1];
    if (before.is(".") || before.is("->") || before.is("~") || before.is("&&")) {
      if (!before.is("&&")) return;
    }
    if (is(ts_, i + 1, "::")) return;
    std::string_view owner;
    if (before.is("::")) {
      if (!is_identifier(ts_, i - 2) || is_expression_keyword(ts_[i - 2].text)) {
        if (is(ts_, i - 2, ">")) return;
      } else {
        owner = ts_[i - 2].text;
      }
    } else if (before.kind == token_kind::identifier && !is_expression_keyword(before.text)) {
      return;
    }
    const std::string here = space_of(file_, file_.places[f_.at]);
    bool visible = false;
    for (auto at = first; at != last; ++at) {
      const variable& v = at->second;
      if (v.on_device || (v.immutable && !is_computed(v)) || v.uncertain) {
        if (v.constant && v.scalar) check_constant_write(i);
        if (!v.on_device && !v.uncertain && owner.empty() && std::next(first) == last)
          check_constant_address(i);
        return;
      }
      visible = visible || (owner.empty() ? here.substr(0, v.space.size()) == v.space ||
                                                all_.used_spaces.count(v.space) != 0
                                          : ends_with(v.space, owner));
    }
    if (!visible || all_.by_name.count(t.text) != 0) return;
    const variable& v = first->second;
    const tokens& there = files_[v.file].file->parts.code;
    report(i, "`" + std::string(t.text) + "` is a variable of the host (line " +
                  std::to_string(there[v.at].line) + "), and " + who() +
                  " runs on the device: pass it as an argument, or declare it `__device__` or "
                  "`__constant__` and fill it with cudaMemcpyToSymbol()");
  }

  /// A constant of the host has a value in kernels, but no address there.
  void check_constant_address(std::size_t i) {
    if (host_ || all_.by_name.count(ts_[i].text) != 0 || i < 3) return;
    const bool behind_and = ts_[i - 1].is("&") &&
                            is_one_of(ts_[i - 2].text, {"=", "(", ",", "return"}) &&
                            is_one_of(ts_[i + 1].text, {";", ",", ")"});
    const bool reference = ts_[i - 1].is("=") && is(ts_, i + 1, ";") && is_identifier(ts_, i - 2) &&
                           ts_[i - 3].is("&") && is_identifier(ts_, i - 4) &&
                           !is_expression_keyword(ts_[i - 4].text);
    if (!behind_and && !reference && !is_bound(i)) return;
    report(i, "`" + std::string(ts_[i].text) +
                  "` is a constant of the host, which has a value in " + who() +
                  ", but no address there: copy it to a variable, and use that");
  }

  /// Whether the name at i is, alone, the argument for a reference.
  bool is_bound(std::size_t i) const {
    if (!(ts_[i - 1].is("(") || ts_[i - 1].is(",")) ||
        !(is(ts_, i + 1, ")") || is(ts_, i + 1, ",")))
      return false;
    std::size_t open = i - 1, number = 0;
    for (; open > f_.body && !opens(ts_[open]); --open) {
      if (closes(ts_[open])) open = match_back(ts_, open);
      if (open == kNone || ts_[open].is(">") || ts_[open].is("<")) return false;
      if (ts_[open].is(",")) ++number;
    }
    if (open <= f_.body || !ts_[open].is("(")) return false;
    const auto c = read_call(open - 1);
    if (!c) return false;
    const std::vector<const function*> found = candidates(*c);
    if (found.size() != 1 || found.front()->templated) return false;
    const tokens& ts = files_[found.front()->file].file->parts.code;
    const auto [begin, end] = parameter(ts, found.front()->parameters, number);
    for (std::size_t k = begin; k < end; ++k)
      if (ts[k].is("&")) return true;
    return false;
  }

  /// The tokens of the parameter or argument of that number, of those that open at `open`.
  static std::pair<std::size_t, std::size_t> parameter(const tokens& ts, std::size_t open,
                                                       std::size_t number) {
    const std::size_t close = match_forward(ts, open);
    std::size_t begin = open + 1;
    for (std::size_t i = open + 1; close != kNone && i <= close; ++i) {
      if (i == close || ts[i].is(",")) {
        if (number == 0) return {begin, i};
        --number;
        begin = i + 1;
      } else if (opens(ts[i])) {
        i = match_forward(ts, i);
      } else if (ts[i].is("<") && is_identifier(ts, i - 1)) {
        const std::size_t last = angle_forward(ts, i);
        if (last != kNone && last < close) i = last;
      }
    }
    return {close, close};
  }

  /// `T::a`, or `a` in a member of T: a static member that lies on the host.
  void check_static_member(std::size_t i) {
    const std::string_view name = ts_[i].text;
    const auto [first, last] = all_.static_members.equal_range(name);
    if (first == last || all_.macros.count(name) != 0 || is(ts_, i + 1, "::") ||
        is(ts_, i + 1, "(") || f_.templated)
      return;
    std::string_view owner = f_.owner;
    if (ts_[i - 1].is("::")) {
      if (!is_identifier(ts_, i - 2) || is_local(ts_[i - 2].text)) return;
      owner = ts_[i - 2].text;
    } else if (is_one_of(ts_[i - 1].text, {".", "->"}) || is_local(name)) {
      return;
    }
    const auto known = all_.classes.find(owner);
    if (known == all_.classes.end() || known->second != 1 || all_.macros.count(owner) != 0) return;
    for (auto at = first; at != last; ++at) {
      const static_member& m = at->second;
      if (m.owner != owner) continue;
      if (m.immutable && !(m.array && has_index_of_thread(i))) return;
      const tokens& there = files_[m.file].file->parts.code;
      return report(i, "`" + std::string(owner) + "::" + std::string(name) +
                           "` is a static member, which lies on the host (line " +
                           std::to_string(there[m.at].line) + "), and " + who() +
                           " runs on the device: pass it as an argument, or declare a "
                           "`__device__` or `__constant__` variable outside of the class");
    }
  }

  /// `a[...]` with something of the thread or an argument in it.
  bool has_index_of_thread(std::size_t i) const {
    const std::size_t close = is(ts_, i + 1, "[") ? match_forward(ts_, i + 1) : kNone;
    if (close == kNone || f_.is_constexpr) return false;
    bool depends = false;
    for (std::size_t k = i + 2; k < close; ++k) {
      if (is_one_of(ts_[k].text, {"sizeof", "decltype", "{", "::"})) return false;
      const bool member = ts_[k - 1].is(".") || ts_[k - 1].is("->");
      if (is_built_in(k) || (is_identifier(ts_, k) && !member && is_a_value(k))) depends = true;
    }
    return depends;
  }

  /// Whether a `const` of the host has its value from a function that runs when the program begins.
  bool is_computed(const variable& v) const {
    const tokens& ts = files_[v.file].file->parts.code;
    for (std::size_t i = v.at; i > 0 && !is_one_of(ts[i - 1].text, {";", "{", "}"}); --i)
      if (ts[i - 1].is("constexpr")) return false;
    for (std::size_t i = v.at + 1; i + 1 < ts.size() && !ts[i].is(";"); ++i)
      if (is_identifier(ts, i) && is(ts, i + 1, "(") && is_run_time_function(all_, ts, i))
        return true;
    return false;
  }

  /// Whether what stands at [i, last] is assigned to, or counted up or down.
  bool is_written(std::size_t i, std::size_t last) const {
    const bool stepped = (is(ts_, last + 1, "+") && is(ts_, last + 2, "+")) ||
                         (is(ts_, last + 1, "-") && is(ts_, last + 2, "-")) ||
                         (i > 1 && is(ts_, i - 1, "+") && is(ts_, i - 2, "+")) ||
                         (i > 1 && is(ts_, i - 1, "-") && is(ts_, i - 2, "-"));
    const bool assigned =
        is(ts_, last + 1, "=") ||
        (last + 2 < ts_.size() && is_one_of(ts_[last + 1].text, {"+", "-", "*", "/"}) &&
         ts_[last + 2].is("=") && adjacent(ts_, last + 1));
    return stepped || assigned;
  }

  bool is_built_in(std::size_t i) const {
    return is_identifier(ts_, i) &&
           is_one_of(ts_[i].text, {"threadIdx", "blockIdx", "blockDim", "gridDim"}) &&
           is_unknown(i);
  }

  void check_built_in(std::size_t i) {
    if (!is_built_in(i)) return;
    const bool has_member = is(ts_, i + 1, ".") && is_identifier(ts_, i + 2);
    const std::size_t last = has_member ? i + 2 : i;
    if (is_written(i, last))
      report(i, "`" + flat(ts_, i, last + 1) +
                    "` can only be read: copy it to a variable, and change that");
    const token& before = ts_[i - 1];
    if (before.is("&") && i > 1 &&
        (is_one_of(ts_[i - 2].text, {"(", ",", "=", "{", ";"}) || ts_[i - 2].is("return")))
      report(i, "`" + std::string(ts_[i].text) +
                    "` has no address: copy it to a variable, and take the address of that");
  }

  void check_constant_write(std::size_t i) {
    if (is_written(i, i))
      report(i, "`" + std::string(ts_[i].text) +
                    "` is `__constant__`, which kernels can only read: the host writes it with "
                    "cudaMemcpyToSymbol(), and what a kernel writes must be `__device__`");
  }

  // -- Objects of the program's classes --

  /// The class of the variable at i, if it is one of the program's and is known without doubt.
  std::string_view class_of(std::size_t i, bool pointer) const {
    if (!is_identifier(ts_, i)) return {};
    if (i > 0 && (ts_[i - 1].is(".") || ts_[i - 1].is("->") || ts_[i - 1].is("::"))) return {};
    const auto found = locals_.find(ts_[i].text);
    if (found == locals_.end() || found->second.pointer != pointer) return {};
    std::string_view type = found->second.type;
    if (type == "auto" && !pointer && !found->second.array) type = class_of_value(ts_[i].text);
    const auto known = all_.classes.find(type);
    return known == all_.classes.end() || known->second != 1 ? std::string_view() : type;
  }

  /// Of `auto name = a;`, if it is declared once.
  std::string_view class_of_value(std::string_view name) const {
    std::string_view type;
    int declared = 0;
    for (std::size_t i = f_.body + 2; i < end_; ++i) {
      if (!ts_[i].is(name) || !is_one_of(ts_[i - 1].text, {"auto", "&", "&&", "*"})) continue;
      if (!ts_[i - 1].is("auto") && !is(ts_, i - 2, "auto")) continue;
      ++declared;
      if (ts_[i - 1].is("auto") && is(ts_, i + 1, "=") && is(ts_, i + 3, ";") &&
          !is(ts_, i + 2, name) && is_identifier(ts_, i + 2) && is_local(ts_[i + 2].text) &&
          !locals_.at(ts_[i + 2].text).array)
        type = class_of(i + 2, false);
    }
    return declared == 1 ? type : std::string_view();
  }

  /// The class, or the one base of it, that has members of this name.
  std::string_view class_with(std::string_view type, std::string_view name) const {
    for (int depth = 0; depth < 8; ++depth) {
      const auto [first, last] = all_.by_name.equal_range(name);
      for (auto at = first; at != last; ++at)
        if (all_.functions[at->second].owner == type) return type;
      const auto bases = all_.bases.find(type);
      if (bases == all_.bases.end() || bases->second.size() != 1 || all_.members.count(name) != 0 ||
          is_local(bases->second.front()))
        return {};
      type = bases->second.front();
      const auto known = all_.classes.find(type);
      if (known == all_.classes.end() || known->second != 1) return {};
    }
    return {};
  }

  /// The class of the object that ends at i: `a`, `a.b` or `a->b`.
  std::string_view class_of_object(std::size_t i, bool pointer) const {
    const bool dot = i > 1 && ts_[i - 1].is("."), arrow = i > 1 && ts_[i - 1].is("->");
    if (!dot && !arrow) return class_of(i, pointer);
    if (pointer) return {};
    const std::string_view outer =
        arrow && ts_[i - 2].is("this") ? f_.owner : class_of(i - 2, arrow);
    const auto found = all_.member_types.find({outer, ts_[i].text});
    if (outer.empty() || found == all_.member_types.end()) return {};
    const auto known = all_.classes.find(found->second);
    return known == all_.classes.end() || known->second != 1 ? std::string_view() : found->second;
  }

  /// The members of a class by that name; none if one of them runs on the device or may do so.
  std::vector<const function*> host_members(std::string_view type, std::string_view name,
                                            std::size_t arguments) const {
    std::vector<const function*> found;
    const auto [first, last] = all_.by_name.equal_range(name);
    bool fits = false;
    for (auto at = first; at != last; ++at) {
      const function& g = all_.functions[at->second];
      if (g.owner != type) continue;
      if (g.uncertain) return {};
      const bool fits_this = arguments == kNone || (arguments >= g.least && arguments <= g.most);
      if (!is_only_for_host(g) || g.defaulted) {
        // A member that is declared without marks and defined with them has both.
        if (fits_this || name != type) return {};
        continue;
      }
      fits = fits || fits_this;
      found.push_back(&g);
    }
    return fits ? found : std::vector<const function*>();
  }

  /// Classes of the standard library that kernels may be given, and whose members they cannot call.
  bool check_std_object(std::size_t i) {
    const token& t = ts_[i];
    const bool element = t.is("["), member = is_identifier(ts_, i) && is(ts_, i + 1, "(");
    const std::size_t object = element ? i - 1 : i - 2;
    const bool arrow = member && i >= 2 && is(ts_, i - 1, "->");
    if (!element && !arrow && !(member && i >= 2 && is(ts_, i - 1, "."))) return false;
    if (!is_identifier(ts_, object)) return false;
    const auto found = locals_.find(ts_[object].text);
    if (found == locals_.end() || found->second.pointer != arrow || found->second.array ||
        found->second.space != "std" || is_declared_here(object) ||
        (object > 0 && is_one_of(ts_[object - 1].text, {".", "->", "::"})) ||
        !is_one_of(found->second.type, {"array", "span", "string_view", "complex", "atomic"}) ||
        (relaxed_constexpr_ && found->second.type != "atomic"))
      return false;
    report(i, "the members of `std::" + std::string(found->second.type) +
                  "` are functions of the host, and " + who() + " runs on the device: " +
                  (found->second.type == "atomic" ? "use atomicAdd() and the like, or "
                                                    "cuda::atomic_ref"
                                                  : "use a plain array or a struct of your own"));
    return true;
  }

  /// `f(1)` of a `std::function`.
  void check_std_function(std::size_t i) {
    if (!is_identifier(ts_, i - 1) || is_declared_here(i - 1) ||
        is_one_of(ts_[i - 2].text, {".", "->", "::"}))
      return;
    const auto found = locals_.find(ts_[i - 1].text);
    if (found == locals_.end() || found->second.space != "std" ||
        found->second.type != "function" || found->second.pointer || found->second.array)
      return;
    report(i, "`" + std::string(ts_[i - 1].text) +
                  "` is a `std::function`, which calls functions of the host, and " + who() +
                  " runs on the device: make the kernel a template that takes any functor");
  }

  bool is_declared_here(std::size_t i) const {
    return i > 0 && (ts_[i - 1].is(">") ||
                     (is_identifier(ts_, i - 1) && !is_expression_keyword(ts_[i - 1].text)));
  }

  /// Members that are called, constructors and destructors.
  bool check_object(std::size_t i) {
    const token& t = ts_[i];
    const bool dot = is(ts_, i - 1, "."), arrow = is(ts_, i - 1, "->");
    if ((dot || arrow) && is(ts_, i + 1, "(") && i >= 2) {
      std::size_t object = i - 2;
      bool element = false;
      if (ts_[object].is("]")) {
        const std::size_t open = match_back(ts_, object);
        if (open == kNone || open == 0) return false;
        object = open - 1;
        element = true;
      }
      std::string_view type;
      if (is(ts_, object, "this") && arrow) {
        type = f_.owner;
      } else if (element) {
        const auto found = locals_.find(ts_[object].text);
        const bool many = found != locals_.end() && (found->second.pointer || found->second.array);
        if (dot && many) type = class_of(object, found->second.pointer);
      } else {
        type = class_of_object(object, arrow);
      }
      type = class_with(type, t.text);
      if (type.empty()) return false;
      const auto found = host_members(type, t.text, count_arguments(ts_, i + 1));
      if (found.empty()) return false;
      refuse_host_function(i, *found.front(), std::string(type) + "::" + std::string(t.text));
      return true;
    }
    if (dot || arrow) return false;
    return check_construction(i);
  }

  bool check_construction(std::size_t i) {
    const token& t = ts_[i];
    const auto known = all_.classes.find(t.text);
    if (known == all_.classes.end() || known->second != 1 || is_local(t.text)) return false;
    if (i > 0 && (ts_[i - 1].is("::") || ts_[i - 1].is("~") || ts_[i - 1].is("struct")))
      return false;
    if (is_identifier(ts_, i - 1) &&
        is_one_of(ts_[i - 1].text, {"__shared__", "extern", "static", "typename"}))
      return false;
    std::size_t next = i + 1;
    if (is(ts_, next, "<")) {
      const std::size_t close = angle_forward(ts_, next);
      if (close == kNone) return false;
      next = close + 1;
    }
    if (is_one_of(ts_[next].text, {"(", "{"}) && match_forward(ts_, next) != kNone &&
        is(ts_, match_forward(ts_, next) + 1, "(")) {  // T()(...)
      const std::size_t open = match_forward(ts_, next) + 1;
      const auto found = host_members(t.text, "operator()", count_arguments(ts_, open));
      if (!found.empty() && begins_expression(i)) {
        refuse_host_function(i, *found.front(), std::string(t.text) + "::operator()");
        return true;
      }
    }
    bool variable = false;
    if (is_identifier(ts_, next) && begins_statement_with(i)) {
      variable = true;
      ++next;
    }
    if (next >= ts_.size()) return false;
    std::size_t arguments = 0;
    if (ts_[next].is("(") || ts_[next].is("{")) {
      if (is(ts_, next + 1, ")") && variable) return false;  // declares a function
      arguments = count_arguments(ts_, next);
      if (arguments == 1 && !class_of(next + 1, false).empty()) return false;  // a copy
    } else if (variable && ts_[next].is("[")) {  // all of them are made without arguments
      const std::size_t close = match_forward(ts_, next);
      if (close == kNone || !is(ts_, close + 1, ";")) return false;
    } else if (variable && ts_[next].is("=")) {
      return check_copy(i, next + 1);
    } else if (!variable || !(ts_[next].is(";") || ts_[next].is(","))) {
      return false;
    }
    const std::string shown(t.text);
    const auto constructors = host_members(t.text, t.text, arguments);
    if (!constructors.empty()) {
      refuse_constructor(i, t.text, *constructors.front());
      return true;
    }
    if (!variable) return false;
    const auto destructors = host_members(t.text, '~' + shown, 0);
    if (destructors.empty()) return false;
    report(i, "the destructor of `" + shown + "` is a function of the host, and " + who() +
                  " runs on the device: " + what_to_write(*destructors.front()));
    return true;
  }

  bool begins_expression(std::size_t i) const {
    return begins_statement(ts_, i) ||
           is_one_of(ts_[i - 1].text, {"=", "(", ",", "return", "+", "-", "*", "/", "[", "?"});
  }

  /// `T a = b;` with an object at `from`, and a constructor `T(const T&)` of the host.
  bool check_copy(std::size_t i, std::size_t from) {
    const std::string_view type = ts_[i].text;
    std::size_t after = from + 1;
    if (is(ts_, after, "[") && match_forward(ts_, after) != kNone)
      after = match_forward(ts_, after) + 1;
    if (!is(ts_, after, ";") || object_at(from) != type) return false;
    const function* found = nullptr;
    const auto [first, last] = all_.by_name.equal_range(type);
    for (auto at = first; at != last; ++at) {
      const function& g = all_.functions[at->second];
      if (g.owner != type || g.most == 0) continue;
      const tokens& ts = files_[g.file].file->parts.code;
      const std::size_t k = g.parameters + 1;
      const bool copies =
          is(ts, k, "const") && is(ts, k + 1, type) && is(ts, k + 2, "&") && g.least <= 1;
      if (!copies && mentions(g, type)) return false;
      if (!copies) continue;
      if (!is_only_for_host(g) || g.defaulted || g.uncertain || g.templated) return false;
      found = &g;
    }
    if (found != nullptr) refuse_constructor(i, type, *found);
    return found != nullptr;
  }

  bool begins_statement_with(std::size_t i) const {
    while (i > 0 && is_one_of(ts_[i - 1].text, {"const", "volatile", "constexpr"})) --i;
    return begins_statement(ts_, i);
  }

  void check_operator(std::size_t i) {
    const token& t = ts_[i];
    std::string op(t.text);
    if (t.is("(") || t.is("[")) {  // of the object before it
      const std::string_view type = i > 0 ? class_of(i - 1, false) : std::string_view();
      if (type.empty()) {
        if (t.is("["))
          check_std_object(i);
        else
          check_std_function(i);
        return;
      }
      if (locals_.find(ts_[i - 1].text)->second.array) return;
      if (i > 1 && is_identifier(ts_, i - 2) && !is_expression_keyword(ts_[i - 2].text))
        return;  // its declaration
      if (i > 1 && (ts_[i - 2].is(">") || ts_[i - 2].is("*") || ts_[i - 2].is("&"))) return;
      const auto found = host_members(type, t.is("(") ? "operator()" : "operator[]",
                                      t.is("(") ? count_arguments(ts_, i) : 1);
      if (!found.empty())
        refuse_host_function(i, *found.front(), std::string(type) + "::" + found.front()->name);
      return;
    }
    if (!is_one_of(t.text, {"+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", "="}))
      return;
    if (i + 2 >= end_) return;
    std::size_t right = i + 1;
    if (is_one_of(t.text, {"+", "-", "*", "/", "%"}) && ts_[right].is("=") && adjacent(ts_, i)) {
      op += '=';
      ++right;
    }
    const token& before = ts_[i - 1];
    const bool binary = before.kind == token_kind::identifier
                            ? !is_expression_keyword(before.text)
                            : before.kind == token_kind::number || before.is(")") || before.is("]");
    if (!binary) return;
    // One of the two is a whole operand, and an object.
    std::string_view type;
    const std::size_t left = first_of_operand(i - 1);
    const bool alone_left = left != kNone && left > 0 &&
                            (begins_statement(ts_, left) ||
                             is_one_of(ts_[left - 1].text, {"=", "(", ",", "return", "{"}));
    if (alone_left) type = object_at(left);
    std::size_t after = right + 1;
    if (is(ts_, after, "[") && match_forward(ts_, after) != kNone)
      after = match_forward(ts_, after) + 1;
    const bool alone_right = after < end_ && is_one_of(ts_[after].text, {";", ")", ",", "}"});
    if (type.empty() && alone_right && op != "=" && op.back() != '=') type = object_at(right);
    if (type.empty()) {
      const bool left_complex = alone_left && is_complex(left);
      if (op != "=" && (left_complex || (alone_right && op.back() != '=' && is_complex(right))) &&
          all_.by_name.count("operator" + op) == 0 && device_)
        report(i, "the operators of `std::complex` are functions of the host, and " + who() +
                      " runs on the device: use cuComplex.h or cuda::std::complex");
      return;
    }
    const function* other_side = nullptr;
    const auto [first, last] = all_.by_name.equal_range("operator" + op);
    for (auto at = first; at != last; ++at) {
      const function& g = all_.functions[at->second];
      const bool takes = g.owner == type || mentions(g, type);
      const bool elsewhere =
          device_ ? is_only_for_host(g) : g.where.device_only() && !g.where.unknown && !g.templated;
      if (!elsewhere || g.defaulted || g.uncertain) {
        if (takes || g.templated) return;
      } else if (takes) {
        other_side = &g;
      }
    }
    if (other_side == nullptr) return;
    if (device_)
      refuse_host_function(i, *other_side, other_side->name);
    else
      refuse_device_function(i, *other_side, other_side->name);
  }

  /// Whether the name at i, alone, is a `std::complex`.
  bool is_complex(std::size_t i) const {
    if (relaxed_constexpr_ || !is_identifier(ts_, i) || is(ts_, i + 1, "[") ||
        (i > 0 && is_one_of(ts_[i - 1].text, {".", "->", "::"})))
      return false;
    const auto found = locals_.find(ts_[i].text);
    return found != locals_.end() && found->second.space == "std" &&
           found->second.type == "complex" && !found->second.pointer && !found->second.array;
  }

  /// The name that an operand which ends at i consists of: `a`, or `a[...]`.
  std::size_t first_of_operand(std::size_t i) const {
    if (ts_[i].is("]")) {
      i = match_back(ts_, i);
      if (i == kNone || i == 0) return kNone;
      --i;
    }
    return is_identifier(ts_, i) ? i : kNone;
  }

  /// The class of the object `a`, or of the element `a[...]`, at i.
  std::string_view object_at(std::size_t i) const {
    if (!is_identifier(ts_, i)) return {};
    const auto found = locals_.find(ts_[i].text);
    if (found == locals_.end()) return {};
    const local& n = found->second;
    const bool element = is(ts_, i + 1, "[");
    if (element ? n.pointer == n.array || is_declared_twice_a_pointer(ts_[i].text) : n.array)
      return {};
    if (element && is_identifier(ts_, i - 1) && !is_expression_keyword(ts_[i - 1].text)) return {};
    if (element && is(ts_, match_forward(ts_, i + 1) + 1, "[")) return {};
    return class_of(i, element && n.pointer);
  }

  /// `T** a`
  bool is_declared_twice_a_pointer(std::string_view name) const {
    for (std::size_t i = f_.begin; i < end_; ++i) {
      if (!ts_[i].is(name)) continue;
      int stars = 0;
      for (std::size_t k = i; is_one_of(ts_[k - 1].text, {"*", "const", "__restrict__"}); --k)
        stars += ts_[k - 1].is("*") ? 1 : 0;
      if (stars > 1) return true;
    }
    return false;
  }

  bool mentions(const function& g, std::string_view type) const {
    const tokens& ts = files_[g.file].file->parts.code;
    const std::size_t close = match_forward(ts, g.parameters);
    for (std::size_t i = g.parameters; i < close && i < ts.size(); ++i)
      if (ts[i].is(type)) return true;
    return false;
  }

  // -- Statements and declarations --

  void check_statement(std::size_t i) {
    const token& t = ts_[i];
    if (t.is("throw") || t.is("try")) {
      report(i, "device code cannot throw or catch exceptions, and " + who() +
                    " runs on the device: return an error code, or use assert() or __trap()");
    } else if (t.is("typeid") || t.is("dynamic_cast")) {
      report(i, "device code has no run-time type information, so " + who() + " cannot use `" +
                    std::string(t.text) + "`: use a template, or an enum of your own");
    } else if (t.is("__shared__") && is_static_and_extern(i)) {
      report(i, "`extern __shared__` memory belongs to the launch, so it cannot be `static`, too");
    } else if (t.is("goto") && is(ts_, i + 1, "*")) {
      report(i, "device code has no computed `goto`, and " + who() +
                    " runs on the device: use `switch`");
    } else if (t.is("thread_local")) {
      report(i, "device code has no `thread_local` variables: every variable of " + who() +
                    " belongs to its thread already");
    } else if (is_one_of(t.text, {"co_return", "co_await", "co_yield"})) {
      report(i, "device code has no coroutines: " + who() + " must be an ordinary function");
    } else if (is_one_of(t.text, {"__device__", "__constant__", "__managed__"}) &&
               begins_statement(ts_, i)) {
      report(i, "a `" + std::string(t.text) +
                    "` variable is declared outside of functions, not "
                    "in " +
                    who());
    }
    if (!f_.templated) check_array(i);
    if (!f_.templated && t.is("static") && begins_statement(ts_, i)) {
      check_static(i);
      if (!host_) check_static_object(i + 1);
    }
  }

  /// Whether both words stand before or right after the `__shared__` at i.
  bool is_static_and_extern(std::size_t i) const {
    bool is_static = false, is_extern = false;
    while (is_identifier(ts_, i - 1) && is_one_of(ts_[i - 1].text, {"static", "extern"})) --i;
    for (; is_identifier(ts_, i) && is_one_of(ts_[i].text, {"static", "extern", "__shared__"});
         ++i) {
      is_static = is_static || ts_[i].is("static");
      is_extern = is_extern || ts_[i].is("extern");
    }
    return is_static && is_extern;
  }

  /// `static T a;` with a constructor of T that would have to run.
  void check_static_object(std::size_t i) {
    if (!is_identifier(ts_, i) || !is_identifier(ts_, i + 1)) return;
    if (const function* made = constructor_at_run_time(files_, all_, ts_, i, i + 1))
      report(i + 1, "`" + std::string(ts_[i + 1].text) +
                        "` is `static`, so all threads share it, and its first value must be a "
                        "constant: the constructor of `" +
                        std::string(ts_[i].text) + "` (" + place_of(*made) + ") would have to run");
  }

  /// `static int n = threadIdx.x;`
  void check_static(std::size_t i) {
    std::size_t name = i + 1;
    while (is_identifier(ts_, name) && !is(ts_, name, "constexpr") && !is(ts_, name + 1, "="))
      ++name;
    if (!is_identifier(ts_, name) || !is_local(ts_[name].text) ||
        !is_set_at_run_time(ts_[name].text))
      return;
    report(name,
           "`" + std::string(ts_[name].text) +
               "` is `static`, so all threads share it, and its first value must be a constant: "
               "it cannot depend on an argument or on the thread");
  }

  /// `float a[n]` with an n that only the running program knows.
  void check_array(std::size_t i) {
    if (!is(ts_, i + 1, "[") || ts_[i].uncertain) return;
    const auto found = locals_.find(ts_[i].text);
    if (found == locals_.end() || !found->second.array || i == 0) return;
    if (!is_identifier(ts_, i - 1) || is_expression_keyword(ts_[i - 1].text)) return;  // a use
    const std::size_t close = match_forward(ts_, i + 1);
    bool runtime = false;
    for (std::size_t k = i + 2; k < close; ++k) {
      if (ts_[k].is("(") || ts_[k].is("<") || ts_[k].is("::") || ts_[k].is("sizeof")) return;
      runtime = runtime || is_runtime_value(k);
    }
    if (close == kNone || !runtime) return;
    report(i, "`" + flat(ts_, i, close + 1) +
                  "` has a size that is known only when the program runs: device code needs a "
                  "constant, or `extern __shared__` memory whose size the launch gives");
  }

  /// A parameter or a variable of this function that is no constant.
  bool is_runtime_value(std::size_t i) const {
    if (!is_identifier(ts_, i)) return false;
    const std::string_view name = ts_[i].text;
    const auto known = locals_.find(name);
    if (known == locals_.end() || known->second.type.empty()) return false;
    const local& n = known->second;
    if (n.pointer || n.array) return false;
    if (n.fixed && !is_plain_parameter(name) && !is_set_at_run_time(name)) return false;
    return all_.variables.count(name) == 0 && all_.members.count(name) == 0 &&
           all_.macros.count(name) == 0;
  }

  /// A constant whose value depends on a parameter or on the thread, wherever it is declared.
  bool is_set_at_run_time(std::string_view name) const {
    bool found = false;
    for (std::size_t i = f_.body + 1; i + 1 < end_; ++i) {
      if (!ts_[i].is(name) || !is(ts_, i + 1, "=") || !is_identifier(ts_, i - 1) ||
          is_expression_keyword(ts_[i - 1].text))
        continue;
      if (!depends_on_thread(i + 2)) return false;
      found = true;
    }
    return found;
  }

  /// Of the expression at i.
  bool depends_on_thread(std::size_t i) const {
    bool depends = false;
    for (; i < end_ && !ts_[i].is(";"); ++i) {
      if (is_one_of(ts_[i].text, {"sizeof", "decltype", "{"})) return false;
      const bool member = ts_[i - 1].is(".") || ts_[i - 1].is("->");
      if (is_built_in(i) || (is_identifier(ts_, i) && !member && is_a_value(i))) depends = true;
    }
    return depends;
  }

  /// A parameter of the function whose type is known.
  bool is_a_value(std::size_t i) const {
    const auto known = locals_.find(ts_[i].text);
    return known != locals_.end() && !known->second.type.empty() && is_plain_parameter(ts_[i].text);
  }

  bool is_plain_parameter(std::string_view name) const {
    const std::size_t close = match_forward(ts_, f_.parameters);
    for (std::size_t i = f_.parameters; i < close; ++i)
      if (ts_[i].is(name)) return true;
    return false;
  }

  // -- Code of the host --

  void check_host(std::size_t i) {
    if (ts_[i].is("__shared__") && begins_statement_with(i) && !is(ts_, i + 1, "extern"))
      return report(i, "`__shared__` memory belongs to a block of threads, and " + who() +
                           " runs on the host" + (device_ ? ", too" : "") +
                           ": declare it in a kernel or a `__device__` function");
    if (!device_ && is_one_of(ts_[i].text, {"__device__", "__constant__", "__managed__"}) &&
        (begins_statement(ts_, i) || (is(ts_, i - 1, "static") && begins_statement(ts_, i - 1))))
      return report(i, "a `" + std::string(ts_[i].text) +
                           "` variable is declared outside of functions, not in " + who());
    if (is_capture_by_reference(i))
      return report(i,
                    "this lambda runs on the device and captures by reference what " + who() +
                        " has on the host: capture values, as in `[=] __device__`, or pointers to "
                        "device memory");
    if (!device_ && (check_host_write(i) || check_host_index(i))) return;
    if (!f_.templated && !check_device_member(i) && !check_device_construction(i))
      check_device_call(i);
  }

  /// `threadIdx.x` of no thread. (Host code has its own variables called `blockDim` and `gridDim`.)
  bool check_host_index(std::size_t i) {
    if (f_.templated || !is_built_in(i) || !is_one_of(ts_[i].text, {"threadIdx", "blockIdx"}))
      return false;
    report(i, "`" + std::string(ts_[i].text) + "` exists only in device code, and " + who() +
                  " runs on the host: use it in a kernel or a `__device__` function");
    return true;
  }

  /// `[&]` or `[a, &b]`, if i is the `__device__` of such a lambda.
  bool is_capture_by_reference(std::size_t i) const {
    if (!ts_[i].is("__device__")) return false;
    if (is(ts_, i - 1, "__host__")) --i;
    if (!is(ts_, i - 1, "]")) return false;
    const std::size_t open = match_back(ts_, i - 1);
    if (open == kNone) return false;
    for (std::size_t k = open + 1; k < i - 1; ++k)
      if (ts_[k].is("&") && (k == open + 1 || ts_[k - 1].is(","))) return true;
    return false;
  }

  bool check_host_write(std::size_t i) {
    const std::string_view name = ts_[i].text;
    const auto [first, last] = all_.variables.equal_range(name);
    if (first == last || std::next(first) != last || is_local(name) ||
        all_.macros.count(name) != 0 || all_.members.count(name) != 0 ||
        all_.by_name.count(name) != 0 || all_.classes.count(name) != 0 ||
        is_one_of(ts_[i - 1].text, {".", "->", "::"}) ||
        (is_identifier(ts_, i - 1) && !is_expression_keyword(ts_[i - 1].text)))
      return false;
    const variable& v = first->second;
    if (!v.constant || !v.scalar || v.uncertain || !is_written(i, i)) return false;
    report(i, "`" + std::string(name) + "` is `__constant__`: the host writes it with " +
                  "cudaMemcpyToSymbol(" + std::string(name) + ", &value, sizeof value)");
    return true;
  }

  /// A variable of a class, or one that `new` makes, whose constructor exists only on the device.
  bool check_device_construction(std::size_t i) {
    const std::string_view type = ts_[i].text;
    const auto known = all_.classes.find(type);
    if (known == all_.classes.end() || known->second != 1 || is_local(type) ||
        all_.derived.count(type) != 0)
      return false;
    const bool made = is(ts_, i - 1, "new");
    const std::size_t next = made ? i + 1 : i + 2;
    if (!made && (!is_identifier(ts_, i + 1) || !begins_statement(ts_, i))) return false;
    const bool list = is(ts_, next, "(") || is(ts_, next, "{");
    if (!list && !is(ts_, next, ";")) return false;
    if (is(ts_, next, "(") && is(ts_, next + 1, ")") && !made) return false;  // a function
    const std::size_t arguments = list ? count_arguments(ts_, next) : 0;
    if (arguments == kNone || (arguments == 1 && !class_of(next + 1, false).empty())) return false;
    const function* found = nullptr;
    const auto [first, last] = all_.by_name.equal_range(type);
    for (auto at = first; at != last; ++at) {
      const function& g = all_.functions[at->second];
      if (g.owner != type) continue;
      if (!g.where.device_only() || g.where.unknown || g.uncertain || g.defaulted || g.templated)
        return false;
      if (arguments >= g.least && arguments <= g.most) found = &g;
    }
    if (found == nullptr) return false;
    refuse_device_function(i, *found, std::string(type) + "::" + std::string(type));
    return true;
  }

  bool check_device_member(std::size_t i) {
    const bool dot = is(ts_, i - 1, "."), arrow = is(ts_, i - 1, "->");
    if (!(dot || arrow) || !is(ts_, i + 1, "(") || i < 2) return false;
    const std::string_view type = class_of(i - 2, arrow);
    if (type.empty()) return false;
    const function* found = nullptr;
    const auto [first, last] = all_.by_name.equal_range(ts_[i].text);
    for (auto at = first; at != last; ++at) {
      const function& g = all_.functions[at->second];
      if (g.owner != type) continue;
      if (!g.where.device_only() || g.where.unknown || g.uncertain) return false;
      found = &g;
    }
    if (found != nullptr)
      refuse_device_function(i, *found, std::string(type) + "::" + std::string(ts_[i].text));
    return found != nullptr;
  }

  void refuse_device_function(std::size_t at, const function& g, const std::string& shown) {
    report(at,
           "`" + shown + "` is a `__device__` function, and " + who() + " runs on the host" +
               (device_ ? ", too" : "") +
               ": call it in a kernel, or write `__host__ __device__` before its declaration (" +
               place_of(g) + ")");
  }

  /// `k<<<1, 2>>>()` of a k that is no kernel.
  void check_launch(std::size_t open) {
    if (!is_identifier(ts_, open - 1) || is_local(ts_[open - 1].text)) return;
    const token& name = ts_[open - 1];
    if (is_one_of(ts_[open - 2].text, {".", "->", "::"}) || all_.macros.count(name.text) != 0 ||
        all_.variables.count(name.text) != 0 || all_.members.count(name.text) != 0)
      return;
    check_launch_arguments(open);
    const function* found = nullptr;
    const auto [first, last] = all_.by_name.equal_range(name.text);
    for (auto at = first; at != last; ++at) {
      found = &all_.functions[at->second];
      if (found->where.global || found->where.unknown || found->uncertain) return;
    }
    if (found != nullptr)
      report(open - 1, "`" + std::string(name.text) +
                           "` is launched and is no kernel: write `__global__` before its "
                           "declaration (" +
                           place_of(*found) + ")");
  }

  /// What a kernel that is a template is given: functors of the host, classes of this function.
  void check_launch_arguments(std::size_t open) {
    if (!host_ || f_.templated || all_.by_name.count(ts_[open - 1].text) != 1) return;
    const function& kernel = all_.functions[all_.by_name.find(ts_[open - 1].text)->second];
    if (!kernel.where.global || !kernel.templated || kernel.body == kNone || kernel.uncertain)
      return;
    std::size_t close = open + 1;
    while (close + 3 < end_ && !(ts_[close].is(">") && ts_[close + 1].is(">") &&
                                 ts_[close + 2].is(">") && ts_[close + 3].is("("))) {
      if (ts_[close].is(";")) return;
      close = opens(ts_[close]) ? match_forward(ts_, close) : close;
      if (close == kNone) return;
      ++close;
    }
    if (close + 3 >= end_) return;
    const tokens& ts = files_[kernel.file].file->parts.code;
    const std::size_t arguments = count_arguments(ts_, close + 3);
    if (arguments == kNone || arguments != kernel.most || kernel.least != kernel.most) return;
    for (std::size_t n = 0; n < arguments; ++n) {
      const auto [begin, end] = parameter(ts, kernel.parameters, n);
      if (end != begin + 2 || !is_type_parameter(ts, kernel, ts[begin].text)) continue;
      const auto [from, to] = parameter(ts_, close + 3, n);
      if (from < to) check_launch_argument(kernel, ts[end - 1].text, from, to);
    }
  }

  static bool is_type_parameter(const tokens& ts, const function& f, std::string_view name) {
    for (std::size_t i = f.begin; i + 1 < f.parameters; ++i)
      if (is_one_of(ts[i].text, {"class", "typename"}) && ts[i + 1].is(name)) return true;
    return false;
  }

  void check_launch_argument(const function& kernel, std::string_view parameter, std::size_t from,
                             std::size_t to) {
    const std::string_view type = class_of_argument(from, to);
    if (type.empty()) return;
    if (is_class_of_body(type))
      return report(from, "`" + std::string(type) + "` is a class of " + who() + ", and kernel `" +
                              kernel.name +
                              "` is a template that cannot be made for it: define the class "
                              "outside of functions");
    const auto known = all_.classes.find(type);
    if (known == all_.classes.end() || known->second != 1) return;
    const tokens& ts = files_[kernel.file].file->parts.code;
    const std::size_t end = match_forward(ts, kernel.body);
    for (std::size_t i = kernel.body; i < end; ++i)
      if (is_one_of(ts[i].text, {"constexpr", "requires"}) || ts[i].uncertain) return;
    for (std::size_t i = kernel.body; i + 1 < end; ++i) {
      if (!ts[i].is(parameter) || !ts[i + 1].is("(") ||
          is_one_of(ts[i - 1].text, {".", "->", "::", ">", "*", "&"}) ||
          (is_identifier(ts, i - 1) && !is_expression_keyword(ts[i - 1].text)))
        continue;
      const auto found = host_members(type, "operator()", count_arguments(ts, i + 1));
      if (found.empty()) continue;
      return report(from, "`" + std::string(type) +
                              "::operator()` is a function of the host, and kernel `" +
                              kernel.name + "` calls it (line " + std::to_string(ts[i].line) +
                              "): " + what_to_write(*found.front()));
    }
  }

  /// `T{...}`, `T(...)`, or the name of a variable.
  std::string_view class_of_argument(std::size_t from, std::size_t to) const {
    if (!is_identifier(ts_, from)) return {};
    if (to == from + 1) {
      const auto found = locals_.find(ts_[from].text);
      if (found == locals_.end() || found->second.pointer || found->second.array ||
          !found->second.space.empty())
        return {};
      return found->second.type;
    }
    const bool made = is_one_of(ts_[from + 1].text, {"{", "("});
    if (!made || match_forward(ts_, from + 1) + 1 != to || is_local(ts_[from].text)) return {};
    return all_.by_name.count(ts_[from].text) != 0 && all_.classes.count(ts_[from].text) == 0
               ? std::string_view()
               : ts_[from].text;
  }

  /// Whether the function defines a class of that name.
  bool is_class_of_body(std::string_view name) const {
    for (std::size_t i = f_.body + 1; i + 2 < end_; ++i)
      if (is_class_key(ts_[i].text) && !ts_[i].is("enum") && ts_[i + 1].is(name) &&
          is_one_of(ts_[i + 2].text, {"{", ":"}))
        return true;
    return false;
  }

  void check_device_call(std::size_t i) {
    const auto c = read_call(i);
    if (!c) return;
    const std::string shown(ts_[i].text);
    const std::string side =
        device_ ? who() + " runs on the host, too" : who() + " runs on the host";
    const bool in_groups =
        is(ts_, i - 1, "::") && (is(ts_, i - 2, "cooperative_groups") || is(ts_, i - 2, "cg"));
    if (is_group_function(shown) && (in_groups || is_unknown(i)) && all_.by_name.count(shown) == 0)
      return report(i, "`" + shown + "()` exists only in device code, and " + side +
                           ": the host has no threads of a block or grid");
    if (is_device_function(shown)) {
      const bool global = ts_[i - 1].is("::") && !is_identifier(ts_, i - 2);
      if ((is_unknown(i) || global) && all_.by_name.count(shown) == 0)
        report(i, "`" + shown + "()` exists only in device code, and " + side +
                      ": call it in a kernel or a `__device__` function");
      return;
    }
    const std::vector<const function*> found = candidates(*c);
    if (found.empty()) return;
    for (const function* g : found)
      if (!g->where.device_only() || g->where.global || g->where.unknown) return;
    refuse_device_function(i, *found.front(), shown);
  }

  const std::vector<listed_file>& files_;
  const declared& all_;
  const function& f_;
  const bool compiled_;  // or only looked at, as an inline function that nothing names
  const bool relaxed_constexpr_;
  const source_file& file_;
  const tokens& ts_;
  const std::set<std::string_view>& called_by_host_;
  std::vector<problem>& problems_;
  const std::size_t end_;
  locals locals_;
  bool device_ = false, host_ = true;  // where the code at hand runs
};

/// What host functions call: those functions are needed on both sides.
std::set<std::string_view> names_in_host_code(const std::vector<listed_file>& files,
                                              const declared& all) {
  std::set<std::string_view> names;
  for (const function& f : all.functions) {
    if (f.body == kNone || f.where.device_only()) continue;
    const tokens& ts = files[f.file].file->parts.code;
    const std::size_t end = match_forward(ts, f.body);
    for (std::size_t i = f.body; i < end; ++i)
      if (is_identifier(ts, i) && is(ts, i + 1, "(")) names.insert(ts[i].text);
  }
  return names;
}

}  // namespace

bool is_run_time_function(const declared& all, const tokens& ts, std::size_t i) {
  const std::string_view name = ts[i].text;
  if (all.macros.count(name) != 0 || all.classes.count(name) != 0) return false;
  const auto [first, last] = all.by_name.equal_range(name);
  if (first == last)
    return !ts[i - 1].is(".") && !ts[i - 1].is("->") &&
           is_one_of(name, {"acos",  "asin", "atan", "atan2",  "sqrt", "cbrt",  "exp",
                            "log",   "sin",  "cos",  "tan",    "pow",  "sqrtf", "acosf",
                            "atanf", "expf", "logf", "malloc", "rand", "time"});
  return std::all_of(first, last, [&](const auto& one) {
    const function& f = all.functions[one.second];
    return !f.is_constexpr && !f.is_consteval && !f.uncertain && !f.templated;
  });
}

std::vector<problem> check_spaces(const std::vector<listed_file>& files, bool relaxed_constexpr) {
  std::vector<const source_file*> sources;
  for (const listed_file& one : files) sources.push_back(one.file);
  const declared all = read_declared(sources);
  const compiled_set compiled(files, all);
  const std::set<std::string_view> called_by_host = names_in_host_code(files, all);
  std::vector<problem> problems;
  for (std::size_t i = 0; i < all.functions.size(); ++i) {
    const function& f = all.functions[i];
    if (f.body == kNone || f.uncertain) continue;
    if (!compiled.contains(i) && f.templated) continue;
    body_check(files, all, f, compiled.contains(i), relaxed_constexpr, called_by_host, problems)
        .run();
  }
  check_kernel_declarations(files, all, problems);
  check_overrides(files, all, problems);
  check_variable_declarations(files, all, problems);
  // One sentence a line: a name may stand there twice.
  std::set<std::tuple<std::string, int, std::string>> said;
  std::vector<problem> once;
  for (problem& p : problems)
    if (said.emplace(p.file, p.line, p.sentence).second) once.push_back(std::move(p));
  return once;
}

}  // namespace rewriter
