// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.4 heat_transfer: who owns pitched memory (given).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <vector>

#include "lab/cuda_check.hpp"

namespace lab::heat_transfer {

/// Owns rows of floats. Each row begins at a multiple of pitch_bytes(), which CUDA has chosen such
/// that textures of this device can look at them: it may be more than width floats.
class pitched_buffer {
 public:
  pitched_buffer(int width, int height) : width_(width), height_(height) {
    CUDA_CHECK(cudaMallocPitch(&data_, &pitch_bytes_, width_bytes(), rows()));
  }
  pitched_buffer(const pitched_buffer&) = delete;
  pitched_buffer& operator=(const pitched_buffer&) = delete;
  ~pitched_buffer() { CUDA_CHECK_NOTHROW(cudaFree(data_)); }

  float* data() const { return data_; }
  std::size_t pitch_bytes() const { return pitch_bytes_; }
  /// The same memory, four cells at a time; the last ones of a row may be padding.
  float4* vectors() const { return reinterpret_cast<float4*>(data_); }
  std::size_t vectors_per_row() const { return pitch_bytes_ / sizeof(float4); }
  int width() const { return width_; }
  int height() const { return height_; }

  /// `cells` are width * height floats without gaps. The padding behind each row becomes NaN: a
  /// kernel may read it, and where it is used by mistake the result shows it.
  void copy_from(std::span<const float> cells) {
    if (pitch_bytes_ > width_bytes())
      CUDA_CHECK(cudaMemset2D(reinterpret_cast<std::byte*>(data_) + width_bytes(), pitch_bytes_,
                              0xFF, pitch_bytes_ - width_bytes(), rows()));
    CUDA_CHECK(cudaMemcpy2D(data_, pitch_bytes_, cells.data(), width_bytes(), width_bytes(), rows(),
                            cudaMemcpyHostToDevice));
  }

 private:
  std::size_t width_bytes() const { return static_cast<std::size_t>(width_) * sizeof(float); }
  std::size_t rows() const { return static_cast<std::size_t>(height_); }

  int width_, height_;
  float* data_ = nullptr;
  std::size_t pitch_bytes_ = 0;
};

/// The cells at `from`, in device memory without gaps, after all that was launched.
inline std::vector<float> cells_at(const float* from, int width, int height) {
  std::vector<float> cells(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  CUDA_CHECK(cudaMemcpy(cells.data(), from, cells.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return cells;
}

/// The same from pitched memory.
inline std::vector<float> cells_at(const float* from, std::size_t pitch_bytes, int width,
                                   int height) {
  std::vector<float> cells(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  const std::size_t row_bytes = static_cast<std::size_t>(width) * sizeof(float);
  CUDA_CHECK(cudaMemcpy2D(cells.data(), row_bytes, from, pitch_bytes, row_bytes,
                          static_cast<std::size_t>(height), cudaMemcpyDeviceToHost));
  return cells;
}

}  // namespace lab::heat_transfer
