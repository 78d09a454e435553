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
  // BEGIN SOLUTION
  // STUB: throw not_written("step ring_by_hand", 1);  // 1 to 3
  CUDA_CHECK(cudaSetDevice(from.number));
  CUDA_CHECK(cudaMemcpyPeerAsync(target, to.number, source, from.number, count * sizeof(float),
                                 from.queue));
  CUDA_CHECK(cudaEventRecord(from.sent, from.queue));
  // END SOLUTION
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
  // BEGIN SOLUTION
  // STUB: throw not_written("step ring_by_hand", 1);  // 1 to 3
  for (int s = 0; s < count - 1; ++s) {
    for (rank& r : ranks) {
      const piece p = piece_of(n, count, r.number - s);
      send(r, next(r.number), r.sums.data() + p.begin, next(r.number).arrived.data() + p.begin,
           p.size);
    }
    for (rank& r : ranks) {
      const piece p = piece_of(n, count, r.number - 1 - s);
      CUDA_CHECK(cudaSetDevice(r.number));
      CUDA_CHECK(cudaStreamWaitEvent(r.queue, previous(r.number).sent, 0));
      add(r.sums.data() + p.begin, r.arrived.data() + p.begin, p.size, r.queue);
    }
  }
  // END SOLUTION

  // TODO(3): all-gather, in count - 1 steps. Now piece k + 1 of rank k is complete. It goes around:
  //          into the `sums` of the next rank, which passes it on in the following step.
  // BEGIN SOLUTION
  for (int s = 0; s < count - 1; ++s) {
    for (rank& r : ranks) {
      const piece p = piece_of(n, count, r.number + 1 - s);
      send(r, next(r.number), r.sums.data() + p.begin, next(r.number).sums.data() + p.begin,
           p.size);
    }
    for (rank& r : ranks) CUDA_CHECK(cudaStreamWaitEvent(r.queue, previous(r.number).sent, 0));
  }
  // END SOLUTION
}

// --- one_thread: a call for each rank, all of them in a group ------------------------------------

void grouped_all_reduce(rank_list& ranks, std::size_t n) {
  // TODO(4): ncclAllReduce for each rank, from `own` to `sums`, in its stream. One thread makes the
  //          calls of several ranks in a group (given.hpp): without it, the first call may wait for
  //          the later ones. Invariant: the calls of all ranks, or of none, are in the group when
  //          it ends, even after an exception. So nothing else belongs in it.
  // BEGIN SOLUTION
  // STUB: throw not_written("step one_thread", 4);
  group calls;
  for (rank& r : ranks)
    NCCL_CHECK(ncclAllReduce(r.own.data(), r.sums.data(), n, ncclFloat, ncclSum, r.comm, r.queue));
  calls.end();
  // END SOLUTION
}

void grouped(collective operation, rank_list& ranks, std::size_t n, int root) {
  // TODO(5): the same for ncclBroadcast, ncclAllGather and ncclReduceScatter. `count` means
  //          something different in each.
  // BEGIN SOLUTION
  // STUB: throw not_written("communicate", 5);
  group calls;
  for (rank& r : ranks) {
    const float* from = r.own.data();
    float* to = r.sums.data();
    if (operation == collective::broadcast)
      NCCL_CHECK(ncclBroadcast(from, to, n, ncclFloat, root, r.comm, r.queue));
    if (operation == collective::all_gather)
      NCCL_CHECK(ncclAllGather(from, to, n, ncclFloat, r.comm, r.queue));
    if (operation == collective::reduce_scatter)
      NCCL_CHECK(
          ncclReduceScatter(from, to, n / ranks.size(), ncclFloat, ncclSum, r.comm, r.queue));
  }
  calls.end();
  // END SOLUTION
}

// --- thread_per_rank: and one that fails ---------------------------------------------------------

/// Returns when the stream of this rank has finished. Throws if it never will.
void wait_or_give_up(const rank& r, const std::atomic<bool>& somebody_failed) {
  // TODO(6): poll, again and again, whether the stream has finished (cudaStreamQuery), NCCL has
  //          detected an error (ncclCommGetAsyncError), or another rank has failed: that is an
  //          ncclRemoteError. A wait that cannot be interrupted would last forever.
  // BEGIN SOLUTION
  // STUB: throw not_written("step thread_per_rank", 6);  // 6 and 7
  for (;;) {
    const cudaError_t status = cudaStreamQuery(r.queue);
    if (status == cudaSuccess) return;
    (void)cudaGetLastError();  // "not ready" is an answer here, and no error
    if (status != cudaErrorNotReady) CUDA_CHECK(status);
    ncclResult_t noticed = ncclSuccess;
    NCCL_CHECK(ncclCommGetAsyncError(r.comm, &noticed));
    NCCL_CHECK(noticed);
    if (somebody_failed) NCCL_CHECK(ncclRemoteError);
    std::this_thread::yield();
  }
  // END SOLUTION
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
  // BEGIN SOLUTION
  // STUB: throw not_written("step thread_per_rank", 6);  // 6 and 7
  try {
    CUDA_CHECK(cudaSetDevice(k));
    r.emplace(k, own, own.size(), comms[k]);
    const float milliseconds = time_of_a_round(rounds, all_reduce_once, wait);
    r->sums.copy_to(sums);
    return milliseconds;
  } catch (...) {
    comms.somebody_failed = true;
    comms.abort(k);
    throw;
  }
  // END SOLUTION
}

// --- the dot product: one number per rank --------------------------------------------------------

void grouped_dot(std::deque<dot_rank>& ranks, const communicators& comms) {
  // TODO(8): the kernel of each rank (given: add_products()), which runs on its device; then an
  //          all-reduce of r.sum, one double, in place. What makes it wait for the kernel?
  // BEGIN SOLUTION
  // STUB: throw not_written("dot", 8);
  for (dot_rank& r : ranks) {
    CUDA_CHECK(cudaSetDevice(r.device));
    add_products(r);
  }
  group calls;
  for (dot_rank& r : ranks)
    NCCL_CHECK(ncclAllReduce(r.sum.data(), r.sum.data(), 1, ncclDouble, ncclSum, comms[r.device],
                             r.queue));
  calls.end();
  // END SOLUTION
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
