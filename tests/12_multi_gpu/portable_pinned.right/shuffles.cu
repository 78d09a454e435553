// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A kernel of its own: the lanes of a warp add up in double, by shuffles. The runtime finds out in
// which direction it copies.

#include <cuda_runtime.h>

#include <memory>

#include "given.hpp"

namespace lab::portable_pinned {

struct free_host {
  void operator()(float* memory) const noexcept { CUDA_CHECK_NOTHROW(cudaFreeHost(memory)); }
};

class pinned_floats {
 public:
  pinned_floats(std::size_t n, unsigned flags) {
    void* memory = nullptr;
    CUDA_CHECK(cudaHostAlloc(&memory, n * sizeof(float), flags));
    memory_.reset(static_cast<float*>(memory));
  }
  float* host() const { return memory_.get(); }
  float* device() const {
    void* mapped = nullptr;
    CUDA_CHECK(cudaHostGetDevicePointer(&mapped, memory_.get(), 0));
    return static_cast<float*>(mapped);
  }

 private:
  std::unique_ptr<float[], free_host> memory_;
};

namespace {

unsigned flags_of(pinning mode) {
  return mode == pinning::all_devices ? cudaHostAllocMapped | cudaHostAllocPortable
                                      : cudaHostAllocMapped;
}

struct work {
  work(pinning mode, std::span<const float> values_a, std::span<const float> values_b,
       std::size_t devices)
      : parts(parts_of(values_a.size(), devices)),
        blocks(parts.back().first_sum + parts.back().blocks),
        a(values_a.size(), flags_of(mode) | cudaHostAllocWriteCombined),
        b(values_b.size(), flags_of(mode) | cudaHostAllocWriteCombined),
        partial(blocks, flags_of(mode)),
        seen(devices),
        sums(devices) {
    std::ranges::copy(values_a, a.host());
    std::ranges::copy(values_b, b.host());
    for (const part& share : parts) report_of(share).elements = share.size;
  }
  device_report& report_of(const part& share) {
    return seen[static_cast<std::size_t>(share.device)];
  }
  void add_up(const part& share) {
    const float* first = partial.host() + share.first_sum;
    sums[static_cast<std::size_t>(share.device)] =
        std::accumulate(first, first + share.blocks, 0.0);
  }

  std::vector<part> parts;
  std::size_t blocks;
  pinned_floats a, b, partial;
  std::vector<device_report> seen;
  std::vector<double> sums;
};

void look(const pinned_floats& memory, device_report& seen) {
  CUDA_CHECK(cudaHostGetFlags(&seen.flags, memory.host()));
  cudaPointerAttributes attributes{};
  CUDA_CHECK(cudaPointerGetAttributes(&attributes, memory.host()));
  seen.pinned = attributes.type == cudaMemoryTypeHost;
  seen.same_address = memory.device() == memory.host();
}

__global__ void sums_of_products(const float* a, const float* b, float* partial, std::size_t n) {
  __shared__ double of_warps[kThreads / 32];
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  double sum = 0;
#pragma unroll 4
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += stride)
    sum += static_cast<double>(a[i]) * b[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, step);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned k = 1; k < kThreads / 32; ++k) sum += of_warps[k];
  partial[blockIdx.x] = static_cast<float>(sum);
}

void zero_copy(work& all) {
  in_a_thread_each(all.parts, [&](const part& share) {
    CUDA_CHECK(cudaSetDevice(share.device));
    look(all.a, all.report_of(share));
    const stream queue;
    event_timer kernel;
    const float* const a = all.a.device() + share.begin;
    const float* const b = all.b.device() + share.begin;
    float* const partial = all.partial.device() + share.first_sum;
    kernel.start(queue);
    sums_of_products<<<share.blocks, kThreads, 0, queue>>>(a, b, partial, share.size);
    CUDA_CHECK(cudaGetLastError());
    kernel.stop();
    CUDA_CHECK(cudaStreamSynchronize(queue));
    all.report_of(share).kernel_ms = kernel.milliseconds();
    all.add_up(share);
  });
}

void copies(work& all, host_timer& total) {
  std::list<device_part> devices;
  for (const part& share : all.parts) {
    CUDA_CHECK(cudaSetDevice(share.device));
    devices.emplace_back(share);
    look(all.a, all.report_of(share));
  }
  total.restart();
  for (device_part& mine : devices) {
    CUDA_CHECK(cudaSetDevice(mine.device));
    const std::size_t bytes = mine.size * sizeof(float);
    CUDA_CHECK(cudaMemcpyAsync(mine.a.data(), all.a.host() + mine.begin, bytes, cudaMemcpyDefault,
                               mine.queue));
    CUDA_CHECK(cudaMemcpyAsync(mine.b.data(), all.b.host() + mine.begin, bytes, cudaMemcpyDefault,
                               mine.queue));
    mine.kernel.start(mine.queue);
    sums_of_products<<<mine.blocks, kThreads, 0, mine.queue>>>(mine.a.data(), mine.b.data(),
                                                               mine.partial.data(), mine.size);
    CUDA_CHECK(cudaGetLastError());
    mine.kernel.stop();
    CUDA_CHECK(cudaMemcpyAsync(all.partial.host() + mine.first_sum, mine.partial.data(),
                               mine.blocks * sizeof(float), cudaMemcpyDefault, mine.queue));
  }
  for (device_part& mine : devices) {
    CUDA_CHECK(cudaSetDevice(mine.device));
    CUDA_CHECK(cudaStreamSynchronize(mine.queue));
    all.report_of(mine).kernel_ms = mine.kernel.milliseconds();
    all.add_up(mine);
  }
}

}  // namespace

result dot(step version, pinning mode, std::span<const float> a, std::span<const float> b,
           int devices) {
  refuse_if(a.size() != b.size(), "portable_pinned: a has ", a.size(), " elements and b has ",
            b.size(), "; they must be equally long");
  const int there_are = device_count();
  refuse_if(devices < 0 || devices > there_are, "portable_pinned: ", devices,
            " devices were asked for, and there are ", there_are);
  const auto count = static_cast<std::size_t>(devices == 0 ? there_are : devices);
  result r;
  r.devices.resize(count);
  if (a.empty()) return r;

  const keep_current_device keep;
  work all(mode, a, b, count);
  host_timer total;
  if (version == step::zero_copy)
    zero_copy(all);
  else
    copies(all, total);
  r.value = static_cast<float>(std::accumulate(all.sums.begin(), all.sums.end(), 0.0));
  r.total_ms = static_cast<float>(total.milliseconds());
  r.devices = std::move(all.seen);
  return r;
}

}  // namespace lab::portable_pinned
