// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 09.3 heat_interop: what heat_interop.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heat_interop.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/opengl.hpp"
#include "lab/opengl_mapping.hpp"
#include "lab/refuse_if.hpp"
#include "lab/timer.hpp"

namespace lab::heat_interop {

constexpr int kTile = 16;  // a block is kTile x kTile threads
const dim3 kThreads(kTile, kTile);

// --- given: a time step, as in 08.4 --------------------------------------------------------------

__global__ void copy_heaters(int width, int height, const float* heaters, float* cells) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height) {
    const std::size_t here = static_cast<std::size_t>(y) * width + x;
    const float heater = heaters[here];
    if (heater != 0) cells[here] = heater;
  }
}

__global__ void blend(int width, int height, const float* input, float* output) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height) {
    const std::size_t here = static_cast<std::size_t>(y) * width + x;
    const float own = input[here];
    const float up = input[y > 0 ? here - width : here];
    const float down = input[y + 1 < height ? here + width : here];
    const float left = input[x > 0 ? here - 1 : here];
    const float right = input[x + 1 < width ? here + 1 : here];
    const float around = __fadd_rn(__fadd_rn(__fadd_rn(up, down), left), right);
    output[here] = __fadd_rn(own, __fmul_rn(0.25F, __fsub_rn(around, __fmul_rn(4, own))));
  }
}

inline void require_temperatures(const char* name, std::span<const float> cells,
                                 std::size_t count) {
  refuse_if(cells.size() != count, "heat_interop: ", name, " has ", cells.size(),
            " cells, the plate ", count);
  const auto is_bad = [](float t) { return !(std::fabs(t) <= kHottest); };  // true for a NaN, too
  if (const auto bad = std::ranges::find_if(cells, is_bad); bad != cells.end())
    throw invalid_input(std::string("heat_interop: ") + name + "[" +
                        std::to_string(bad - cells.begin()) + "] is " + std::to_string(*bad) +
                        ", which is no temperature from -1e30 to 1e30");
}

inline void require_good(const plate& start, std::span<const rgba> colours, int steps) {
  refuse_if(start.width < 1 || start.height < 1 || start.width > kLongestSide ||
                start.height > kLongestSide,
            "heat_interop: a plate of ", start.width, " x ", start.height,
            " cells cannot be; a side has 1 to ", kLongestSide);
  refuse_if(steps < 0, "heat_interop: ", steps, " steps would go back in time; heat does not");
  refuse_if(colours.size() != kColours, "heat_interop: there are ", colours.size(),
            " colours, and ", kColours, " are needed");
  const auto count = static_cast<std::size_t>(start.width) * static_cast<std::size_t>(start.height);
  require_temperatures("initial", start.initial, count);
  require_temperatures("heaters", start.heaters, count);
}

}  // namespace lab::heat_interop
