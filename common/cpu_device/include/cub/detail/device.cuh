// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// How the device-wide algorithms run: each call is a kernel of one thread, put into the stream. So
// it has what kernels have here: its pointers are checked, its turn comes with its stream's, and an
// access outside of memory is reported with the line of the call.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cub/thread/thread_operators.cuh>
#include <cub/util_type.cuh>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

namespace cub::detail {

template <class It>
using value_of = typename std::iterator_traits<It>::value_type;
/// What an output takes; where it does not say (void), what the input gives.
template <class Out, class In>
using value_of_either =
    std::conditional_t<std::is_void_v<value_of<Out>>, value_of<In>, value_of<Out>>;
/// What Op makes of two values: sums of chars are ints.
template <class Op, class A, class B>
using result_of = std::decay_t<std::invoke_result_t<Op&, A, B>>;

constexpr std::size_t kAlignment = 256;
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// A call: the temporary storage it was given, where it belongs, and where it stands.
struct device_call {
  const char* name;
  void* temp;
  std::size_t& temp_bytes;
  cudaStream_t stream;
  const char* file;
  int line;

  /// The two phases of every algorithm: without storage, says how much is `needed`; with it, has
  /// `work` run as a kernel. `arguments` are those of the call, for the check of the pointers.
  template <class Work, class... Arguments>
  cudaError_t operator()(std::size_t needed, const Work& work,
                         const Arguments&... arguments) const {
    if (needed == 0) needed = 1;  // so that there is something to allocate
    if (temp == nullptr) {
      temp_bytes = needed;
      return cudaSuccess;
    }
    if (temp_bytes < needed) return cudaErrorInvalidValue;
    // Functors need not be const, so the thread works with a copy of its own.
    const auto kernel = [work] {
      Work mine(work);
      mine();
    };
    ::cpu_device::submit_call({name, file, line}, {dim3(1), dim3(1), 0, stream}, kernel, nullptr,
                              temp, temp_bytes, arguments...);
    return cudaPeekAtLastError();
  }

  template <class T>
  T* storage(std::size_t offset = 0) const {
    return reinterpret_cast<T*>(static_cast<char*>(temp) + offset);
  }
};

#define CUB_CPU_DEVICE_CALL(NAME) \
  const ::cub::detail::device_call call { NAME, temp, temp_bytes, stream, file, line }

/// op(... op(op(init, in[0]), in[1]) ...), in chunks: sums of many floats stay good.
template <class Sum, class In, class Count, class Op>
Sum reduce(In in, Count begin, Count end, Op op, Sum total) {
  constexpr Count kChunk = static_cast<Count>(sizeof(Count) > 1 ? 1024 : 64);
  while (begin < end) {
    const Count stop = end - begin > kChunk ? static_cast<Count>(begin + kChunk) : end;
    Sum part = static_cast<Sum>(in[begin]);
    for (Count i = begin + 1; i < stop; ++i) part = static_cast<Sum>(op(part, in[i]));
    total = static_cast<Sum>(op(total, part));
    begin = stop;
  }
  return total;
}

/// The index and value of the first of the best; {1, worst} for none, as CUB documents.
template <class Index, class In, class Count, class Better>
auto arg_best(In in, Count begin, Count end, Better better, value_of<In> worst) {
  KeyValuePair<Index, value_of<In>> best{1, worst};
  for (Count i = begin; i < end; ++i) {
    const value_of<In> value = in[i];
    if (i == begin || better(value, best.value)) best = {static_cast<Index>(i - begin), value};
  }
  return best;
}
struct less {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a < b;
  }
};
struct greater {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return b < a;
  }
};

}  // namespace cub::detail
