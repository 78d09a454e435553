// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/sort_baseline.hpp"

namespace lab {

std::optional<float> library_sort_milliseconds(std::span<const std::uint32_t>,
                                               std::span<const std::uint32_t>, batch) {
  return std::nullopt;  // a library's time on host threads says nothing about a GPU
}

}  // namespace lab
