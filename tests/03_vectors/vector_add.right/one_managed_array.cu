// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// All three vectors are in one array of unified memory, and no CUDA call copies anything. The
// kernels with one element per thread count from the end.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::vector_add {
namespace {

namespace cg = cooperative_groups;

struct vectors {
  const float *a, *b;
  float* sum;
  std::size_t n;
  __device__ void add(std::size_t i) const {
    if (i < n) sum[i] = a[i] + b[i];
  }
};

__global__ void own_element(vectors v) {
  v.add(cg::this_grid().size() - 1 - cg::this_grid().thread_rank());
}

__global__ void strided(vectors v) {
  const unsigned long long threads = cg::this_grid().size();
  for (unsigned long long begin = 0; begin < v.n; begin += threads)
    v.add(begin + cg::this_grid().thread_rank());
}

__global__ void vectorized(vectors v) {
  const std::size_t i = 4 * cg::this_grid().thread_rank();
  if (i + 4 <= v.n) {
    const auto load = [i](const float* from) {
      return __ldcs(reinterpret_cast<const float4*>(from + i));
    };
    const float4 x = load(v.a), y = load(v.b);
    __stcs(reinterpret_cast<float4*>(v.sum + i),
           make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w));
  } else {
    for (unsigned k = 0; k < 3; ++k) v.add(i + k);
  }
}

void launch(step version, const vectors& v) {
  const auto blocks = [&](std::size_t each) {
    return at_most(device_limit(cudaDevAttrMaxGridDimX), (v.n - 1) / each + 1, "blocks");
  };
  switch (version) {
    case step::cpu:
      break;
    case step::one_thread_per_block:
      own_element<<<blocks(1), 1>>>(v);
      break;
    case step::one_block:
      own_element<<<1, at_most(device_limit(cudaDevAttrMaxThreadsPerBlock), v.n, "threads")>>>(v);
      break;
    case step::ceil_division:
      own_element<<<blocks(256), 256>>>(v);
      break;
    case step::grid_stride: {
      const std::size_t fit = device_limit(cudaDevAttrMultiProcessorCount) *
                              (device_limit(cudaDevAttrMaxThreadsPerMultiProcessor) / 512);
      strided<<<static_cast<unsigned>(std::min(fit, (v.n - 1) / 512 + 1)), 512>>>(v);
      break;
    }
    case step::vectorized:
      vectorized<<<blocks(4 * 128), 128>>>(v);
      break;
  }
}

}  // namespace

result add(step version, std::span<const float> a, std::span<const float> b) {
  const std::size_t n = a.size(), apart = (n + 63) / 64 * 64;  // each vector begins at 256 bytes
  refuse_if(n != b.size(), "vector_add: vectors of ", n, " and ", b.size(), " elements");
  if (n == 0) return {};
  result out{{a.begin(), a.end()}};
  if (version == step::cpu) {
    const host_timer timer;
    for (std::size_t i = 0; i < n; ++i) out.sum[i] += b[i];
    out.kernel_ms = static_cast<float>(timer.milliseconds());
    return out;
  }
  float* memory = nullptr;
  CUDA_CHECK(cudaMallocManaged(&memory, 3 * apart * sizeof(float)));
  const device_floats owner(memory);
  std::ranges::copy(a, memory);
  std::ranges::copy(b, memory + apart);
  const vectors v{memory, memory + apart, memory + 2 * apart, n};
  out.kernel_ms = time_kernel([&] { launch(version, v); });
  CUDA_CHECK(cudaDeviceSynchronize());
  std::copy_n(v.sum, n, out.sum.begin());
  return out;
}

}  // namespace lab::vector_add
