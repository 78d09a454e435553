// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The ring in one loop, and a guard object that aborts, in place of try and catch.

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
  CUDA_CHECK(cudaSetDevice(from.number));
  if (count > 0)
    CUDA_CHECK(cudaMemcpyPeerAsync(target, to.number, source, from.number, count * sizeof(float),
                                   from.queue));
  CUDA_CHECK(cudaEventRecord(from.sent, from.queue));
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

  for (int s = 0; s < 2 * (count - 1); ++s) {
    const bool adds = s < count - 1;  // else the sums go around
    for (int k = 0; k < count; ++k) {
      rank& r = ranks[static_cast<std::size_t>(k)];
      const piece p = piece_of(n, count, k - s);
      float* const target = adds ? next(k).arrived.data() : next(k).sums.data();
      send(r, next(k), r.sums.data() + p.begin, target + p.begin, p.size);
    }
    for (int k = count - 1; k >= 0; --k) {
      rank& r = ranks[static_cast<std::size_t>(k)];
      const piece p = piece_of(n, count, k - s - 1);
      CUDA_CHECK(cudaStreamWaitEvent(r.queue, previous(k).sent, 0));
      CUDA_CHECK(cudaSetDevice(r.number));
      if (adds) add(r.sums.data() + p.begin, r.arrived.data() + p.begin, p.size, r.queue);
    }
  }
}

// --- one_thread: a call for each rank, all of them in a group ------------------------------------

void grouped_all_reduce(rank_list& ranks, std::size_t n) {
  group all;
  for (rank& r : ranks) {
    NCCL_CHECK(ncclAllReduce(r.own.data(), r.sums.data(), n, ncclFloat, ncclSum, r.comm, r.queue));
  }
  all.end();
}

void grouped(collective operation, rank_list& ranks, std::size_t n, int root) {
  group all;
  for (rank& r : ranks) {
    switch (operation) {
      case collective::broadcast:
        NCCL_CHECK(ncclBroadcast(r.own.data(), r.sums.data(), n, ncclFloat, root, r.comm, r.queue));
        break;
      case collective::all_gather:
        NCCL_CHECK(ncclAllGather(r.own.data(), r.sums.data(), n, ncclFloat, r.comm, r.queue));
        break;
      case collective::reduce_scatter:
        NCCL_CHECK(ncclReduceScatter(r.own.data(), r.sums.data(), n / ranks.size(), ncclFloat,
                                     ncclSum, r.comm, r.queue));
        break;
    }
  }
  all.end();
}

// --- thread_per_rank: and one that fails ---------------------------------------------------------

/// Returns when the stream of this rank has finished. Throws if it never will.
void wait_or_give_up(const rank& r, const std::atomic<bool>& somebody_failed) {
  for (;;) {
    const cudaError_t status = cudaStreamQuery(r.queue);
    if (status == cudaSuccess) return;
    if (status != cudaErrorNotReady) CUDA_CHECK(status);
    ncclResult_t result = ncclSuccess;
    NCCL_CHECK(ncclCommGetAsyncError(r.comm, &result));
    if (result != ncclInProgress) NCCL_CHECK(result);
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
  struct aborts_unless_done {
    ~aborts_unless_done() {
      if (done) return;
      all.somebody_failed = true;
      all.abort(rank);
    }
    communicators& all;
    int rank;
    bool done = false;
  } end{comms, k};
  CUDA_CHECK(cudaSetDevice(k));
  rank& mine = r.emplace(k, own, sums.size(), comms[k]);
  const float milliseconds = time_of_a_round(rounds, all_reduce_once, wait);
  const std::vector<float> arrived = mine.sums.to_vector();
  std::ranges::copy(arrived, sums.begin());
  end.done = true;
  return milliseconds;
}

// --- the dot product: one number per rank --------------------------------------------------------

void grouped_dot(std::deque<dot_rank>& ranks, const communicators& comms) {
  for (dot_rank& r : ranks) {
    CUDA_CHECK(cudaSetDevice(r.device));
    add_products(r);
  }
  group all;
  for (dot_rank& r : ranks)
    NCCL_CHECK(ncclAllReduce(r.sum.data(), r.sum.data(), 1, ncclDouble, ncclSum, comms[r.device],
                             r.queue));
  all.end();
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
