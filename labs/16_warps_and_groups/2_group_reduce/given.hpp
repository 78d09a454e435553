// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.2 group_reduce: what group_reduce.cu starts from. There is nothing to do in here.
#pragma once

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "group_reduce.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::group_reduce {

namespace cg = cooperative_groups;

constexpr unsigned kThreads = 256;  // a block: a multiple of every size of a tile

/// What a kernel works at: `rows` rows of `length` values, and room for a sum each. For coalesced
/// the sums are 0 to begin with.
struct matrix {
  const unsigned* values;
  std::size_t rows, length;
  unsigned limit;
  unsigned* sums;
};

/// Calls launch(std::integral_constant<unsigned, tile>{}): the size of a tile is a template
/// argument, so that the compiler can unroll what a tile does. Refuses all other sizes.
template <class Launch>
void for_tile(unsigned tile, const Launch& launch) {
  switch (tile) {
    case 1:
      return launch(std::integral_constant<unsigned, 1>{});
    case 2:
      return launch(std::integral_constant<unsigned, 2>{});
    case 4:
      return launch(std::integral_constant<unsigned, 4>{});
    case 8:
      return launch(std::integral_constant<unsigned, 8>{});
    case 16:
      return launch(std::integral_constant<unsigned, 16>{});
    case 32:
      return launch(std::integral_constant<unsigned, 32>{});
    default:
      throw invalid_input("group_reduce: a tile of " + std::to_string(tile) +
                          " threads was asked for; take 1, 2, 4, 8, 16 or 32");
  }
}

/// sum_rows(), where launch(tile, blocks, matrix) launches the kernel; `tile` is an
/// std::integral_constant.
template <class Launch>
result host_part(step version, const Launch& launch, std::span<const std::uint32_t> values,
                 std::size_t length, std::uint32_t limit, unsigned tile) {
  result done;
  for_tile(tile, [&](auto size) {
    refuse_if(length == 0, "group_reduce: rows of 0 elements were asked for; take 1 or more");
    refuse_if(values.size() % length != 0, "group_reduce: the number of values, ", values.size(),
              ", is not a multiple of the row length, ", length);
    const std::size_t rows = values.size() / length, per_block = kThreads / size.value;
    const std::size_t blocks = (rows + per_block - 1) / per_block;
    if (blocks == 0) return;
    require_at_most(cudaDevAttrMaxGridDimX, blocks, "blocks");

    const device_buffer device_values(values);
    device_buffer<unsigned> sums(rows);
    const matrix m{device_values.data(), rows, length, limit, sums.data()};
    done.kernel_ms = time_kernel([&] { launch(size, static_cast<unsigned>(blocks), m); },
                                 [&] {
                                   if (version == step::coalesced)
                                     CUDA_CHECK(cudaMemset(sums.data(), 0, sums.size_bytes()));
                                 });
    done.sums = sums.to_vector();
  });
  return done;
}

}  // namespace lab::group_reduce
