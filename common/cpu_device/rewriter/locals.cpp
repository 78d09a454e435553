// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "locals.hpp"

#include <algorithm>

namespace rewriter {
namespace {

class local_reader {
 public:
  local_reader(const tokens& ts, locals& all) : ts_(ts), all_(all) {}

  /// `int a, float* b = 0` between parentheses, or the parameters of a template.
  void parameters(std::size_t begin, std::size_t end) {
    while (begin < end) {
      std::size_t stop = begin;  // the comma
      for (; stop < end && !ts_[stop].is(","); ++stop) stop = last_of(stop, end);
      std::size_t name = stop;  // behind it
      for (std::size_t i = begin; i < stop; ++i)
        if (ts_[i].is("=") || ts_[i].is("[")) {
          name = i;
          break;
        } else {
          i = last_of(i, stop);
        }
      if (name > begin + 1 && is_identifier(ts_, name - 1)) {
        local found = type_of(begin, name - 1);
        found.parameter = true;
        found.pointer = found.pointer || is(ts_, name, "[");
        add(ts_[name - 1].text, found);
      } else if (is(ts_, begin, "typename") || is(ts_, begin, "class")) {
        if (is_identifier(ts_, stop - 1)) add(ts_[stop - 1].text, {});
      } else {  // void (*f)(int), float (&a)[3]
        for (std::size_t i = begin; i + 2 < stop; ++i)
          if (ts_[i].is("(") && (ts_[i + 1].is("*") || ts_[i + 1].is("&")) &&
              is_identifier(ts_, i + 2))
            add(ts_[i + 2].text, {});
      }
      begin = stop + 1;
    }
  }

  /// A declaration at the beginning of a statement, if it is one.
  void statement(std::size_t begin, std::size_t end) {
    std::size_t i = begin;
    bool basic = false;
    for (; i < end; ++i) {
      if (const std::size_t after = skip_attribute(ts_, i); after != i && !ts_[i].is("decltype")) {
        i = after - 1;
      } else if (is_one_of(ts_[i].text, {"unsigned", "signed", "long", "short"})) {
        basic = true;
      } else if (!is_one_of(ts_[i].text,
                            {"const", "static", "constexpr", "volatile", "typename", "struct",
                             "extern", "__shared__", "__constant__", "__device__", "register"})) {
        break;
      }
    }
    if (i >= end || ts_[i].kind != token_kind::identifier || is_expression_keyword(ts_[i].text) ||
        is_control_keyword(ts_[i].text) || is_one_of(ts_[i].text, {"using", "typedef", "try"}))
      return;
    std::size_t name = i;
    if (ts_[i].is("decltype")) {
      name = skip_attribute(ts_, i);
    } else if (!(basic && !is_identifier(ts_, i + 1))) {
      name = after_type(i, end);
      while (name < end && basic && is_identifier(ts_, name) && is_identifier(ts_, name + 1))
        ++name;  // unsigned long int x
    }
    if (name >= end) return;
    if (is(ts_, i, "auto") || is(ts_, name, "[")) {  // auto [a, b] = ...
      std::size_t bracket = i + 1;
      while (is(ts_, bracket, "&") || is(ts_, bracket, "&&")) ++bracket;
      if (is(ts_, i, "auto") && is(ts_, bracket, "[")) {
        const std::size_t close = match_forward(ts_, bracket);
        for (std::size_t k = bracket; k < close && k < end; ++k)
          if (is_identifier(ts_, k)) add(ts_[k].text, {});
        return;
      }
    }
    while (name < end && is_one_of(ts_[name].text, {"*", "&", "&&", "const", "__restrict__",
                                                    "volatile", "__restrict", "__shared__"}))
      ++name;
    if (is(ts_, name, "(") && (is(ts_, name + 1, "*") || is(ts_, name + 1, "&")) &&
        is_identifier(ts_, name + 2)) {
      add(ts_[name + 2].text, {});
      return;
    }
    if (!is_identifier(ts_, name) || (name == i && !basic)) return;
    if (!(name + 1 < end) ||
        !is_one_of(ts_[name + 1].text, {"=", ";", ",", "[", "{", "(", ":", ")"}))
      return;
    local found = type_of(begin, name);
    while (name < end) {
      local one = found;
      one.array = is(ts_, name + 1, "[");
      add(ts_[name].text, one);
      std::size_t comma = name + 1;
      while (comma < end && !is_one_of(ts_[comma].text, {",", ";", ")", "}"}))
        comma = last_of(comma, end) + 1;
      if (comma >= end || !ts_[comma].is(",")) break;
      name = comma + 1;
      found.pointer = false;
      for (; name < end && is_one_of(ts_[name].text, {"*", "&", "const"}); ++name)
        found.pointer = found.pointer || ts_[name].is("*");
      if (!is_identifier(ts_, name)) break;
    }
  }

