// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: what parts lose by rounding down goes to the largest remainders; the
// refusals have sentences of their own; one_thread copies a to all devices, then b, then launches;
// the host threads of staged add up their own sums.

#include <cuda_runtime.h>

#include <future>

#include "given.hpp"

namespace lab::multi_gpu_dot {

std::vector<std::size_t> split(std::size_t n, std::span<const double> shares) {
  double sum = 0;
  for (const double share : shares) {
    if (!std::isfinite(share) || share < 0) throw invalid_input("multi_gpu_dot: a bad share");
    sum += share;
  }
  if (!std::isfinite(sum) || !(sum > 0))
    throw invalid_input("multi_gpu_dot: the shares must have a finite sum above 0");

  // Each part gets its exact share, rounded down; what is left goes to the largest remainders.
  const long double all = std::accumulate(shares.begin(), shares.end(), 0.0L);
  struct rest {
    std::size_t part;
    long double remainder;
  };
  std::vector<std::size_t> sizes(shares.size());
  std::vector<rest> rests;
  std::size_t given = 0;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    if (shares[k] == 0) continue;
    const long double exact =
        static_cast<long double>(n) * static_cast<long double>(shares[k]) / all;
    const long double whole = std::floor(exact);
    sizes[k] = std::min(static_cast<std::size_t>(whole), n - given);
    given += sizes[k];
    rests.push_back({k, exact - whole});
  }
  std::ranges::stable_sort(rests, std::ranges::greater{}, &rest::remainder);
  for (std::size_t r = 0; given < n; r = (r + 1) % rests.size(), ++given) ++sizes[rests[r].part];

  std::vector<std::size_t> cuts{0};
  for (const std::size_t size : sizes) cuts.push_back(cuts.back() + size);
  return cuts;
}

namespace {

class restore_device {
 public:
  restore_device() { CUDA_CHECK(cudaGetDevice(&before_)); }
  ~restore_device() { CUDA_CHECK_NOTHROW(cudaSetDevice(before_)); }
  restore_device(const restore_device&) = delete;
  restore_device& operator=(const restore_device&) = delete;

 private:
  int before_ = 0;
};

struct memory {
  memory(int its_device, std::span<const float> its_a, std::span<const float> its_b)
      : device(its_device),
        host_a(its_a),
        host_b(its_b),
        a(its_a.size()),
        b(its_b.size()),
        partial(blocks_for(its_a.size(), its_device)) {}
  int device;
  std::span<const float> host_a, host_b;
  device_buffer<float> a, b, partial;
  event_timer kernel;
  stream queue;

  void copy_a() {
    CUDA_CHECK(
        cudaMemcpyAsync(a.data(), host_a.data(), a.size_bytes(), cudaMemcpyHostToDevice, queue));
  }
  void copy_b() {
    CUDA_CHECK(
        cudaMemcpyAsync(b.data(), host_b.data(), b.size_bytes(), cudaMemcpyHostToDevice, queue));
  }
  void compute() {
    timed_launch(kernel, static_cast<unsigned>(partial.size()), a.data(), b.data(), partial.data(),
                 a.size(), queue);
  }
  part_result collect() {
    CUDA_CHECK(cudaStreamSynchronize(queue));
    return {sum_of(partial.to_vector()), kernel.milliseconds(), 0};
  }
};

part_result one_device(int device, std::span<const float> a, std::span<const float> b) {
  CUDA_CHECK(cudaSetDevice(device));
  memory here(device, a, b);
  const host_timer total;
  here.copy_b();
  here.copy_a();
  here.compute();
  part_result found = here.collect();
  found.total_ms = static_cast<float>(total.milliseconds());
  return found;
}

result asynchronously(std::span<const float> a, std::span<const float> b,
                      std::span<const std::size_t> cuts) {
  std::vector<std::future<part_result>> futures;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    const std::size_t size = cuts[k + 1] - cuts[k];
    if (size == 0) continue;
    futures.push_back(std::async(std::launch::async, one_device, static_cast<int>(k),
                                 a.subspan(cuts[k], size), b.subspan(cuts[k], size)));
  }
  std::vector<part_result> found;
  for (auto& future : futures) found.push_back(future.get());  // the others' destructors wait
  return total_of(found);
}

result operation_by_operation(std::span<const float> a, std::span<const float> b,
                              std::span<const std::size_t> cuts) {
  const restore_device restore;
  std::list<memory> parts;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    const std::size_t size = cuts[k + 1] - cuts[k];
    if (size == 0) continue;
    CUDA_CHECK(cudaSetDevice(static_cast<int>(k)));
    parts.emplace_back(static_cast<int>(k), a.subspan(cuts[k], size), b.subspan(cuts[k], size));
  }
  const host_timer total;
  for (const auto operation : {&memory::copy_a, &memory::copy_b, &memory::compute})
    for (memory& part : parts) {
      CUDA_CHECK(cudaSetDevice(part.device));
      (part.*operation)();
    }
  std::vector<part_result> found;
  for (memory& part : parts) {
    CUDA_CHECK(cudaSetDevice(part.device));
    found.push_back(part.collect());
  }
  result r = total_of(found);
  r.total_ms = static_cast<float>(total.milliseconds());
  return r;
}

result in_pieces(std::span<const float> a, std::span<const float> b,
                 std::span<const std::size_t> cuts) {
  const restore_device restore;
  const std::vector<share_of_pieces> shares = shares_of_pieces(cuts);
  std::vector<std::unique_ptr<staging_lane>> lanes;
  for (const share_of_pieces& share : shares) {
    CUDA_CHECK(cudaSetDevice(share.device));
    lanes.push_back(
        std::make_unique<staging_lane>(share.pieces(), blocks_for(kStagingPiece, share.device)));
  }
  std::vector<double> sums(shares.size());
  const host_timer timer;
  in_host_threads(shares.size(), [&](std::size_t k) {
    CUDA_CHECK(cudaSetDevice(shares[k].device));
    send_pieces(*lanes[k], a, b, shares[k]);
    CUDA_CHECK(cudaStreamSynchronize(lanes[k]->queue));
    sums[k] = sum_of(lanes[k]->partial.to_vector());
  });
  const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  const auto ms = static_cast<float>(timer.milliseconds());
  return {static_cast<float>(sum), ms, ms};
}

}  // namespace

result dot(step version, std::span<const float> a, std::span<const float> b,
           std::span<const double> shares) {
  refuse_if(a.size() != b.size(), "multi_gpu_dot: a has ", a.size(), " elements, b ", b.size());
  const int devices = device_count();
  refuse_if(shares.size() > static_cast<std::size_t>(devices), "multi_gpu_dot: ", shares.size(),
            " shares for ", devices, " devices");
  const std::vector<double> equal(static_cast<std::size_t>(devices), 1.0);
  const auto cuts = split(a.size(), shares.empty() ? std::span<const double>(equal) : shares);
  if (a.empty()) return {};
  if (version == step::thread_per_device) return asynchronously(a, b, cuts);
  if (version == step::one_thread) return operation_by_operation(a, b, cuts);
  return in_pieces(a, b, cuts);
}

}  // namespace lab::multi_gpu_dot
