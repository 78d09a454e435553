// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.3 constant_dot: the program.

#include <cstddef>
#include <cstdio>
#include <vector>

#include "constant_dot.hpp"
#include "lab/command_line.hpp"
#include "lab/dot_program.hpp"
#include "lab/dot_reference.hpp"
#include "lab/random.hpp"
#include "lab/report.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::constant_dot::kMostInAPass;
  using lab::constant_dot::step;
  lab::program program("07.3_constant_dot", "Dot product with one vector in constant memory.");
  std::size_t size = lab::constant_dot::kDefaultSize;
  program.add_size("--size", size, "number of elements; 16384 are a pass");
  const auto& chosen_step = program.add_step<step>(
      {{"global_memory", step::global_memory, "both vectors are ordinary arrays"},
       {"constant_memory", step::constant_memory, "b in passes through constant memory"}},
      step::constant_memory);

  return program.run(argc, argv, [&] {
    program.require_memory(3 * size * sizeof(float), 3 * size * sizeof(float));
    if (!program.verdict(
            lab::check_exact_dot(size, program.seed(), [&](const auto& a, const auto& b) {
              return lab::constant_dot::dot(chosen_step, a, b).value;
            })))
      return false;

    const std::vector<float> a = lab::random_floats(size, program.seed(), -1, 1);
    const std::vector<float> b = lab::random_floats(size, program.seed() + 1, -1, 1);

    const auto result = lab::constant_dot::dot(chosen_step, a, b);
    std::printf("step %s, %zu elements: b has %s\n", program.step_name().c_str(), size,
                lab::human_bytes(static_cast<double>(size) * sizeof(float)).c_str());
    std::printf("%zu pass%s", result.passes, result.passes == 1 ? "" : "es");
    if (chosen_step == step::constant_memory && size > 0)
      std::printf(", the last one of %zu elements", (size - 1) % kMostInAPass + 1);
    std::printf("\n");

    if (!lab::is_close(program, result.value, lab::dot_in_double(a, b),
                       lab::constant_dot::error_bound(a, b)))
      return false;
    program.report_kernel([&] { return lab::constant_dot::dot(chosen_step, a, b).kernel_ms; },
                          {.bytes = 2.0 * static_cast<double>(size) * sizeof(float)});
    return true;
  });
}
