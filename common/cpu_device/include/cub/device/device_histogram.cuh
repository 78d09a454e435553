// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/device.cuh>

namespace cub {

/// Histograms start at zero. Samples outside of all bins are not counted.
struct DeviceHistogram {
  /// num_levels - 1 bins of one width from lower_level up to (not with) upper_level.
  template <class Samples, class Counter, class Level, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t HistogramEven(void* temp, std::size_t& temp_bytes, Samples samples,
                                   Counter* histogram, int num_levels, Level lower_level,
                                   Level upper_level, Count num_samples,
                                   cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    return HistogramEven(temp, temp_bytes, samples, histogram, num_levels, lower_level, upper_level,
                         num_samples, Count{1}, std::size_t{0}, stream, file, line);
  }
  /// Of a picture whose rows lie row_stride_bytes apart.
  template <class Samples, class Counter, class Level, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t HistogramEven(void* temp, std::size_t& temp_bytes, Samples samples,
                                   Counter* histogram, int num_levels, Level lower_level,
                                   Level upper_level, Count num_row_samples, Count num_rows,
                                   std::size_t row_stride_bytes, cudaStream_t stream = nullptr,
                                   CPU_DEVICE_HERE) {
    Counter* histograms[] = {histogram};
    const int levels[] = {num_levels};
    const Level lower[] = {lower_level}, upper[] = {upper_level};
    return MultiHistogramEven<1, 1>(temp, temp_bytes, samples, histograms, levels, lower, upper,
                                    num_row_samples, num_rows, row_stride_bytes, stream, file,
                                    line);
  }
  /// Bin i holds levels[i] <= sample < levels[i + 1]; the levels are on the device.
  template <class Samples, class Counter, class Level, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t HistogramRange(void* temp, std::size_t& temp_bytes, Samples samples,
                                    Counter* histogram, int num_levels, const Level* levels,
                                    Count num_samples, cudaStream_t stream = nullptr,
                                    CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DeviceHistogram::HistogramRange");
    if (num_levels < 1) return cudaErrorInvalidValue;
    return call(
        1,
        [=]() mutable {
          const int bins = num_levels - 1;
          for (int bin = 0; bin < bins; ++bin) histogram[bin] = 0;
          for (Count i = 0; i < num_samples; ++i) {
            const auto sample = static_cast<Level>(samples[i]);
            const auto bin = std::upper_bound(levels, levels + num_levels, sample) - levels - 1;
            if (bin >= 0 && bin < bins) ++histogram[bin];
          }
        },
        samples, histogram, levels);
  }
  /// Pixels of Channels samples each; the first Active of them are counted, each on its own.
  template <int Channels, int Active, class Samples, class Histograms, class Levels, class Bounds,
            class Count>
  requires std::is_integral_v<Count>
  static cudaError_t MultiHistogramEven(void* temp, std::size_t& temp_bytes, Samples samples,
                                        const Histograms& histograms, const Levels& num_levels,
                                        const Bounds& lower_level, const Bounds& upper_level,
                                        Count num_pixels, cudaStream_t stream = nullptr,
                                        CPU_DEVICE_HERE) {
    return MultiHistogramEven<Channels, Active>(temp, temp_bytes, samples, histograms, num_levels,
                                                lower_level, upper_level, num_pixels, Count{1},
                                                std::size_t{0}, stream, file, line);
  }
  template <int Channels, int Active, class Samples, class Histograms, class Levels, class Bounds,
            class Count>
  requires std::is_integral_v<Count>
  static cudaError_t MultiHistogramEven(void* temp, std::size_t& temp_bytes, Samples samples,
                                        const Histograms& histograms, const Levels& num_levels,
                                        const Bounds& lower_level, const Bounds& upper_level,
                                        Count num_row_pixels, Count num_rows,
                                        std::size_t row_stride_bytes, cudaStream_t stream = nullptr,
                                        CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DeviceHistogram::HistogramEven");
    using Level = std::decay_t<decltype(lower_level[0])>;
    using Counter = std::decay_t<decltype(histograms[0])>;
    struct channel {
      Counter histogram;
      int bins;
      Level lower, upper;
    };
    struct {
      channel of[Active];
    } channels;
    for (int c = 0; c < Active; ++c) {
      if (num_levels[c] < 1) return cudaErrorInvalidValue;
      channels.of[c] = {histograms[c], num_levels[c] - 1, lower_level[c], upper_level[c]};
    }
    using Sample = detail::value_of<Samples>;
    const auto row = static_cast<std::int64_t>(row_stride_bytes / sizeof(Sample));
    return call(
        1,
        [=]() mutable {
          for (const channel& c : channels.of)
            for (int bin = 0; bin < c.bins; ++bin) c.histogram[bin] = 0;
          for (std::int64_t y = 0; y < num_rows; ++y)
            for (std::int64_t x = 0; x < num_row_pixels; ++x)
              for (int i = 0; i < Active; ++i) {
                const channel& c = channels.of[i];
                const auto sample = static_cast<Level>(samples[y * row + x * Channels + i]);
                if (c.lower <= sample && sample < c.upper) ++c.histogram[bin_of(sample, c)];
              }
        },
        samples, channels.of[0].histogram);
  }

 private:
  template <class Level, class Channel>
  static int bin_of(Level sample, const Channel& c) {
    int bin = 0;
    if constexpr (std::is_integral_v<Level>) {
      using Wide = unsigned long long;
      const Wide range = static_cast<Wide>(c.upper) - static_cast<Wide>(c.lower);
      const Wide offset = static_cast<Wide>(sample) - static_cast<Wide>(c.lower);
      __extension__ typedef unsigned __int128 Wider;
      bin = static_cast<int>(Wider{offset} * static_cast<Wide>(c.bins) / range);
    } else {
      const Level scale = static_cast<Level>(c.bins) / (c.upper - c.lower);
      bin = static_cast<int>((sample - c.lower) * scale);
    }
    return bin < c.bins ? bin : c.bins - 1;
  }
};

}  // namespace cub
