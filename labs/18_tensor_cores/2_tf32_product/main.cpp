// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.2 tf32_product: the program.

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "formats.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/matmul_baseline.hpp"
#include "lab/matrix_closeness.hpp"
#include "lab/random.hpp"
#include "reference.hpp"
#include "tf32_product.hpp"

namespace {

using lab::tf32_product::step;

/// The table of formats: TF32 as this step makes it on the device, the others by the host.
bool show_errors(step version, std::size_t k, std::uint64_t seed) {
  namespace t = lab::tf32_product;
  struct kind {
    t::input value;
    const char* name;
  };
  constexpr kind kKinds[] = {{t::input::random, "random"},
                             {t::input::ill_conditioned, "ill-conditioned"},
                             {t::input::adversarial, "adversarial"}};
  std::printf("errors for k = %zu, the largest of %zu elements\n", k,
              t::kTableSize * t::kTableSize);
  std::printf("%-9s %-9s %-16s %-14s %-14s %s\n", "format", "unit", "input", "bound of sum",
              "error", "error of C");
  bool right = true;
  for (const t::format& of : {t::kFloat, t::kTf32, t::kHalf, t::kBfloat16})
    for (const kind& in : kKinds) {
      const auto given = t::make_input(in.value, of, k, seed);
      const bool on_device = of.name == t::kTf32.name;
      const auto c =
          on_device ? t::multiply(version, given.a, given.b, {t::kTableSize, t::kTableSize, k}).c
                    : t::product_in(of, given, k);
      const auto errors = t::errors_of(c, given, k);
      const double bound = on_device ? t::error_bound(k) : t::bound_of(of, k);
      std::printf("%-9s %-9.2g %-16s %-14.3g %-14.3g %.3g\n", of.name, of.unit_roundoff(), in.name,
                  bound, errors.of_sizes, errors.of_result);
      right = right && errors.of_sizes <= bound;
    }
  std::printf("bound, error: relative to sum |a b|; error of C: relative to C itself\n");
  std::printf(
      "(TF32 by this device; the others by the host, half and bfloat16 without the errors "
      "of sums)\n");
  std::printf(right ? "right: every error is within its bound\n"
                    : "wrong: an error is larger than its bound\n");
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("18.2_tf32_product",
                       "Multiplies matrices, C(m x n) = A(m x k) B(n x k)^T, on tensor cores, with "
                       "TF32 for A and B.");
  constexpr std::size_t kMost = std::size_t{1} << 20;  // so that no product of two overflows
  std::size_t size = lab::on_cpu_device() ? lab::tf32_product::kDefaultSize : 4096, m = 0, n = 0,
              k = 0;
  bool errors = false;
  program.add_size("--size", size, "m, n and k, where they are not given")
      .positive()
      .at_most(kMost);
  program.add_size("--m", m, "rows of A and C; 0: as --size").at_most(kMost);
  program.add_size("--n", n, "rows of B, columns of C; 0: as --size").at_most(kMost);
  program.add_size("--k", k, "columns of A and B; 0: as --size").at_most(kMost);
  program.add_flag("--errors", errors, "show the errors of all formats for this k instead");
  const auto& chosen_step = program.add_step<step>(
      {{"wmma", step::wmma, "tiles are rounded on their way to shared memory"},
       {"staged", step::staged, "asynchronous copies bring the next slices meanwhile"},
       {"wgmma", step::wgmma, "a warp has tiles copied, four warps multiply them there"}},
      step::wgmma);

  return program.run(argc, argv, [&] {
    const lab::tf32_product::shape shape{m != 0 ? m : size, n != 0 ? n : size, k != 0 ? k : size};
    if (errors) return show_errors(chosen_step, (shape.k + 1) / 2 * 2, program.seed());
    const std::size_t bytes =
        (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n) * sizeof(float);
    program.require_memory(2 * bytes, 2 * bytes);  // the library's turn needs the device once more
    const auto a = lab::random_floats(shape.m * shape.k, program.seed(), -1, 1);
    const auto b = lab::random_floats(shape.n * shape.k, program.seed() + 1, -1, 1);
    const auto run = [&] { return lab::tf32_product::multiply(chosen_step, a, b, shape); };

    std::printf("step %s, C(%zu x %zu) = A(%zu x %zu) B(%zu x %zu)^T\n",
                program.step_name().c_str(), shape.m, shape.n, shape.m, shape.k, shape.n, shape.k);
    if (!program.verdict(lab::tf32_product::check(run().c, a, b, shape,
                                                  lab::row_stride(shape.m, shape.n * shape.k))))
      return false;
    const double operations = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                              static_cast<double>(shape.k);
    const auto time = program.report_kernel([&] { return run().kernel_ms; },
                                            {.items = operations, .item_name = "FLOP"});
    program.report_library(
        "cublasGemmEx (TF32)",
        lab::library_matmul_milliseconds(a, b, shape.m, shape.n, shape.k,
                                         lab::library_arithmetic::tf32, lab::library_b::n_rows),
        time);
    return true;
  });
}
