// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "stretch.hpp"

namespace rewriter {
namespace {

/// Is the `(` at i a call's, so that what is called stands before it?
bool continues_call(const stretch& s, std::size_t i) {
  const token& before = s.ts[i - 1];
  if (before.kind == token_kind::identifier)
    return !is_expression_keyword(before.text) && !is_control_keyword(before.text);
  if (before.is("]")) return true;
  if (before.is(">")) {
    const std::size_t angle = angle_back(s.ts, i - 1);
    return angle != kNone && angle > 0 && is_identifier(s.ts, angle - 1);
  }
  if (!before.is(")")) return false;
  const std::size_t open = match_back(s.ts, i - 1);
  return open != kNone && open > 0 && is_identifier(s.ts, open - 1) && continues_call(s, open);
}

/// Does a call stand before the `<<<` at `open`, as in `kernel_for(n)<<<...>>>`?
bool returns_kernel(const stretch& s, std::size_t open) {
  if (!s.ts[open - 1].is(")")) return false;
  const std::size_t arguments = match_back(s.ts, open - 1);
  return arguments != kNone && arguments > 0 && continues_call(s, arguments);
}

/// The first token of the kernel that is launched by the `<<<` at `open`.
std::size_t callee_begin(const stretch& s, std::size_t open) {
  std::size_t i = open;
  while (i > 0) {
    const token& last = s.ts[i - 1];
    if (last.is("]")) {
      i = match_back(s.ts, i - 1);
      if (i == kNone) return kNone;
      continue;
    }
    if (last.is(")")) {
      i = match_back(s.ts, i - 1);
      if (i == kNone) return kNone;
      if (i > 0 && continues_call(s, i)) continue;
      return i;
    }
    if (last.is(">")) {
      i = angle_back(s.ts, i - 1);
      if (i == kNone || !is_identifier(s.ts, i == 0 ? kNone : i - 1)) return kNone;
      continue;
    }
    if (last.kind != token_kind::identifier || is_expression_keyword(last.text) ||
        is_control_keyword(last.text))
      return kNone;
    --i;
    bool member = false;
    while (i > 0 && !member) {  // what qualifies the name
      const token& before = s.ts[i - 1];
      if (before.is("##") && i > 1) {
        i -= 2;
      } else if (before.is("template")) {
        --i;
      } else if (before.is("::")) {
        --i;
        if (i > 0 && s.ts[i - 1].is(">")) {
          const std::size_t angle = angle_back(s.ts, i - 1);
          if (angle == kNone || angle == 0) return kNone;
          i = angle;
        }
        if (i > 0 && is_identifier(s.ts, i - 1) && !is_expression_keyword(s.ts[i - 1].text)) --i;
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

/// The first `>` of the `>>>` that closes the launch whose `<<<` is at `open`.
std::size_t config_end(const stretch& s, std::size_t open, bool with_templates) {
  int angles = 0;
  for (std::size_t i = open + 1; i < s.ts.size(); ++i) {
    const token& t = s.ts[i];
    if (opens(t)) {
      i = match_forward(s.ts, i);
      if (i == kNone) return kNone;
    } else if (closes(t) || t.is(";") || opens_launch(t)) {
      return kNone;
    } else if (t.is("<") && with_templates && is_identifier(s.ts, i - 1)) {
      ++angles;
    } else if (t.is(">")) {
      if (angles > 0)
        --angles;
      else if (is(s.ts, i + 1, ">") && is(s.ts, i + 2, ">") && adjacent(s.ts, i) &&
               s.ts[i + 2].line == s.ts[i].line)  // `>> >` will do
        return i;
    }
  }
  return kNone;
}

/// Refuses `k<<<1, 2>>>(p, [](float x) { ... })`: a lambda of the host, given to a kernel that
/// calls it with arguments.
void check_arguments(const stretch& s, const std::string& name, std::size_t open) {
  const std::size_t end = match_forward(s.ts, open);
  if (end == kNone) return;
  for (std::size_t i = open + 1; i < end; ++i) {
    if ((i == open + 1 || s.ts[i - 1].is(",")) && s.ts[i].is("[") && !s.ts[i].conditional) {
      const std::size_t parameters = match_forward(s.ts, i) + 1;
      if (!is(s.ts, parameters, "(")) continue;
      std::size_t k = match_forward(s.ts, parameters) + 1;  // any mark would stand before it
      while (k < end && !s.ts[k].is("{") && !s.ts[k].is(",")) ++k;
      const std::size_t close = k < end && s.ts[k].is("{") ? match_forward(s.ts, k) : kNone;
      if (close != kNone && (close + 1 == end || s.ts[close + 1].is(",")))
        return s.report(s.ts[i].line,
                        "the lambda that kernel `" + name +
                            "` is given is a function of the host: write `[] __device__ (...)`, "
                            "and have nvcc compile with --extended-lambda");
    }
    if (opens(s.ts[i])) i = match_forward(s.ts, i);
  }
}

bool has_comma(const stretch& s, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    if (s.ts[i].is(",")) return true;
    if (opens(s.ts[i])) i = match_forward(s.ts, i);
  }
  return false;
}

}  // namespace

void edit_launch(const stretch& s, std::size_t open) {
  const token& mark = s.ts[open];
  if (mark.text.size() > 3 && mark.text.find_first_not_of('<') == mark.text.npos) {
    s.report(mark.line, mark.text.size() == 7 ? "a merge conflict is left in this file"
                                              : "this is neither a launch nor a shift");
    return;
  }
  const std::size_t callee = callee_begin(s, open);
  if (callee == kNone) {
    s.report(mark.line, "no kernel stands before `<<<`: k<<<blocks, threads>>>(...)");
    return;
  }
  const std::string name = flat(s.ts, callee, open);
  std::size_t close = config_end(s, open, true);
  if (close == kNone) close = config_end(s, open, false);
  if (close == kNone) {
    s.report(mark.line, "the launch of `" + name + "` has a `<<<` without its `>>>`");
    return;
  }
  if (s.macro == nullptr) {
    if (!is(s.ts, close + 3, "(")) {
      s.report(s.ts[close].line, "the launch of `" + name + "` lacks its arguments: " + name +
                                     "<<<blocks, threads>>>(...)");
      return;
    }
    if (!has_comma(s, open + 1, close)) {
      s.report(mark.line, "the launch of `" + name +
                              "` needs how many blocks and how many threads per block: " + name +
                              "<<<blocks, threads>>>(...)");
      return;
    }
    if (directive_between(s, callee, open)) {
      s.report(mark.line, "a preprocessor line stands between `" + name + "` and its `<<<`");
      return;
    }
    check_arguments(s, name, close + 3);
    if (s.file.scope_of(callee).device_only && !s.ts[callee].conditional)
      s.report(s.ts[callee].line,
               "a kernel launches another kernel (dynamic parallelism): the CPU device does not "
               "support it");
  }
  std::string shown = literal(name);
  std::string line = std::to_string(s.ts[callee].line);
  if (s.macro != nullptr) {
    line = "__LINE__";
    const auto& parameters = s.macro->parameters;
    if (callee + 1 == open &&
        std::find(parameters.begin(), parameters.end(), name) != parameters.end())
      shown = "#" + name;
  }
  const std::size_t begin = s.ts[callee].begin;
  const std::string by_name = "[&](auto&&... cpu_device_p) { " + name + "(cpu_device_p...); }";
  const std::string typed = "cpu_device_l.template typed<(" + name + ")>(";
  std::string ways =
      "if constexpr (requires { " + typed + "0); }) return " + typed + by_name + "); else ";
  if (returns_kernel(s, open)) ways = "";  // g++ would want it to be a constant, even in `requires`
  s.replace(begin, mark.end(),
            "::cpu_device::launch([&](auto cpu_device_l) { " + ways +
                "if constexpr (requires { cpu_device_l.typed(" + name +
                "); }) return cpu_device_l.typed(" + name + "); else return cpu_device_l.deduced(" +
                by_name + "); }, " + shown + ", __FILE__, " + line + ", " +
                s.newlines(begin, mark.end()));
  s.replace(s.ts[close].begin, s.ts[close + 2].end(), ")");
}

bool directive_between(const stretch& s, std::size_t first, std::size_t last) {
  const auto& all = s.file.parts.directives;
  return std::any_of(all.begin(), all.end(),
                     [&](const directive& d) { return d.position > first && d.position <= last; });
}

}  // namespace rewriter
