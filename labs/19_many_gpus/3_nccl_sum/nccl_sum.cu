// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.3 nccl_sum: sums over all devices, by hand and with NCCL.
// Edit:  this file, from TODO(1) to TODO(8). nccl_sum.hpp has the contract.
// Run:   scripts/lab run 19.3 -- --step ring_by_hand     (then one_thread, thread_per_rank)
// Test:  scripts/lab test 19.3
// Hints: scripts/lab hint 19.3                 Chapter: docs/19_many_gpus.md

#include <cuda_runtime.h>
#include <nccl.h>

#include "given.hpp"

namespace lab::nccl_sum {
namespace {

// --- ring_by_hand: rank k sends to rank k + 1, the last one to the first -------------------------
// In a step all ranks send at the same time. So the sends of all ranks go into the streams before
// anything that waits for them.

/// Puts a copy into the stream of `from`: from its piece at `source` to `target` in `to`'s memory.
void send(rank& from, const rank& to, const float* source, float* target, std::size_t count) {
  // TODO(1): an asynchronous copy from device to device; then record from.sent, so that others can
  //          wait for it. An event can be recorded only in a stream of its device.
  throw not_written("step ring_by_hand", 1);  // 1 to 3
}

void ring_all_reduce(rank_list& ranks, std::size_t n) {
  const int count = static_cast<int>(ranks.size());
  const auto next = [&](int k) -> rank& { return ranks[static_cast<std::size_t>(k + 1) % count]; };
  const auto previous = [&](int k) -> rank& {
    return ranks[static_cast<std::size_t>(k + count - 1) % count];
  };
  for (rank& r : ranks)
    CUDA_CHECK(cudaMemcpyAsync(r.sums.data(), r.own.data(), r.own.size_bytes(),
                               cudaMemcpyDeviceToDevice, r.queue));

  // TODO(2): reduce-scatter, in count - 1 steps. In step s, rank k sends piece k - s of its sums
  //          into the same piece of the next rank's `arrived`; there it is added (given: add()).
  //          Invariant: after step s, rank k has the sum of s + 2 arrays in piece k - 1 - s. A
  //          stream waits (cudaStreamWaitEvent) for the data that it adds.
  throw not_written("step ring_by_hand", 1);  // 1 to 3

  // TODO(3): all-gather, in count - 1 steps. Now piece k + 1 of rank k is complete. It goes around:
  //          into the `sums` of the next rank, which passes it on in the following step.
}

// --- one_thread: a call for each rank, all of them in a group ------------------------------------

void grouped_all_reduce(rank_list& ranks, std::size_t n) {
  // TODO(4): ncclAllReduce for each rank, from `own` to `sums`, in its stream. One thread makes the
  //          calls of several ranks in a group (given.hpp): without it, the first call may wait for
  //          the later ones. Invariant: the calls of all ranks, or of none, are in the group when
  //          it ends, even after an exception. So nothing else belongs in it.
  throw not_written("step one_thread", 4);
}

void grouped(collective operation, rank_list& ranks, std::size_t n, int root) {
  // TODO(5): the same for ncclBroadcast, ncclAllGather and ncclReduceScatter. `count` means
  //          something different in each.
  throw not_written("communicate", 5);
}

// --- thread_per_rank: and one that fails ---------------------------------------------------------

/// Returns when the stream of this rank has finished. Throws if it never will.
void wait_or_give_up(const rank& r, const std::atomic<bool>& somebody_failed) {
  // TODO(6): poll, again and again, whether the stream has finished (cudaStreamQuery), NCCL has
  //          detected an error (ncclCommGetAsyncError), or another rank has failed: that is an
  //          ncclRemoteError. A wait that cannot be interrupted would last forever.
  throw not_written("step thread_per_rank", 6);  // 6 and 7
}

/// The work of rank k, on its own thread. Returns the time of a round.
float work_of_rank(int k, communicators& comms, std::span<const float> own, std::span<float> sums,
                   int rounds, bool fails) {
  std::optional<rank> r;  // outlives the code below
  const auto all_reduce_once = [&] {
    if (fails) throw std::runtime_error("rank " + std::to_string(k) + " fails, as it was told to");
    NCCL_CHECK(ncclAllReduce(r->own.data(), r->sums.data(), own.size(), ncclFloat, ncclSum, r->comm,
                             r->queue));
  };
  const auto wait = [&] { wait_or_give_up(*r, comms.somebody_failed); };
  // TODO(7): make this rank's device current, make the rank (r.emplace), do time_of_a_round(), copy
  //          its sums to the host. Invariant: whatever is thrown in here, in any rank, all ranks
  //          learn of it, and this rank's communicator is aborted *before* its stream is destroyed,
  //          which waits for the work in it.
  throw not_written("step thread_per_rank", 6);  // 6 and 7
}

// --- the dot product: one number per rank --------------------------------------------------------

void grouped_dot(std::deque<dot_rank>& ranks, const communicators& comms) {
  // TODO(8): the kernel of each rank (given: add_products()), which runs on its device; then an
  //          all-reduce of r.sum, one double, in place. What makes it wait for the kernel?
  throw not_written("dot", 8);
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result all_reduce(step version, int devices, std::span<const float> arrays, int rounds) {
  check(devices, arrays);
  check_rounds(rounds);
  if (arrays.empty()) return {};
  if (version == step::thread_per_rank)
    return sums_of_threads(devices, arrays, rounds, work_of_rank);
  return sums_of_one_thread(devices, arrays, rounds, version == step::one_thread,
                            version == step::one_thread ? grouped_all_reduce : ring_all_reduce);
}

std::vector<float> communicate(collective operation, int devices, std::span<const float> arrays,
                               int root) {
  check(operation, devices, arrays, root);
  return results_of_collective(operation, devices, arrays, root, grouped);
}

std::vector<double> dot(int devices, std::span<const float> a, std::span<const float> b) {
  return dots_of_ranks(devices, a, b, grouped_dot);
}

std::vector<outcome> with_a_failure(int devices, std::size_t n, int failing) {
  return outcomes_of_threads(devices, n, failing, work_of_rank);
}

}  // namespace lab::nccl_sum
