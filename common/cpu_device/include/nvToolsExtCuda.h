// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "nvtx3/nvToolsExtCuda.h"
