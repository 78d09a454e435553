// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.1 dot_product: the program.

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "dot_product.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/dot_reference.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

namespace {

enum class data { book, random };

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
  std::size_t size = lab::dot_product::kDefaultSize;
  program.add_size("--size", size, "number of elements");
  const auto& chosen_step = program.add_step<step>(
      {{"static", step::static_shared, "at most 32 blocks of 256 threads"},
       {"dynamic", step::dynamic_shared,
        "block size chosen at run time, a grid that fills the device"},
       {"shuffle", step::warp_shuffle,
        "the same grid, and warps that add up without shared memory"},
       {"vectorized", step::vectorized, "the same, with loads of four neighbours at a time"}},
      step::warp_shuffle);
  const auto& chosen_data = program.add_choice<data>(
      "--data",
      {{"book", data::book, "a[i] = i, b[i] = 2 * i, for which there is a closed form"},
       {"random", data::random, "numbers from 0 to 1, made from --seed"}},
      data::book, "what to multiply");

  return program.run(argc, argv, [&] {
    program.require_memory(2 * size * sizeof(float), 2 * size * sizeof(float));
    if (!program.verdict(
            lab::check_exact_dot(size, program.seed(), [&](const auto& a, const auto& b) {
              return lab::dot_product::dot(chosen_step, a, b).value;
            })))
      return false;

    std::vector<float> a, b;
    if (chosen_data == data::random) {
      // None is negative, or a result of 0 would be within the bound when there are many.
      a = lab::random_floats(size, program.seed(), 0, 1);
      b = lab::random_floats(size, program.seed() + 1, 0, 1);
    } else {
      a.resize(size);
      b.resize(size);
      for (std::size_t i = 0; i < size; ++i) {
        a[i] = static_cast<float>(i);
        b[i] = 2 * static_cast<float>(i);
      }
    }

    const auto result = lab::dot_product::dot(chosen_step, a, b);
    std::printf("step %s, %zu elements\n", program.step_name().c_str(), size);
    std::printf("dot product: %.6g\n", static_cast<double>(result.value));
    if (chosen_data == data::book) std::printf("closed form: %.6g\n", closed_form(size));

    const double expected = lab::dot_product::reference(a, b);
    const double bound = lab::dot_product::error_bound(a, b);
    std::printf("off by %.3g from the sum in double; %.3g is allowed\n",
                std::fabs(result.value - expected), bound);
    if (!program.verdict(lab::compare(result.value, expected, {.absolute = bound}))) return false;
    const auto time =
        program.report_kernel([&] { return lab::dot_product::dot(chosen_step, a, b).kernel_ms; },
                              {.bytes = 2.0 * static_cast<double>(size) * sizeof(float)});
    if (size > 0) program.report_library("cublasSdot", lab::library_dot_milliseconds(a, b), time);
    return true;
  });
}
