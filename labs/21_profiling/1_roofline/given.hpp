// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.1 roofline: what roofline.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "roofline.hpp"

namespace lab::roofline {

constexpr unsigned kThreads = 256;  // of a block

/// What a launch works on, in device memory. n is not 0.
struct job {
  const float* input;
  float* output;
  std::size_t n;
  unsigned rounds;
};

/// Enough blocks for so many threads.
inline unsigned blocks_for(std::size_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

/// apply(), where launch(job) launches the kernel.
template <class Launch>
result host_part_of_apply(std::span<const float> values, unsigned rounds, const Launch& launch) {
  require_at_most(cudaDevAttrMaxGridDimX, (values.size() + kThreads - 1) / kThreads, "blocks");
  if (values.empty()) return {};  // a grid of no blocks would be an error
  const device_buffer<float> input(values);
  device_buffer<float> output(values.size());
  const float ms = time_kernel([&] {
    launch(job{input.data(), output.data(), values.size(), rounds});
  });
  return {output.to_vector(), ms};
}

// --- what is no measurement ----------------------------------------------------------------------

inline void require_work(const work& done) {
  refuse_if(!(done.operations >= 0 && std::isfinite(done.operations)),
            "roofline: ", done.operations, " operations are no number of operations");
  refuse_if(!(done.bytes >= 0 && std::isfinite(done.bytes)), "roofline: ", done.bytes,
            " bytes are no number of bytes");
}

inline void require_measurements(std::span<const measurement> kernels) {
  for (const measurement& each : kernels) {
    require_work(each.done);
    refuse_if(!(each.ms > 0 && std::isfinite(each.ms)), "roofline: ", each.ms, " ms are no time");
  }
  const auto has = [&](double work::*member) {
    return std::any_of(kernels.begin(), kernels.end(),
                       [member](const measurement& each) { return each.done.*member > 0; });
  };
  refuse_if(!has(&work::operations), "roofline: no kernel with operations was measured");
  refuse_if(!has(&work::bytes), "roofline: no kernel that moves bytes was measured");
}

inline void require_place(const work& done, double ms, const ceilings& roof) {
  require_work(done);
  refuse_if(done.operations == 0 && done.bytes == 0,
            "roofline: a kernel without operations and bytes has no place");
  const auto is_ceiling = [](double rate) { return rate > 0 && std::isfinite(rate); };
  refuse_if(!is_ceiling(roof.bytes_per_second) || !is_ceiling(roof.operations_per_second),
            "roofline: a roof of ", roof.bytes_per_second, " bytes and ",
            roof.operations_per_second, " operations per second; both must be positive");
  refuse_if(!(ms >= 0 && std::isfinite(ms)), "roofline: ", ms, " ms are no time");
}

}  // namespace lab::roofline
