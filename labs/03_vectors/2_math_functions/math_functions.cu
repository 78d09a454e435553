// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.2 math_functions: three ways to compute a sine, and how many digits each of them loses.
// Edit:  this nearly empty file: TODO(1) to TODO(3). math_functions.hpp: the contract.
// Run:   scripts/lab run 03.2 -- --function sin --plot errors.svg
// Test:  scripts/lab test 03.2
// Hints: scripts/lab hint 03.2                     Chapter: docs/03_vectors.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::math_functions {
namespace {

// TODO(1): three device functions, one for each precision, that return the function f of x.
//          Nothing in the float versions may be a double: neither a function nor a constant. All
//          threads take the same path through a switch, so it costs next to nothing. The exponent
//          of the power is kExponent.

// TODO(2): a kernel template for a precision p, whose element k is f(x(first + k)), of type
//          number<p>: a grid-stride loop, as in 03.1. Invariant: numbers beyond 2^32 still have the
//          right degrees. evaluate() below launches it.

}  // namespace

result evaluate(function f, precision p, std::size_t first, std::size_t n) {
  // TODO(2): host_part_of_evaluate() of given.hpp checks, allocates and copies, and calls your
  //          lambda (auto each, unsigned blocks, auto* values) for the launch; each.value is the
  //          precision.
  throw not_written("evaluate", 1);
}

errors measure(std::span<const double> values, std::span<const long double> exact) {
  // TODO(3): on the host: reject what the contract rejects. The mean of the absolute errors, the
  //          largest, and where that is. A NaN is neither larger nor smaller than anything, so `>`
  //          does not notice it. The contract says how to count it.
  throw not_written("measure", 3);
}

}  // namespace lab::math_functions
