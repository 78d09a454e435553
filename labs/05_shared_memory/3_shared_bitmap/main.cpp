// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.3 shared_bitmap: the program.

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "lab/bitmap.hpp"
#include "lab/command_line.hpp"
#include "reference.hpp"
#include "shared_bitmap.hpp"

int main(int argc, char** argv) {
  lab::program program("05.3_shared_bitmap", "Draws green blobs through shared memory.");
  int width = lab::shared_bitmap::kDefaultSize, height = width;
  int period = lab::shared_bitmap::kDefaultPeriod;
  program.add_number("--width", width, "of the picture, in pixels");
  program.add_number("--height", height, "of the picture, in pixels");
  program.add_number("--period", period, "from blob to blob, in pixels").at_least(1).at_most(1e6);
  program.add_picture_options("shared_bitmap.png");

  return program.run(argc, argv, [&] {
    const auto pixels = static_cast<std::size_t>(std::max(width, 0)) *
                        static_cast<std::size_t>(std::max(height, 0));
    program.require_memory(pixels * (3 * sizeof(int) + sizeof(lab::rgba)), pixels * sizeof(int));
    const auto wave = lab::shared_bitmap::sine_wave(period);
    const auto result = lab::shared_bitmap::draw(width, height, wave, wave);
    std::printf("%d x %d pixels, in tiles of %d x %d\n", width, height, lab::shared_bitmap::kTile,
                lab::shared_bitmap::kTile);

    const auto picture = lab::shared_bitmap::picture_of(width, height, result.greens);
    const auto expected = lab::shared_bitmap::picture_of(
        width, height, lab::shared_bitmap::reference(width, height, wave, wave));
    const bool right = program.verdict(lab::compare_exact(picture, expected));
    program.emit(picture);  // a wrong picture is worth seeing, too
    if (!right) return false;
    program.report_kernel(
        [&] { return lab::shared_bitmap::draw(width, height, wave, wave).kernel_ms; },
        {.bytes = static_cast<double>(pixels) * sizeof(int),
         .items = static_cast<double>(pixels),
         .item_name = "pixels"});
    return true;
  });
}
