// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: cuts are rounded to the nearest; std::async runs the threads; blocks
// add to one double by an atomic; in step staged, one host thread for each device drives two lanes.

#include <cuda_runtime.h>

#include <future>

#include "given.hpp"

namespace lab::multi_gpu_dot {

std::vector<std::size_t> split(std::size_t n, std::span<const double> shares) {
  for (const double share : shares)
    refuse_if(!std::isfinite(share) || share < 0,
              "multi_gpu_dot: a share must be a number from 0 on, and one is ", share);
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  refuse_if(!(all > 0) || !std::isfinite(all), "multi_gpu_dot: the shares add up to ", all,
            ", and a part of that means nothing");

  std::vector<std::size_t> cuts;
  cuts.reserve(shares.size() + 1);
  long double before = 0;
  long double total = 0;
  for (const double share : shares) total += share;
  for (const double share : shares) {
    cuts.push_back(
        std::min(n, static_cast<std::size_t>(before / total * static_cast<long double>(n) + 0.5L)));
    before += share;
  }
  cuts.push_back(n);
  // Shares of 0 at the end get nothing.
  for (std::size_t k = shares.size(); k-- > 0 && shares[k] == 0;) cuts[k] = n;
  return cuts;
}

namespace {

constexpr unsigned kBlock = 512;

__global__ void add_tiles(const float* a, const float* b, double* sum, std::size_t n) {
  __shared__ double cache[kBlock];
  double mine = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * kBlock)
    mine += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  mine = sum_of_block(cache, mine);
  if (threadIdx.x == 0) atomicAdd(sum, mine);
}

void queue_tiles(const float* a, const float* b, double* sum, std::size_t n, cudaStream_t queue) {
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>((n + kBlock - 1) / kBlock, 64));
  add_tiles<<<blocks, kBlock, 0, queue>>>(a, b, sum, n);
  CUDA_CHECK(cudaGetLastError());
}

/// A part on its device, in memory for both vectors one after the other, and a sum.
class half_done {
 public:
  explicit half_done(std::size_t n) : n_(n), both_(2 * n), sum_(1) {}
  void start(const float* a, const float* b) {
    CUDA_CHECK(
        cudaMemcpyAsync(both_.data(), a, n_ * sizeof(float), cudaMemcpyHostToDevice, queue_));
    CUDA_CHECK(
        cudaMemcpyAsync(both_.data() + n_, b, n_ * sizeof(float), cudaMemcpyHostToDevice, queue_));
    CUDA_CHECK(cudaMemsetAsync(sum_.data(), 0, sizeof(double), queue_));
    clock_.start(queue_);
    queue_tiles(both_.data(), both_.data() + n_, sum_.data(), n_, queue_);
    clock_.stop();
  }
  part_result finish() {
    double sum = 0;
    CUDA_CHECK(cudaMemcpyAsync(&sum, sum_.data(), sizeof(sum), cudaMemcpyDeviceToHost, queue_));
    CUDA_CHECK(cudaStreamSynchronize(queue_));
    return {sum, clock_.milliseconds(), 0};
  }

 private:
  std::size_t n_;
  device_buffer<float> both_;
  device_buffer<double> sum_;
  event_timer clock_;
  stream queue_;
};

result thread_per_device(std::span<const float> a, std::span<const float> b,
                         std::span<const std::size_t> cuts) {
  std::vector<std::future<part_result>> running;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    const std::size_t begin = cuts[k], n = cuts[k + 1] - begin;
    if (n > 0)
      running.push_back(std::async(std::launch::async, [=] {
        CUDA_CHECK(cudaSetDevice(static_cast<int>(k)));
        half_done mine(n);
        const host_timer total;
        mine.start(a.data() + begin, b.data() + begin);
        part_result done = mine.finish();
        done.total_ms = static_cast<float>(total.milliseconds());
        return done;
      }));
  }
  for (const auto& each : running) each.wait();
  std::vector<part_result> parts;
  for (auto& each : running) parts.push_back(each.get());  // throws what the thread threw
  return total_of(parts);
}

template <class Work>
auto and_return(const Work& work) {
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  try {
    auto done = work();
    CUDA_CHECK(cudaSetDevice(device));
    return done;
  } catch (...) {
    CUDA_CHECK_NOTHROW(cudaSetDevice(device));
    throw;
  }
}

result one_thread(std::span<const float> a, std::span<const float> b,
                  std::span<const std::size_t> cuts) {
  return and_return([&] {
    std::vector<std::unique_ptr<half_done>> on(cuts.size() - 1);
    const auto for_each_busy = [&](const auto& work) {
      for (std::size_t k = 0; k < on.size(); ++k) {
        if (cuts[k] == cuts[k + 1]) continue;
        CUDA_CHECK(cudaSetDevice(static_cast<int>(k)));
        work(k);
      }
    };
    for_each_busy(
        [&](std::size_t k) { on[k] = std::make_unique<half_done>(cuts[k + 1] - cuts[k]); });
    const host_timer total;
    for_each_busy([&](std::size_t k) { on[k]->start(a.data() + cuts[k], b.data() + cuts[k]); });
    std::vector<part_result> parts;
    for_each_busy([&](std::size_t k) { parts.push_back(on[k]->finish()); });
    result all = total_of(parts);
    all.total_ms = static_cast<float>(total.milliseconds());
    return all;
  });
}

