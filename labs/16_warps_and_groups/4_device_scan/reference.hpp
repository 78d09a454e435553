// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.4 device_scan: the same on the host. Whole numbers modulo 2^32: nothing is rounded.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "device_scan.hpp"

namespace lab::device_scan {

inline std::vector<std::uint32_t> reference_scan(kind mode, std::span<const std::uint32_t> values) {
  std::vector<std::uint32_t> scanned(values.size());
  if (mode == kind::inclusive)
    std::inclusive_scan(values.begin(), values.end(), scanned.begin());
  else
    std::exclusive_scan(values.begin(), values.end(), scanned.begin(), std::uint32_t{0});
  return scanned;
}

}  // namespace lab::device_scan
