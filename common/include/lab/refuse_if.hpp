// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// refuse_if: a check of an argument, in one statement.
#pragma once

#include <string>
#include <type_traits>

#include "lab/errors.hpp"

namespace lab {

/// Throws invalid_input if `wrong`. Its sentence is all of `parts` one after the other, numbers as
/// std::to_string() writes them:
///
///     refuse_if(n == 0 || n > kMost, "zeta: ", n, " terms; there must be 1 to ", kMost);
///
/// All parts are evaluated in any case.
template <class... Parts>
void refuse_if(bool wrong, const Parts&... parts) {
  if (!wrong) return;
  std::string sentence;
  const auto append = [&](const auto& part) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(part)>>)
      sentence += std::to_string(part);
    else
      sentence += part;
  };
  (append(parts), ...);
  throw invalid_input(sentence);
}

}  // namespace lab
