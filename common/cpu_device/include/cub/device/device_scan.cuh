// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/device.cuh>

namespace cub {

/// The output may be the input; without an output it is.
struct DeviceScan {
  template <class In, class Out, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t ExclusiveSum(void* temp, std::size_t& temp_bytes, In in, Out out, Count n,
                                  cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    return ExclusiveScan(temp, temp_bytes, in, out, cub::Sum(), detail::value_of<In>{}, n, stream,
                         file, line);
  }
  template <class InOut, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t ExclusiveSum(void* temp, std::size_t& temp_bytes, InOut data, Count n,
                                  cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    return ExclusiveSum(temp, temp_bytes, data, data, n, stream, file, line);
  }
  template <class In, class Out, class Op, class T, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t ExclusiveScan(void* temp, std::size_t& temp_bytes, In in, Out out, Op op,
                                   T init, Count n, cudaStream_t stream = nullptr,
                                   CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DeviceScan::ExclusiveScan");
    using Accumulator = detail::result_of<Op, T, detail::value_of<In>>;
    return call(
        1,
        [=]() mutable {
          Accumulator sum = init;
          for (Count i = 0; i < n; ++i) {
            const detail::value_of<In> item = in[i];
            out[i] = sum;
            sum = op(sum, item);
          }
        },
        in, out);
  }
  template <class InOut, class Op, class T, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t ExclusiveScan(void* temp, std::size_t& temp_bytes, InOut data, Op op, T init,
                                   Count n, cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    return ExclusiveScan(temp, temp_bytes, data, data, op, init, n, stream, file, line);
  }

  template <class In, class Out, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t InclusiveSum(void* temp, std::size_t& temp_bytes, In in, Out out, Count n,
                                  cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    return InclusiveScan(temp, temp_bytes, in, out, cub::Sum(), n, stream, file, line);
  }
  template <class InOut, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t InclusiveSum(void* temp, std::size_t& temp_bytes, InOut data, Count n,
                                  cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    return InclusiveSum(temp, temp_bytes, data, data, n, stream, file, line);
  }
  template <class In, class Out, class Op, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t InclusiveScan(void* temp, std::size_t& temp_bytes, In in, Out out, Op op,
                                   Count n, cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DeviceScan::InclusiveScan");
    using Item = detail::value_of<In>;
    using Accumulator = detail::result_of<Op, Item, Item>;
    return call(
        1,
        [=]() mutable {
          if (n <= 0) return;
          Accumulator sum = in[0];
          out[0] = sum;
          for (Count i = 1; i < n; ++i) out[i] = sum = op(sum, in[i]);
        },
        in, out);
  }
  template <class InOut, class Op, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t InclusiveScan(void* temp, std::size_t& temp_bytes, InOut data, Op op, Count n,
                                   cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    return InclusiveScan(temp, temp_bytes, data, data, op, n, stream, file, line);
  }
  template <class In, class Out, class Op, class T, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t InclusiveScanInit(void* temp, std::size_t& temp_bytes, In in, Out out, Op op,
                                       T init, Count n, cudaStream_t stream = nullptr,
                                       CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DeviceScan::InclusiveScanInit");
    using Accumulator = detail::result_of<Op, T, detail::value_of<In>>;
    return call(
        1,
        [=]() mutable {
          Accumulator sum = init;
          for (Count i = 0; i < n; ++i) out[i] = sum = op(sum, in[i]);
        },
        in, out);
  }

  // By key: each run of equal keys is scanned on its own.
  template <class Keys, class In, class Out, class Op, class T, class Count, class Equal = Equality>
  requires std::is_integral_v<Count>
  static cudaError_t ExclusiveScanByKey(void* temp, std::size_t& temp_bytes, Keys keys, In in,
                                        Out out, Op op, T init, Count n, Equal equal = {},
                                        cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DeviceScan::ExclusiveScanByKey");
    using Accumulator = detail::result_of<Op, T, detail::value_of<In>>;
    return call(
        1,
        [=]() mutable {
          Accumulator sum = init;
          for (Count i = 0; i < n; ++i) {
            if (i > 0 && !equal(keys[i - 1], keys[i])) sum = init;
            const detail::value_of<In> item = in[i];
            out[i] = sum;
            sum = op(sum, item);
          }
        },
        keys, in, out);
  }
  template <class Keys, class In, class Out, class Op, class Count, class Equal = Equality>
  requires std::is_integral_v<Count>
  static cudaError_t InclusiveScanByKey(void* temp, std::size_t& temp_bytes, Keys keys, In in,
                                        Out out, Op op, Count n, Equal equal = {},
                                        cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DeviceScan::InclusiveScanByKey");
    using Item = detail::value_of<In>;
    using Accumulator = detail::result_of<Op, Item, Item>;
    return call(
        1,
        [=]() mutable {
          Accumulator sum{};
          for (Count i = 0; i < n; ++i) {
            const Item item = in[i];
            if (i > 0 && equal(keys[i - 1], keys[i]))
              sum = op(sum, item);
            else
              sum = item;
            out[i] = sum;
          }
        },
        keys, in, out);
  }
  template <class Keys, class In, class Out, class Count, class Equal = Equality>
  requires std::is_integral_v<Count>
  static cudaError_t ExclusiveSumByKey(void* temp, std::size_t& temp_bytes, Keys keys, In in,
                                       Out out, Count n, Equal equal = {},
                                       cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    return ExclusiveScanByKey(temp, temp_bytes, keys, in, out, cub::Sum(), detail::value_of<In>{},
                              n, equal, stream, file, line);
  }
  template <class Keys, class In, class Out, class Count, class Equal = Equality>
  requires std::is_integral_v<Count>
  static cudaError_t InclusiveSumByKey(void* temp, std::size_t& temp_bytes, Keys keys, In in,
                                       Out out, Count n, Equal equal = {},
                                       cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    return InclusiveScanByKey(temp, temp_bytes, keys, in, out, cub::Sum(), n, equal, stream, file,
                              line);
  }
};

}  // namespace cub
