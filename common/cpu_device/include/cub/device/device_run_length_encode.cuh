// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/device.cuh>

namespace cub {

struct DeviceRunLengthEncode {
  template <class In, class Unique, class Lengths, class Runs, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t Encode(void* temp, std::size_t& temp_bytes, In in, Unique unique,
                            Lengths lengths, Runs num_runs, Count n, cudaStream_t stream = nullptr,
                            CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DeviceRunLengthEncode::Encode");
    return call(
        1,
        [=]() mutable {
          Count run = 0;
          for (Count i = 0; i < n; ++run) {
            const Count first = i;
            while (i < n && in[i] == in[first]) ++i;
            unique[run] = in[first];
            lengths[run] = i - first;
          }
          num_runs[0] = run;
        },
        in, unique, lengths, num_runs);
  }
  /// Where the runs of two and more items begin, and how long they are.
  template <class In, class Offsets, class Lengths, class Runs, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t NonTrivialRuns(void* temp, std::size_t& temp_bytes, In in, Offsets offsets,
                                    Lengths lengths, Runs num_runs, Count n,
                                    cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DeviceRunLengthEncode::NonTrivialRuns");
    return call(
        1,
        [=]() mutable {
          Count run = 0;
          for (Count i = 0; i < n;) {
            const Count first = i;
            while (i < n && in[i] == in[first]) ++i;
            if (i - first < 2) continue;
            offsets[run] = first;
            lengths[run++] = i - first;
          }
          num_runs[0] = run;
        },
        in, offsets, lengths, num_runs);
  }
};

}  // namespace cub
