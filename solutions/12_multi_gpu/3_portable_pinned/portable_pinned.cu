// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.3 portable_pinned: one piece of host memory that all devices use.
// Edit:  this nearly empty file: TODO(1) to TODO(5). portable_pinned.hpp: the contract.
// Run:   scripts/lab run 12.3 -- --step zero_copy     (then --step copies)
// Test:  scripts/lab test 12.3
// Hints: scripts/lab hint 12.3                        Chapter: docs/12_multi_gpu.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::portable_pinned {

// TODO(1): an owner of host memory that every device can use: n floats from cudaHostAlloc, with
//          flags passed by its user. Kernels of the current device use a pointer that you get from
//          CUDA: write-combined memory may have a different address on the devices.
//          It is freed once, whichever device is current then, and a destructor does not throw
//          (CUDA_CHECK_NOTHROW).
// BEGIN SOLUTION
// --- both steps: memory that every device can use ------------------------------------------------

/// n floats of pinned host memory.
class pinned_buffer {
 public:
  /// `flags` are those of cudaHostAlloc. n is not 0.
  pinned_buffer(std::size_t n, unsigned flags) : size_(n) {
    void* memory = nullptr;
    CUDA_CHECK(cudaHostAlloc(&memory, n * sizeof(float), flags));
    host_ = static_cast<float*>(memory);
  }
  /// Once, whichever device is current then.
  ~pinned_buffer() { CUDA_CHECK_NOTHROW(cudaFreeHost(host_)); }
  pinned_buffer(const pinned_buffer&) = delete;
  pinned_buffer& operator=(const pinned_buffer&) = delete;

  /// For the host, and for cudaMemcpy to any device.
  float* host() const { return host_; }
  std::size_t size() const { return size_; }

  /// For kernels of the *current device*.
  float* device() const {
    void* mapped = nullptr;
    CUDA_CHECK(cudaHostGetDevicePointer(&mapped, host_, 0));
    return static_cast<float*>(mapped);
  }

 private:
  float* host_ = nullptr;
  std::size_t size_ = 0;
};
// END SOLUTION

namespace {

// TODO(2): the flags: mapped in any case; portable unless one device is enough. And what the
//          current device reports about the memory (device_report): cudaHostGetFlags,
//          cudaPointerGetAttributes, and a comparison of the two pointers.
// BEGIN SOLUTION
/// The flags of memory that kernels can access, pinned for the devices that need it.
unsigned flags_of(pinning mode) {
  return mode == pinning::all_devices ? cudaHostAllocMapped | cudaHostAllocPortable
                                      : cudaHostAllocMapped;
}

/// What the current device reports about the memory: the flags, and the two bools.
void look(const pinned_buffer& memory, device_report& seen) {
  CUDA_CHECK(cudaHostGetFlags(&seen.flags, memory.host()));
  cudaPointerAttributes attributes{};
  CUDA_CHECK(cudaPointerGetAttributes(&attributes, memory.host()));
  seen.pinned = attributes.type == cudaMemoryTypeHost;
  seen.same_address = memory.device() == memory.host();
}
// END SOLUTION

// TODO(3): step zero_copy, in_a_thread_each() of the parts (parts.hpp). A thread chooses its
//          device, looks at the memory, and launches, with launch() of given.hpp, a kernel that
//          reads its part and stores its blocks' sums in their elements of pinned memory. An
//          event_timer measures it. Invariants: each thread selects its device before it queries
//          a pointer or launches; no sum is read before it has been written, and no copy waits
//          for the kernel.
// BEGIN SOLUTION
/// The sum of one device's blocks, in double.
double sum_of(const pinned_buffer& partial, const part& its) {
  const float* first = partial.host() + its.first_sum;
  return std::accumulate(first, first + its.blocks, 0.0);
}

/// The vectors in pinned memory, memory there for the sums of all blocks of all devices, and the
/// results.
struct job {
  std::vector<part> parts;
  pinned_buffer a, b, partial;
  std::vector<device_report> reports;  // of device 0, 1, …
  std::vector<double> sums;            // theirs
};

// --- zero_copy: the kernels of all devices read the same memory ----------------------------------
// Requires that each host thread has selected its device before it queries a pointer or launches,
// and that no sum is read before it has been written.

void zero_copy(job& all) {
  in_a_thread_each(all.parts, [&all](const part& share) {
    CUDA_CHECK(cudaSetDevice(share.device));  // a new thread's current device is device 0
    const auto device = static_cast<std::size_t>(share.device);
    look(all.a, all.reports[device]);
    event_timer kernel;
    kernel.start();
    launch(share.blocks, all.a.device() + share.begin, all.b.device() + share.begin,
           all.partial.device() + share.first_sum, share.size, nullptr);
    kernel.stop();
    CUDA_CHECK(cudaDeviceSynchronize());  // until then the kernel may not even have begun
    all.sums[device] = sum_of(all.partial, share);
    all.reports[device].kernel_ms = kernel.milliseconds();
  });
}
// END SOLUTION

// TODO(4): step copies: three loops over the parts, each with the part's device current. The first
//          creates a device_part (given.hpp) for each, and calls look(). The time starts then:
//          allocations are not measured. The second queues, in the part's stream, the copies of a
//          and b, the kernel, and the copy of its sums into pinned memory. The third waits for each
//          stream. Invariant: no device waits until another one has its data.
// BEGIN SOLUTION
// --- copies: the devices fetch their parts at the same time --------------------------------------
// Requires pinned memory: from pageable memory, cudaMemcpyAsync may return only when the data is on
// its way, and the next device's copy would begin after this one's.

void copies(job& all, std::list<device_part>& memory, host_timer& total) {
  for (const part& its : all.parts) {
    CUDA_CHECK(cudaSetDevice(its.device));  // the part's memory is allocated there
    memory.emplace_back(its);
    look(all.a, all.reports[static_cast<std::size_t>(its.device)]);
  }

  total.restart();
  for (device_part& p : memory) {
    CUDA_CHECK(cudaSetDevice(p.device));  // the part's kernel runs there
    CUDA_CHECK(cudaMemcpyAsync(p.a.data(), all.a.host() + p.begin, p.a.size_bytes(),
                               cudaMemcpyHostToDevice, p.queue));
    CUDA_CHECK(cudaMemcpyAsync(p.b.data(), all.b.host() + p.begin, p.b.size_bytes(),
                               cudaMemcpyHostToDevice, p.queue));
    p.kernel.start(p.queue);
    launch(p.blocks, p.a.data(), p.b.data(), p.partial.data(), p.size, p.queue);
    p.kernel.stop();
    CUDA_CHECK(cudaMemcpyAsync(all.partial.host() + p.first_sum, p.partial.data(),
                               p.partial.size_bytes(), cudaMemcpyDeviceToHost, p.queue));
  }

  for (const device_part& p : memory) {
    const auto device = static_cast<std::size_t>(p.device);
    CUDA_CHECK(cudaSetDevice(p.device));
    CUDA_CHECK(cudaStreamSynchronize(p.queue));  // its last operation is the copy of the sums
    all.sums[device] = sum_of(all.partial, p);
    all.reports[device].kernel_ms = p.kernel.milliseconds();
  }
}
// END SOLUTION

}  // namespace

