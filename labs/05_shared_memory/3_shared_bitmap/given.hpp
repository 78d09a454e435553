// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.3 shared_bitmap: what shared_bitmap.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "shared_bitmap.hpp"

namespace lab::shared_bitmap {

inline void require_wave(std::span<const int> values, const char* name) {
  refuse_if(values.empty(), "shared_bitmap: the wave ", name, " has no values");
  if (std::ranges::any_of(values, [](int value) { return value < 0 || value > kBright; }))
    throw invalid_input(std::string("shared_bitmap: the wave ") + name +
                        " has a value that is not from 0 to " + std::to_string(kBright));
}

inline dim3 grid_for(int width, int height) {
  refuse_if(width < 1 || height < 1, "shared_bitmap: a picture of ", width, " x ", height,
            " pixels has nothing to show");
  const auto tiles = [](int side) { return static_cast<unsigned>((side - 1) / kTile + 1); };
  constexpr unsigned kMost = 65'535;  // blocks of a grid in y; in x there can be more than needed
  refuse_if(tiles(height) > kMost, "shared_bitmap: ", tiles(height),
            " rows of tiles are needed, and a grid has at most ", kMost);
  return dim3(tiles(width), tiles(height));
}

}  // namespace lab::shared_bitmap
