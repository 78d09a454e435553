// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Whatever runs an algorithm includes this: here, and not where the tag is defined, so that
// Thrust's own headers are complete before error.h needs them, whichever of them comes first.
#pragma once

// Thrust's header first.
// clang-format off
#include_next <thrust/system/detail/generic/select_system.h>
#include <thrust/system/cuda/error.h>
// clang-format on
