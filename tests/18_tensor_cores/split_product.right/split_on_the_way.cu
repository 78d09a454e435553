// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The kernel splits the floats itself, on their way to shared memory, and adds with compensated
// (Kahan) summation.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::split_product {

__device__ pieces split(float x) {
  const __nv_bfloat16 first = __float2bfloat16_rn(x);
  const float rest = x - __bfloat162float(first);
  const __nv_bfloat16 second = __float2bfloat16_rn(rest);
  return {{first, second, __float2bfloat16_rn(rest - __bfloat162float(second))}};
}

namespace {

constexpr unsigned kEdge = 64, kPad = 8, kWarps = 4;  // a warp computes 32 x 32 elements of 64 x 64

template <unsigned kPieces>
__global__ void __launch_bounds__(kWarps* kWarp)
    split_and_multiply(whole_matrices all, split_matrices in) {
  __shared__ alignas(32) __nv_bfloat16 a[kPieces][kEdge][kTile + kPad];
  __shared__ alignas(32) __nv_bfloat16 b[kPieces][kTile][kEdge + kPad];
  __shared__ alignas(32) float patch[kWarps][kTile * kTile];
  const unsigned warp = threadIdx.x / kWarp, y = warp / 2 * 32, x = warp % 2 * 32;
  const std::size_t across = in.n / kEdge;
  const std::size_t row = blockIdx.x / across * kEdge, column = blockIdx.x % across * kEdge;
  fragment_c sum[2][2], lost[2][2];
  for (unsigned i = 0; i < 4; ++i) {
    wmma::fill_fragment(sum[i / 2][i % 2], 0.0F);
    wmma::fill_fragment(lost[i / 2][i % 2], 0.0F);
  }
  for (std::size_t first = 0; first < all.size.k; first += kTile) {
    for (unsigned i = threadIdx.x; i < kEdge * kTile; i += blockDim.x) {
      const unsigned ya = i / kTile, xa = i % kTile, yb = i / kEdge, xb = i % kEdge;
      float of_a = 0, of_b = 0;
      if (row + ya < all.size.m && first + xa < all.size.k)
        of_a = scaled(all.a[(row + ya) * all.size.k + first + xa], in.exponent_a[row + ya]);
      if (first + yb < all.size.k && column + xb < all.size.n)
        of_b = scaled(all.b[(first + yb) * all.size.n + column + xb], in.exponent_b[column + xb]);
      const pieces of_both[2] = {split(of_a), split(of_b)};
      for (unsigned p = 0; p < kPieces; ++p) {
        a[p][ya][xa] = of_both[0].piece[p];
        b[p][yb][xb] = of_both[1].piece[p];
      }
    }
    __syncthreads();
    for (unsigned r = 0; r < 2; ++r)
      for (unsigned s = 0; s < 2; ++s) {
        fragment_c part;
        wmma::fill_fragment(part, 0.0F);
        for (unsigned order = kPieces; order-- > 0;)  // of products, the smallest ones first
          for (unsigned p = 0; p <= order; ++p) {
            fragment_a of_a;
            fragment_b of_b;
            from_shared::load_matrix_sync(of_a, &a[p][y + kTile * r][0], kTile + kPad);
            from_shared::load_matrix_sync(of_b, &b[order - p][0][x + kTile * s], kEdge + kPad);
            wmma::mma_sync(part, of_a, of_b, part);
          }
        for (unsigned e = 0; e < fragment_c::num_elements; ++e) {  // Kahan's summation
          const float more = part.x[e] - lost[r][s].x[e], before = sum[r][s].x[e];
          sum[r][s].x[e] = before + more;
          lost[r][s].x[e] = (sum[r][s].x[e] - before) - more;
        }
      }
    __syncthreads();
  }
  for (unsigned t = 0; t < 4; ++t) {
    wmma::store_matrix_sync(patch[warp], sum[t / 2][t % 2], kTile, wmma::mem_row_major);
    __syncwarp();
    for (unsigned i = threadIdx.x % kWarp; i < kTile * kTile; i += kWarp) {
      const std::size_t r = row + y + t / 2 * kTile + i / kTile;
      const std::size_t s = column + x + t % 2 * kTile + i % kTile;
      if (r >= all.size.m || s >= all.size.n) continue;
      const int ea = in.exponent_a[r], eb = in.exponent_b[s];
      all.c[r * all.size.n + s] = ea == kNotFinite || eb == kNotFinite
                                      ? sum_of_infinities(all, r, s)
                                      : ldexpf(patch[warp][i], ea + eb - 2 * kScaledTo);
    }
    __syncwarp();
  }
}

template <unsigned kPieces>
result multiply_with(std::span<const float> a, std::span<const float> b, shape size) {
  return multiply_by(a, b, size, kPieces, [](const whole_matrices& all, const split_matrices& in) {
    const auto blocks = static_cast<unsigned>(in.m / kEdge * (in.n / kEdge));
    split_and_multiply<kPieces><<<blocks, kWarps * kWarp>>>(all, in);
  });
}

}  // namespace

result multiply(step version, std::span<const float> a, std::span<const float> b, shape size) {
  switch (version) {
    case step::one_product:
      return multiply_with<1>(a, b, size);
    case step::three_products:
      return multiply_with<2>(a, b, size);
    case step::six_products:
      return multiply_with<3>(a, b, size);
  }
  throw invalid_input("split_product: there is no such step");
}

}  // namespace lab::split_product
