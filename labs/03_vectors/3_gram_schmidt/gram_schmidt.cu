// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.3 gram_schmidt: an algorithm of several kernels, and the work of the host between them.
// Edit:  this file, from TODO(1) to TODO(6). gram_schmidt.hpp has the contract.
// Run:   scripts/lab run 03.3 -- --step classical     (then --step modified)
// Test:  scripts/lab test 03.3
// Hints: scripts/lab hint 03.3                        Chapter: docs/03_vectors.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::gram_schmidt {
namespace {

constexpr unsigned kThreads = 256;

// Vectors are stored one after the other: component i of vector k is rows[k * length + i].

// --- both steps: dot products --------------------------------------------------------------------

/// Block k computes (rows_k, v). Each of its threads adds up some of the products, and stores its
/// sum in partial[k * blockDim.x + threadIdx.x].
__global__ void dots(const float* rows, const float* v, float* partial, std::size_t length) {
  // TODO(1): the block's threads take turns: thread t has the components t, t + blockDim.x, …
  //          Invariant: every thread stores a sum, even one that has no component at all.
}

/// (rows_0, v), … (rows_(count-1), v), on the host. `partial` has kThreads elements for each.
std::vector<double> dot_products(const float* rows, std::size_t count, const float* v,
                                 std::size_t length, device_buffer<float>& partial) {
  std::vector<double> result(count);
  if (count == 0) return result;  // a grid of no blocks would be an error
  // TODO(2): launch a block for each of the rows, fetch its partial sums (cudaMemcpy: `partial` may
  //          be longer than the part that was written), and add them up in double.
  throw not_written("the dot products", 1);  // 1 and 2 are the dot products
}

// --- given: what the host keeps track of ---------------------------------------------------------

struct workspace {
  device_buffer<float> b, partial, coefficients;
  std::vector<double> squares;  // (b_k, b_k) of the finished vectors
  std::span<const float> a;
  std::size_t count, length;

  float* vector(std::size_t k) { return b.data() + k * length; }

  /// Call it when b_k is finished: appends (b_k, b_k) to `squares`. Throws invalid_input if almost
  /// nothing is left of a_k.
  void finish(std::size_t k) {
    squares.push_back(dot_products(vector(k), 1, vector(k), length, partial)[0]);
    double before = 0;
    for (const float component : a.subspan(k * length, length))
      before += static_cast<double>(component) * static_cast<double>(component);
    const double least = static_cast<double>(count) * 0x1p-20;
    refuse_if(!(squares[k] > std::max(least * least * before, kLeastLength * kLeastLength)),
              "gram_schmidt: the vectors are linearly dependent: nothing is left of vector ", k,
              " without its projections on those before it");
  }

  /// Copies coefficients to the device, into `coefficients`.
  void upload(const std::vector<float>& values) {
    CUDA_CHECK(cudaMemcpy(coefficients.data(), values.data(), values.size() * sizeof(float),
                          cudaMemcpyHostToDevice));
  }
};

// --- step classical ------------------------------------------------------------------------------

/// v -= c_0 * rows_0 + … + c_(count-1) * rows_(count-1)
__global__ void subtract_all_from_one(float* v, const float* rows, const float* c,
                                      std::size_t count, std::size_t length) {
  // TODO(3): one thread for each component of v, which loops over all the rows. It reads and
  //          writes its component of v once.
}

void classical(workspace& w) {
  // TODO(4): for each vector: the dot products of the original vector with all finished b;
  //          the coefficients (a_i, b_k) / (b_k, b_k); upload() them; subtract; finish().
  throw not_written("step classical", 3);  // 3 and 4 are this step
}

// --- step modified -------------------------------------------------------------------------------

/// rows_k -= c_k * v, for all rows: block k has row k.
__global__ void subtract_one_from_all(float* rows, const float* v, const float* c,
                                      std::size_t length) {
  // TODO(5): the threads of a block take turns, as in TODO(1).
}

void modified(workspace& w) {
  // TODO(6): for each vector, when its turn comes: finish() it, since nothing will be subtracted
  //          from it any more. Then subtract its share from all the vectors after it, as they are
  //          now. There are none after the last one.
  throw not_written("step modified", 5);  // 5 and 6 are this step
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result orthogonalize(step version, std::span<const float> a, std::size_t count,
                     std::size_t length) {
  require_sensible(a, count, length);
  if (count == 0) return {};
  workspace w{device_buffer<float>(a.size()),
              device_buffer<float>(count * kThreads),
              device_buffer<float>(count),
              {},
              a,
              count,
              length};
  const float kernel_ms = time_kernel(
      [&] {
        if (version == step::classical)
          classical(w);
        else
          modified(w);
      },
      [&] {
        w.b.copy_from(a);
        w.squares.clear();
      });
  return {w.b.to_vector(), kernel_ms};
}

}  // namespace lab::gram_schmidt