 private:
  /// The last token of the bracket or the template's arguments at i, or i.
  std::size_t last_of(std::size_t i, std::size_t end) const {
    std::size_t close = kNone;
    if (opens(ts_[i])) close = match_forward(ts_, i);
    if (ts_[i].is("<") && i > 0 && is_identifier(ts_, i - 1)) close = angle_forward(ts_, i);
    return close == kNone || close >= end ? i : close;
  }

  std::size_t after_type(std::size_t i, std::size_t end) const {
    while (i < end && is_identifier(ts_, i)) {
      ++i;
      if (is(ts_, i, "<")) {
        const std::size_t close = angle_forward(ts_, i);
        if (close == kNone || close >= end) return end;
        i = close + 1;
      }
      if (!is(ts_, i, "::")) return i;
      ++i;
      if (is(ts_, i, "template")) ++i;
    }
    return end;
  }

  local type_of(std::size_t begin, std::size_t end) const {
    local result;
    for (std::size_t i = begin; i < end; ++i) {
      if (ts_[i].is("*")) result.pointer = true;
      if (ts_[i].is("const") || ts_[i].is("constexpr")) result.fixed = true;
      if (is_identifier(ts_, i) &&
          !is_one_of(ts_[i].text, {"const", "constexpr", "static", "volatile", "__restrict__",
                                   "typename", "struct", "__restrict"})) {
        const bool inner = i > begin + 2 && ts_[i - 3].is("::");  // cuda::std is not std
        if (i > begin + 1 && ts_[i - 1].is("::") && is_identifier(ts_, i - 2) && !inner)
          result.space = ts_[i - 2].text;
        else
          result.space = {};
        result.type = ts_[i].text;
      }
      i = last_of(i, end);
    }
    return result;
  }

  void add(std::string_view name, const local& found) {
    const auto [known, added] = all_.emplace(name, found);
    if (added) return;
    if (known->second.type != found.type || known->second.pointer != found.pointer ||
        known->second.array != found.array)
      known->second.type = {};
    known->second.fixed = known->second.fixed || found.fixed;
  }

  const tokens& ts_;
  locals& all_;
};

}  // namespace

bool begins_statement(const tokens& ts, std::size_t i) {
  if (i == 0) return true;
  const token& before = ts[i - 1];
  if (is_one_of(before.text, {";", "{", "}", "else", "do", ":"})) return true;
  return before.is("(") && i > 1 && is_control_keyword(ts[i - 2].text);
}

locals read_locals(const tokens& ts, std::size_t begin, std::size_t parameters, std::size_t body) {
  locals all;
  local_reader reader(ts, all);
  for (std::size_t i = begin; is(ts, i, "template") && is(ts, i + 1, "<");) {
    const std::size_t close = angle_forward(ts, i + 1);
    if (close == kNone) break;
    reader.parameters(i + 2, close);
    i = close + 1;
  }
  if (const std::size_t close = match_forward(ts, parameters); close != kNone)
    reader.parameters(parameters + 1, close);
  const std::size_t end = match_forward(ts, body);
  if (end == kNone) return all;
  for (std::size_t i = body + 1; i < end; ++i) {
    if (begins_statement(ts, i)) reader.statement(i, end);
    // A lambda's parameters.
    if (ts[i].is("(") && i > 0 && (ts[i - 1].is("]") || (i > 1 && ts[i - 1].is("__device__")))) {
      if (const std::size_t close = match_forward(ts, i); close != kNone)
        reader.parameters(i + 1, close);
    }
  }
  return all;
}

}  // namespace rewriter
