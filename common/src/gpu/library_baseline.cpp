// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cublas_v2.h>

#include <limits>

#include "lab/cublas_check.hpp"
#include "lab/cublas_handle.hpp"
#include "lab/device_buffer.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/time_kernel.hpp"

namespace lab {

std::optional<float> library_dot_milliseconds(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) throw invalid_input("a dot product needs vectors of equal length");
  if (a.empty() || a.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return std::nullopt;  // cublasSdot counts in int
  constexpr int kRuns = 20;
  const device_buffer<float> device_a(a);
  const device_buffer<float> device_b(b);
  device_buffer<float> result(1);
  const cublas_handle handle;
  // With the result left on the device, the call does not wait, and the kernels alone are measured.
  CUBLAS_CHECK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  const repeated_timing samples(kRuns);
  return time_kernel([&] {
    CUBLAS_CHECK(cublasSdot(handle, static_cast<int>(a.size()), device_a.data(), 1, device_b.data(),
                            1, result.data()));
  });
}

}  // namespace lab
