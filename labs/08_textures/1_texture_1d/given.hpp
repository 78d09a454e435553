// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.1 texture_1d: what texture_1d.cu starts from. There is nothing to do in here.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/texture.hpp"
#include "lab/time_kernel.hpp"
#include "texture_1d.hpp"

namespace lab::texture_1d {

inline void require_texels(std::size_t count, std::size_t most) {
  refuse_if(count == 0 || count > most, "texture_1d: ", count,
            " texels, where this device allows from 1 to ", most);
}

constexpr unsigned kThreads = 256;

/// The values that launch(blocks, at, values, n) puts into `values`, all of it in device memory.
template <class At, class Launch>
result values_at(std::span<const At> at, const Launch& launch) {
  if (at.empty()) return {};
  const device_buffer device_at(at);
  device_buffer<float> values(at.size());
  const auto blocks = static_cast<unsigned>((at.size() + kThreads - 1) / kThreads);
  const float kernel_ms =
      time_kernel([&] { launch(blocks, device_at.data(), values.data(), at.size()); });
  return {values.to_vector(), kernel_ms};
}

}  // namespace lab::texture_1d
