// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.3 nccl_sum: what nccl_sum.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <exception>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lab/block_sum.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/event.hpp"
#include "lab/keep_current_device.hpp"
#include "lab/nccl_check.hpp"
#include "lab/peer_access.hpp"
#include "lab/refuse_if.hpp"
#include "lab/stream.hpp"
#include "lab/timer.hpp"
#include "nccl_sum.hpp"

namespace lab::nccl_sum {

// --- owners --------------------------------------------------------------------------------------

/// A communicator for each of the first `count` devices: comms[k] is rank k, with device k.
class communicators {
 public:
  explicit communicators(int count) : comms_(static_cast<std::size_t>(count)) {
    // Connections are made now, and not in the first ncclAllReduce: that would wait for the other
    // ranks then, where nobody can call it back.
    static const int connect_now = setenv("NCCL_RUNTIME_CONNECT", "0", 0);
    (void)connect_now;
    if (count > 0) NCCL_CHECK(ncclCommInitAll(comms_.data(), count, nullptr));
  }
  /// After a failure nobody must wait for the others any more: then they are aborted.
  ~communicators() {
    const bool failed = somebody_failed || std::uncaught_exceptions() > 0;
    for (ncclComm_t comm : comms_) {
      if (comm == nullptr) continue;
      if (failed)
        NCCL_CHECK_NOTHROW(ncclCommAbort(comm));
      else
        NCCL_CHECK_NOTHROW(ncclCommDestroy(comm));
    }
  }
  communicators(const communicators&) = delete;
  communicators& operator=(const communicators&) = delete;

  ncclComm_t operator[](int rank) const { return comms_[static_cast<std::size_t>(rank)]; }
  /// ncclCommAbort for this rank: what it has in a stream ends, and the communicator is gone.
  void abort(int rank) {
    ncclComm_t& comm = comms_[static_cast<std::size_t>(rank)];
    if (comm != nullptr) NCCL_CHECK_NOTHROW(ncclCommAbort(comm));
    comm = nullptr;
  }

  std::atomic<bool> somebody_failed = false;  ///< for the ranks to tell each other

 private:
  std::vector<ncclComm_t> comms_;
};

/// ncclGroupStart() when it is made, ncclGroupEnd() at end(). If an exception comes before that,
/// the group is closed as well: else all later calls of this thread would be taken into it.
class group {
 public:
  group() { NCCL_CHECK(ncclGroupStart()); }
  ~group() {
    if (is_open_) (void)ncclGroupEnd();  // its error is known: it led here
  }
  group(const group&) = delete;
  group& operator=(const group&) = delete;
  void end() {
    is_open_ = false;
    NCCL_CHECK(ncclGroupEnd());
  }

 private:
  bool is_open_ = true;
};

// --- ranks ---------------------------------------------------------------------------------------

/// What a rank has on its device, which has to be current when it is made.
struct rank {
  rank(int its_number, std::span<const float> array, std::size_t results, ncclComm_t its_comm)
      : number(its_number), comm(its_comm), own(array), sums(results), arrived(array.size()) {}

