// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.4 scaling_model: what a job adds up, and made-up measurements whose model is known.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "scaling_model.hpp"

namespace lab::scaling_model {

/// Value i of a rank, without the number of the repetition that is added to it.
constexpr unsigned value_of(int rank, std::size_t i) {
  return static_cast<unsigned>((i * 7 + static_cast<std::size_t>(rank) * 11) % 997);
}
/// Element j of a rank's message. The device's sum is added to element 0.
constexpr double element_of(int rank, std::size_t j) { return static_cast<double>(j % 17) + rank; }

/// samples::sum of `repetitions` repetitions. They are numbered from 1 on; repetition k adds k to
/// each value. Whole numbers below 2^53: doubles are exact, in any order.
inline double reference_sum(const job_size& size, unsigned repetitions) {
  std::uint64_t of_values = 0;
  double of_messages = 0;
  for (int rank = 0; rank < size.ranks; ++rank) {
    for (std::size_t i = 0; i < size.values; ++i) of_values += value_of(rank, i);
    for (std::size_t j = 0; j < size.message; ++j) of_messages += element_of(rank, j);
  }
  const std::uint64_t numbers = std::uint64_t{repetitions} * (repetitions + 1) / 2;
  return static_cast<double>(of_values * repetitions +
                             static_cast<std::uint64_t>(size.ranks) * size.values * numbers) +
         of_messages * repetitions;
}

/// What the model says of these jobs, times a random factor from 1 - noise to 1 + noise.
inline std::vector<measurement> made_up(const model& of, std::span<const job_size> sizes,
                                        double noise, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> factor(1 - noise, 1 + noise);
  std::vector<measurement> all;
  for (const job_size& size : sizes) {
    double depth = 0;
    for (long long reach = 1; reach < size.ranks; reach *= 2) ++depth;
    all.push_back(
        {size, (of.overhead + of.per_value * static_cast<double>(size.values) * size.sharing +
                depth * (of.per_level + of.per_byte * 8 * static_cast<double>(size.message))) *
                   factor(random)});
  }
  return all;
}

}  // namespace lab::scaling_model
