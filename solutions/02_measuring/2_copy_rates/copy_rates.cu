// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.2 copy_rates: how fast are copies to the device, and why does the host's memory matter?
// Edit:  this file, from TODO(1) to TODO(4). copy_rates.hpp has the contract.
// Run:   scripts/lab run 02.2
// Test:  scripts/lab test 02.2
// Hints: scripts/lab hint 02.2                     Chapter: docs/02_measuring.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::copy_rates {
namespace {

// --- pinned memory: host memory that stays where it is -------------------------------------------

/// Owns n bytes of pinned memory; n = 0 owns nothing.
class pinned_bytes {
 public:
  explicit pinned_bytes(std::size_t n) : size_(n) {
    if (n == 0) return;
    // TODO(1): allocate n bytes of pinned memory, without any special flags, and keep the pointer
    //          in data_.
    // BEGIN SOLUTION
    // STUB: throw not_written("pinned memory", 1);
    CUDA_CHECK(cudaHostAlloc(&data_, n, cudaHostAllocDefault));
    // END SOLUTION
  }
  ~pinned_bytes() {
    if (data_ == nullptr) return;
    // TODO(1): free it. It came neither from malloc nor from cudaMalloc. (CUDA_CHECK_NOTHROW)
    // BEGIN SOLUTION
    CUDA_CHECK_NOTHROW(cudaFreeHost(data_));
    // END SOLUTION
  }
  pinned_bytes(const pinned_bytes&) = delete;
  pinned_bytes& operator=(const pinned_bytes&) = delete;

  std::span<std::uint8_t> span() { return {data_, size_}; }

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

// --- the copies, and how long they take ----------------------------------------------------------

/// Copies all of `host` to `device`, or back, `copies` times. Returns the time of one copy.
float time_copies(direction dir, std::span<std::uint8_t> host, std::uint8_t* device,
                  unsigned copies) {
  event_timer timer;
  timer.start();
  for (unsigned i = 0; i < copies; ++i) {
    // TODO(2): one copy, and nothing else, because it is being timed. Destination first, then
    //          source, bytes, and direction.
    // BEGIN SOLUTION
    // STUB: throw not_written("the copies", 2);
    if (dir == direction::to_device)
      CUDA_CHECK(cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice));
    else
      CUDA_CHECK(cudaMemcpy(host.data(), device, host.size(), cudaMemcpyDeviceToHost));
    // END SOLUTION
  }
  timer.stop();
  // TODO(3): the mean time of one copy.
  // BEGIN SOLUTION
  // STUB: throw not_written("the time of one copy", 3);
  return timer.milliseconds() / static_cast<float>(copies);
  // END SOLUTION
}

}  // namespace

result copy(memory host_memory, direction dir, std::span<const std::uint8_t> bytes,
            unsigned copies) {
  return host_part_of_copy<pinned_bytes>(time_copies, host_memory, dir, bytes, copies);
}

// --- from a time to a rate -----------------------------------------------------------------------

double gigabytes_per_second(std::size_t bytes, double milliseconds) {
  // TODO(4): 10^9 bytes are a gigabyte, 1000 ms a second. A time that is not
  //          above 0 gives the rate 0.
  // BEGIN SOLUTION
  // STUB: throw not_written("the rate", 4);
  if (!(milliseconds > 0)) return 0;  // nor is NaN
  const double bytes_per_second = static_cast<double>(bytes) / (milliseconds / 1000);
  return bytes_per_second / 1e9;
  // END SOLUTION
}

}  // namespace lab::copy_rates
