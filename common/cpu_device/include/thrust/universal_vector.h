// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Our vectors come before the header that uses them.
// clang-format off
#include <thrust/system/cuda/vector.h>
#include_next <thrust/universal_vector.h>
// clang-format on
