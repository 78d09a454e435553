// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Animated PNG files, which every browser plays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "lab/bitmap.hpp"

namespace lab {

/// Collects frames (compressed at once) and writes them as one animated PNG that plays forever. A
/// viewer that knows only PNG shows the first frame.
class animation {
 public:
  /// Each frame is shown for `delay_ms` milliseconds, 1 to 65535. Throws invalid_input for other
  /// delays, or when a side is less than 1.
  animation(int width, int height, int delay_ms);

  int width() const noexcept { return width_; }
  int height() const noexcept { return height_; }
  std::size_t frame_count() const noexcept { return frames_.size(); }

  /// Throws invalid_input unless the frame has the animation's size.
  void add(const bitmap& frame);

  /// The file appears whole or not at all. Throws invalid_input when there is no frame, or with
  /// the path and the reason when it cannot be written.
  void write(const std::filesystem::path& path) const;

 private:
  int width_;
  int height_;
  int delay_ms_;
  std::vector<std::uint8_t> header_;               // IHDR's data: the same for all frames
  std::vector<std::vector<std::uint8_t>> frames_;  // the zlib stream of each frame
};

}  // namespace lab
