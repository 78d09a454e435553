// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.6 euclidean_norm: the program.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "euclidean_norm.hpp"
#include "lab/closeness.hpp"
#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

namespace {

enum class data { ordinary, huge, tiny, mixed };

/// Random numbers from -1 to 1, times a power of two that depends on the kind.
std::vector<float> make(data kind, std::size_t size, std::uint64_t seed) {
  std::vector<float> x = lab::random_floats(size, seed, -1, 1);
  for (std::size_t i = 0; i < size; ++i) {
    switch (kind) {
      case data::ordinary:
        break;
      case data::huge:
        x[i] = std::ldexp(x[i], 100);
        break;
      case data::tiny:
        x[i] = std::ldexp(x[i], -120);
        break;
      case data::mixed:
        x[i] = std::ldexp(x[i], static_cast<int>(i % 201) - 100);
        break;
    }
  }
  return x;
}

/// Ones and minus ones, so few that the norm without one of them is another float: of more than
/// 2^20 elements only every second, third, … is one, beginning with a place that the seed chooses.
std::vector<float> ones(std::size_t size, std::uint64_t seed) {
  std::vector<float> x(size);
  const std::size_t apart = size / ((std::size_t{1} << 20) + 1) + 1;
  for (std::size_t i = seed % apart; i < size; i += apart) x[i] = i % 3 == 1 ? -1.0F : 1.0F;
  return x;
}

/// Whether each of them is counted once. A bound for rounding errors cannot tell.
lab::comparison check_exact_norm(lab::euclidean_norm::step version, const std::vector<float>& x) {
  const double expected = lab::euclidean_norm::as_float(lab::euclidean_norm::reference(x));
  lab::comparison result =
      lab::compare(lab::euclidean_norm::norm(version, x).value, expected, lab::tolerance{});
  result.message = result.ok ? "each 1 and each -1 was counted once"
                             : "the norm of ones and minus ones: " + result.message;
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  using lab::euclidean_norm::step;
  lab::program program("05.6_euclidean_norm", "The Euclidean norm of a vector of floats.");
  std::size_t size = lab::euclidean_norm::kDefaultSize;
  program.add_size("--size", size, "number of elements");
  const auto& chosen_step = program.add_step<step>(
      {{"dot", step::by_dot_product, "the root of the sum of squares"},
       {"scaled", step::scaled_by_max, "divided by the largest element first"},
       {"one_pass", step::one_pass, "pairs of a scale and a sum"}},
      step::one_pass);
  const auto& chosen_data = program.add_choice<data>(
      "--data",
      {{"ordinary", data::ordinary, "numbers from -1 to 1, made from --seed"},
       {"huge", data::huge, "the same times 2^100"},
       {"tiny", data::tiny, "the same times 2^-120"},
       {"mixed", data::mixed, "the same times 2^-100, 2^-99, ... 2^100, and again"}},
      data::ordinary, "what to take the norm of");

  return program.run(argc, argv, [&] {
    program.require_memory(size * sizeof(float), size * sizeof(float));
    if (!program.verdict(check_exact_norm(chosen_step, ones(size, program.seed())))) return false;

    const std::vector<float> x = make(chosen_data, size, program.seed());
    const float value = lab::euclidean_norm::norm(chosen_step, x).value;
    const double expected = lab::euclidean_norm::reference(x);
    const double bound = lab::euclidean_norm::error_bound(x);
    std::printf("step %s, %zu elements\n", program.step_name().c_str(), size);
    std::printf("norm: %.8g; in double: %.8g\n", static_cast<double>(value), expected);
    std::printf("off by %.3g; %.3g is allowed\n", std::fabs(value - expected), bound);
    if (!program.verdict(lab::compare(value, expected, {.absolute = bound}))) return false;
    // The norm needs each element once: a step that reads them twice reaches half the rate.
    program.report_kernel([&] { return lab::euclidean_norm::norm(chosen_step, x).kernel_ms; },
                          {.bytes = static_cast<double>(size) * sizeof(float)});
    return true;
  });
}
