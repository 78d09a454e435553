// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.4 bank_conflicts: what bank_conflicts.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>

#include "bank_conflicts.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::bank_conflicts {

inline void require_element(std::size_t bytes) {
  refuse_if(bytes != 1 && bytes != 2 && bytes != 4, "bank_conflicts: elements of ", bytes,
            " bytes are not supported; take 1, 2 or 4");
}

inline void require_columns(std::size_t columns) {
  refuse_if(columns < 1 || columns > kMostColumns, "bank_conflicts: a table of ", columns,
            " columns; there must be 1 to ", kMostColumns);
}

}  // namespace lab::bank_conflicts
