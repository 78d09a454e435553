// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.5 triangular_solve: the program.

#include <cstddef>
#include <cstdio>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "reference.hpp"
#include "triangular_solve.hpp"

namespace {

enum class fault {
  nothing,
  no_handle,
  negative_n,
  zero_increment,
  short_lda,
  short_array,
  no_device,
  singular,
  singular_trusted
};

}  // namespace

int main(int argc, char** argv) {
  using namespace lab::triangular_solve;
  lab::program program("13.5_triangular_solve",
                       "Solves A x = b for a triangular A, and shows what failures look like.");
  std::size_t size = text_system::kSize;
  program.add_size("--size", size, "n; 6 is the text's system, others are random").at_most(20'000);
  const auto& version =
      program.add_step<step>({{"lower", step::lower, "elements below the diagonal"},
                              {"upper", step::upper, "elements above it"}},
                             step::lower);
  const auto& inject = program.add_choice<fault>(
      "--inject",
      {{"nothing", fault::nothing, ""},
       {"no_handle", fault::no_handle, "call cuBLAS without a handle"},
       {"negative_n", fault::negative_n, "n = -1"},
       {"zero_increment", fault::zero_increment, "increment = 0"},
       {"short_lda", fault::short_lda, "lda = n - 1"},
       {"short_array", fault::short_array, "b lacks an element"},
       {"no_device", fault::no_device, "solve on a device that is not there"},
       {"singular", fault::singular, "a 0 in the middle of the diagonal"},
       {"singular_trusted", fault::singular_trusted, "the same, without looking at it first"}},
      fault::nothing, "what to do wrong");

  return program.run(argc, argv, [&] {
    program.require_memory(2 * size * size * sizeof(double), size * size * sizeof(double));
    text_system text;
    std::vector<double> a, b(size, 1.0);
    const bool is_text = size == text_system::kSize && version == step::lower;
    if (is_text) {
      a = text.a;
    } else {  // other elements small beside the diagonal, so that x does not grow without end
      const auto numbers = lab::random_floats(size * size, program.seed(), -1, 1);
      a.resize(size * size);
      for (std::size_t i = 0; i < a.size(); ++i)
        a[i] = i % (size + 1) == 0 ? 1 + static_cast<double>(numbers[i]) / 2
                                   : static_cast<double>(numbers[i]) / static_cast<double>(size);
    }
    const int n = static_cast<int>(size);
    linear_system system{n, a, n, b, 1};
    solve_options options{.device = program.device()};
    if (inject == fault::no_handle) options.with_handle = false;
    if (inject == fault::negative_n) system.n = -1;
    if (inject == fault::zero_increment) system.increment = 0;
    if (inject == fault::short_lda) system.lda = n - 1;
    if (inject == fault::short_array && size > 0) system.b = system.b.first(size - 1);
    if (inject == fault::no_device) options.device = 12345;
    if (inject == fault::singular || inject == fault::singular_trusted)
      if (size > 0) a[size / 2 * (size + 1)] = 0;
    options.trust_diagonal = inject == fault::singular_trusted;

    std::printf("step %s, n = %zu%s\n", program.step_name().c_str(), size,
                is_text ? ", the text's system: 11, 12, ... down the columns, b = 1" : "");
    const auto solution = solve(version, system, options);
    constexpr std::size_t kMost = 8;
    for (std::size_t row = 0; row < solution.x.size() && size <= kMost; ++row) {
      for (std::size_t column = 0; column < size; ++column)
        if (version == step::lower ? column <= row : column >= row)
          std::printf(" %7.4g", a[column * size + row]);
        else
          std::printf("        ");
      std::printf("   x[%zu] = %.15g\n", row, solution.x[row]);
    }
    if (size > 0 && inject != fault::nothing && inject != fault::singular_trusted)
      return program.verdict(false, "the failure went unnoticed, and what is above is no solution");
    if (!program.verdict(check(solution.x, version, system))) return false;
    program.report_kernel(
        [&] { return solve(version, system, options).kernel_ms; },
        {.bytes = static_cast<double>(size) * static_cast<double>(size + 1) / 2 * sizeof(double)});
    return true;
  });
}
