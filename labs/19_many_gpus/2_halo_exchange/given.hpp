// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.2 halo_exchange: what halo_exchange.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "halo_exchange.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/event.hpp"
#include "lab/keep_current_device.hpp"
#include "lab/peer_access.hpp"
#include "lab/refuse_if.hpp"
#include "lab/stream.hpp"
#include "lab/timer.hpp"

namespace lab::halo_exchange {

/// The rows of one device, with room for `halo` more before them and after them. It belongs to the
/// device that is current when it is made. Rows are counted from its first own one: row -1 is the
/// last one of the device before it.
struct part {
  part(int its_device, int its_first, int its_rows, int its_width, int its_halo)
      : device(its_device),
        first(its_first),
        rows(its_rows),
        width(its_width),
        halo(its_halo),
        heaters(cells_of(rows + 2 * halo)),
        one(cells_of(rows + 2 * halo)),
        other(cells_of(rows + 2 * halo)),
        input(one.data() + cells_of(halo)),
        output(other.data() + cells_of(halo)) {}

  std::size_t cells_of(int count) const {
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(width);
  }
  /// Where a row begins in input; it may be a row of the halo.
  float* row(int number) const { return input + static_cast<std::ptrdiff_t>(number) * width; }
  /// What a time step has written is what the next one reads.
  void swap() { std::swap(input, output); }

  int device;
  int first, rows;  // of the plate
  int width, halo;
  device_buffer<float> heaters, one, other;
  float *input, *output;  // where row 0 begins
  event sent, computed;   // to be recorded in queue
  event inner_computed;   // to be recorded in inner
  stream queue, inner;
};

/// All parts, from the first rows to the last ones.
struct team {
  team() = default;
  team(const team&) = delete;
  team& operator=(const team&) = delete;
  ~team() {  // a device may still send to the memory of another one
    for (const part& p : parts)
      for (const stream* s : {&p.queue, &p.inner}) CUDA_CHECK_NOTHROW(cudaStreamSynchronize(*s));
  }

  std::deque<peer_access> accesses;  // made first, so the last to end
  std::deque<part> parts;
  int width = 0, height = 0;
};

constexpr unsigned kBlockWidth = 64, kBlockHeight = 4;

/// The temperature that a cell has in this time step: that of its heater, if there is one.
__device__ inline float temperature(const float* heaters, const float* cells, std::ptrdiff_t i) {
  return heaters[i] != 0 ? heaters[i] : cells[i];
}

/// One time step for the rows first, first + stride, …: `count` of them. `edge_above` is the first
/// row of the plate, `edge_below` the last one. __fadd_rn, __fsub_rn and __fmul_rn keep the
/// compiler from contracting + and *, so that the reference gets the same bits.
static __global__ void heat_rows(const float* heaters, const float* input, float* output, int width,
                                 int first, int count, int stride, int edge_above, int edge_below) {
  // Rows by the first dimension of the grid: along the others it may have 65,535 blocks only.
  const int x = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x);
  const int n = static_cast<int>(blockIdx.x * blockDim.y + threadIdx.y);
  if (x >= width || n >= count) return;
  const int y = first + n * stride;
  const std::ptrdiff_t here = static_cast<std::ptrdiff_t>(y) * width + x;
  const auto at = [&](std::ptrdiff_t i) { return temperature(heaters, input, i); };
  const float own = at(here);
  const float up = y > edge_above ? at(here - width) : own;
  const float down = y < edge_below ? at(here + width) : own;
  const float left = x > 0 ? at(here - 1) : own, right = x + 1 < width ? at(here + 1) : own;
  const float around = __fadd_rn(__fadd_rn(__fadd_rn(up, down), left), right);
  output[here] = __fadd_rn(own, __fmul_rn(0.25F, __fsub_rn(around, __fmul_rn(4, own))));
}

/// Puts a time step for some rows into a stream of the part: first, first + stride, …. For no rows
/// it does nothing.
inline void compute(const team& t, const part& p, cudaStream_t stream, int first, int count,
                    int stride = 1) {
  if (count <= 0) return;
  CUDA_CHECK(cudaSetDevice(p.device));
  const dim3 threads(kBlockWidth, kBlockHeight);
  const dim3 blocks((static_cast<unsigned>(count) + kBlockHeight - 1) / kBlockHeight,
                    (static_cast<unsigned>(p.width) + kBlockWidth - 1) / kBlockWidth);
  heat_rows<<<blocks, threads, 0, stream>>>(p.heaters.data() + p.cells_of(p.halo), p.input,
                                            p.output, p.width, first, count, stride, -p.first,
                                            t.height - 1 - p.first);
  CUDA_CHECK(cudaGetLastError());
}

