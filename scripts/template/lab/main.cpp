// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// EXERCISE_ID EXERCISE_NAME: the program.
// AUTHOR: command line, data, the call, the check, then the time. No CUDA here: the student's file
//         does that. Under 10 s with its default size on the CPU device. See lab/command_line.hpp.

#include <cstddef>
#include <cstdio>

#include "EXERCISE_NAME.hpp"
#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using namespace lab::EXERCISE_NAME;
  lab::program program("EXERCISE_ID_EXERCISE_NAME", "Doubles the elements of a vector.");
  std::size_t size = 33 * 1024;
  program.add_size("--size", size, "number of elements");

  return program.run(argc, argv, [&] {
    program.require_memory(3 * size * sizeof(float), 2 * size * sizeof(float));
    const auto input = lab::random_floats(size, program.seed(), -1, 1);
    const result doubled = twice(input);
    std::printf("%zu elements\n", size);
    if (size > 0) std::printf("2 * %g = %g\n", input.back(), doubled.values.back());
    if (!program.verdict(lab::compare_exact(doubled.values, reference(input)))) return false;
    program.report_kernel([&] { return twice(input).kernel_ms; },
                          {.bytes = 2.0 * static_cast<double>(size) * sizeof(float)});
    return true;
  });
}
