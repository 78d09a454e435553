// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Turns CUDA C++ into C++20 that g++ and clang compile against the CPU device's cuda_runtime.h.
//
// All edits are made in place and keep every newline, so a line of the result is the same line
// of the source. What is written:
//
//   callee<<<config>>>(args)
//     ::cpu_device::launch([&](auto cpu_device_l) {
//       if constexpr (requires { cpu_device_l.template typed<(callee)>(0); })
//         return cpu_device_l.template typed<(callee)>(
//             [&](auto&&... cpu_device_p) { callee(cpu_device_p...); });
//       else if constexpr (requires { cpu_device_l.typed(callee); })
//         return cpu_device_l.typed(callee);
//       else
//         return cpu_device_l.deduced([&](auto&&... cpu_device_p) { callee(cpu_device_p...); });
//     }, "callee", __FILE__, line, config)(args)
//     The first form takes a kernel that is a constant (and its call, for default arguments), the
//     second a function pointer, the last an overload set or a template whose arguments are to be
//     deduced. In a macro the line is
//     __LINE__, and a callee that is a parameter of the macro is named by #parameter.
//
//   extern __shared__ T name[];      in a function:
//     [[maybe_unused]] auto* const name =
//         static_cast<::std::add_pointer_t<T>>(::cpu_device::dynamic_shared());
//   extern __shared__ T name[];      outside functions:
//     [[maybe_unused]] static constexpr ::cpu_device::dynamic_shared_array<T> name{};
//
//   __shared__ T a, b[n];            in a function (`static` is dropped, alignas goes first):
//     __shared__ T a, b[n]; ::cpu_device::shared_birth([] { return "a, b"; }, a, b);
//
//   (void*)kernel<T>                 and a kernel that is handed to cudaLaunchKernel and its kind:
//     (void*)::cpu_device::remember_kernel("kernel<T>", kernel<T>)
//
//   __global__ void __launch_bounds__(n) k() {       a kernel's definition:
//     __global__ void __launch_bounds__(n) k() { ::cpu_device::launch_bounds<(n)>(a lambda);
//     The lambda names the kernel, k<T> for a template; the rest of the line is as it was.
//     __cluster_dims__(x, y, z) becomes ::cpu_device::cluster_dims<(x), (y), (z)> the same way.
//
//   __constant__ float c[4];         outside functions, with --whole-program, if it is not extern:
//     __constant__ static float c[4];
//     nvcc compiles each file as a whole program unless told -rdc=true: files may use one name for
//     different variables.
//
//   __constant__ float c[4];         outside functions, if it is defined there
//     __constant__ float c[4]; static const ::cpu_device::device_variable cpu_device_v_c(c);
//     Each device has its own values of it. Not for `__managed__` ones, which all devices share.
//     After a `__constant__` one: a static_assert that those between the same braces fit, whose
//     sizes may be known only to the compiler.
//
//   __CUDACC__         __CPU_DEVICE__, in conditions of the preprocessor
//   __CUDA_ARCH__      __CPU_DEVICE_ARCH__, in functions that run on devices alone, and where such
//                      a condition compares it with a number; not if the condition guards inline
//                      assembly that does not run here
//
//   __noinline__       __attribute__((noinline))
//   __forceinline__    inline __attribute__((always_inline))
//
// The other qualifiers are macros of cuda_runtime.h.
//
// What nvcc refuses and a C++ compiler takes is refused (spaces.hpp): the samples in
// tests/cpu_device/rewriter_samples show each case, and which are missed.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace rewriter {

/// Why a source is refused, in a sentence for whoever wrote it.
struct problem {
  std::string file;
  int line;
  std::string sentence;
};

struct rewritten {
  std::string text;
  bool changed;  ///< whether anything had to be rewritten
  std::vector<problem> problems;
};

/// Rewrites one source on its own; `file` is only its name in problems. `whole_program`: its device
/// variables are its own. `relaxed_constexpr`: its kernels may call what is constexpr.
rewritten rewrite(std::string_view source, const std::string& file, bool whole_program = false,
                  bool relaxed_constexpr = false);

struct request {
  std::filesystem::path input;
  std::filesystem::path output;
  std::filesystem::path depfile;                    ///< empty: none
  std::vector<std::filesystem::path> include_dirs;  ///< searched after the includer's own folder
  bool whole_program = false;                       ///< as for rewrite()
  bool relaxed_constexpr = false;                   ///< as for rewrite()
};

/// Rewrites `input` into `output`, and those of the headers it includes (in quotes, or from
/// `include_dirs`) that need it into the folder of `output`, under the names they are included by.
/// A header that needs it no longer loses its old copy. Writes nothing if there are problems, which
/// it returns. Throws std::runtime_error if a file cannot be read or written.
std::vector<problem> rewrite_files(const request& wanted);

/// A line for each token of a file outside of comments and preprocessor lines: its kind
/// (identifier, number, string, character or punctuation), the offset, the length and the line.
/// Throws std::runtime_error if the file cannot be read.
void print_tokens(const std::filesystem::path& file, std::ostream& out);

}  // namespace rewriter