  int number;  ///< of the rank and of its device
  ncclComm_t comm;
  device_buffer<float> own;      ///< its array
  device_buffer<float> sums;     ///< what it has in the end
  device_buffer<float> arrived;  ///< ring_by_hand: for what the previous rank sends to be added
  event sent;                    ///< ring_by_hand: recorded after each piece that it sends
  stream queue;                  ///< destroyed first, after it has waited for what is in it
};
using rank_list = std::deque<rank>;  // a rank stays where it is made

inline rank_list make_ranks(int devices, std::span<const float> arrays, std::size_t results,
                            const communicators* comms) {
  const std::size_t n = arrays.size() / static_cast<std::size_t>(devices);
  rank_list ranks;
  for (int k = 0; k < devices; ++k) {
    CUDA_CHECK(cudaSetDevice(k));
    ranks.emplace_back(k, arrays.subspan(static_cast<std::size_t>(k) * n, n), results,
                       comms != nullptr ? (*comms)[k] : nullptr);
  }
  return ranks;
}

inline void wait_for(const rank_list& ranks) {
  for (const rank& r : ranks) CUDA_CHECK(cudaStreamSynchronize(r.queue));
}

/// What they have in `sums`, one after the other.
inline std::vector<float> results_of(const rank_list& ranks) {
  std::vector<float> all;
  for (const rank& r : ranks) {
    CUDA_CHECK(cudaSetDevice(r.number));
    const std::vector<float> one = r.sums.to_vector();
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

/// The time of one of `rounds` calls of enqueue(). The first one of several is not counted.
template <class Enqueue, class Wait>
float time_of_a_round(int rounds, const Enqueue& enqueue, const Wait& wait) {
  host_timer timer;
  enqueue();
  wait();
  if (rounds > 1) timer.restart();
  for (int i = 1; i < rounds; ++i) enqueue();
  wait();
  return static_cast<float>(timer.milliseconds() / std::max(rounds - 1, 1));
}

// --- for the ring --------------------------------------------------------------------------------

/// Of `pieces` nearly equal parts of n elements number k, also for a k below 0 or beyond the last:
/// after the last comes the first.
struct piece {
  std::size_t begin, size;
};
inline piece piece_of(std::size_t n, int pieces, int k) {
  const auto all = static_cast<std::size_t>(pieces);
  const auto i = static_cast<std::size_t>((k % pieces + pieces) % pieces);
  const std::size_t begin = n * i / all;
  return {begin, n * (i + 1) / all - begin};
}

static __global__ void add_to_each(float* sums, const float* arrived, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) sums[i] += arrived[i];
}
/// sums[i] += arrived[i], on the current device.
inline void add(float* sums, const float* arrived, std::size_t n, cudaStream_t queue) {
  if (n == 0) return;
  add_to_each<<<static_cast<unsigned>((n + 255) / 256), 256, 0, queue>>>(sums, arrived, n);
  CUDA_CHECK(cudaGetLastError());
}

// --- for the dot product -------------------------------------------------------------------------

/// What a device needs for its part, made while it is current.
struct dot_rank {
  dot_rank(int its_device, std::span<const float> its_a, std::span<const float> its_b)
      : device(its_device), a(its_a), b(its_b), sum(std::vector<double>(1, 0.0)) {}

  int device;
  device_buffer<float> a, b;
  device_buffer<double> sum;  ///< one number, which is 0
  stream queue;
};

static __global__ void add_products(const float* a, const float* b, std::size_t n, double* sum) {
  __shared__ double cache[256];
  double mine = 0;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    mine += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  const double of_block = sum_of_block(cache, mine);
  if (threadIdx.x == 0) atomicAdd(sum, of_block);
}
/// Adds the products of its part to r.sum, in its stream. The device has to be current.
inline void add_products(dot_rank& r) {
  if (r.a.empty()) return;
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>((r.a.size() + 255) / 256, 1024));
  add_products<<<blocks, 256, 0, r.queue>>>(r.a.data(), r.b.data(), r.a.size(), r.sum.data());
  CUDA_CHECK(cudaGetLastError());
}

// --- for a thread per rank -----------------------------------------------------------------------

/// work(0), work(1), … on a thread each; what they have thrown.
template <class Work>
std::vector<std::exception_ptr> on_threads(int count, const Work& work) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(count));
  std::vector<std::jthread> threads;
  for (int k = 0; k < count; ++k)
    threads.emplace_back([k, &work, &errors] {
      try {
        work(k);
      } catch (...) {
        errors[static_cast<std::size_t>(k)] = std::current_exception();
      }
    });
  threads.clear();  // waits
  return errors;
}

inline std::string sentence_of(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  }
  return {};
}

/// Whether that is only what a rank says of the failure of another one.
inline bool is_of_another_rank(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const nccl_error& exception) {
    return exception.result() == ncclRemoteError;
  } catch (const std::exception&) {
  }
  return false;
}

inline bool is_not_written(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const not_written&) {
    return true;
  } catch (const std::exception&) {
  }
  return false;
}

