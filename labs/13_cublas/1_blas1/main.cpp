// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.1 blas1: the program.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "blas1.hpp"
#include "lab/closeness.hpp"
#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

namespace {

enum class data { small, huge, tiny };

void print_vector(const char* name, const std::vector<double>& array, std::size_t increment) {
  constexpr std::size_t kFirst = 5;
  std::printf("%s", name);
  for (std::size_t i = 0; i < std::min(kFirst * increment, array.size()); i += increment)
    std::printf(" %g", array[i]);
  std::printf("%s\n", array.size() > kFirst * increment ? " ..." : "");
}

}  // namespace

int main(int argc, char** argv) {
  using namespace lab::blas1;
  lab::program program("13.1_blas1", "Copies and scales a vector, its dot product and its norm.");
  constexpr std::size_t kMost = std::size_t{1} << 30;  // cuBLAS counts in int
  constexpr double kAlpha = 2;
  std::size_t size = kDefaultSize, increment = 1;
  program.add_size("--size", size, "number of elements").at_most(kMost);
  program.add_size("--increment", increment, "distance of the elements in their arrays")
      .positive()
      .at_most(1024);
  const auto& version =
      program.add_step<step>({{"host_result", step::host_result, "dot waits and returns a number"},
                              {"device_result", step::device_result, "the number stays there"}},
                             step::host_result);
  const auto& kind = program.add_choice<data>(
      "--data",
      {{"small", data::small, "numbers from -1 to 1"},
       {"huge", data::huge, "the same times 1e200: no square fits into a double"},
       {"tiny", data::tiny, "the same times 1e-200: every square vanishes"}},
      data::small, "what x holds");

  return program.run(argc, argv, [&] {
    const std::size_t bytes = size * increment * sizeof(double);
    program.require_memory(8 * bytes, 2 * bytes);
    const double unit = kind == data::huge ? 1e200 : kind == data::tiny ? 1e-200 : 1;
    std::vector<double> array(size * increment);
    const std::vector<float> numbers = lab::random_floats(array.size(), program.seed(), -1, 1);
    std::transform(numbers.begin(), numbers.end(), array.begin(),
                   [&](float x) { return unit * static_cast<double>(x); });
    const strided x{array, static_cast<int>(increment)};
    const std::vector<double> zeros(array.size());

    const auto copied = copy(size, x, {zeros, x.increment});
    const auto scaled = scale(size, kAlpha, {copied.data, x.increment});
    const strided y{scaled.data, x.increment};
    const auto product = dot(version, size, y, x);
    const auto length = norm(size, y);

    std::printf("%zu elements, %zu apart\n", size, increment);
    print_vector("x       ", array, increment);
    print_vector("y = x   ", copied.data, increment);
    print_vector("y = 2 y ", scaled.data, increment);
    std::printf("dot(y, x)        %g\n", product.value);
    std::printf("sqrt(dot(y, y))  %g\n", std::sqrt(dot(version, size, y, y).value));
    std::printf("nrm2(y)          %g\n", length.value);

    if (!program.verdict(
            lab::compare_exact(copied.data, copy_reference(size, x, {zeros, x.increment}))) ||
        !program.verdict(lab::compare_exact(
            scaled.data, scale_reference(size, kAlpha, {copied.data, x.increment}))))
      return false;
    if (kind == data::small &&
        !program.verdict(lab::compare(product.value, dot_reference(size, y, x),
                                      {.absolute = dot_bound(size, y, x)})))
      return false;
    if (!program.verdict(
            lab::compare(length.value, norm_reference(size, y), {.absolute = norm_bound(size, y)})))
      return false;
    // On a GPU the device reads whole sectors: with an increment, bytes that the call does not
    // need, too.
    std::printf("dot\n");
    program.report_kernel([&] { return dot(version, size, y, x).kernel_ms; },
                          {.bytes = 2.0 * static_cast<double>(size) * sizeof(double)});
    std::printf("copy\n");
    program.report_kernel(
        [&] {
          return copy(size, x, {zeros, x.increment}).kernel_ms;
        },
        {.bytes = 2.0 * static_cast<double>(size) * sizeof(double)});
    return true;
  });
}
