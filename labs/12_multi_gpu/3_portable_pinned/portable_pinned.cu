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

namespace {

// TODO(2): the flags: mapped in any case; portable unless one device is enough. And what the
//          current device reports about the memory (device_report): cudaHostGetFlags,
//          cudaPointerGetAttributes, and a comparison of the two pointers.

// TODO(3): step zero_copy, in_a_thread_each() of the parts (parts.hpp). A thread chooses its
//          device, looks at the memory, and launches, with launch() of given.hpp, a kernel that
//          reads its part and stores its blocks' sums in their elements of pinned memory. An
//          event_timer measures it. Invariants: each thread selects its device before it queries
//          a pointer or launches; no sum is read before it has been written, and no copy waits
//          for the kernel.

// TODO(4): step copies: three loops over the parts, each with the part's device current. The first
//          creates a device_part (given.hpp) for each, and calls look(). The time starts then:
//          allocations are not measured. The second queues, in the part's stream, the copies of a
//          and b, the kernel, and the copy of its sums into pinned memory. The third waits for each
//          stream. Invariant: no device waits until another one has its data.

}  // namespace

result dot(step version, pinning mode, std::span<const float> a, std::span<const float> b,
           int devices) {
  // TODO(5): reject what the contract rejects. Then parts_of() the vectors, a, b and memory for all
  //          sums in pinned memory, a and b write-combined as well, the step, and the sum of all
  //          sums in double. The current device is the same afterwards: keep_current_device.
  if (version == step::zero_copy) throw not_written("step zero_copy", 1);
  throw not_written("step copies", 4);
}

}  // namespace lab::portable_pinned
