// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// a and b are in one block of memory; step copies queues one kind of work for all devices before
// the next kind, and waits for events.

#include <cuda_runtime.h>

#include "given.hpp"
#include "lab/event.hpp"

namespace lab::portable_pinned {

/// Host memory that every device can use.
class pinned_floats {
 public:
  pinned_floats(std::size_t n, unsigned flags) {
    CUDA_CHECK(cudaHostAlloc(&host_, n * sizeof(float), flags));
  }
  ~pinned_floats() { CUDA_CHECK_NOTHROW(cudaFreeHost(host_)); }
  pinned_floats(const pinned_floats&) = delete;
  pinned_floats& operator=(const pinned_floats&) = delete;

  float* host() const { return host_; }
  /// For the kernels of the current device.
  float* device() const {
    float* mapped = nullptr;
    CUDA_CHECK(cudaHostGetDevicePointer(&mapped, host_, 0));
    return mapped;
  }

 private:
  float* host_ = nullptr;
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
        n(values_a.size()),
        a(2 * n, flags_of(mode) | cudaHostAllocWriteCombined),
        partial(blocks, flags_of(mode)),
        seen(devices),
        sums(devices) {
    std::ranges::copy(values_a, a.host());
    std::ranges::copy(values_b, a.host() + n);
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
  std::size_t n;
  pinned_floats a, partial;  // b comes after a
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

void zero_copy(work& all) {
  in_a_thread_each(all.parts, [&](const part& share) {
    CUDA_CHECK(cudaSetDevice(share.device));
    look(all.a, all.report_of(share));
    event_timer kernel;
    kernel.start();
    launch(share.blocks, all.a.device() + share.begin, all.a.device() + all.n + share.begin,
           all.partial.device() + share.first_sum, share.size, nullptr);
    kernel.stop();
    CUDA_CHECK(cudaDeviceSynchronize());
    all.report_of(share).kernel_ms = kernel.milliseconds();
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
  std::list<event> reached;
  const auto each = [&](const auto& act) {
    for (device_part& mine : devices) {
      CUDA_CHECK(cudaSetDevice(mine.device));
      act(mine);
    }
  };
  each([&](device_part& mine) {
    CUDA_CHECK(cudaMemcpyAsync(mine.a.data(), all.a.host() + mine.begin, mine.a.size_bytes(),
                               cudaMemcpyHostToDevice, mine.queue));
  });
  each([&](device_part& mine) {
    CUDA_CHECK(cudaMemcpyAsync(mine.b.data(), all.a.host() + all.n + mine.begin,
                               mine.b.size_bytes(), cudaMemcpyHostToDevice, mine.queue));
  });
  each([&](device_part& mine) {
    mine.kernel.start(mine.queue);
    launch(mine.blocks, mine.a.data(), mine.b.data(), mine.partial.data(), mine.size, mine.queue);
    mine.kernel.stop();
  });
  each([&](device_part& mine) {
    CUDA_CHECK(cudaMemcpyAsync(all.partial.host() + mine.first_sum, mine.partial.data(),
                               mine.partial.size_bytes(), cudaMemcpyDeviceToHost, mine.queue));
    reached.emplace_back();
    CUDA_CHECK(cudaEventRecord(reached.back(), mine.queue));
  });
  for (const event& end : reached) CUDA_CHECK(cudaEventSynchronize(end));
  for (device_part& mine : devices) all.report_of(mine).kernel_ms = mine.kernel.milliseconds();
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
  for (const part& share : all.parts) all.add_up(share);
  r.value = static_cast<float>(std::accumulate(all.sums.begin(), all.sums.end(), 0.0));
  r.total_ms = static_cast<float>(total.milliseconds());
  r.devices = std::move(all.seen);
  return r;
}

}  // namespace lab::portable_pinned
