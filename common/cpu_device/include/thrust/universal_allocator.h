// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// clang-format off: our allocators come before the header that uses them
#include <thrust/system/cuda/memory.h>
#include_next <thrust/universal_allocator.h>
// clang-format on