/// Throws the error that the others followed from, if there is one.
inline void rethrow_cause(std::vector<std::exception_ptr> errors) {
  std::stable_partition(errors.begin(), errors.end(),
                        [](const auto& error) { return error && !is_of_another_rank(error); });
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

// --- what cannot be done -------------------------------------------------------------------------

inline void check(int devices, std::span<const float> arrays) {
  const int there = device_count();
  refuse_if(devices < 1 || devices > there, "nccl_sum: there cannot be ", devices,
            " ranks, with a device each: this machine has ", there);
  refuse_if(arrays.size() % static_cast<std::size_t>(devices) != 0, "nccl_sum: ", arrays.size(),
            " numbers are not the same number for each of ", devices, " devices");
}
inline void check_rounds(int rounds) {
  refuse_if(rounds < 1, "nccl_sum: there cannot be ", rounds, " rounds");
}
inline void check(collective operation, int devices, std::span<const float> arrays, int root) {
  check(devices, arrays);
  refuse_if(root < 0 || root >= devices, "nccl_sum: rank ", root, " cannot be the root of ",
            devices, " ranks");
  const auto ranks = static_cast<std::size_t>(devices);
  refuse_if(operation == collective::reduce_scatter && arrays.size() / ranks % ranks != 0,
            "nccl_sum: ", arrays.size() / ranks, " sums cannot be scattered over ", devices,
            " devices equally");
}

// --- the host's part of the contract -------------------------------------------------------------

inline result sums_of_one_thread(int devices, std::span<const float> arrays, int rounds,
                                 bool with_nccl, void (*enqueue)(rank_list&, std::size_t)) {
  const keep_current_device keep;
  const std::size_t n = arrays.size() / static_cast<std::size_t>(devices);
  const access_to_all_peers access(with_nccl ? 1 : devices);
  const communicators comms(with_nccl ? devices : 0);
  rank_list ranks = make_ranks(devices, arrays, n, with_nccl ? &comms : nullptr);
  const float milliseconds = time_of_a_round(
      rounds, [&] { enqueue(ranks, n); }, [&] { wait_for(ranks); });
  return {results_of(ranks), milliseconds};
}

/// What one rank does on its thread: work_of_rank().
using rank_work = float (*)(int k, communicators& comms, std::span<const float> own,
                            std::span<float> sums, int rounds, bool fails);

inline result sums_of_threads(int devices, std::span<const float> arrays, int rounds,
                              rank_work work) {
  const std::size_t n = arrays.size() / static_cast<std::size_t>(devices);
  result all{std::vector<float>(arrays.size()), 0};
  std::vector<float> milliseconds(static_cast<std::size_t>(devices));
  communicators comms(devices);
  rethrow_cause(on_threads(devices, [&](int k) {
    const auto i = static_cast<std::size_t>(k);
    milliseconds[i] = work(k, comms, arrays.subspan(i * n, n),
                           std::span(all.sums).subspan(i * n, n), rounds, false);
  }));
  all.milliseconds = std::ranges::max(milliseconds);
  return all;
}

inline std::vector<outcome> outcomes_of_threads(int devices, std::size_t n, int failing,
                                                rank_work work) {
  check(devices, {});
  refuse_if(failing != kNobody && (failing < 0 || failing >= devices), "nccl_sum: rank ", failing,
            " cannot fail among ", devices, " ranks");
  const std::vector<float> ones(n, 1.0F), right(n, static_cast<float>(devices));
  std::vector<outcome> outcomes(static_cast<std::size_t>(devices));
  communicators comms(devices);
  const auto errors = on_threads(devices, [&](int k) {
    outcome& mine = outcomes[static_cast<std::size_t>(k)];
    const host_timer timer;
    std::vector<float> sums(n);
    try {
      work(k, comms, ones, sums, 1, k == failing);
      mine.has_sums = sums == right;
    } catch (...) {
      mine.seconds = static_cast<float>(timer.milliseconds() / 1000);
      throw;
    }
    mine.seconds = static_cast<float>(timer.milliseconds() / 1000);
  });
  for (std::size_t k = 0; k < errors.size(); ++k) {
    outcomes[k].error = sentence_of(errors[k]);
    if (is_not_written(errors[k])) std::rethrow_exception(errors[k]);
  }
  return outcomes;
}

inline std::vector<float> results_of_collective(collective operation, int devices,
                                                std::span<const float> arrays, int root,
                                                void (*enqueue)(collective, rank_list&, std::size_t,
                                                                int)) {
  if (arrays.empty()) return {};
  const keep_current_device keep;
  const auto all = static_cast<std::size_t>(devices);
  const std::size_t n = arrays.size() / all;
  const communicators comms(devices);
  rank_list ranks = make_ranks(devices, arrays,
                               operation == collective::all_gather       ? n * all
                               : operation == collective::reduce_scatter ? n / all
                                                                         : n,
                               &comms);
  enqueue(operation, ranks, n, root);
  wait_for(ranks);
  return results_of(ranks);
}

inline std::vector<double> dots_of_ranks(int devices, std::span<const float> a,
                                         std::span<const float> b,
                                         void (*enqueue)(std::deque<dot_rank>&,
                                                         const communicators&)) {
  check(devices, {});
  refuse_if(a.size() != b.size(), "nccl_sum: a has ", a.size(), " elements and b has ", b.size(),
            "; they must be equally long");
  const keep_current_device keep;
  const communicators comms(devices);
  std::deque<dot_rank> ranks;
  for (int k = 0; k < devices; ++k) {
    const piece p = piece_of(a.size(), devices, k);
    CUDA_CHECK(cudaSetDevice(k));
    ranks.emplace_back(k, a.subspan(p.begin, p.size), b.subspan(p.begin, p.size));
  }
  enqueue(ranks, comms);
  std::vector<double> sums;
  for (const dot_rank& r : ranks) {
    CUDA_CHECK(cudaSetDevice(r.device));
    CUDA_CHECK(cudaStreamSynchronize(r.queue));
    sums.push_back(r.sum.to_vector().front());
  }
  return sums;
}

}  // namespace lab::nccl_sum
