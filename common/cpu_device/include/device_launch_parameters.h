// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// CUDA spreads its declarations over several headers; here all of them are in one.
#pragma once

#include <cuda_runtime.h>
