// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// clang-format off: our vectors come before the header that uses them
#include <thrust/system/cuda/vector.h>
#include_next <thrust/universal_vector.h>
// clang-format on
