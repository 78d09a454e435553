// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/device.cuh>

namespace cub {

struct DeviceReduce {
  template <class In, class Out, class Count, class Op, class T>
  requires std::is_integral_v<Count>
  static cudaError_t Reduce(void* temp, std::size_t& temp_bytes, In in, Out out, Count n, Op op,
                            T init, cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DeviceReduce::Reduce");
    using Accumulator = detail::result_of<Op, T, detail::value_of<In>>;
    return call(
        1, [=]() mutable { out[0] = detail::reduce<Accumulator>(in, Count{0}, n, op, init); }, in,
        out);
  }
  template <class In, class Out, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t Sum(void* temp, std::size_t& temp_bytes, In in, Out out, Count n,
                         cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    using T = detail::value_of_either<Out, In>;
    return Reduce(temp, temp_bytes, in, out, n, cub::Sum(), T{}, stream, file, line);
  }
  template <class In, class Out, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t Min(void* temp, std::size_t& temp_bytes, In in, Out out, Count n,
                         cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    using T = detail::value_of<In>;
    return best("cub::DeviceReduce::Min", temp, temp_bytes, in, out, n, detail::less(),
                std::numeric_limits<T>::max(), stream, file, line);
  }
  template <class In, class Out, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t Max(void* temp, std::size_t& temp_bytes, In in, Out out, Count n,
                         cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    using T = detail::value_of<In>;
    return best("cub::DeviceReduce::Max", temp, temp_bytes, in, out, n, detail::greater(),
                std::numeric_limits<T>::lowest(), stream, file, line);
  }
  /// The index and the value of the first smallest one, as a KeyValuePair<int, T>.
  template <class In, class Out, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t ArgMin(void* temp, std::size_t& temp_bytes, In in, Out out, Count n,
                            cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    using T = detail::value_of<In>;
    return arg_best("cub::DeviceReduce::ArgMin", temp, temp_bytes, in, out, n, detail::less(),
                    std::numeric_limits<T>::max(), stream, file, line);
  }
  template <class In, class Out, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t ArgMax(void* temp, std::size_t& temp_bytes, In in, Out out, Count n,
                            cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    using T = detail::value_of<In>;
    return arg_best("cub::DeviceReduce::ArgMax", temp, temp_bytes, in, out, n, detail::greater(),
                    std::numeric_limits<T>::lowest(), stream, file, line);
  }
  /// The value and the index, each to a place of its own.
  template <class In, class Out, class Index>
  requires(!std::is_integral_v<Index>) static cudaError_t
      ArgMin(void* temp, std::size_t& temp_bytes, In in, Out out, Index index, std::int64_t n,
             cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    using T = detail::value_of<In>;
    return value_and_index("cub::DeviceReduce::ArgMin", temp, temp_bytes, in, out, index, n,
                           detail::less(), std::numeric_limits<T>::max(), stream, file, line);
  }
  template <class In, class Out, class Index>
  requires(!std::is_integral_v<Index>) static cudaError_t
      ArgMax(void* temp, std::size_t& temp_bytes, In in, Out out, Index index, std::int64_t n,
             cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    using T = detail::value_of<In>;
    return value_and_index("cub::DeviceReduce::ArgMax", temp, temp_bytes, in, out, index, n,
                           detail::greater(), std::numeric_limits<T>::lowest(), stream, file, line);
  }
  template <class In, class Out, class Count, class Op, class Transform, class T>
  requires std::is_integral_v<Count>
  static cudaError_t TransformReduce(void* temp, std::size_t& temp_bytes, In in, Out out, Count n,
                                     Op op, Transform transform, T init,
                                     cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DeviceReduce::TransformReduce");
    using Item = std::decay_t<std::invoke_result_t<Transform&, detail::value_of<In>>>;
    using Accumulator = detail::result_of<Op, T, Item>;
    return call(
        1,
        [=]() mutable {
          Accumulator total = init;
          for (Count i = 0; i < n; ++i) total = op(total, transform(in[i]));
          out[0] = total;
        },
        in, out);
  }
  /// One key and one total for each run of equal keys.
  template <class Keys, class Unique, class Values, class Totals, class Runs, class Op, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t ReduceByKey(void* temp, std::size_t& temp_bytes, Keys keys, Unique unique,
                                 Values values, Totals totals, Runs runs, Op op, Count n,
                                 cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DeviceReduce::ReduceByKey");
    using Value = detail::value_of<Values>;
    using Accumulator = detail::result_of<Op, Value, Value>;
    return call(
        1,
        [=]() mutable {
          Count run = 0;
          for (Count i = 0; i < n; ++run) {
            const detail::value_of<Keys> key = keys[i];
            Accumulator total = values[i];
            for (++i; i < n && keys[i] == key; ++i) total = op(total, values[i]);
            unique[run] = key;
            totals[run] = total;
          }
          runs[0] = run;
        },
        keys, unique, values, totals, runs);
  }

 private:
  template <class In, class Out, class Count, class Better, class T>
  requires std::is_integral_v<Count>
  static cudaError_t best(const char* name, void* temp, std::size_t& temp_bytes, In in, Out out,
                          Count n, Better better, T worst, cudaStream_t stream, const char* file,
                          int line) {
    CUB_CPU_DEVICE_CALL(name);
    return call(
        1,
        [=]() mutable { out[0] = detail::arg_best<Count>(in, Count{0}, n, better, worst).value; },
        in, out);
  }
  template <class In, class Out, class Count, class Better, class T>
  requires std::is_integral_v<Count>
  static cudaError_t arg_best(const char* name, void* temp, std::size_t& temp_bytes, In in, Out out,
                              Count n, Better better, T worst, cudaStream_t stream,
                              const char* file, int line) {
    CUB_CPU_DEVICE_CALL(name);
    return call(
        1, [=]() mutable { out[0] = detail::arg_best<int>(in, Count{0}, n, better, worst); }, in,
        out);
  }
  template <class In, class Out, class Index, class Better, class T>
  static cudaError_t value_and_index(const char* name, void* temp, std::size_t& temp_bytes, In in,
                                     Out out, Index index, std::int64_t n, Better better, T worst,
                                     cudaStream_t stream, const char* file, int line) {
    CUB_CPU_DEVICE_CALL(name);
    return call(
        1,
        [=]() mutable {
          const auto found = detail::arg_best<std::int64_t>(in, std::int64_t{0}, n, better, worst);
          out[0] = found.value;
          index[0] = static_cast<detail::value_of<Index>>(found.key);
        },
        in, out, index);
  }
};

}  // namespace cub
