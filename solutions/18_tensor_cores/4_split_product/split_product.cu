// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.4 split_product: C = A · B with the accuracy of floats, from products of bfloat16.
// Edit:  this nearly empty file: TODO(1) to TODO(4). split_product.hpp has the contract; given.hpp
//        declares split() and add_slice(), and calls them.
// Run:   scripts/lab run 18.4 -- --step one_product  (then three_products and six_products)
// Test:  scripts/lab test 18.4
// Hints: scripts/lab hint 18.4                  Chapter: docs/18_tensor_cores.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::split_product {

// TODO(1): split(): x as three bfloat16, the largest one first, whose sum is x. x is 0, or |x| is
//          below 2^51. Each piece is the rest of x, rounded to the nearest bfloat16
//          (__float2bfloat16_rn, and __bfloat162float back). Invariant: the rest after a piece is
//          exact.
// BEGIN SOLUTION
__device__ pieces split(float x) {
  pieces of;
  float left = x;
#pragma unroll
  for (unsigned p = 0; p < kMostPieces; ++p) {
    of.piece[p] = __float2bfloat16_rn(left);
    left -= __bfloat162float(of.piece[p]);  // exact: it has no more digits than `left` has
  }
  return of;
}
// END SOLUTION

// TODO(2): the pairs of pieces to multiply. A step uses the 1, 3 or 6 largest products. Piece p is
//          about 2^(-8 p) of its element: which six are the largest, and which three?
// BEGIN SOLUTION
/// Piece a of an element of A times piece b of an element of B.
struct product {
  unsigned a, b;
};

/// The pieces of product i. A step uses the last 1, 3 or 6 of these products: the largest comes
/// last.
constexpr unsigned kMostProducts = 6;
__device__ constexpr product product_number(unsigned i) {
  constexpr product kAll[kMostProducts] = {{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}};
  return kAll[i];
}
// END SOLUTION

// TODO(3): add_slice(): adds kProducts products of a slice to this warp's sums. For each kTile
//          elements of k, and for each of the warp's tiles of C: load the fragments of all pieces
//          of A and B (from_shared::load_matrix_sync; to.mine is the warp's position in the block;
//          neighbouring rows are BK + kPad and BN + kPad elements apart), start a fragment `part`
//          from 0, and add the products to it, the smallest ones first.
// TODO(4): and then add `part` to the tile's sum, element by element, in float. Both fragments have
//          the same elements in the same lanes. Why not let the tensor core add to the sum?
// BEGIN SOLUTION
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
        from_shared::load_matrix_sync(a[p][r], &from.a[p][mine.row + kTile * r][i],
                                      T::BK + T::kPad);
#pragma unroll
    for (unsigned s = 0; s < sums::kAcross; ++s) {
      fragment_b b[T::kPieces];
      fragment_c part[sums::kDown];  // of these 16 elements of k
#pragma unroll
      for (unsigned p = 0; p < T::kPieces; ++p)
        from_shared::load_matrix_sync(b[p], &from.b[p][i][mine.column + kTile * s],
                                      T::BN + T::kPad);
#pragma unroll
      for (unsigned r = 0; r < sums::kDown; ++r) wmma::fill_fragment(part[r], 0.0F);
#pragma unroll
      for (unsigned j = kMostProducts - kProducts; j < kMostProducts; ++j) {
        const product now = product_number(j);
#pragma unroll
        for (unsigned r = 0; r < sums::kDown; ++r)  // independent of each other
          wmma::mma_sync(part[r], a[now.a][r], b[now.b], part[r]);
      }
      // Outside the tensor core, which truncates, this addition rounds to nearest.
#pragma unroll
      for (unsigned r = 0; r < sums::kDown; ++r)
#pragma unroll
        for (int x = 0; x < part[r].num_elements; ++x) to.sum[r][s].x[x] += part[r].x[x];
    }
  }
}
// END SOLUTION

result multiply(step version, std::span<const float> a, std::span<const float> b, shape size) {
  // Each step is multiply_with<pieces, products>(a, b, size); one_product takes <1, 1>.
  // BEGIN SOLUTION
  // STUB: if (version == step::one_product) throw not_written("step one_product", 1);
  // STUB: if (version == step::three_products) throw not_written("step three_products", 2);
  // STUB: if (version == step::six_products) throw not_written("step six_products", 2);
  if (version == step::one_product) return multiply_with<1, 1>(a, b, size);
  if (version == step::three_products) return multiply_with<2, 3>(a, b, size);
  if (version == step::six_products) return multiply_with<3, 6>(a, b, size);
  // END SOLUTION
  throw invalid_input("split_product: there is no such step");
}

}  // namespace lab::split_product
