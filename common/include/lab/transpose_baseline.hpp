// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The library's time for a transpose: a mark to compare with.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace lab {

/// The median time of cublasSgeam, which copies the row-major matrix, transposed, within device
/// memory. Nothing on the CPU device, where there is no such mark, without elements, and for more
/// rows or columns than an int can count. Throws invalid_input when the matrix has not
/// rows * columns elements.
std::optional<float> library_transpose_milliseconds(std::span<const float> matrix, std::size_t rows,
                                                    std::size_t columns);

}  // namespace lab
