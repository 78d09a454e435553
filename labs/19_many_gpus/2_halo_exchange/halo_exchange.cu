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

// TODO(2): step exchange_first: in each time step every part sends a row in both directions; then
//          each waits for the rows from its neighbours (await_neighbours), and computes all its
//          rows (compute), in its queue. Invariant: the buffers of all parts are swapped between
//          the same two time steps, since a part writes into the input of its neighbours.

// TODO(3): step overlapped: before the first time step every part sends a row in both directions.
//          In each time step a part computes its first and its last row in `queue`, and all others
//          in `inner`. When all parts have done so, their new rows are sent, while `inner` is still
//          busy. Which stream reads what the other one wrote in the previous time step, and which
//          one overwrites what the other one reads? Use `computed` and `inner_computed` for
//          that. A part may have one row, or two.

// TODO(4, bonus): step wide_halo: exchange `depth` rows, then compute as many time steps without an
//          exchange. In the first of them depth - 1 rows of the halo on each side are computed as
//          well, then one fewer each time; beyond the edge of the plate there are none. At the end
//          fewer than depth time steps may remain. Invariant: no rows are sent to a part that is
//          still computing with its halo.

}  // namespace

result simulate(step version, int devices, int width, int height, std::span<const float> initial,
                std::span<const float> heaters, int steps, int depth) {
  // TODO(2): check() of given.hpp rejects what the contract rejects. host_part_of_simulate()
  //          creates the parts, waits and copies; it calls your lambda (team& t, int depth), which
  //          submits all time steps. `depth` is 1, except for wide_halo.
  if (version == step::exchange_first) throw not_written("step exchange_first", 1);
  if (version == step::overlapped) throw not_written("step overlapped", 3);
  throw not_written("step wide_halo", 4);
}

}  // namespace lab::halo_exchange
