// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The receiver fetches its piece, in its own stream, after the event by which the sender says that
// it is ready; empty pieces are not copied.

#include <cuda_runtime.h>
#include <nccl.h>

#include "given.hpp"

namespace lab::nccl_sum {
namespace {

// --- ring_by_hand: rank k fetches from rank k - 1, the first one from the last -------------------

void ring_all_reduce(rank_list& ranks, std::size_t n) {
  const int count = static_cast<int>(ranks.size());
  const auto previous = [&](int k) -> rank& {
    return ranks[static_cast<std::size_t>(k + count - 1) % count];
  };
  // Records in the stream of each rank that its pieces of the previous round are complete.
  const auto ready = [&] {
    for (rank& r : ranks) {
      CUDA_CHECK(cudaSetDevice(r.number));
      CUDA_CHECK(cudaEventRecord(r.sent, r.queue));
    }
  };
  const auto pull = [&](rank& r, int number, float* to, const float* from) {
    const piece p = piece_of(n, count, number);
    const rank& other = previous(r.number);
    CUDA_CHECK(cudaSetDevice(r.number));
    CUDA_CHECK(cudaStreamWaitEvent(r.queue, other.sent, 0));
    if (p.size > 0)
      CUDA_CHECK(cudaMemcpyPeerAsync(to + p.begin, r.number, from + p.begin, other.number,
                                     p.size * sizeof(float), r.queue));
    return p;
  };
  ready();
  for (rank& r : ranks)
    for (rank& other : ranks) CUDA_CHECK(cudaStreamWaitEvent(r.queue, other.sent, 0));
  for (rank& r : ranks)
    CUDA_CHECK(cudaMemcpyAsync(r.sums.data(), r.own.data(), r.own.size_bytes(),
                               cudaMemcpyDeviceToDevice, r.queue));

  for (int s = 0; s < count - 1; ++s) {
    ready();
    for (rank& r : ranks) {
      const piece p = pull(r, r.number - 1 - s, r.arrived.data(), previous(r.number).sums.data());
      add(r.sums.data() + p.begin, r.arrived.data() + p.begin, p.size, r.queue);
    }
  }

  for (int s = 0; s < count - 1; ++s) {
    ready();
    for (rank& r : ranks) pull(r, r.number - s, r.sums.data(), previous(r.number).sums.data());
  }
}

// --- one_thread: a call for each rank, all of them in a group ------------------------------------

void grouped_all_reduce(rank_list& ranks, std::size_t n) {
  group calls;
  for (rank& r : ranks)
    NCCL_CHECK(ncclAllReduce(r.own.data(), r.sums.data(), n, ncclFloat, ncclSum, r.comm, r.queue));
  calls.end();
}

void grouped(collective operation, rank_list& ranks, std::size_t n, int root) {
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
}

// --- thread_per_rank: and one that fails ---------------------------------------------------------

/// Returns when the stream of this rank has finished. Throws if it never will.
void wait_or_give_up(const rank& r, const std::atomic<bool>& somebody_failed) {
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
}

// --- the dot product: one number per rank --------------------------------------------------------

void grouped_dot(std::deque<dot_rank>& ranks, const communicators& comms) {
  for (dot_rank& r : ranks) {
    CUDA_CHECK(cudaSetDevice(r.device));
    add_products(r);
  }
  group calls;
  for (dot_rank& r : ranks)
    NCCL_CHECK(ncclAllReduce(r.sum.data(), r.sum.data(), 1, ncclDouble, ncclSum, comms[r.device],
                             r.queue));
  calls.end();
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
