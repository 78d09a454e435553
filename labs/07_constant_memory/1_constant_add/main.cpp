// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.1 constant_add: the program.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "constant_add.hpp"
#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  lab::program program("07.1_constant_add",
                       "Adds two vectors and a number that is in constant memory.");
  std::size_t size = 1'000'000, launches = 5;
  int addend = 100;
  program.add_size("--size", size, "number of elements");
  program.add_number("--addend", addend, "the number in constant memory");
  program.add_size("--launches", launches, "how often to change the number, by 1 each time")
      .at_most(1000);

  return program.run(argc, argv, [&] {
    program.require_memory((4 + 2 * launches) * size * sizeof(int),
                           (3 + launches) * size * sizeof(int));
    const std::vector<int> a = lab::random_ints(size, program.seed(), -99, 99);
    const std::vector<int> b = lab::random_ints(size, program.seed() + 1, -99, 99);

    const auto result = lab::constant_add::add(a, b, addend);
    std::printf("%zu elements\n", size);
    for (std::size_t i = 0; i < std::min<std::size_t>(size, 3) && i < result.sum.size(); ++i)
      std::printf("  [%zu]  %d + %d + %d = %d\n", i, a[i], b[i], addend, result.sum[i]);
    if (!program.verdict(
            lab::compare_exact(result.sum, lab::constant_add::reference(a, b, addend))))
      return false;
    if (size > 0) std::printf("the constant is %d now\n", lab::constant_add::current_addend());

    std::vector<int> addends(launches);
    for (std::size_t k = 0; k < launches; ++k)
      addends[k] = static_cast<int>(static_cast<unsigned>(addend) + static_cast<unsigned>(k));
    const auto sums = lab::constant_add::add_each(a, b, addends);
    std::printf("%zu launches, each with the next number; the first element of each:", launches);
    for (std::size_t k = 0; k < std::min<std::size_t>(launches, 8) && k * size < sums.size(); ++k)
      std::printf(" %d", sums[k * size]);
    std::printf("%s\n", launches > 8 ? " ..." : "");
    if (!program.verdict(
            lab::compare_exact(sums, lab::constant_add::reference_each(a, b, addends))))
      return false;
    if (size > 0 && launches > 0)
      std::printf("the constant is %d now\n", lab::constant_add::current_addend());

    program.report_kernel([&] { return lab::constant_add::add(a, b, addend).kernel_ms; },
                          {.bytes = 3.0 * static_cast<double>(size) * sizeof(int)});
    return true;
  });
}
