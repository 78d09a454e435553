// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/animation.hpp"

#include <zlib.h>

#include <array>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "lab/atomic_file.hpp"
#include "lab/errors.hpp"
#include "png_file.hpp"

// A PNG file is a signature and a list of chunks: length, name, data, CRC of name and data. An
// animated PNG has three more kinds. acTL says how many frames there are; each frame has an fcTL
// (place, size, delay); the first frame's pixels are the picture's own IDAT, those of the others
// stand in fdAT, which is IDAT after a sequence number. fcTL and fdAT share one count.

namespace lab {
namespace {

using bytes = std::vector<std::uint8_t>;

constexpr std::array<std::uint8_t, 8> kSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

/// PNG's numbers are big-endian.
void append_32(bytes& to, std::uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) to.push_back(static_cast<std::uint8_t>(value >> shift));
}

void append_16(bytes& to, std::uint16_t value) {
  to.push_back(static_cast<std::uint8_t>(value >> 8));
  to.push_back(static_cast<std::uint8_t>(value));
}

std::uint32_t read_32(std::span<const std::uint8_t> from) {
  return static_cast<std::uint32_t>(from[0]) << 24 | static_cast<std::uint32_t>(from[1]) << 16 |
         static_cast<std::uint32_t>(from[2]) << 8 | static_cast<std::uint32_t>(from[3]);
}

void write_chunk(atomic_file& file, std::string_view name, const bytes& data) {
  if (data.size() > std::numeric_limits<std::int32_t>::max())
    throw invalid_input("a frame is too large for a PNG file");
  bytes head;
  append_32(head, static_cast<std::uint32_t>(data.size()));
  head.insert(head.end(), name.begin(), name.end());
  uLong crc = ::crc32(0, head.data() + 4, 4);
  // Empty data has a null pointer, which crc32() takes as the wish to begin anew.
  if (!data.empty()) crc = ::crc32(crc, data.data(), static_cast<uInt>(data.size()));
  bytes tail;
  append_32(tail, static_cast<std::uint32_t>(crc));
  file.write(head.data(), head.size());
  file.write(data.data(), data.size());
  file.write(tail.data(), tail.size());
}

/// All data of the chunks of one name, joined.
bytes chunk_data(std::span<const std::uint8_t> png, std::string_view wanted) {
  bytes data;
  std::size_t at = kSignature.size();
  while (at + 12 <= png.size()) {
    const std::size_t length = read_32(png.subspan(at));
    if (length > png.size() - at - 12) break;
    if (std::memcmp(png.data() + at + 4, wanted.data(), 4) == 0) {
      const auto content = png.subspan(at + 8, length);
      data.insert(data.end(), content.begin(), content.end());
    }
    at += 12 + length;
  }
  return data;
}

}  // namespace

animation::animation(int width, int height, int delay_ms)
    : width_(width), height_(height), delay_ms_(delay_ms) {
  if (width < 1 || height < 1)
    throw invalid_input("an animation needs at least 1 x 1 pixels, not " + std::to_string(width) +
                        " x " + std::to_string(height));
  if (delay_ms < 1 || delay_ms > std::numeric_limits<std::uint16_t>::max())
    throw invalid_input("a frame is shown for 1 to 65535 ms, not " + std::to_string(delay_ms));
}

void animation::add(const bitmap& frame) {
  if (frame.width() != width_ || frame.height() != height_)
    throw invalid_input("a frame of " + std::to_string(frame.width()) + " x " +
                        std::to_string(frame.height()) + " does not fit into an animation of " +
                        std::to_string(width_) + " x " + std::to_string(height_));
  const bytes png = encode_png(frame);
  bytes header = chunk_data(png, "IHDR");
  bytes pixels = chunk_data(png, "IDAT");
  // All frames share one IHDR, so they must have been encoded in the same way.
  if (pixels.empty() || (!header_.empty() && header != header_))
    throw std::runtime_error("libpng encoded a frame differently from the first one");
  header_ = std::move(header);
  frames_.push_back(std::move(pixels));
}

void animation::write(const std::filesystem::path& path) const {
  if (frames_.empty())
    throw invalid_input("cannot write " + path.string() + ": the animation has no frames");
  atomic_file file(path);
  file.write(kSignature.data(), kSignature.size());
  write_chunk(file, "IHDR", header_);

  bytes control;
  append_32(control, static_cast<std::uint32_t>(frames_.size()));
  append_32(control, 0);  // play for ever
  write_chunk(file, "acTL", control);

  std::uint32_t sequence = 0;
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    bytes frame_control;
    append_32(frame_control, sequence++);
    append_32(frame_control, static_cast<std::uint32_t>(width_));
    append_32(frame_control, static_cast<std::uint32_t>(height_));
    append_32(frame_control, 0);  // x and
    append_32(frame_control, 0);  // y of the frame within the picture
    append_16(frame_control, static_cast<std::uint16_t>(delay_ms_));
    append_16(frame_control, 1000);  // the delay's unit: a thousandth of a second
    frame_control.push_back(0);      // leave the frame where it is afterwards …
    frame_control.push_back(0);      // … and replace all pixels, alpha too
    write_chunk(file, "fcTL", frame_control);
    if (i == 0) {
      write_chunk(file, "IDAT", frames_[i]);
    } else {
      bytes data;
      data.reserve(frames_[i].size() + 4);
      append_32(data, sequence++);
      data.insert(data.end(), frames_[i].begin(), frames_[i].end());
      write_chunk(file, "fdAT", data);
    }
  }
  write_chunk(file, "IEND", {});
  file.commit();
}

}  // namespace lab
