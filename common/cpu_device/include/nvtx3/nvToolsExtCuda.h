// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Names of the driver API's objects belong in here, and there is no driver API. Programs include
// it for nvToolsExt.h, which it brings.
#pragma once
#include "nvToolsExt.h"
