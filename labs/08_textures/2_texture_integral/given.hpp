// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.2 texture_integral: what texture_integral.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "lab/block_sum.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/texture.hpp"
#include "lab/time_kernel.hpp"
#include "texture_integral.hpp"

namespace lab::texture_integral {

inline void require_sensible(std::span<const float> samples, double from, double to) {
  const std::size_t most = most_texels_in_linear_memory();
  refuse_if(samples.empty() || samples.size() > most, "texture_integral: ", samples.size(),
            " samples, where this device's textures allow from 1 to ", most);
  refuse_if(!std::isfinite(to - from),  // nor is it where one of them is not finite
            "texture_integral: from ", from, " to ", to, " is no finite distance");
}

}  // namespace lab::texture_integral
