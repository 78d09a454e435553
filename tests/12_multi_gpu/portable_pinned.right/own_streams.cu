// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Each host thread of zero_copy has its own non-blocking stream, which the default stream does not
// wait for; the caller adds up all sums after the threads have ended.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::portable_pinned {

class host_memory {
 public:
  host_memory(std::size_t n, unsigned flags) : size_(n) {
    if (n == 0) return;
    void* memory = nullptr;
    CUDA_CHECK(cudaHostAlloc(&memory, n * sizeof(float), flags));
    data_ = static_cast<float*>(memory);
  }
  ~host_memory() {
    if (data_ != nullptr) CUDA_CHECK_NOTHROW(cudaFreeHost(data_));
  }
  host_memory(const host_memory&) = delete;
  host_memory& operator=(const host_memory&) = delete;
  float* data() const { return data_; }
  std::size_t size() const { return size_; }
  float* on_device() const {
    if (data_ == nullptr) return nullptr;
    void* pointer = nullptr;
    CUDA_CHECK(cudaHostGetDevicePointer(&pointer, data_, 0));
    return static_cast<float*>(pointer);
  }

 private:
  float* data_ = nullptr;
  std::size_t size_ = 0;
};

namespace {

unsigned flags_for(pinning mode) {
  return cudaHostAllocMapped | (mode == pinning::all_devices ? cudaHostAllocPortable : 0U);
}

device_report look(const host_memory& memory, std::size_t elements) {
  device_report report;
  report.elements = elements;
  CUDA_CHECK(cudaHostGetFlags(&report.flags, memory.data()));
  cudaPointerAttributes attributes{};
  CUDA_CHECK(cudaPointerGetAttributes(&attributes, memory.data()));
  report.pinned = attributes.type == cudaMemoryTypeHost;
  report.same_address = memory.on_device() == memory.data();
  return report;
}

void zero_copy(const std::vector<part>& parts, const host_memory& a, const host_memory& b,
               const host_memory& sums, result& out) {
  const host_timer clock;
  in_a_thread_each(parts, [&](const part& p) {
    CUDA_CHECK(cudaSetDevice(p.device));
    device_report& report = out.devices[static_cast<std::size_t>(p.device)];
    report = look(a, p.size);
    const float* x = a.on_device() + p.begin;
    const float* y = b.on_device() + p.begin;
    float* to = sums.on_device() + p.first_sum;
    event_timer timer;
    const stream queue;
    timer.start(queue);
    launch(p.blocks, x, y, to, p.size, queue);
    timer.stop();
    report.kernel_ms = timer.milliseconds();
    CUDA_CHECK(cudaStreamSynchronize(queue));
  });
  double total = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) total += sums.data()[i];
  out.value = static_cast<float>(total);
  out.total_ms = static_cast<float>(clock.milliseconds());
}

void copies(const std::vector<part>& parts, const host_memory& a, const host_memory& b,
            const host_memory& sums, result& out) {
  std::list<device_part> works;
  for (const part& p : parts) {
    CUDA_CHECK(cudaSetDevice(p.device));
    works.emplace_back(p);
    out.devices[static_cast<std::size_t>(p.device)] = look(a, p.size);
  }
  const host_timer clock;
  for (device_part& w : works) {
    CUDA_CHECK(cudaSetDevice(w.device));
    CUDA_CHECK(cudaMemcpyAsync(w.a.data(), a.data() + w.begin, w.a.size_bytes(),
                               cudaMemcpyHostToDevice, w.queue));
    CUDA_CHECK(cudaMemcpyAsync(w.b.data(), b.data() + w.begin, w.b.size_bytes(),
                               cudaMemcpyHostToDevice, w.queue));
    w.kernel.start(w.queue);
    launch(w.blocks, w.a.data(), w.b.data(), w.partial.data(), w.size, w.queue);
    w.kernel.stop();
    CUDA_CHECK(cudaMemcpyAsync(sums.data() + w.first_sum, w.partial.data(), w.partial.size_bytes(),
                               cudaMemcpyDeviceToHost, w.queue));
  }
  for (device_part& w : works) {
    CUDA_CHECK(cudaSetDevice(w.device));
    CUDA_CHECK(cudaStreamSynchronize(w.queue));
  }
  double total = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) total += sums.data()[i];
  out.value = static_cast<float>(total);
  out.total_ms = static_cast<float>(clock.milliseconds());
  for (const device_part& w : works)
    out.devices[static_cast<std::size_t>(w.device)].kernel_ms = w.kernel.milliseconds();
}

}  // namespace

result dot(step version, pinning mode, std::span<const float> a, std::span<const float> b,
           int devices) {
  refuse_if(a.size() != b.size(), "portable_pinned: the vectors have ", a.size(), " and ", b.size(),
            " elements");
  const int there_are = device_count();
  refuse_if(devices < 0 || devices > there_are, "portable_pinned: ", devices,
            " devices were asked for, and there are ", there_are);
  if (devices == 0) devices = there_are;
  const keep_current_device keep;
  const std::vector<part> parts = parts_of(a.size(), static_cast<std::size_t>(devices));
  std::size_t blocks = 0;
  for (const part& p : parts) blocks += p.blocks;
  const host_memory pa(a.size(), flags_for(mode) | cudaHostAllocWriteCombined);
  const host_memory pb(b.size(), flags_for(mode) | cudaHostAllocWriteCombined);
  const host_memory sums(blocks, flags_for(mode));
  std::copy(a.begin(), a.end(), pa.data());
  std::copy(b.begin(), b.end(), pb.data());
  result out;
  out.devices.resize(static_cast<std::size_t>(devices));
  if (version == step::zero_copy)
    zero_copy(parts, pa, pb, sums, out);
  else
    copies(parts, pa, pb, sums, out);
  return out;
}

}  // namespace lab::portable_pinned
