// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.3 portable_pinned: one piece of host memory, and all devices at work on it.
// Edit:  this file, from TODO(1) to TODO(5). portable_pinned.hpp says what is asked for.
// Run:   scripts/lab run 12.3 -- --step zero_copy     (then --step copies)
// Test:  scripts/lab test 12.3
// Hints: scripts/lab hint 12.3                        Chapter: docs/12_multi_gpu.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::portable_pinned {

// --- both steps: memory that every device can use ------------------------------------------------

/// n floats of host memory that stay where they are.
class pinned_buffer {
 public:
  /// `flags` are those of cudaHostAlloc. n is not 0.
  pinned_buffer(std::size_t n, unsigned flags) : size_(n) {
    // TODO(1): n floats, with these flags. They will be copied from and read by several devices at
    //          a time, so they have to come from CUDA: a device cannot read memory that may move
    //          meanwhile.
    throw not_written("pinned memory", 1);
  }
  /// Once, whichever device is current then.
  ~pinned_buffer() { CUDA_CHECK_NOTHROW(cudaFreeHost(host_)); }
  pinned_buffer(const pinned_buffer&) = delete;
  pinned_buffer& operator=(const pinned_buffer&) = delete;

  /// For the host, and for cudaMemcpy to whichever device.
  float* host() const { return host_; }
  std::size_t size() const { return size_; }

  /// For kernels of the *current device*.
  float* device() const {
    // TODO(2): ask CUDA. Write-combined memory may have an address of its own on the devices.
    throw not_written("the device's pointer", 2);
  }

 private:
  float* host_ = nullptr;
  std::size_t size_ = 0;
};

namespace {

/// The flags of memory that kernels can reach, pinned for those who need it.
unsigned flags_of(pinning how) {
  // TODO(1): mapped in any case; portable unless one device is enough.
  return cudaHostAllocDefault;
}

/// What the current device says of the memory: the flags, and the two bools.
void look(const pinned_buffer& memory, device_report& seen) {
  // TODO(3): cudaHostGetFlags, cudaPointerGetAttributes, and a comparison of the two pointers. Does
  //          a device that has not allocated the memory see anything else than the one that has?
  throw not_written("a look at the memory", 3);
}

// --- given: how the work is handed out, with parts.hpp -------------------------------------------

/// The sum of one device's blocks, in double.
double sum_of(const pinned_buffer& partial, const part& its) {
  const float* first = partial.host() + its.first_sum;
  return std::accumulate(first, first + its.blocks, 0.0);
}

/// The vectors in pinned memory, room for the sums of all blocks of all devices there, and what is
/// found out.
struct job {
  std::vector<part> parts;
  pinned_buffer a, b, partial;
  std::vector<device_report> reports;  // of device 0, 1, …
  std::vector<double> sums;            // theirs
};

// --- zero_copy: the kernels of all devices read the same memory ----------------------------------
// Requires that each host thread has said which device it works for, before it asks for a pointer
// or launches; and that no sum is read before it is there.

void zero_copy(job& all) {
  // TODO(4): in_a_thread_each(all.parts, …). A thread: chooses its device; looks at all.a, for
  //          all.reports[its device]; launches, in the default stream and between start() and
  //          stop() of an event_timer, a kernel that reads its elements and stores its blocks'
  //          sums in its place of all.partial. No copy will wait for that kernel: who does? Then
  //          the sum, into all.sums[its device], and the kernel's time, into the report.
  throw not_written("step zero_copy", 4);
}

// --- copies: the devices fetch their parts at the same time --------------------------------------
// Requires pinned memory: from any other, cudaMemcpyAsync may come back only when the data is on
// its way, and the next device's copy would begin after this one's.

void copies(job& all, std::list<device_part>& memory, host_timer& total) {
  // TODO(5): three loops over the parts, each with the part's device current. The first fills
  //          `memory`, and looks. (Then total.restart(): allocations are not measured.) The second
  //          queues, in the part's stream, the copies of a and b, the kernel, and the copy of its
  //          sums into their place of all.partial: also one that waits for nothing, since that
  //          memory is pinned. The third waits for each stream, and notes sum and time.
  throw not_written("step copies", 5);
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result dot(step which, pinning how, std::span<const float> a, std::span<const float> b,
           int devices) {
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
  const unsigned flags = flags_of(how);
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
  std::list<device_part> memory;  // frees itself after the sum is there
  if (which == step::zero_copy)
    zero_copy(all);
  else
    copies(all, memory, total);
  const auto value = static_cast<float>(std::accumulate(all.sums.begin(), all.sums.end(), 0.0));
  return {value, std::move(all.reports), static_cast<float>(total.milliseconds())};
}

}  // namespace lab::portable_pinned
