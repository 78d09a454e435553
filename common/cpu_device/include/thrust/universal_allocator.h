// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Our allocators come before the header that uses them.
// clang-format off
#include <thrust/system/cuda/memory.h>
#include_next <thrust/universal_allocator.h>
// clang-format on
