// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <vector>

#include "stretch.hpp"

namespace rewriter {
namespace {

/// With a number, and not just to know whether there is one.
bool is_compared(const tokens& ts, std::size_t at) {
  const auto comparison = [&](std::size_t i) {
    return i < ts.size() && is_one_of(ts[i].text, {"<", "<=", ">", ">=", "==", "!="});
  };
  const auto version = [&](std::size_t i) {
    return i < ts.size() && ts[i].kind == token_kind::number && !ts[i].is("0");
  };
  return (comparison(at + 1) && version(at + 2)) ||
         (at >= 2 && comparison(at - 1) && version(at - 2));
}

/// Whether one of the branches of this #if has inline assembly that does not run here: then the one
/// that is meant for no device at all is the best there is.
bool guards_assembly(const stretch& s, std::size_t at) {
  const std::vector<directive>& all = s.file.parts.directives;
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
  const auto runs = [](const tokens& ts, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i)
      if (is_assembly(ts[i]) && !can_be_translated(ts, i)) return false;
    return true;
  };
  for (std::size_t i = first; i <= last; ++i)
    if (!runs(all[i].tokens, 0, all[i].tokens.size())) return true;
  return !runs(s.file.parts.code, all[first].position, all[last].position);
}

/// Whether the code at this token is in the body of a kernel, or of a function of devices alone.
bool on_device_alone(const stretch& s, std::size_t at) {
  return s.macro == nullptr && at < s.ts.size() && s.file.scope_of(at).device_only;
}

}  // namespace

/// Code under `#ifdef __CUDACC__` is meant for whoever knows kernels, and that under
/// `#if __CUDA_ARCH__ >= 700` for devices like this one. The macros themselves cannot be defined:
/// Thrust would look for the rest of nvcc, and `#ifdef __CUDA_ARCH__` keeps code from hosts. In a
/// function that runs on devices alone there is no such doubt.
void edit_conditions(const stretch& s) {
  const std::vector<directive>& all = s.file.parts.directives;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_one_of(all[i].name, {"if", "ifdef", "ifndef", "elif"})) continue;
    for (std::size_t k = 0; k < all[i].tokens.size(); ++k) {
      const token& t = all[i].tokens[k];
      if (t.is("__CUDACC__")) s.replace(t.begin, t.end(), "__CPU_DEVICE__");
      if (t.is("__CUDA_ARCH__") &&
          (is_compared(all[i].tokens, k) || on_device_alone(s, all[i].position)) &&
          !guards_assembly(s, i))
        s.replace(t.begin, t.end(), "__CPU_DEVICE_ARCH__");
    }
  }
}

void edit_architecture(const stretch& s, std::size_t at) {
  const token& t = s.ts[at];
  if (on_device_alone(s, at)) s.replace(t.begin, t.end(), "__CPU_DEVICE_ARCH__");
}

}  // namespace rewriter
