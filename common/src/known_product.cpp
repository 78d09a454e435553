// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/known_product.hpp"

#include "lab/errors.hpp"
#include "lab/random.hpp"

namespace lab {

known_product make_known_product(std::size_t m, std::size_t n, std::size_t k, std::uint64_t seed) {
  if (k > 65536) throw invalid_input("with k > 65536 the product is not exact in floats");
  const auto p = random_ints(m, 4 * seed, -8, 8), q = random_ints(k, 4 * seed + 1, -8, 8);
  const auto r = random_ints(k, 4 * seed + 2, -8, 8), s = random_ints(n, 4 * seed + 3, -8, 8);
  long long sum_q = 0, sum_r = 0, sum_qr = 0;
  for (std::size_t i = 0; i < k; ++i) {
    sum_q += q[i];
    sum_r += r[i];
    sum_qr += q[i] * r[i];
  }
  known_product out;
  out.a.reserve(m * k);
  out.b.reserve(k * n);
  out.c.reserve(m * n);
  for (const int of_row : p)
    for (const int of_i : q) out.a.push_back(static_cast<float>(of_row + of_i));
  for (const int of_i : r)
    for (const int of_column : s) out.b.push_back(static_cast<float>(of_i + of_column));
  const auto terms = static_cast<long long>(k);
  for (const int of_row : p)
    for (const int of_column : s)
      out.c.push_back(static_cast<float>(of_row * sum_r + terms * of_row * of_column + sum_qr +
                                         of_column * sum_q));
  return out;
}

}  // namespace lab
