// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the buffers of this course contain before anything is written to them.
#pragma once

namespace lab::detail {

/// Each byte of it. 0xFF is NaN as a float and -1 as an int, which no result is by chance. Tests
/// choose other bytes too, since there is always a program for which -1 would be right.
inline unsigned char new_memory_byte = 0xFF;

}  // namespace lab::detail
