// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "stretch.hpp"

namespace rewriter {
namespace {

/// The comma that ends an argument or a parameter, or `close`.
std::size_t argument_end(const stretch& s, std::size_t i, std::size_t close) {
  for (; i < close && !s.ts[i].is(","); ++i) {
    std::size_t last = kNone;
    if (opens(s.ts[i])) last = match_forward(s.ts, i);
    if (s.ts[i].is("<") && is_identifier(s.ts, i - 1)) last = angle_forward(s.ts, i);
    if (last < close) i = last;
  }
  return i;
}

/// The names of the template's parameters `<int N, class... T>` at `open`, as its arguments
/// "N, T..."; nothing if one has no name.
std::optional<std::string> parameter_names(const stretch& s, std::size_t open) {
  const std::size_t close = angle_forward(s.ts, open);
  if (close == kNone) return std::nullopt;
  std::string names;
  for (std::size_t i = open + 1, end = i; i < close; i = end + 1) {
    end = argument_end(s, i, close);
    std::size_t after = i;  // the name
    while (after < end && !s.ts[after].is("=")) ++after;
    const std::size_t name = after - 1;
    if (name <= i || !is_identifier(s.ts, name) || s.ts[name - 1].is("::") ||
        is_one_of(s.ts[name].text, {"bool", "char", "short", "int", "unsigned", "signed", "long",
                                    "auto", "class", "typename", "const"}))
      return std::nullopt;
    names += (names.empty() ? "" : ", ") + std::string(s.ts[name].text);
    if (s.ts[name - 1].is(".")) names += "...";  // a pack
  }
  return names;
}

}  // namespace

/// Has the kernel's body note what the `__launch_bounds__` or `__cluster_dims__` at `at` says.
void edit_launch_bounds(const stretch& s, std::size_t at) {
  const auto found = s.file.kernel_declarations.upper_bound(at);
  if (s.macro != nullptr || found == s.file.kernel_declarations.end() || !is(s.ts, at + 1, "(") ||
      s.file.scope_of(at).kind != scope_kind::outer)
    return;
  const std::size_t name = *found;
  std::size_t body = name + 1;
  const bool specialised = is(s.ts, body, "<");
  if (specialised) body = angle_forward(s.ts, body) + 1;
  const std::size_t parameters = body;
  if (body == 0 || !is(s.ts, body, "(")) return;
  body = match_forward(s.ts, body) + 1;
  while (is(s.ts, body, "noexcept") || skip_attribute(s.ts, body) != body)
    body = std::max(body + 1, skip_attribute(s.ts, body));
  if (!is(s.ts, body, "{") || directive_between(s, at, body)) return;  // no definition
  for (std::size_t i = at; i < name; ++i)
    if (is_one_of(s.ts[i].text, {";", "{", "}"})) return;  // another declaration

  std::size_t begin = at;  // of the declaration
  while (begin > 0 && !is_one_of(s.ts[begin - 1].text, {";", "{", "}"})) --begin;
  std::string kernel = flat(s.ts, name, parameters);
  if (is(s.ts, begin, "template") && is(s.ts, begin + 1, "<") && !specialised) {
    const std::optional<std::string> names = parameter_names(s, begin + 1);
    if (!names) return;
    kernel += "<" + *names + ">";
  }
  const bool clusters = s.ts[at].is("__cluster_dims__");  // it has up to three arguments that count
  const std::size_t close = match_forward(s.ts, at + 1);
  std::string bounds;
  for (std::size_t i = at + 2, end = i; i < close; i = end + 1) {
    end = argument_end(s, i, close);
    bounds += (bounds.empty() ? "(" : ", (") + flat(s.ts, i, end) + ")";
    if (!clusters) break;
  }
  const std::string note = "cpu_device_b.template kernel<(" + kernel + ")>()";
  const std::size_t where = s.ts[body].end();
  s.replace(where, where,
            std::string(" ::cpu_device::") + (clusters ? "cluster_dims<" : "launch_bounds<") +
                bounds + ">([]([[maybe_unused]] auto cpu_device_b) { if constexpr (requires { " +
                note + "; }) " + note + "; });");
}

}  // namespace rewriter
