// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the warp-wide collectives share: a (logical) warp's lanes, and the storage they meet in.
#pragma once

#include <cuda_runtime.h>

#include <cub/detail/storage.cuh>

namespace cub::detail {

/// The calling lane among the `Lanes` of its logical warp.
template <int Lanes>
struct logical_warp {
  static_assert(Lanes >= 1 && Lanes <= 32, "a logical warp has 1 to 32 lanes");
  int lane;       ///< in the logical warp
  unsigned mask;  ///< its lanes that the block has
  int there;      ///< how many those are

  logical_warp() {
    const int in_warp = static_cast<int>(::cpu_device::lane_id());
    const int first = in_warp / Lanes * Lanes;
    const int warp = thread_of_block() / 32 * 32;
    const int block = static_cast<int>(blockDim.x * blockDim.y * blockDim.z);
    lane = in_warp - first;
    there = Lanes;
    if (first + there > 32) there = 32 - first;
    if (warp + first + there > block) there = block - warp - first;
    mask = (there == 32 ? 0xffffffffU : (1U << there) - 1U) << first;
  }
};

template <class T, int Lanes>
struct warp_storage {
  slots<T, Lanes> value;
  reuse_guard<Lanes> guard;
};

}  // namespace cub::detail
