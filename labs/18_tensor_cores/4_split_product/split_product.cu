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

// TODO(2): the pairs of pieces to multiply. A step uses the 1, 3 or 6 largest products. Piece p is
//          about 2^(-8 p) of its element: which six are the largest, and which three?

// TODO(3): add_slice(): adds kProducts products of a slice to this warp's sums. For each kTile
//          elements of k, and for each of the warp's tiles of C: load the fragments of all pieces
//          of A and B (from_shared::load_matrix_sync; to.mine is the warp's position in the block;
//          neighbouring rows are BK + kPad and BN + kPad elements apart), start a fragment `part`
//          from 0, and add the products to it, the smallest ones first.
// TODO(4): and then add `part` to the tile's sum, element by element, in float. Both fragments have
//          the same elements in the same lanes. Why not let the tensor core add to the sum?

result multiply(step version, std::span<const float> a, std::span<const float> b, shape size) {
  // Each step is multiply_with<pieces, products>(a, b, size); one_product takes <1, 1>.
  if (version == step::one_product) throw not_written("step one_product", 1);
  if (version == step::three_products) throw not_written("step three_products", 2);
  if (version == step::six_products) throw not_written("step six_products", 2);
  throw invalid_input("split_product: there is no such step");
}

}  // namespace lab::split_product
