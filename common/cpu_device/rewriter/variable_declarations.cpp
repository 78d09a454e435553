// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the declaration of a variable of the device may not say.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "declarations.hpp"
#include "host_library.hpp"
#include "spaces.hpp"

namespace rewriter {
namespace {

constexpr std::uint64_t kSharedMemory = 49152;

bool is_space(const token& t) {
  return is_one_of(t.text, {"__device__", "__constant__", "__managed__", "__shared__"});
}

class declaration_check {
 public:
  declaration_check(const std::vector<listed_file>& files, const declared& all, std::size_t number,
                    std::vector<problem>& problems)
      : files_(files),
        all_(all),
        file_(*files[number].file),
        name_(files[number].name),
        ts_(file_.parts.code),
        problems_(problems) {}

  void run() {
    for (std::size_t i = 0; i < ts_.size(); ++i) {
      if (!is_space(ts_[i]) || ts_[i].uncertain) continue;
      const declaration d = read_declaration(ts_, i);
      if (!d.understood || d.end == ts_.size() || first_space(d) != i) continue;
      const std::size_t name = d.declarators.front().name;
      if (is(ts_, name + 1, "(") || is(ts_, name - 1, "::") || ts_[name].is("operator")) continue;
      if (d.begin > 0 && (ts_[d.begin - 1].is(">") || ts_[d.begin - 1].is(",") ||
                          (ts_[d.begin - 1].is("(") && !is(ts_, d.end, ";"))))
        continue;  // a template's, a parameter
      check(d, i);
    }
    if (constant_bytes_ > kConstantMemory)
      report(last_constant_, "the `__constant__` variables of this file have " +
                                 std::to_string(constant_bytes_) + " bytes, and there are " +
                                 std::to_string(kConstantMemory) +
                                 ": put the large ones into `__device__` memory");
  }

  /// Static shared memory of a kernel, as far as its size can be read.
  void check_kernel(const function& f) {
    if (!f.where.global || f.templated || f.uncertain || f.body == kNone) return;
    const std::size_t end = match_forward(ts_, f.body);
    std::uint64_t bytes = 0;
    std::size_t last = kNone;
    for (std::size_t i = f.body; i < end && i < ts_.size(); ++i) {
      // What stands in a branch may never be reached, and is left out then.
      if (!ts_[i].is("__shared__") || ts_[i].uncertain ||
          file_.places[i] != file_.places[f.body + 1])
        continue;
      const declaration d = read_declaration(ts_, i);
      if (!d.understood || says(d, "extern")) continue;
      for (const declaration::declarator& one : d.declarators) {
        if (!is_used_behind(one.name, end)) continue;  // it may be left out
        bytes += bytes_of(d, one);
        last = one.name;
      }
    }
    if (bytes > kSharedMemory)
      report(last, "kernel `" + f.name + "` has " + std::to_string(bytes) +
                       " bytes of `__shared__` variables, and a block can have " +
                       std::to_string(kSharedMemory) +
                       " of them: use smaller tiles, or `extern __shared__` memory and "
                       "cudaFuncSetAttribute()");
  }

 private:
  std::size_t first_space(const declaration& d) const {
    for (std::size_t i = d.begin; i < d.declarators.front().name; ++i)
      if (is_space(ts_[i])) return i;
    return kNone;
  }
  bool says(const declaration& d, std::string_view word) const {
    for (std::size_t i = d.begin; i < d.declarators.front().name; ++i)
      if (ts_[i].is(word)) return true;
    return false;
  }
  void report(std::size_t at, std::string sentence) {
    problems_.push_back({name_, ts_[at].line, std::move(sentence)});
  }

  void check(const declaration& d, std::size_t at) {
    const bool managed = says(d, "__managed__"), constant = says(d, "__constant__");
    const std::string shown = "`" + std::string(ts_[d.declarators.front().name].text) + "`";
    if (says(d, "__shared__") && (managed || constant))
      return report(at, shown +
                            " has two memories: a `__shared__` variable belongs to a block, and "
                            "cannot be `__constant__` or `__managed__`");
    if (managed && constant)
      return report(at, shown + " has two memories: it is `__constant__` or `__managed__`");
    const scope_kind where = file_.scope_of(at).kind;
    if (where == scope_kind::type && says(d, "static"))
      return report(at, shown + " is a member, and has no memory of its own: declare the `" +
                            std::string(ts_[at].text) + "` variable outside of the class");
    if (where != scope_kind::outer) return;
    if (managed)
      for (const char* word : {"const", "constexpr", "thread_local"})
        if (says(d, word))
          return report(at, shown + " is `__managed__` and cannot be `" + word +
                                "`: host and device write to such a variable");
    if (managed && ts_[d.declarators.front().name - 1].is("&"))
      return report(at, shown +
                            " is `__managed__` and cannot be a reference: declare the variable "
                            "itself `__managed__`");
    if (says(d, "__shared__")) return;
    check_type(d, at);
    for (const declaration::declarator& one : d.declarators) {
      if (one.initialised) check_first_value(one);
      if (constant && !says(d, "extern")) {
        constant_bytes_ += bytes_of(d, one);
        last_constant_ = one.name;
      }
    }
  }

