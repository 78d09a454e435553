// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.4 mixed_precision_dot: the program.

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "lab/closeness.hpp"
#include "lab/command_line.hpp"
#include "lab/dot_reference.hpp"
#include "lab/random.hpp"
#include "mixed_precision_dot.hpp"
#include "reference.hpp"

namespace {

enum class data { one_large, random, cancelling };

}  // namespace

int main(int argc, char** argv) {
  using namespace lab::mixed_precision_dot;
  lab::program program("13.4_mixed_precision_dot",
                       "Dot product of float vectors, with the sum in float and in double.");
  std::size_t size = kDefaultSize;
  program.add_size("--size", size, "number of elements").at_most(std::size_t{1} << 30);
  const auto& version =
      program.add_step<step>({{"in_float", step::in_float, "all in float"},
                              {"in_double", step::in_double, "the sum in double"}},
                             step::in_double);
  const auto& kind = program.add_choice<data>(
      "--data",
      {{"one_large", data::one_large, "4096 * 4096, and then ones"},
       {"random", data::random, "numbers from -1 to 1"},
       {"cancelling", data::cancelling, "the same, then all of it again with the other sign, + 1"}},
      data::one_large, "what to multiply");

  return program.run(argc, argv, [&] {
    program.require_memory(2 * size * sizeof(float),
                           2 * size * sizeof(float) + (std::size_t{8} << 19));
    if (!program.verdict(lab::check_exact_dot(
            size, program.seed(),
            [&](const auto& a, const auto& b) { return dot(version, a, b).value; })))
      return false;

    std::vector<float> x(size, 1.0F), y(size, 1.0F);
    if (kind != data::one_large) {
      x = lab::random_floats(size, program.seed(), -1, 1);
      y = lab::random_floats(size, program.seed() + 1, -1, 1);
    } else if (size > 0) {
      x[0] = y[0] = 4096;
    }
    if (kind == data::cancelling) {
      const std::size_t half = size / 2;
      for (std::size_t i = 0; i < half; ++i) x[half + i] = -x[i], y[half + i] = y[i];
      if (size % 2 == 1) x[size - 1] = y[size - 1] = 1;
    }

    const double exact = reference(x, y);
    std::printf("%zu elements\n", size);
    for (const step each : {step::in_float, step::in_double}) {
      if (version == step::in_float && each != version)
        continue;  // that step may not be written yet
      const double value = dot(each, x, y).value;
      std::printf("%-10s %.17g, off by %.3g\n", each == step::in_float ? "in float" : "in double",
                  value, std::fabs(value - exact));
    }
    std::printf("exact      %.17g\n", exact);
    if (version == step::in_double) {
      const auto mixed = ask_for_mixed_types(x, y);
      if (mixed)
        std::printf("cublasDotEx takes floats with a result in double: %.17g\n", *mixed);
      else
        std::printf("cublasDotEx with floats and a result in double: not supported\n");
    }
    const double bound = version == step::in_float ? float_bound(x, y) : double_bound(x, y);
    if (!program.verdict(lab::compare(dot(version, x, y).value, exact, {.absolute = bound})))
      return false;
    program.report_kernel([&] { return dot(version, x, y).kernel_ms; },
                          {.bytes = 2.0 * static_cast<double>(size) * sizeof(float)});
    return true;
  });
}
