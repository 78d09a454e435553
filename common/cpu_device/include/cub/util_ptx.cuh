// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime.h>

#include <cub/detail/storage.cuh>

namespace cub {
inline unsigned LaneId() { return ::cpu_device::lane_id(); }
inline unsigned WarpId() { return static_cast<unsigned>(detail::thread_of_block()) / 32; }
inline int RowMajorTid(int, int, int) { return detail::thread_of_block(); }
}  // namespace cub
