// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Four warps of 64 x 32 elements, slices of 16 in two stages, and the products in another order.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::split_product {

// --- the pieces of a float -----------------------------------------------------------------------

/// x as three bfloat16, the largest one first, whose sum is x. x is 0, or its size is below 2^51.
__device__ pieces split(float x) {
  pieces of;

  for (auto& piece : of.piece) {
    piece = __float2bfloat16_rn(x);
    x -= __bfloat162float(piece);
  }
  return of;
}

// --- the products of the pieces ------------------------------------------------------------------

/// Piece a of an element of A times piece b of an element of B.
struct product {
  unsigned a, b;
};

/// The pieces of product i. A step uses the last 1, 3 or 6 of these products.
constexpr unsigned kMostProducts = 6;
__device__ constexpr product product_number(unsigned i) {
  constexpr product kProducts[kMostProducts] = {{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}};
  return kProducts[i];
}

// --- the sums ------------------------------------------------------------------------------------

/// Adds the products of a slice to the sums.
template <class T, unsigned kProducts>
__device__ void add_slice(const slice<T>& from, warp_sums<T>& to) {
  using sums = warp_sums<T>;
  const coordinates mine = to.mine;
#pragma unroll
  for (unsigned i = 0; i < T::BK; i += kTile) {
    fragment_a a[T::kPieces][sums::kDown];
#pragma unroll
    for (unsigned p = 0; p < T::kPieces; ++p)
#pragma unroll
      for (unsigned r = 0; r < sums::kDown; ++r)
        wmma::load_matrix_sync(a[p][r], &from.a[p][mine.row + kTile * r][i], T::BK + T::kPad);
#pragma unroll
    for (unsigned s = 0; s < sums::kAcross; ++s) {
      fragment_b b[T::kPieces];
      fragment_c part[sums::kDown];  // of these 16 elements of k
#pragma unroll
      for (unsigned p = 0; p < T::kPieces; ++p)
        from_shared::load_matrix_sync(b[p], &from.b[p][i][mine.column + kTile * s],
                                      T::BN + T::kPad);
#pragma unroll
      for (unsigned r = 0; r < sums::kDown; ++r) {
        wmma::fill_fragment(part[r], 0.0F);
#pragma unroll
        for (unsigned j = kMostProducts - kProducts; j < kMostProducts; ++j)
          wmma::mma_sync(part[r], a[product_number(j).a][r], b[product_number(j).b], part[r]);
      }

#pragma unroll
      for (unsigned r = 0; r < sums::kDown; ++r)
        for (unsigned e = 0; e < part[r].num_elements; ++e) to.sum[r][s].x[e] += part[r].x[e];
    }
  }
}

/// Fewer warps, with larger tiles.
template <unsigned kPiecesOfEach>
struct large_warps {
  static constexpr unsigned BM = 128, BN = 64, BK = 16, WM = 64, WN = 32, kPad = 8;
  static constexpr unsigned kPieces = kPiecesOfEach, kStages = 2;
  static constexpr unsigned kWarpsAcross = BN / WN, kThreads = BM / WM * kWarpsAcross * kWarp;
};

template <unsigned kPieces, unsigned kProducts>
result by_large_warps(std::span<const float> a, std::span<const float> b, shape size) {
  using T = large_warps<kPieces>;
  return multiply_by(a, b, size, kPieces, [](const whole_matrices& all, const split_matrices& in) {
    launch_product<T>(multiply_pieces<T, kProducts>, all, in);
  });
}

result multiply(step version, std::span<const float> a, std::span<const float> b, shape size) {
  switch (version) {
    case step::one_product:
      return by_large_warps<1, 1>(a, b, size);
    case step::three_products:
      return by_large_warps<2, 3>(a, b, size);
    case step::six_products:
      return by_large_warps<3, 6>(a, b, size);
  }
  throw invalid_input("split_product: there is no such step");
}

}  // namespace lab::split_product
