// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.1 vector_add: the program.

#include <cstddef>
#include <cstdio>
#include <vector>

#include "lab/bare_kernels.hpp"
#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "reference.hpp"
#include "vector_add.hpp"

namespace {

using lab::vector_add::step;

enum class data { book, random };

void print_some(const std::vector<float>& a, const std::vector<float>& b,
                const std::vector<float>& sum) {
  constexpr std::size_t kFirst = 3, kLast = 2;
  const std::size_t n = sum.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (n > kFirst + kLast && i == kFirst) {
      std::printf("  ...\n");
      i = n - kLast;
    }
    std::printf("  [%zu]  %g + %g = %g\n", i, a[i], b[i], sum[i]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("03.1_vector_add", "Adds two vectors, in six steps.");
  std::size_t size = 33 * 1024;
  program.add_size("--size", size, "number of elements");
  const auto& chosen_step = program.add_step<step>(
      {{"cpu", step::cpu, "a loop on the host"},
       {"one_thread_per_block", step::one_thread_per_block, "n blocks of one thread"},
       {"one_block", step::one_block, "one block of n threads: try --size 1024"},
       {"ceil_division", step::ceil_division, "as many blocks as n needs"},
       {"grid_stride", step::grid_stride, "as many blocks as the device runs at once"},
       {"vectorized", step::vectorized, "four elements per thread, 16 bytes at a time"}},
      step::vectorized);
  const auto& chosen_data =
      program.add_choice<data>("--data",
                               {{"book", data::book, "a[i] = -i, b[i] = i * i"},
                                {"random", data::random, "numbers from -1 to 1, made from --seed"}},
                               data::book, "what to add");

  return program.run(argc, argv, [&] {
    program.require_memory(4 * size * sizeof(float), 3 * size * sizeof(float));
    std::vector<float> a, b;
    if (chosen_data == data::random) {
      a = lab::random_floats(size, program.seed(), -1, 1);
      b = lab::random_floats(size, program.seed() + 1, -1, 1);
    } else {
      a.resize(size);
      b.resize(size);
      for (std::size_t i = 0; i < size; ++i) {
        a[i] = -static_cast<float>(i);
        b[i] = static_cast<float>(i) * static_cast<float>(i);
      }
    }

    const auto result = lab::vector_add::add(chosen_step, a, b);
    std::printf("step %s, %zu elements\n", program.step_name().c_str(), size);
    print_some(a, b, result.sum);
    if (!program.verdict(lab::compare_exact(result.sum, lab::vector_add::reference(a, b))))
      return false;
    const auto time =
        program.report_kernel([&] { return lab::vector_add::add(chosen_step, a, b).kernel_ms; },
                              {.bytes = 3.0 * static_cast<double>(size) * sizeof(float)});
    program.report_library("a bare float4 kernel", lab::bare_add_milliseconds(size), time);
    return true;
  });
}
