// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.6 grid_sync: the contract. What the program and the tests expect of grid_sync.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::grid_sync {

enum class step {
  many_launches,  ///< several kernels for each iteration, and the host decides when to stop
  one_launch,     ///< one cooperative launch: all iterations in one kernel, with grid barriers
};

struct result {
  std::vector<double> x;       ///< as many numbers as b has
  std::size_t iterations = 0;  ///< how often x was changed
  double residual = 0;         ///< the norm of b - A x, as the iteration has kept it up to date
  bool converged = false;      ///< whether `residual` is small enough
  float kernel_ms = 0;         ///< of the kernels and the copies in between, by events
};

/// Solves A x = b by conjugate gradients, beginning with x = 0, in doubles. The unknowns are the
/// cells of a grid of `height` rows of `width` cells, row by row, and A is the five-point
/// Laplacian: of each cell
///
///     (A x)(row, column) = 4 x(row, column) - x(row - 1, column) - x(row + 1, column)
///                                           - x(row, column - 1) - x(row, column + 1)
///
/// where neighbours outside the grid are 0. A is never stored.
///
/// Ends as soon as |b - A x| <= tolerance * |b|, by the residual that the iteration computes, or
/// after `most_iterations`, whichever comes first: `converged` says which. |v| is the Euclidean
/// norm. Where b is 0 that is at once, and x is 0. Without cells the result is empty, and has
/// converged.
///
/// All sums are added in an order that is the same each time, so the same call gives the same bits.
///
/// Throws lab::invalid_input when b does not have width * height elements; when one of them is not
/// finite; when b is not 0 and the largest magnitude of its elements is not from 1e-100 to 1e100
/// (squares have to fit into a double); when the tolerance is not from 1e-15 to 1. Throws
/// lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: kernels whose threads share the cells and whose blocks share the sums; the host
/// calculates with single numbers at most. many_launches: at least two launches for each iteration,
/// none of them cooperative. one_launch: a single launch in all, and it is cooperative; in it all
/// blocks wait for each other, at least twice for each iteration.
///
/// From: M. R. Hestenes, E. Stiefel, Methods of Conjugate Gradients for Solving Linear Systems,
/// 1952; explained in J. R. Shewchuk, An Introduction to the Conjugate Gradient Method Without the
/// Agonizing Pain, 1994. One cooperative launch for it: the sample
/// conjugateGradientMultiBlockCG of NVIDIA's CUDA samples.
result solve(step version, std::span<const double> b, std::size_t width, std::size_t height,
             double tolerance, std::size_t most_iterations);

}  // namespace lab::grid_sync
