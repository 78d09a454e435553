// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// overlapped sends the border rows at the beginning of a time step, and computes inner rows first.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::halo_exchange {
namespace {

/// Puts into the queue of part k: copies of its first and last `rows` own rows to the halos of its
/// neighbours, and then the record of `sent`.
void send_borders(const team& t, std::size_t k, int rows) {
  const part& p = t.parts[k];
  const std::size_t bytes = p.cells_of(rows) * sizeof(float);
  CUDA_CHECK(cudaSetDevice(p.device));
  if (k > 0) {
    const part& above = t.parts[k - 1];
    CUDA_CHECK(cudaMemcpyPeerAsync(above.row(above.rows), above.device, p.row(0), p.device, bytes,
                                   p.queue));
  }
  if (k + 1 < t.parts.size()) {
    const part& below = t.parts[k + 1];
    CUDA_CHECK(cudaMemcpyPeerAsync(below.row(-rows), below.device, p.row(p.rows - rows), p.device,
                                   bytes, p.queue));
  }
  CUDA_CHECK(cudaEventRecord(p.sent, p.queue));
}

void exchange_first(team& t, int steps) {
  for (int s = 0; s < steps; ++s) {
    for (std::size_t k = 0; k < t.parts.size(); ++k) send_borders(t, k, 1);
    for (std::size_t k = 0; k < t.parts.size(); ++k) {
      await_neighbours(t, k, &part::sent);
      compute(t, t.parts[k], t.parts[k].queue, 0, t.parts[k].rows);
    }
    for (part& p : t.parts) p.swap();
  }
}

void overlapped(team& t, int steps) {
  const std::size_t count = t.parts.size();
  for (int s = 0; s < steps; ++s) {
    for (std::size_t k = 0; k < count; ++k)
      send_borders(t, k, 1);  // in the first step: the initial values
    if (s > 0)
      for (part& p : t.parts) {
        CUDA_CHECK(cudaStreamWaitEvent(p.inner, p.computed, 0));
        CUDA_CHECK(cudaStreamWaitEvent(p.queue, p.inner_computed, 0));
      }
    for (std::size_t k = 0; k < count; ++k) {
      part& p = t.parts[k];
      compute(t, p, p.inner, 1, p.rows - 2);
      CUDA_CHECK(cudaSetDevice(p.device));
      CUDA_CHECK(cudaEventRecord(p.inner_computed, p.inner));
      await_neighbours(t, k, &part::sent);
      compute(t, p, p.queue, 0, std::min(p.rows, 2), std::max(p.rows - 1, 1));
      CUDA_CHECK(cudaEventRecord(p.computed, p.queue));
    }
    for (part& p : t.parts) p.swap();
  }
}

void wide_halo(team& t, int steps, int depth) {
  const std::size_t count = t.parts.size();
  for (int done = 0; done < steps; done += depth) {
    for (std::size_t k = 0; k < count; ++k) {
      await_neighbours(t, k, &part::computed);
      send_borders(t, k, depth);
    }
    for (std::size_t k = 0; k < count; ++k) {
      part& p = t.parts[k];
      await_neighbours(t, k, &part::sent);
      for (int s = 0; s < std::min(depth, steps - done); ++s) {
        const int more = depth - 1 - s;
        const int above = k > 0 ? more : 0, below = k + 1 < count ? more : 0;
        compute(t, p, p.queue, -above, above + p.rows + below);
        p.swap();
      }
      CUDA_CHECK(cudaSetDevice(p.device));
      CUDA_CHECK(cudaEventRecord(p.computed, p.queue));
    }
  }
}

}  // namespace

result simulate(step version, int devices, int width, int height, std::span<const float> initial,
                std::span<const float> heaters, int steps, int depth) {
  check(devices, width, height, initial, heaters, steps, depth);
  return host_part_of_simulate(devices, width, height, initial, heaters,
                               version == step::wide_halo ? depth : 1, [&](team& t, int rows) {
                                 if (version == step::exchange_first) exchange_first(t, steps);
                                 if (version == step::overlapped) overlapped(t, steps);
                                 if (version == step::wide_halo) wide_halo(t, steps, rows);
                               });
}

}  // namespace lab::halo_exchange