result dot(step version, pinning mode, std::span<const float> a, std::span<const float> b,
           int devices) {
  // TODO(5): reject what the contract rejects. Then parts_of() the vectors, a, b and memory for all
  //          sums in pinned memory, a and b write-combined as well, the step, and the sum of all
  //          sums in double. The current device is the same afterwards: keep_current_device.
  // BEGIN SOLUTION
  // STUB: if (version == step::zero_copy) throw not_written("step zero_copy", 1);
  // STUB: throw not_written("step copies", 4);
  const std::size_t n = a.size();
  refuse_if(n != b.size(), "portable_pinned: a has ", n, " elements and b has ", b.size(),
            "; they must be equally long");
  const int there_are = device_count();
  refuse_if(devices < 0 || devices > there_are, "portable_pinned: ", devices,
            " devices shall work, and there are ", there_are);
  const auto workers = static_cast<std::size_t>(devices == 0 ? there_are : devices);
  if (n == 0) return {0, std::vector<device_report>(workers), 0};

  const keep_current_device keep;
  std::vector<part> parts = parts_of(n, workers);
  const std::size_t blocks = parts.back().first_sum + parts.back().blocks;
  // The host only ever writes a and b, and reads the sums: write-combined memory skips its caches.
  const unsigned flags = flags_of(mode);
  job all{.parts = std::move(parts),
          .a{n, flags | cudaHostAllocWriteCombined},
          .b{n, flags | cudaHostAllocWriteCombined},
          .partial{blocks, flags},
          .reports = std::vector<device_report>(workers),
          .sums = std::vector<double>(workers)};
  for (const part& p : all.parts) all.reports[static_cast<std::size_t>(p.device)].elements = p.size;
  std::ranges::copy(a, all.a.host());
  std::ranges::copy(b, all.b.host());

  host_timer total;
  std::list<device_part> memory;  // frees itself after the sum is complete
  if (version == step::zero_copy)
    zero_copy(all);
  else
    copies(all, memory, total);
  const auto value = static_cast<float>(std::accumulate(all.sums.begin(), all.sums.end(), 0.0));
  return {value, std::move(all.reports), static_cast<float>(total.milliseconds())};
  // END SOLUTION
}

}  // namespace lab::portable_pinned