/// The queue of part k waits for an event of each of its neighbours: `&part::sent`, for example.
inline void await_neighbours(const team& t, std::size_t k, event part::*name) {
  const auto wait_for = [&](const part& other) {
    CUDA_CHECK(cudaStreamWaitEvent(t.parts[k].queue, other.*name, 0));
  };
  if (k > 0) wait_for(t.parts[k - 1]);
  if (k + 1 < t.parts.size()) wait_for(t.parts[k + 1]);
}

// --- what cannot be simulated --------------------------------------------------------------------

inline void require_temperatures(const char* name, std::span<const float> cells,
                                 std::size_t count) {
  refuse_if(cells.size() != count, "halo_exchange: ", name, " has ", cells.size(),
            " cells, the plate ", count);
  for (const float t : cells)
    refuse_if(!(std::fabs(t) <= kHottest), "halo_exchange: one of the ", name, " is ", t,
              ", which is not a number from -1e30 to 1e30");
}

inline void check(int devices, int width, int height, std::span<const float> initial,
                  std::span<const float> heaters, int steps, int depth) {
  refuse_if(std::min(width, height) < 1 || std::max(width, height) > kLongestSide,
            "halo_exchange: a plate of ", width, " x ", height, " cells; a side has 1 to ",
            kLongestSide);
  const std::size_t count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  require_temperatures("initial", initial, count);
  require_temperatures("heaters", heaters, count);
  refuse_if(steps < 0, "halo_exchange: there cannot be ", steps, " time steps");
  refuse_if(depth < 1 || depth > kMostRows, "halo_exchange: a halo of ", depth,
            " rows; it has 1 to ", kMostRows);
  const int all = device_count();
  refuse_if(devices < 1 || devices > all, "halo_exchange: ", devices,
            " devices were asked for; there are ", all);
}

/// The first row of part k, of `parts`.
inline int first_row(int height, int k, int parts) {
  return static_cast<int>(static_cast<long long>(height) * k / parts);
}

/// simulate(), where run(t, depth) submits all time steps; `depth` is as many rows as there can be.
template <class Run>
result host_part_of_simulate(int devices, int width, int height, std::span<const float> initial,
                             std::span<const float> heaters, int depth, const Run& run) {
  const keep_current_device keep;
  team t;
  t.width = width, t.height = height;
  const int parts = std::min(devices, height);
  depth = std::min(depth, height / parts);  // what the part with the fewest rows has
  for (int k = 0; k + 1 < parts; ++k) {
    t.accesses.emplace_back(k, k + 1);
    t.accesses.emplace_back(k + 1, k);
  }
  for (int k = 0; k < parts; ++k) {
    CUDA_CHECK(cudaSetDevice(k));
    const int first = first_row(height, k, parts), rows = first_row(height, k + 1, parts) - first;
    part& p = t.parts.emplace_back(k, first, rows, width, depth);
    // The device's own rows, and the heaters of its halo too: these do not change.
    CUDA_CHECK(cudaMemcpy(p.input, initial.data() + p.cells_of(first),
                          p.cells_of(rows) * sizeof(float), cudaMemcpyHostToDevice));
    const int from = std::max(first - depth, 0), to = std::min(first + rows + depth, height);
    CUDA_CHECK(cudaMemcpy(p.heaters.data() + p.cells_of(from - first + depth),
                          heaters.data() + p.cells_of(from), p.cells_of(to - from) * sizeof(float),
                          cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaStreamSynchronize(nullptr));  // the copies may still be on their way
  }

  const host_timer timer;
  run(t, depth);
  for (const part& p : t.parts)
    for (const stream* s : {&p.queue, &p.inner}) CUDA_CHECK(cudaStreamSynchronize(*s));
  const auto total_ms = static_cast<float>(timer.milliseconds());

  std::vector<float> cells(initial.size());
  for (const part& p : t.parts) {
    CUDA_CHECK(cudaSetDevice(p.device));
    CUDA_CHECK(cudaMemcpy(cells.data() + p.cells_of(p.first), p.input,
                          p.cells_of(p.rows) * sizeof(float), cudaMemcpyDeviceToHost));
  }
  return {cells, total_ms};
}

}  // namespace lab::halo_exchange
