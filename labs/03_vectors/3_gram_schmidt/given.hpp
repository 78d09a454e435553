// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.3 gram_schmidt: what gram_schmidt.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gram_schmidt.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::gram_schmidt {

inline void require_sensible(std::span<const float> a, std::size_t count, std::size_t length) {
  refuse_if(length == 0 ? !a.empty() : a.size() / length != count || a.size() % length != 0,
            "gram_schmidt: ", a.size(), " numbers are not ", count, " vectors of ", length);
  refuse_if(count > length, "gram_schmidt: ", count, " vectors of only ", length,
            " components are always linearly dependent");
  for (std::size_t k = 0; k < count; ++k) {
    float square = 0;
    for (const float component : a.subspan(k * length, length)) square += component * component;
    refuse_if(!std::isfinite(square), "gram_schmidt: vector ", k,
              " has a component that is infinite, not a number or too large to square");
  }
}

}  // namespace lab::gram_schmidt
