// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.2 multi_gpu_dot: one sum, computed by all devices.
// Edit:  this file, from TODO(1) to TODO(5); TODO(6) is a bonus. Contract: multi_gpu_dot.hpp
// Run:   scripts/lab run 12.2 -- --step thread_per_device     (then --step one_thread)
// Test:  scripts/lab test 12.2
// Hints: scripts/lab hint 12.2                                Chapter: docs/12_multi_gpu.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::multi_gpu_dot {
// --- both steps: how the work is divided ---------------------------------------------------------

std::vector<std::size_t> split(std::size_t n, std::span<const double> shares) {
  for (const double share : shares)
    refuse_if(!std::isfinite(share) || share < 0,
              "multi_gpu_dot: a share must be a number from 0 on, and one is ", share);
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  refuse_if(!(all > 0) || !std::isfinite(all), "multi_gpu_dot: the shares add up to ", all,
            ", and a part of that means nothing");

  // TODO(1): cut after the shares 0, 0 + 1, 0 + 1 + 2, …: at n times their sum / all, rounded
  //          down. Every element belongs to exactly one part: where one ends, the next one begins.
  //          Where the shares so far add up to all, the cut is exactly n, without rounding.
  //          Multiply first, in long double: the quotient is rounded, the product may be large.
  throw not_written("split", 1);
}

namespace {

// --- thread_per_device: each host thread has its own current device ------------------------------
// Requires that errors in a thread are passed to the caller: an exception that leaves a thread's
// function ends the program.

/// All the work for one part, in a thread that uses only `device`.
part_result work_of_device(int device, std::span<const float> a, std::span<const float> b) {
  // TODO(2): make `device` this thread's current one, before anything else: memory, events and
  //          launches all belong to the device that is current at that moment. Then as before:
  //          buffers; then, with a host_timer running, the copies, a timed_launch() (in the
  //          default stream: nullptr), the partial sums.
  throw not_written("work_of_device", 2);
}

result thread_per_device(std::span<const float> a, std::span<const float> b,
                         std::span<const std::size_t> cuts) {
  // TODO(3): a std::jthread for each part that has elements, with work_of_device(k, …) of that
  //          part. Each thread stores its result in its own element, and so its exception, if any
  //          (std::current_exception()). When all have ended, rethrow the first exception.
  throw not_written("step thread_per_device", 3);
}

}  // namespace

// --- one_thread: the current device is switched, and the devices keep working --------------------
// Requires that the host does not wait before all devices have their work, and that the caller's
// current device is restored.

/// While it lives, the current device may be changed; its destructor restores it.
class keep_current_device {
 public:
  // TODO(4): the constructor remembers the current device, the destructor makes it current again.
  //          A destructor must not throw: CUDA_CHECK_NOTHROW.
  keep_current_device() {}
  ~keep_current_device() {}
  keep_current_device(const keep_current_device&) = delete;
  keep_current_device& operator=(const keep_current_device&) = delete;

 private:
  int device_ = 0;
};

/// Given: what one device needs for its part. Belongs to the device that is current when it is
/// created.
struct device_part {
  device_part(int its_device, std::size_t its_begin, std::size_t n)
      : device(its_device), begin(its_begin), a(n), b(n), partial(blocks_for(n, its_device)) {}

  int device;
  std::size_t begin;  // its first element
  device_buffer<float> a, b, partial;
  event_timer kernel;
  stream queue;  // destroyed first: its work ends before the memory is freed
};

namespace {

result one_thread(std::span<const float> a, std::span<const float> b,
                  std::span<const std::size_t> cuts) {
  const keep_current_device keep;
  std::list<device_part> parts;
  // TODO(5): three loops, over the parts that have elements. The first creates each part's
  //          device_part. Now a host_timer. The second queues the part's copies
  //          (cudaMemcpyAsync) and its timed_launch(), in its stream. The third waits for each
  //          stream, and collects sums and times. All three must select the right current device
  //          for each part.
  throw not_written("step one_thread", 5);
}

// --- staged: the vectors are in pageable memory, and no device waits for another -----------------
// Requires memory and streams that belong to the device of the thread that uses them.

result staged(std::span<const float> a, std::span<const float> b,
              std::span<const std::size_t> cuts) {
  const keep_current_device keep;
  const std::vector<share_of_pieces> shares = shares_of_pieces(cuts);
  std::vector<std::unique_ptr<staging_lane>> lanes;
  // TODO(6, bonus): a lane for each share, created while its device is current, for its pieces
  //                 and blocks_for(kStagingPiece, …). Then, with a host_timer running,
  //                 in_host_threads() that choose their device and send their pieces. Then the sum
  //                 of all lanes, each when its stream is done. Both times are the host_timer's.
  throw not_written("step staged", 6);
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result dot(step version, std::span<const float> a, std::span<const float> b,
           std::span<const double> shares) {
  refuse_if(a.size() != b.size(), "multi_gpu_dot: a has ", a.size(), " elements and b has ",
            b.size(), "; they must be equally long");
  const auto devices = static_cast<std::size_t>(device_count());
  refuse_if(shares.size() > devices, "multi_gpu_dot: there are ", shares.size(),
            " shares, but only ", devices, (devices == 1 ? " device" : " devices"));
  const std::vector<double> equal(devices, 1.0);
  const std::vector<std::size_t> cuts = split(a.size(), shares.empty() ? equal : shares);

  if (a.empty()) return {};  // there is no work for any device
  switch (version) {
    case step::thread_per_device:
      return thread_per_device(a, b, cuts);
    case step::one_thread:
      return one_thread(a, b, cuts);
    case step::staged:
      return staged(a, b, cuts);
  }
  throw invalid_input("multi_gpu_dot: there is no such step");
}

}  // namespace lab::multi_gpu_dot
