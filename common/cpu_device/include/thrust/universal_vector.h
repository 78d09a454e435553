// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <thrust/system/cuda/vector.h>
#include_next <thrust/universal_vector.h>
