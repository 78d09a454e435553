// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What a kernel's declaration may not say.
#include <cstddef>
#include <string>

#include "spaces.hpp"

namespace rewriter {
namespace {

bool stands_in(const tokens& ts, std::size_t begin, std::size_t end, std::string_view word) {
  for (std::size_t i = begin; i < end && i < ts.size(); ++i)
    if (ts[i].is(word)) return true;
  return false;
}

/// Whether the type before the name is one that is certainly not void. An alias might be.
bool returns_a_value(const tokens& ts, const function& f, std::size_t close) {
  if (is(ts, close + 1, "->")) return !is(ts, close + 2, "void") && is_identifier(ts, close + 2);
  if (stands_in(ts, f.begin, f.at, "void")) return false;
  for (const char* word :
       {"auto", "int", "float", "double", "bool", "char", "unsigned", "long", "short", "size_t"})
    if (stands_in(ts, f.begin, f.at, word)) return true;
  return false;
}

/// Why nvcc refuses the declaration, or nothing.
std::string fault(const tokens& ts, const function& f) {
  const std::size_t close = match_forward(ts, f.parameters);
  const std::string kernel = "kernel `" + f.name + "` ";
  if (f.name == "main") return "`main` runs on the host: it cannot be `__global__` or `__device__`";
  if (!f.where.global && !f.where.unknown && stands_in(ts, f.begin, f.at, "__launch_bounds__"))
    return "`" + f.name + "` is no kernel, and only kernels have `__launch_bounds__`";
  if (!f.where.global || close == kNone) return {};
  if (f.body != kNone && stands_in(ts, f.begin, f.at, "friend"))
    return kernel + "is defined as a friend: define it outside of the class";
  if (f.where.device || f.where.host)
    return kernel + "is `__global__`, which goes with neither `__device__` nor `__host__`";
  if (!f.owner.empty())
    return kernel + "is a member of `" + std::string(f.owner) +
           "`: kernels are functions outside of classes";
  if (f.name.substr(0, 8) == "operator")
    return kernel + "is an operator: kernels have names of their own";
  if (returns_a_value(ts, f, close))
    return kernel +
           "returns a value, and nobody could receive it: kernels return void and write "
           "results to memory that they are given a pointer to";
  if (is(ts, close - 1, ".") && is(ts, close - 2, ".") && f.most == kNone &&
      (is(ts, close - 4, ",") || is(ts, close - 4, "(")))
    return kernel + "takes any number of arguments (`...`): name them, or use a template's pack";
  if (is(ts, close + 1, "noexcept") || is(ts, close + 1, "throw"))
    return kernel + "has an exception specification: drop it, device code has no exceptions";
  if (f.is_constexpr || f.is_consteval)
    return kernel + "is " + (f.is_constexpr ? "constexpr" : "consteval") +
           ": kernels run on the device, never earlier";
  if (is(ts, close + 1, "try"))
    return kernel + "catches exceptions, and device code has none: drop the `try`";
  if (!f.templated && stands_in(ts, f.parameters, close, "&&"))
    return kernel + "takes an rvalue reference: take the value, or a pointer to device memory";
  if (stands_in(ts, f.parameters, close, "initializer_list"))
    return kernel + "takes an initializer_list, which lies on the host: pass a struct or a pointer";
  return {};
}

}  // namespace

void check_kernel_declarations(const std::vector<listed_file>& files, const declared& all,
                               std::vector<problem>& problems) {
  for (const function& f : all.functions) {
    if (f.uncertain || !f.where.on_device()) continue;
    const tokens& ts = files[f.file].file->parts.code;
    if (std::string why = fault(ts, f); !why.empty())
      problems.push_back({files[f.file].name, ts[f.at].line, std::move(why)});
  }
}

}  // namespace rewriter