  /// A class whose constructor would have to run on the device before main().
  void check_type(const declaration& d, std::size_t at) {
    const declaration::declarator& one = d.declarators.front();
    if (one.begin != one.name) return;  // a pointer
    if (is_identifier(ts_, one.name - 1) && !says(d, "extern"))
      if (const function* made =
              constructor_at_run_time(files_, all_, ts_, one.name - 1, one.name)) {
        const token& there = files_[made->file].file->parts.code[made->at];
        return report(at, "`" + std::string(ts_[one.name].text) +
                              "` is a variable of the device, where nothing runs before main(), "
                              "and its constructor (line " +
                              std::to_string(there.line) +
                              ") would have to: make that `constexpr`, or have a kernel set it");
      }
    for (std::size_t i = d.begin; i + 2 < one.name; ++i)
      if (ts_[i].is("std") && ts_[i + 1].is("::") &&
          is_one_of(ts_[i + 2].text, {"vector", "string", "list", "deque", "map", "set",
                                      "unordered_map", "unordered_set"}))
        return report(at, "`" + std::string(ts_[one.name].text) +
                              "` is a `std::" + std::string(ts_[i + 2].text) +
                              "`, which exists only on the host: use a plain array");
  }

  /// Nothing runs on the device before main() does.
  void check_first_value(const declaration::declarator& one) {
    for (std::size_t i = one.name + 1; i < one.end; ++i) {
      if (is_one_of(ts_[i].text, {"sizeof", "decltype", "alignof"}) && is(ts_, i + 1, "(")) {
        i = std::min(match_forward(ts_, i + 1), one.end);
        continue;
      }
      if (ts_[i].is("return")) return;  // a lambda's
    }
    for (std::size_t i = one.name + 1; i < one.end; ++i) {
      if (is_one_of(ts_[i].text, {"sizeof", "decltype", "alignof"}) && is(ts_, i + 1, "(")) {
        i = std::min(match_forward(ts_, i + 1), one.end);
        continue;
      }
      if (!is_identifier(ts_, i)) continue;
      const bool runs =
          ts_[i].is("new") ||
          (is(ts_, i + 1, "(") && (is_run_time_function(all_, ts_, i) || makes_vector(i)));
      if (!runs && !is_host_variable(i)) continue;
      return report(one.name, "the first value of `" + std::string(ts_[one.name].text) +
                                  "` must be a constant, and `" + std::string(ts_[i].text) +
                                  "` is known only when the program runs: have the host copy the "
                                  "value with cudaMemcpyToSymbol()");
    }
  }

  /// `make_float2(1, 2)` of CUDA.
  bool makes_vector(std::size_t i) const {
    const std::string_view name = ts_[i].text;
    return name.substr(0, 5) == "make_" && name.size() > 8 && name.back() >= '1' &&
           name.back() <= '4' && all_.by_name.count(name) == 0 && all_.macros.count(name) == 0;
  }

  bool is_host_variable(std::size_t i) const {
    const token& before = ts_[i - 1];
    if (before.is(".") || before.is("->") || before.is("::") || is(ts_, i + 1, "::")) return false;
    const std::string_view name = ts_[i].text;
    if (all_.macros.count(name) != 0 || all_.classes.count(name) != 0 ||
        all_.members.count(name) != 0 || all_.by_name.count(name) != 0)
      return false;
    const auto [first, last] = all_.variables.equal_range(name);
    return first != last && std::all_of(first, last, [&](const auto& entry) {
             const variable& v = entry.second;
             return !v.on_device && !v.immutable && !v.uncertain && !is_constant_array(v);
           });
  }

  /// Its address and elements are known.
  bool is_constant_array(const variable& v) const {
    const tokens& ts = files_[v.file].file->parts.code;
    for (std::size_t i = v.at; i > 0 && !is_one_of(ts[i - 1].text, {";", "{", "}"}); --i)
      if (ts[i - 1].is("const") || ts[i - 1].is("constexpr")) return true;
    return false;
  }

  // -- Sizes --

  /// 0 where it cannot be read.
  std::uint64_t bytes_of(const declaration& d, const declaration::declarator& one) const {
    std::uint64_t bytes = one.begin != one.name ? sizeof(void*) : bytes_of_type(d);
    if (one.begin != one.name && ts_[one.begin].is("&")) return 0;
    for (std::size_t i = one.extents; i != kNone && i < one.end && is(ts_, i, "[");
         i = match_forward(ts_, i) + 1) {
      std::uint64_t extent = 1;
      for (std::size_t k = i + 1; k < match_forward(ts_, i); k += 2) {  // N, or N * M
        const std::optional<std::uint64_t> factor = value_of(k);
        const bool ends = is(ts_, k + 1, "]") || is(ts_, k + 1, "*");
        extent = factor && ends && extent < (1U << 30) ? extent * *factor : 0;
      }
      bytes = bytes < (1U << 30) ? bytes * extent : 0;
    }
    return bytes;
  }

