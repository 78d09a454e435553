// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.1 vector_add: what vector_add.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "lab/timer.hpp"
#include "vector_add.hpp"

namespace lab::vector_add {

/// A limit of the device that is in use, such as cudaDevAttrMaxGridDimX.
inline std::size_t device_limit(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
  return static_cast<std::size_t>(value);
}

/// `needed` as a launch takes it; refuses more than the device can do.
inline unsigned at_most(std::size_t limit, std::size_t needed, const std::string& units) {
  refuse_if(needed > limit, "vector_add: ", needed, " ", units,
            " are needed, and this device allows at most ", limit);
  return static_cast<unsigned>(needed);
}

// Who calls cudaFree when a CUDA_CHECK throws? An owner: its destructor runs however a function
// is left. lab::device_buffer, which later chapters use, is the same idea with more comfort.
struct device_free {
  void operator()(float* memory) const noexcept { CUDA_CHECK_NOTHROW(cudaFree(memory)); }
};
using device_floats = std::unique_ptr<float[], device_free>;

inline device_floats allocate(std::size_t n) {
  float* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, n * sizeof(float)));
  device_floats owner(memory);
  // All bits set is a NaN: an element that no thread writes cannot pass for a result.
  CUDA_CHECK(cudaMemset(memory, 0xFF, n * sizeof(float)));
  return owner;
}

/// The functions of vector_add.cu.
struct pieces {
  void (*on_cpu)(std::span<const float> a, std::span<const float> b, std::span<float> sum);
  void (*copy_to_device)(std::span<const float> from, float* to);
  void (*copy_to_host)(const float* from, std::span<float> to);
  using launch = void (*)(const float* a, const float* b, float* sum, std::size_t n);
  std::array<launch, 5> launches;  // of the steps after cpu
};

/// add() with the functions of vector_add.cu.
inline result host_part_of_add(const pieces& use, step version, std::span<const float> a,
                               std::span<const float> b) {
  const std::size_t n = a.size();
  refuse_if(n != b.size(), "vector_add: a has ", n, " elements and b has ", b.size(),
            "; they must be equally long");
  result out{std::vector<float>(n)};
  if (n == 0) return out;  // a grid of no blocks would be an error

  if (version == step::cpu) {
    const host_timer timer;
    use.on_cpu(a, b, out.sum);
    out.kernel_ms = static_cast<float>(timer.milliseconds());
    return out;
  }
  const device_floats device_a = allocate(n), device_b = allocate(n), device_sum = allocate(n);
  use.copy_to_device(a, device_a.get());
  use.copy_to_device(b, device_b.get());
  // A launch returns nothing: time_kernel() asks cudaGetLastError() whether it was accepted.
  const auto launch = use.launches.at(static_cast<std::size_t>(version) - 1);
  out.kernel_ms = time_kernel([&] { launch(device_a.get(), device_b.get(), device_sum.get(), n); });
  use.copy_to_host(device_sum.get(), out.sum);  // waits until the kernel is done
  return out;
}

}  // namespace lab::vector_add
