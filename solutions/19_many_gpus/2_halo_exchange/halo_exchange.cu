// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.2 halo_exchange: a plate on several devices that need each other's rows in every time step.
// Edit:  this nearly empty file: TODO(1) to TODO(3); TODO(4) is a bonus.
// Run:   scripts/lab run 19.2 -- --step exchange_first     (then overlapped and wide_halo)
// Test:  scripts/lab test 19.2
// Hints: scripts/lab hint 19.2                  Chapter: docs/19_many_gpus.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::halo_exchange {
namespace {

// TODO(1): a function that sends rows of part k to its neighbours: the first ones to the part
//          above, unless k is 0, and the last ones to the part below, unless k is the last one
//          (cudaMemcpyPeerAsync in the part's queue; part::row(), part::device). Then part::sent is
//          recorded. A part's halo is before row 0 and from row `rows` on, where `rows` is that
//          part's number of rows, not yours.
// BEGIN SOLUTION
/// Puts into the queue of part k: copies of its first and last `rows` own rows to the halos of its
/// neighbours, and then the record of `sent`.
void send_borders(const team& t, std::size_t k, int rows) {
  const part& p = t.parts[k];
  const std::size_t bytes = p.cells_of(rows) * sizeof(float);
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
// END SOLUTION

// TODO(2): step exchange_first: in each time step every part sends a row in both directions; then
//          each waits for the rows from its neighbours (await_neighbours), and computes all its
//          rows (compute), in its queue. Invariant: the buffers of all parts are swapped between
//          the same two time steps, since a part writes into the input of its neighbours.
// BEGIN SOLUTION
void exchange_first(team& t, int steps) {
  for (int i = 0; i < steps; ++i) {
    for (std::size_t k = 0; k < t.parts.size(); ++k) send_borders(t, k, 1);
    for (std::size_t k = 0; k < t.parts.size(); ++k) {
      part& p = t.parts[k];
      await_neighbours(t, k, &part::sent);
      compute(t, p, p.queue, 0, p.rows);
      p.swap();
    }
  }
}
// END SOLUTION

// TODO(3): step overlapped: before the first time step every part sends a row in both directions.
//          In each time step a part computes its first and its last row in `queue`, and all others
//          in `inner`. When all parts have done so, their new rows are sent, while `inner` is still
//          busy. Which stream reads what the other one wrote in the previous time step, and which
//          one overwrites what the other one reads? Use `computed` and `inner_computed` for
//          that. A part may have one row, or two.
// BEGIN SOLUTION
void overlapped(team& t, int steps) {
  for (std::size_t k = 0; k < t.parts.size(); ++k) send_borders(t, k, 1);
  for (int i = 0; i < steps; ++i) {
    for (std::size_t k = 0; k < t.parts.size(); ++k) {
      part& p = t.parts[k];
      await_neighbours(t, k, &part::sent);
      // Both events are those of the previous time step; in the first one there is nothing to wait
      // for.
      CUDA_CHECK(cudaStreamWaitEvent(p.queue, p.inner_computed, 0));
      CUDA_CHECK(cudaStreamWaitEvent(p.inner, p.computed, 0));
      compute(t, p, p.queue, 0, std::min(p.rows, 2), p.rows - 1);  // rows 0 and rows - 1
      CUDA_CHECK(cudaEventRecord(p.computed, p.queue));
      compute(t, p, p.inner, 1, p.rows - 2);
      CUDA_CHECK(cudaEventRecord(p.inner_computed, p.inner));
      p.swap();
    }
    for (std::size_t k = 0; k < t.parts.size(); ++k) send_borders(t, k, 1);
  }
}
// END SOLUTION

// TODO(4, bonus): step wide_halo: exchange `depth` rows, then compute as many time steps without an
//          exchange. In the first of them depth - 1 rows of the halo on each side are computed as
//          well, then one fewer each time; beyond the edge of the plate there are none. At the end
//          fewer than depth time steps may remain. Invariant: no rows are sent to a part that is
//          still computing with its halo.
// BEGIN SOLUTION
void wide_halo(team& t, int steps, int depth) {
  for (int done = 0; done < steps; done += depth) {
    const int rows = std::min(depth, steps - done);
    for (std::size_t k = 0; k < t.parts.size(); ++k) {
      await_neighbours(t, k, &part::computed);
      send_borders(t, k, rows);
    }
    for (std::size_t k = 0; k < t.parts.size(); ++k) {
      part& p = t.parts[k];
      await_neighbours(t, k, &part::sent);
      for (int more = rows - 1; more >= 0; --more) {
        const int above = k > 0 ? more : 0, below = k + 1 < t.parts.size() ? more : 0;
        compute(t, p, p.queue, -above, above + p.rows + below);
        p.swap();
      }
      CUDA_CHECK(cudaEventRecord(p.computed, p.queue));
    }
  }
}
// END SOLUTION

}  // namespace

result simulate(step version, int devices, int width, int height, std::span<const float> initial,
                std::span<const float> heaters, int steps, int depth) {
  // TODO(2): check() of given.hpp rejects what the contract rejects. host_part_of_simulate()
  //          creates the parts, waits and copies; it calls your lambda (team& t, int depth), which
  //          submits all time steps. `depth` is 1, except for wide_halo.
  // BEGIN SOLUTION
  // STUB: if (version == step::exchange_first) throw not_written("step exchange_first", 1);
  // STUB: if (version == step::overlapped) throw not_written("step overlapped", 3);
  // STUB: throw not_written("step wide_halo", 4);
  check(devices, width, height, initial, heaters, steps, depth);
  return host_part_of_simulate(devices, width, height, initial, heaters,
                               version == step::wide_halo ? depth : 1, [&](team& t, int rows) {
                                 if (version == step::exchange_first) exchange_first(t, steps);
                                 if (version == step::overlapped) overlapped(t, steps);
                                 if (version == step::wide_halo) wide_halo(t, steps, rows);
                               });
  // END SOLUTION
}

}  // namespace lab::halo_exchange
