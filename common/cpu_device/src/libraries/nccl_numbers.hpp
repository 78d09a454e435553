// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Reductions of NCCL's types. Internal to the CPU device.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cpu_device {

inline std::size_t nccl_bytes(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

/// Rank after rank. T is what is stored, Sum what is calculated with.
template <class T, class Sum>
void nccl_reduce_as(const std::vector<const void*>& from, std::size_t first, std::size_t count,
                    ncclRedOp_t op, void* to) {
  const auto at = [&](std::size_t rank, std::size_t i) {
    return static_cast<Sum>(static_cast<const T*>(from[rank])[first + i]);
  };
  std::vector<T> result(count);  // one of the inputs may lie where the result goes
  for (std::size_t i = 0; i < count; ++i) {
    Sum sum = at(0, i);
    for (std::size_t rank = 1; rank < from.size(); ++rank) {
      const Sum x = at(rank, i);
      if (op == ncclProd)
        sum = static_cast<Sum>(sum * x);
      else if (op == ncclMax)
        sum = sum < x ? x : sum;
      else if (op == ncclMin)
        sum = x < sum ? x : sum;
      else
        sum = static_cast<Sum>(sum + x);
    }
    if (op == ncclAvg) sum = static_cast<Sum>(sum / static_cast<Sum>(from.size()));
    result[i] = static_cast<T>(sum);
  }
  T* const out = static_cast<T*>(to);
  for (std::size_t i = 0; i < count; ++i) out[i] = result[i];
}

/// Elements first .. first + count - 1 of all ranks, reduced.
inline void nccl_reduce(const std::vector<const void*>& from, std::size_t first, std::size_t count,
                        ncclDataType_t type, ncclRedOp_t op, void* to) {
  switch (type) {
    case ncclInt8:
      return nccl_reduce_as<signed char, std::int64_t>(from, first, count, op, to);
    case ncclUint8:
      return nccl_reduce_as<unsigned char, std::uint64_t>(from, first, count, op, to);
    case ncclInt32:
      return nccl_reduce_as<std::int32_t, std::int64_t>(from, first, count, op, to);
    case ncclUint32:
      return nccl_reduce_as<std::uint32_t, std::uint64_t>(from, first, count, op, to);
    case ncclInt64:
      return nccl_reduce_as<std::int64_t, std::int64_t>(from, first, count, op, to);
    case ncclUint64:
      return nccl_reduce_as<std::uint64_t, std::uint64_t>(from, first, count, op, to);
    case ncclFloat16:
      return nccl_reduce_as<__half, float>(from, first, count, op, to);
    case ncclBfloat16:
      return nccl_reduce_as<__nv_bfloat16, float>(from, first, count, op, to);
    case ncclFloat32:
      return nccl_reduce_as<float, float>(from, first, count, op, to);
    case ncclFloat64:
      return nccl_reduce_as<double, double>(from, first, count, op, to);
    default:
      return;
  }
}

}  // namespace cpu_device
