// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/bitmap.hpp"

#include <png.h>

#include <stdexcept>
#include <string>

#include "lab/atomic_file.hpp"
#include "lab/errors.hpp"
#include "png_file.hpp"

namespace lab {
namespace {

std::size_t pixel_count(int width, int height) {
  if (width < 1 || height < 1)
    throw invalid_input("a picture needs at least 1 x 1 pixels, not " + std::to_string(width) +
                        " x " + std::to_string(height));
  return static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
}

/// libpng's simplified interface: it reports errors in the struct, without setjmp and longjmp in
/// our code, and owns memory until png_image_free.
struct png_job {
  png_image image{};
  png_job() { image.version = PNG_IMAGE_VERSION; }
  png_job(const png_job&) = delete;
  png_job& operator=(const png_job&) = delete;
  ~png_job() { png_image_free(&image); }
};

}  // namespace

bitmap::bitmap(int width, int height)
    : width_(width), height_(height), pixels_(pixel_count(width, height)) {}

std::size_t bitmap::index(int x, int y) const {
  if (x < 0 || x >= width_ || y < 0 || y >= height_)
    throw std::out_of_range("there is no pixel x = " + std::to_string(x) +
                            ", y = " + std::to_string(y) + " in a picture of " +
                            std::to_string(width_) + " x " + std::to_string(height_));
  return static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
         static_cast<std::size_t>(x);
}

std::vector<std::uint8_t> encode_png(const bitmap& picture) {
  png_job job;
  job.image.width = static_cast<png_uint_32>(picture.width());
  job.image.height = static_cast<png_uint_32>(picture.height());
  job.image.format = PNG_FORMAT_RGBA;
  const auto fail = [&]() -> std::vector<std::uint8_t> {
    throw invalid_input(std::string("cannot encode the picture as PNG: ") + job.image.message);
  };
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(job.image);  // no need to compress twice
  std::vector<std::uint8_t> encoded(bytes);
  if (png_image_write_to_memory(&job.image, encoded.data(), &bytes, 0, picture.pixels().data(), 0,
                                nullptr) == 0)
    return fail();
  encoded.resize(bytes);
  return encoded;
}

void write_png(const bitmap& picture, const std::filesystem::path& path) {
  atomic_file file(path);  // first, since an unusable path should fail before the work is done
  const std::vector<std::uint8_t> encoded = encode_png(picture);
  file.write(encoded.data(), encoded.size());
  file.commit();
}

bitmap read_png(const std::filesystem::path& path) {
  png_job job;
  const auto fail = [&]() {
    throw invalid_input("cannot read " + path.string() + ": " + job.image.message);
  };
  if (png_image_begin_read_from_file(&job.image, path.c_str()) == 0) fail();
  job.image.format = PNG_FORMAT_RGBA;
  bitmap picture(static_cast<int>(job.image.width), static_cast<int>(job.image.height));
  if (png_image_finish_read(&job.image, nullptr, picture.pixels().data(), 0, nullptr) == 0) fail();
  return picture;
}

}  // namespace lab
