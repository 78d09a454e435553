// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.2 add_numbers: the program.

#include <array>
#include <cstddef>
#include <cstdio>
#include <limits>

#include "add_numbers.hpp"
#include "lab/command_line.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::add_numbers::step;
  lab::program program("01.2_add_numbers", "Adds two numbers on the device.");
  int a = 2, b = 7;
  std::size_t threads = 1;
  program.add_number("--a", a, "the first number");
  program.add_number("--b", b, "the second number");
  program.add_size("--threads", threads, "threads of the block: 1 is enough, and CUDA refuses 2000")
      .at_most(std::numeric_limits<unsigned>::max());
  const auto& chosen_step =
      program.add_step<step>({{"by_hand", step::by_hand, "cudaFree on every way out"},
                              {"owner", step::owner, "memory that frees itself"}},
                             step::owner);

  return program.run(argc, argv, [&] {
    const int sum = lab::add_numbers::add(chosen_step, a, b, static_cast<unsigned>(threads));
    std::printf("%d + %d = %d\n", a, b, sum);
    const std::array got = {sum}, expected = {lab::add_numbers::reference(a, b)};
    return program.verdict(lab::compare_exact(got, expected));
  });
}
