// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.1 graph_of_steps: what graph_of_steps.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph_of_steps.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/stream.hpp"
#include "lab/timer.hpp"

namespace lab::graph_of_steps {

/// What does not change in a call of simulate(). The heaters are in device memory.
struct plate {
  int width, height;
  const float* heaters;
};

/// The temperatures now, and memory for those after the next time step; on the device.
struct buffers {
  float *input, *output;
};

/// What there is to do.
struct task {
  plate p;
  std::span<const float> strengths;  ///< of the phases
  int steps, batch;
};

constexpr int kTile = 16;
const dim3 kThreads(kTile, kTile);  // of a block: a thread has one cell

inline dim3 blocks_for(const plate& p) {
  return dim3(static_cast<unsigned>((p.width + kTile - 1) / kTile),
              static_cast<unsigned>((p.height + kTile - 1) / kTile));
}

/// The temperature that a cell has in this time step: that of its heater, if there is one.
__device__ inline float temperature(const plate& p, float strength, const float* cells,
                                    std::size_t i) {
  const float heater = p.heaters[i];
  return heater != 0 ? __fmul_rn(strength, heater) : cells[i];
}

/// One time step. __fadd_rn, __fsub_rn and __fmul_rn keep the compiler from contracting + and *, so
/// that the reference gets the same bits.
[[maybe_unused]] static __global__ void heat_step(plate p, float strength, const float* input,
                                                  float* output) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= p.width || y >= p.height) return;
  const std::size_t width = p.width, here = static_cast<std::size_t>(y) * width + x;
  const auto at = [&](std::size_t i) { return temperature(p, strength, input, i); };
  const float own = at(here);
  const float up = y > 0 ? at(here - width) : own, down = y + 1 < p.height ? at(here + width) : own;
  const float left = x > 0 ? at(here - 1) : own, right = x + 1 < p.width ? at(here + 1) : own;
  const float around = __fadd_rn(__fadd_rn(__fadd_rn(up, down), left), right);
  output[here] = __fadd_rn(own, __fmul_rn(0.25F, __fsub_rn(around, __fmul_rn(4, own))));
}

// --- owners --------------------------------------------------------------------------------------

struct destroy {
  void operator()(cudaGraph_t graph) const { CUDA_CHECK_NOTHROW(cudaGraphDestroy(graph)); }
  void operator()(cudaGraphExec_t exec) const { CUDA_CHECK_NOTHROW(cudaGraphExecDestroy(exec)); }
};
/// A graph, and an executable graph; get() is the handle. Both may own nothing.
using graph_owner = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, destroy>;
using exec_owner = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, destroy>;

/// The time in milliseconds from the beginning of run() to the end of what it puts into the stream.
template <class Run>
float time_in(cudaStream_t stream, const Run& run) {
  event_timer timer;
  timer.start(stream);
  try {
    run();
  } catch (...) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
    if (status != cudaStreamCaptureStatusNone)
      throw std::logic_error(
          "graph_of_steps: after an error the stream is still being captured; whatever happens "
          "after cudaStreamBeginCapture, cudaStreamEndCapture has to follow");
    throw;
  }
  timer.stop();
  return timer.milliseconds();  // waits
}

// --- what cannot be simulated --------------------------------------------------------------------

inline void require_numbers(const char* name, std::span<const float> numbers) {
  for (const float number : numbers)
    refuse_if(!(std::fabs(number) <= kHottest), "graph_of_steps: one of the ", name, " is ", number,
              ", which is not a number from -1e15 to 1e15");
}

inline void check(int width, int height, std::span<const float> initial,
                  std::span<const float> heaters, std::span<const float> strengths, int steps,
                  int batch) {
  refuse_if(std::min(width, height) < 0 || std::max(width, height) > kLongestSide,
            "graph_of_steps: a plate of ", width, " x ", height, " cells; a side has 0 to ",
            kLongestSide);
  const std::size_t count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  refuse_if(initial.size() != count || heaters.size() != count, "graph_of_steps: the plate has ",
            count, " cells, but initial has ", initial.size(), " and heaters ", heaters.size());
  require_numbers("cells", initial);
  require_numbers("heaters", heaters);
  require_numbers("strengths", strengths);
  refuse_if(steps < 0, "graph_of_steps: there cannot be ", steps, " time steps");
  refuse_if(batch < 2 || batch > kLongestBatch || batch % 2 != 0, "graph_of_steps: a batch of ",
            batch, " time steps; take an even number from 2 to ", kLongestBatch);
}

/// simulate(), where run(stream, t, b) puts all the work into the stream.
template <class Run>
result host_part_of_simulate(int width, int height, std::span<const float> initial,
                             std::span<const float> heaters, std::span<const float> strengths,
                             int steps, int batch, const Run& run) {
  check(width, height, initial, heaters, strengths, steps, batch);
  if (initial.empty()) return {};
  const device_buffer<float> device_heaters(heaters);
  const task t{{width, height, device_heaters.data()}, strengths, steps, batch};
  device_buffer<float> one(initial), other(initial.size());
  buffers b{one.data(), other.data()};
  const stream queue;  // made last, so its end is the first: all work is done before memory goes
  const float total_ms = time_in(queue, [&] { run(queue, t, b); });
  return {(b.input == one.data() ? one : other).to_vector(), total_ms};
}

}  // namespace lab::graph_of_steps
