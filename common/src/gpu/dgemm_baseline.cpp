// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/dgemm_baseline.hpp"

#include <cublas_v2.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "lab/cublas_check.hpp"
#include "lab/cublas_handle.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/report.hpp"
#include "lab/timer.hpp"

namespace lab {

std::optional<float> library_dgemm_milliseconds(std::span<const double> a,
                                                std::span<const double> b, std::size_t m,
                                                std::size_t n, std::size_t k) {
  if (a.size() != m * k || b.size() != k * n)
    throw invalid_input("a matrix product needs m * k elements of A and k * n of B");
  const std::size_t largest = std::max({m, n, k});
  if (std::min({m, n, k}) == 0 ||
      largest > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return std::nullopt;  // cublasDgemm counts in int
  constexpr int kWarmUp = 3;
  constexpr int kRuns = 20;
  const device_buffer<double> device_a(a);
  const device_buffer<double> device_b(b);
  device_buffer<double> device_c(m * n);
  const cublas_handle handle;

  // Column-major, and so with swapped operands, as in matmul_baseline.cpp.
  const double one = 1, zero = 0;
  const int im = static_cast<int>(m), in = static_cast<int>(n), ik = static_cast<int>(k);
  event_timer timer;
  std::vector<float> times;
  for (int run = 0; run < kWarmUp + kRuns; ++run) {
    timer.start();
    CUBLAS_CHECK(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, in, im, ik, &one, device_b.data(),
                             in, device_a.data(), ik, &zero, device_c.data(), in));
    timer.stop();
    const float elapsed = timer.milliseconds();
    if (run >= kWarmUp) times.push_back(elapsed);
  }
  return static_cast<float>(summarize(times).median_ms);
}

}  // namespace lab