  std::uint64_t bytes_of_type(const declaration& d) const {
    std::uint64_t bytes = 0;
    int longs = 0;
    for (std::size_t i = d.begin; i < d.declarators.front().begin; ++i) {
      if (const std::size_t after = skip_attribute(ts_, i); after != i) {
        i = after - 1;
        continue;
      }
      const std::string_view word = ts_[i].text;
      if (is_space(ts_[i]) || is_one_of(word, {"static", "const", "volatile"})) continue;
      if (word == "long")
        ++longs;
      else if (word == "char" || word == "bool")
        bytes = 1;
      else if (word == "short")
        bytes = 2;
      else if (is_one_of(word, {"float", "unsigned", "signed"}) || (word == "int" && bytes == 0))
        bytes = std::max<std::uint64_t>(bytes, 4);
      else if (is_one_of(word, {"double", "float2", "int2"}))
        bytes = 8;
      else if (is_one_of(word, {"float4", "int4", "double2"}))
        bytes = 16;
      else if (word != "int")
        return 0;
    }
    return longs != 0 ? 8 : bytes;
  }

  std::optional<std::uint64_t> value_of(std::size_t i) const {
    if (ts_[i].kind == token_kind::number) return number(ts_[i].text);
    if (!is_identifier(ts_, i)) return std::nullopt;
    const std::string_view name = ts_[i].text;
    std::optional<std::uint64_t> found;
    for (const listed_file& one : files_) {
      for (const directive& d : one.file->parts.directives) {
        if (d.name != "define" || d.dead || d.macro != name) continue;
        if (found || d.uncertain || !d.parameters.empty() || d.tokens.size() != 1)
          return std::nullopt;
        found = number(d.tokens.front().text);
      }
      const tokens& ts = one.file->parts.code;
      for (std::size_t k = 1; k + 2 < ts.size(); ++k) {
        if (!ts[k].is(name) || !is_identifier(ts, k - 1) || is_expression_keyword(ts[k - 1].text))
          continue;
        if (found || ts[k].uncertain || !ts[k + 1].is("=") || !ts[k + 3].is(";"))
          return std::nullopt;  // declared twice, or not so simply
        found = number(ts[k + 2].text);
      }
    }
    return found;
  }

  static std::optional<std::uint64_t> number(std::string_view text) {
    const std::string digits(text);
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(digits.c_str(), &end, 0);
    if (end == digits.c_str() || std::string_view(end).find_first_not_of("uUlL") != text.npos)
      return std::nullopt;
    return value;
  }

  bool is_used_behind(std::size_t name, std::size_t end) const {
    for (std::size_t i = name + 1; i < end; ++i)
      if (ts_[i].is(ts_[name].text)) return true;
    return false;
  }

  const std::vector<listed_file>& files_;
  const declared& all_;
  const source_file& file_;
  const std::string& name_;
  const tokens& ts_;
  std::vector<problem>& problems_;
  std::uint64_t constant_bytes_ = 0;
  std::size_t last_constant_ = 0;
};

}  // namespace

const function* constructor_at_run_time(const std::vector<listed_file>& files, const declared& all,
                                        const tokens& ts, std::size_t type, std::size_t name) {
  const std::string_view owner = ts[type].text;
  const auto known = all.classes.find(owner);
  if (known == all.classes.end() || known->second != 1 || all.derived.count(owner) != 0 ||
      all.macros.count(owner) != 0 || (type > 0 && ts[type - 1].is("::")))
    return nullptr;
  std::size_t arguments = 0;
  if (is(ts, name + 1, "(") || is(ts, name + 1, "{"))
    arguments = count_arguments(ts, name + 1);
  else if (!is(ts, name + 1, ";"))
    return nullptr;
  if (arguments == kNone || (arguments == 0 && is(ts, name + 1, "("))) return nullptr;
  if (arguments == 1 && is_identifier(ts, name + 2)) return nullptr;  // perhaps a copy
  const function* found = nullptr;
  const auto [first, last] = all.by_name.equal_range(owner);
  for (auto at = first; at != last; ++at) {
    const function& f = all.functions[at->second];
    if (f.owner != owner) return nullptr;
    if (arguments < f.least || arguments > f.most) continue;
    if (f.is_constexpr || f.is_consteval || f.defaulted || f.uncertain || f.templated ||
        f.where.unknown || f.body == kNone)
      return nullptr;
    const tokens& there = files[f.file].file->parts.code;
    const std::size_t close = match_forward(there, f.parameters);
    const bool empty = is(there, close + 1, "{") && is(there, close + 2, "}");
    if (arguments == 0 && empty) return nullptr;
    found = &f;
  }
  return found;
}

void check_variable_declarations(const std::vector<listed_file>& files, const declared& all,
                                 std::vector<problem>& problems) {
  for (std::size_t number = 0; number < files.size(); ++number) {
    declaration_check check(files, all, number, problems);
    check.run();
    for (const function& f : all.functions)
      if (f.file == number) check.check_kernel(f);
  }
}

}  // namespace rewriter
