// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Pictures in host memory, and PNG files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace lab {

/// One pixel: red, green, blue and opacity, 0 to 255 each, four bytes in this order.
struct rgba {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;
  std::uint8_t a = 255;
  friend bool operator==(const rgba&, const rgba&) = default;
};
static_assert(sizeof(rgba) == 4, "kernels and libpng read pixels as four bytes");

/// A picture, row by row from the top: pixel (x, y) is pixels()[y * width() + x].
/// New pictures are opaque black. Throws invalid_input unless both sides are at least 1.
class bitmap {
 public:
  bitmap(int width, int height);

  int width() const noexcept { return width_; }
  int height() const noexcept { return height_; }
  /// Throws std::out_of_range outside the picture, in every build.
  rgba& at(int x, int y) { return pixels_[index(x, y)]; }
  const rgba& at(int x, int y) const { return pixels_[index(x, y)]; }
  std::span<rgba> pixels() noexcept { return pixels_; }
  std::span<const rgba> pixels() const noexcept { return pixels_; }

  friend bool operator==(const bitmap&, const bitmap&) = default;

 private:
  std::size_t index(int x, int y) const;

  int width_;
  int height_;
  std::vector<rgba> pixels_;
};

/// Writes a PNG file (8 bits a channel, with alpha). The file appears whole or not at all. Throws
/// invalid_input with the path and the reason when it cannot be written.
void write_png(const bitmap& picture, const std::filesystem::path& path);

/// Reads any PNG file as 8-bit RGBA; of an animation, the first frame. Throws invalid_input with
/// the path and the reason when that is not possible.
bitmap read_png(const std::filesystem::path& path);

}  // namespace lab
