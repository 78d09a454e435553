// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// EXERCISE_ID EXERCISE_NAME: what the results are compared with.
// AUTHOR: a plain algorithm of std:: on the host, in double or whole numbers where floats would
//         round. If results may differ, derive how far here: a bound, with the reason for it.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

namespace lab::EXERCISE_NAME {

/// 2 * input on the host.
inline std::vector<float> reference(std::span<const float> input) {
  std::vector<float> doubled(input.size());
  std::transform(input.begin(), input.end(), doubled.begin(), [](float x) { return x + x; });
  return doubled;
}

}  // namespace lab::EXERCISE_NAME
