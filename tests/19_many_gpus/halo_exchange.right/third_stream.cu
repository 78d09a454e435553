// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Rows travel in a third stream of each device; a thread computes up to eight cells of a column.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::halo_exchange {
namespace {

constexpr int kCells = 8;

__global__ void walk_down(const float* heaters, const float* in, float* out, int width, int first,
                          int count, int stride, int top, int bottom) {
  const int x = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x);
  if (x >= width) return;
  const int begin = static_cast<int>(blockIdx.x) * kCells;
  for (int n = begin; n < begin + kCells && n < count; ++n) {
    const int y = first + n * stride;
    const std::ptrdiff_t i = static_cast<std::ptrdiff_t>(y) * width + x;
    const float own = temperature(heaters, in, i);
    const float up = y == top ? own : temperature(heaters, in, i - width);
    const float down = y == bottom ? own : temperature(heaters, in, i + width);
    const float left = x == 0 ? own : temperature(heaters, in, i - 1);
    const float right = x == width - 1 ? own : temperature(heaters, in, i + 1);
    const float sum = __fadd_rn(__fadd_rn(__fadd_rn(up, down), left), right);
    out[i] = __fadd_rn(own, __fmul_rn(0.25F, __fsub_rn(sum, __fmul_rn(4, own))));
  }
}

void launch(const team& t, const part& p, cudaStream_t queue, int first, int count,
            int stride = 1) {
  if (count < 1) return;
  CUDA_CHECK(cudaSetDevice(p.device));
  const dim3 blocks(static_cast<unsigned>((count + kCells - 1) / kCells),
                    static_cast<unsigned>((p.width + 127) / 128));
  walk_down<<<blocks, 128, 0, queue>>>(p.heaters.data() + p.cells_of(p.halo), p.input, p.output,
                                       p.width, first, count, stride, -p.first,
                                       t.height - 1 - p.first);
  CUDA_CHECK(cudaGetLastError());
}

using streams = std::deque<stream>;  // one of each device, for the copies

void make_streams(const team& t, streams& made) {
  for (const part& p : t.parts) {
    CUDA_CHECK(cudaSetDevice(p.device));
    made.emplace_back();
  }
}

void exchange(const team& t, const streams& copies, int rows) {
  for (std::size_t k = 0; k < t.parts.size(); ++k) {
    const part& p = t.parts[k];
    const std::size_t bytes = p.cells_of(rows) * sizeof(float);
    CUDA_CHECK(cudaStreamWaitEvent(copies[k], p.computed, 0));
    if (k > 0) {
      const part& above = t.parts[k - 1];
      CUDA_CHECK(cudaStreamWaitEvent(copies[k], above.computed, 0));
      CUDA_CHECK(cudaMemcpyPeerAsync(above.row(above.rows), above.device, p.row(0), p.device, bytes,
                                     copies[k]));
    }
    if (k + 1 < t.parts.size()) {
      const part& below = t.parts[k + 1];
      CUDA_CHECK(cudaStreamWaitEvent(copies[k], below.computed, 0));
      CUDA_CHECK(cudaMemcpyPeerAsync(below.row(-rows), below.device, p.row(p.rows - rows), p.device,
                                     bytes, copies[k]));
    }
    CUDA_CHECK(cudaEventRecord(p.sent, copies[k]));
  }
  for (std::size_t k = 0; k < t.parts.size(); ++k) {
    CUDA_CHECK(cudaStreamWaitEvent(t.parts[k].queue, t.parts[k].sent, 0));
    await_neighbours(t, k, &part::sent);
  }
}

void in_rounds(team& t, const streams& copies, int steps, int depth) {
  for (int left = steps; left > 0; left -= depth) {
    exchange(t, copies, depth);
    for (std::size_t k = 0; k < t.parts.size(); ++k) {
      part& p = t.parts[k];
      for (int extra = std::min(left, depth) - 1; extra >= 0; --extra) {
        const int above = k > 0 ? extra : 0, below = k + 1 < t.parts.size() ? extra : 0;
        launch(t, p, p.queue, -above, p.rows + above + below);
        p.swap();
      }
      CUDA_CHECK(cudaEventRecord(p.computed, p.queue));
    }
  }
}

void overlapped(team& t, const streams& copies, int steps) {
  for (int i = 0; i < steps; ++i) {
    exchange(t, copies, 1);
    for (part& p : t.parts) {
      CUDA_CHECK(cudaStreamWaitEvent(p.queue, p.inner_computed, 0));
      CUDA_CHECK(cudaStreamWaitEvent(p.inner, p.computed, 0));
      launch(t, p, p.queue, 0, std::min(p.rows, 2), std::max(p.rows - 1, 1));
      launch(t, p, p.inner, 1, p.rows - 2);
      CUDA_CHECK(cudaEventRecord(p.computed, p.queue));
      CUDA_CHECK(cudaEventRecord(p.inner_computed, p.inner));
    }
    for (part& p : t.parts) p.swap();
  }
}

}  // namespace

result simulate(step version, int devices, int width, int height, std::span<const float> initial,
                std::span<const float> heaters, int steps, int depth) {
  check(devices, width, height, initial, heaters, steps, depth);
  return host_part_of_simulate(devices, width, height, initial, heaters,
                               version == step::wide_halo ? depth : 1, [&](team& t, int rows) {
                                 streams copies;
                                 make_streams(t, copies);
                                 if (version == step::overlapped)
                                   overlapped(t, copies, steps);
                                 else
                                   in_rounds(t, copies, steps, rows);
                               });
}

}  // namespace lab::halo_exchange