constexpr std::size_t kHalf = kStagingPiece / 2;  // two lanes of a thread share its memory
inline std::size_t halves(std::size_t n) { return (n + kHalf - 1) / kHalf; }

struct half_lane {
  half_lane(std::size_t pieces, unsigned its_blocks)
      : blocks(its_blocks), partial(pieces * its_blocks) {}
  unsigned blocks;
  pinned_buffer<float> ring{kStagingSlots * 2 * kHalf};
  event fetched[kStagingSlots];
  device_buffer<float> a{kHalf}, b{kHalf}, partial;
  stream queue;
};

/// What one thread has: up to two lanes, which take turns with the pieces of a device's part.
struct driver {
  std::size_t device, begin, end;
  std::vector<std::unique_ptr<half_lane>> lanes;
  double sum = 0;

  void drive(const float* a, const float* b) {
    CUDA_CHECK(cudaSetDevice(static_cast<int>(device)));
    const std::size_t pieces = halves(end - begin);
    for (std::size_t p = 0; p < pieces; ++p) {
      half_lane& lane = *lanes[p % lanes.size()];
      const std::size_t turn = p / lanes.size(), from = begin + p * kHalf;
      const std::size_t n = std::min(kHalf, end - from);
      const event& free_again = lane.fetched[turn % kStagingSlots];
      float* const slot = lane.ring.data() + turn % kStagingSlots * 2 * kHalf;
      CUDA_CHECK(cudaEventSynchronize(free_again));
      std::copy_n(a + from, n, slot);
      std::copy_n(b + from, n, slot + kHalf);
      CUDA_CHECK(cudaMemcpyAsync(lane.a.data(), slot, n * sizeof(float), cudaMemcpyHostToDevice,
                                 lane.queue));
      CUDA_CHECK(cudaMemcpyAsync(lane.b.data(), slot + kHalf, n * sizeof(float),
                                 cudaMemcpyHostToDevice, lane.queue));
      CUDA_CHECK(cudaEventRecord(free_again, lane.queue));
      launch(lane.blocks, lane.a.data(), lane.b.data(), lane.partial.data() + turn * lane.blocks, n,
             lane.queue);
    }
    for (const auto& lane : lanes) {
      CUDA_CHECK(cudaStreamSynchronize(lane->queue));
      sum += sum_of(lane->partial.to_vector());
    }
  }
};

result staged(std::span<const float> a, std::span<const float> b,
              std::span<const std::size_t> cuts) {
  return and_return([&] {
    std::vector<driver> drivers;
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
      if (cuts[k] == cuts[k + 1]) continue;
      CUDA_CHECK(cudaSetDevice(static_cast<int>(k)));
      driver& one = drivers.emplace_back(driver{k, cuts[k], cuts[k + 1], {}, 0});
      const std::size_t pieces = halves(one.end - one.begin);
      const std::size_t count = std::min<std::size_t>(2, pieces);
      for (std::size_t lane = 0; lane < count; ++lane)
        one.lanes.push_back(std::make_unique<half_lane>((pieces - lane + count - 1) / count, 32U));
    }
    const host_timer total;
    in_host_threads(drivers.size(), [&](std::size_t k) { drivers[k].drive(a.data(), b.data()); });
    double sum = 0;
    for (const driver& each : drivers) sum += each.sum;
    const auto ms = static_cast<float>(total.milliseconds());
    return result{static_cast<float>(sum), ms, ms};
  });
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result dot(step version, std::span<const float> a, std::span<const float> b,
           std::span<const double> shares) {
  refuse_if(a.size() != b.size(), "multi_gpu_dot: a has ", a.size(), " elements and b has ",
            b.size(), "; they must be equally long");
  const auto devices = static_cast<std::size_t>(device_count());
  refuse_if(shares.size() > devices, "multi_gpu_dot: there are ", shares.size(),
            " shares, but only ", devices, (devices == 1 ? " device" : " devices"));
  const std::vector<double> equal(devices, 1.0);
  const std::vector<std::size_t> cuts = split(a.size(), shares.empty() ? equal : shares);

  if (a.empty()) return {};  // there is no work for any device
  switch (version) {
    case step::thread_per_device:
      return thread_per_device(a, b, cuts);
    case step::one_thread:
      return one_thread(a, b, cuts);
    case step::staged:
      return staged(a, b, cuts);
  }
  throw invalid_input("multi_gpu_dot: there is no such step");
}

}  // namespace lab::multi_gpu_dot
