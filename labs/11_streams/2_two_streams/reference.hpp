// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 11.2 two_streams: what the results are compared with: the same as in 11.1.
#pragma once

#include "../1_single_stream/reference.hpp"
#include "two_streams.hpp"

namespace lab::two_streams {

static_assert(kGroup == single_stream::kGroup, "the same neighbours");
using single_stream::reference;

}  // namespace lab::two_streams
