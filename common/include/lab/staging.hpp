// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Two long vectors on their way from ordinary host memory to a device, piece by piece.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <thread>

#include "lab/device_buffer.hpp"
#include "lab/device_limits.hpp"
#include "lab/event.hpp"
#include "lab/pinned_buffer.hpp"
#include "lab/stream.hpp"

namespace lab {

constexpr unsigned kStagingSlots = 2;  ///< pieces that fit into a ring

/// How many floats of each vector a piece has: 1 MiB. A host thread has just read and written them
/// when the device fetches them, so shorter pieces are still in the processor's caches. Pieces that
/// are too short are mostly CUDA calls, which take some microseconds each.
constexpr std::size_t kStagingPiece = std::size_t{1} << 18;

/// How many pieces n elements have.
inline std::size_t staging_pieces(std::size_t n) { return (n + kStagingPiece - 1) / kStagingPiece; }

/// How many host threads should share the pieces of n elements, when so many devices are served at
/// once. One thread copies at a fraction of the bus's rate. The limit of eight bounds the pinned
/// memory.
inline std::size_t staging_threads(std::size_t n, std::size_t devices = 1) {
  // The CPU device's own threads need the processors, too.
  const std::size_t processors = std::max(std::thread::hardware_concurrency(), 1U);
  const std::size_t most =
      on_cpu_device() ? 2 : std::clamp<std::size_t>(processors / 2 / devices, 2, 8);
  return std::min(most, staging_pieces(n));
}

/// What one of these host threads has of its own. Belongs to the device that is current when it is
/// made.
struct staging_lane {
  /// For `pieces` pieces, each of which is worked on by `blocks` blocks that leave a sum each.
  staging_lane(std::size_t pieces, unsigned its_blocks)
      : blocks(its_blocks), partial(pieces * its_blocks) {}

  unsigned blocks;
  /// A slot is a piece of a, and then one of b.
  pinned_buffer<float> ring{kStagingSlots * 2 * kStagingPiece};
  event fetched[kStagingSlots];  ///< the device has what was in that slot
  device_buffer<float> a{kStagingPiece}, b{kStagingPiece};  ///< a piece of each vector
  device_buffer<float> partial;                             ///< the blocks' sums, piece after piece
  stream queue;  ///< destroyed first: pending work ends before the memory is freed
};

}  // namespace lab
