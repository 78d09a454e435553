// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.4 heat_transfer: what heat_transfer.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device_memory.hpp"
#include "heat_transfer.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/texture.hpp"
#include "lab/time_kernel.hpp"

namespace lab::heat_transfer {

/// What simulate() was asked for, checked.
struct task {
  int width, height;
  std::span<const float> initial, heaters;
  int steps;

  std::size_t count() const { return initial.size(); }
};

constexpr int kTile = 16;  // a block of the first three steps is kTile x kTile threads
const dim3 kThreads(kTile, kTile);

constexpr unsigned kAllLanes = 0xFFFFFFFF;  // of a warp: they all take part in a shuffle

/// Enough blocks to cover the plate, where a block covers wide x high cells.
inline dim3 blocks_of(int wide, int high, const task& plate) {
  return dim3(static_cast<unsigned>((plate.width + wide - 1) / wide),
              static_cast<unsigned>((plate.height + high - 1) / high));
}

inline void require_temperatures(const char* name, std::span<const float> cells,
                                 std::size_t count) {
  refuse_if(cells.size() != count, "heat_transfer: ", name, " has ", cells.size(),
            " cells, the plate ", count);
  const auto is_bad = [](float t) { return !(std::fabs(t) <= kHottest); };  // true for a NaN, too
  const auto bad = std::ranges::find_if(cells, is_bad);
  if (bad != cells.end())
    throw invalid_input(std::string("heat_transfer: ") + name + "[" +
                        std::to_string(bad - cells.begin()) + "] is " + std::to_string(*bad) +
                        ", which is no temperature from -1e30 to 1e30");
}

inline void require_good(const task& plate) {
  const auto [width, height, initial, heaters, steps] = plate;
  refuse_if(width < 1 || height < 1 || width > kLongestSide || height > kLongestSide,
            "heat_transfer: a plate of ", width, " x ", height,
            " cells cannot be; a side has 1 to ", kLongestSide);
  refuse_if(steps < 0, "heat_transfer: ", steps, " steps would go back in time; heat does not");
  const std::size_t count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  require_temperatures("initial", initial, count);
  require_temperatures("heaters", heaters, count);
}

/// The device's textures have limits of their own: asked for, never assumed.
inline void require_texture_fits(step name, const task& plate) {
  std::string limit;
  if (name == step::texture_1d) {
    const std::size_t most = most_texels_in_linear_memory();
    if (plate.count() > most) limit = std::to_string(most) + " cells";
  } else if (name == step::texture_2d) {
    int device = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    cudaDeviceProp properties;
    CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    const int* most = properties.maxTexture2DLinear;  // width and height, and a pitch in bytes
    const int widest = std::min(most[0], most[2] / static_cast<int>(sizeof(float)));
    if (plate.width > widest || plate.height > most[1])
      limit = std::to_string(widest) + " x " + std::to_string(most[1]) + " cells";
  }
  refuse_if(!limit.empty(), "heat_transfer: a plate of ", plate.width, " x ", plate.height,
            " cells is too large for this texture, which has at most ", limit);
}

}  // namespace lab::heat_transfer
