// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.1 dot_product: the program.

#include <cstddef>
#include <cstdio>
#include <span>

#include "dot_product.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/dot_program.hpp"
#include "lab/dot_reference.hpp"

namespace {

/// 0 + 2 * 1 * 1 + 2 * 2 * 2 + … for n terms, without adding them up.
double closed_form(std::size_t n) {
  if (n == 0) return 0;
  const double last = static_cast<double>(n) - 1;
  return 2 * (last * (last + 1) * (2 * last + 1) / 6);
}

}  // namespace

int main(int argc, char** argv) {
  using lab::dot_product::step;
  lab::program program("05.1_dot_product", "Dot product by sums in shared memory.");
  const lab::dot_options vectors(program, lab::dot_product::kDefaultSize);
  const auto& chosen_step = program.add_step<step>(
      {{"static", step::static_shared, "at most 32 blocks of 256 threads"},
       {"dynamic", step::dynamic_shared,
        "block size chosen at run time, a grid that fills the device"},
       {"shuffle", step::warp_shuffle,
        "the same grid, and warps that add up without shared memory"},
       {"vectorized", step::vectorized, "the same, with loads of four neighbours at a time"}},
      step::warp_shuffle);

  return program.run(argc, argv, [&] {
    program.require_memory(vectors.bytes(), vectors.bytes());
    if (!program.verdict(
            lab::check_exact_dot(vectors.size(), program.seed(), [&](const auto& a, const auto& b) {
              return lab::dot_product::dot(chosen_step, a, b).value;
            })))
      return false;

    const auto input = vectors.input(program.seed());
    const std::span<const float> a = input.a, b = input.b;

    const auto result = lab::dot_product::dot(chosen_step, a, b);
    std::printf("step %s, %zu elements\n", program.step_name().c_str(), vectors.size());
    if (vectors.from_the_book()) std::printf("closed form: %.6g\n", closed_form(vectors.size()));
    if (!lab::is_close(program, result.value, lab::dot_in_double(a, b), lab::dot_error_bound(a, b)))
      return false;

    const auto time =
        program.report_kernel([&] { return lab::dot_product::dot(chosen_step, a, b).kernel_ms; },
                              {.bytes = static_cast<double>(vectors.bytes())});
    if (vectors.size() > 0)
      program.report_library("cublasSdot", lab::library_dot_milliseconds(a, b), time);
    return true;
  });
}
