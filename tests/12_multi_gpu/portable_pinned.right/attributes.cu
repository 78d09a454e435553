// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Whether the devices have the host's address is read from the attributes of the memory; a kernel
// with sums in double, in the default stream; step copies begins with the last device.

#include <cuda_runtime.h>

#include <memory>

#include "given.hpp"
#include "lab/host_threads.hpp"
#include "lab/pinned_buffer.hpp"

namespace lab::portable_pinned {
namespace {

__global__ void double_sums(const float* a, const float* b, float* partial, std::size_t n) {
  __shared__ double cache[kThreads];
  double mine = 0;
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += stride)
    mine += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  const double sum = sum_of_block(cache, mine);
  if (threadIdx.x == 0) partial[blockIdx.x] = static_cast<float>(sum);
}

float* device_pointer(float* host) {
  void* pointer = nullptr;
  CUDA_CHECK(cudaHostGetDevicePointer(&pointer, host, 0));
  return static_cast<float*>(pointer);
}

struct pinned_vectors {
  pinned_vectors(std::size_t n, std::size_t blocks, unsigned flags)
      : a(n, flags | cudaHostAllocWriteCombined),
        b(n, flags | cudaHostAllocWriteCombined),
        sums(blocks, flags) {}
  pinned_buffer<float> a, b, sums;

  device_report look(std::size_t elements) {
    device_report report;
    report.elements = elements;
    CUDA_CHECK(cudaHostGetFlags(&report.flags, a.data()));
    cudaPointerAttributes attributes{};
    CUDA_CHECK(cudaPointerGetAttributes(&attributes, a.data()));
    report.pinned = attributes.type == cudaMemoryTypeHost;
    report.same_address = attributes.devicePointer == attributes.hostPointer;
    return report;
  }
};

}  // namespace

result dot(step version, pinning mode, std::span<const float> a, std::span<const float> b,
           int devices) {
  refuse_if(a.size() != b.size(), "portable_pinned: lengths ", a.size(), " and ", b.size());
  const int count = device_count();
  refuse_if(devices < 0 || devices > count, "portable_pinned: there are ", count, " devices, not ",
            devices);
  const std::size_t workers = static_cast<std::size_t>(devices == 0 ? count : devices);
  result out{0, std::vector<device_report>(workers), 0};
  const std::vector<part> parts = parts_of(a.size(), workers);
  if (parts.empty()) return out;
  std::size_t blocks = 0;
  for (const part& p : parts) blocks += p.blocks;

  unsigned flags = cudaHostAllocMapped;
  if (mode == pinning::all_devices) flags |= cudaHostAllocPortable;
  pinned_vectors memory(a.size(), blocks, flags);
  std::ranges::copy(a, memory.a.data());
  std::ranges::copy(b, memory.b.data());
  const auto report_of = [&out](const part& p) -> device_report& {
    return out.devices[static_cast<std::size_t>(p.device)];
  };
  const auto finish = [&](const host_timer& timer) {
    const auto sums = memory.sums.span();
    out.value = static_cast<float>(std::accumulate(sums.begin(), sums.end(), 0.0));
    out.total_ms = static_cast<float>(timer.milliseconds());
  };

  if (version == step::zero_copy) {
    const host_timer timer;
    in_host_threads(parts.size(), [&](std::size_t k) {
      const part& p = parts[k];
      CUDA_CHECK(cudaSetDevice(p.device));
      report_of(p) = memory.look(p.size);
      event_timer kernel;
      kernel.start();
      double_sums<<<p.blocks, kThreads>>>(device_pointer(memory.a.data()) + p.begin,
                                          device_pointer(memory.b.data()) + p.begin,
                                          device_pointer(memory.sums.data()) + p.first_sum, p.size);
      CUDA_CHECK(cudaGetLastError());
      kernel.stop();
      CUDA_CHECK(cudaDeviceSynchronize());
      report_of(p).kernel_ms = kernel.milliseconds();
    });
    finish(timer);
    return out;
  }

  const keep_current_device keep;
  std::vector<std::unique_ptr<device_part>> work(parts.size());
  for (std::size_t k = parts.size(); k-- > 0;) {
    CUDA_CHECK(cudaSetDevice(parts[k].device));
    work[k] = std::make_unique<device_part>(parts[k]);
    report_of(parts[k]) = memory.look(parts[k].size);
  }
  const host_timer timer;
  for (std::size_t k = parts.size(); k-- > 0;) {
    device_part& p = *work[k];
    CUDA_CHECK(cudaSetDevice(p.device));
    CUDA_CHECK(cudaMemcpyAsync(p.b.data(), memory.b.data() + p.begin, p.b.size_bytes(),
                               cudaMemcpyDefault, p.queue));
    CUDA_CHECK(cudaMemcpyAsync(p.a.data(), memory.a.data() + p.begin, p.a.size_bytes(),
                               cudaMemcpyDefault, p.queue));
    p.kernel.start(p.queue);
    double_sums<<<p.blocks, kThreads, 0, p.queue>>>(p.a.data(), p.b.data(), p.partial.data(),
                                                    p.size);
    CUDA_CHECK(cudaGetLastError());
    p.kernel.stop();
    CUDA_CHECK(cudaMemcpyAsync(memory.sums.data() + p.first_sum, p.partial.data(),
                               p.partial.size_bytes(), cudaMemcpyDefault, p.queue));
  }
  for (const auto& p : work) {
    report_of(*p).kernel_ms = p->kernel.milliseconds();  // waits for the kernel
    CUDA_CHECK(cudaStreamSynchronize(p->queue));
  }
  finish(timer);
  return out;
}

}  // namespace lab::portable_pinned
