// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/animation.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"

namespace {

namespace fs = std::filesystem;
using lab::testing::matches;

using bytes = std::vector<std::uint8_t>;

struct chunk {
  std::string name;
  bytes data;
};

std::uint32_t number(const bytes& data, std::size_t at, int size = 4) {
  std::uint32_t value = 0;
  for (int i = 0; i < size; ++i) value = value << 8 | data.at(at + static_cast<std::size_t>(i));
  return value;
}

bytes content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Takes a PNG file apart; every CRC must be right and no byte left over.
std::vector<chunk> chunks_of(const fs::path& path) {
  const bytes file = content(path);
  std::vector<chunk> chunks;
  EXPECT_EQ(std::string(file.begin(), file.begin() + 8), "\x89PNG\r\n\x1A\n");
  std::size_t at = 8;
  while (at < file.size()) {
    const std::size_t length = number(file, at);
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at + 4);
    const auto end = begin + static_cast<std::ptrdiff_t>(4 + length);
    const std::uint32_t crc =
        static_cast<std::uint32_t>(::crc32(0, &*begin, static_cast<uInt>(4 + length)));
    EXPECT_EQ(number(file, at + 8 + length), crc) << "CRC of chunk " << chunks.size();
    chunks.push_back({std::string(begin, begin + 4), bytes(begin + 4, end)});
    at += 12 + length;
  }
  EXPECT_EQ(at, file.size());
  return chunks;
}

void append(bytes& to, std::uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) to.push_back(static_cast<std::uint8_t>(value >> shift));
}

/// One frame as a PNG file of its own: the animation's header and the frame's pixels.
void write_frame(const fs::path& path, const chunk& header, const bytes& pixels) {
  const std::string signature = "\x89PNG\r\n\x1A\n";
  bytes file(signature.begin(), signature.end());
  for (const chunk& part : {header, chunk{"IDAT", pixels}, chunk{"IEND", {}}}) {
    append(file, static_cast<std::uint32_t>(part.data.size()));
    const auto start = static_cast<std::ptrdiff_t>(file.size());
    file.insert(file.end(), part.name.begin(), part.name.end());
    file.insert(file.end(), part.data.begin(), part.data.end());
    append(file, static_cast<std::uint32_t>(
                     ::crc32(0, &*(file.begin() + start),
                             static_cast<uInt>(file.size() - static_cast<std::size_t>(start)))));
  }
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
}

class Animation : public ::testing::Test {
 protected:
  static constexpr int kWidth = 37;
  static constexpr int kHeight = 20;

  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "lab_animation_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    path = folder / "a.png";
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      lab::bitmap picture(kWidth, kHeight);
      const auto values = lab::random_bytes(picture.pixels().size() * 4, seed);
      std::memcpy(picture.pixels().data(), values.data(), values.size());
      pictures.push_back(picture);
    }
  }
  void TearDown() override { fs::remove_all(folder); }

  std::vector<chunk> write(std::size_t frames, int delay_ms = 40) {
    lab::animation animation(kWidth, kHeight, delay_ms);
    for (std::size_t i = 0; i < frames; ++i) animation.add(pictures.at(i));
    EXPECT_EQ(animation.frame_count(), frames);
    animation.write(path);
    return chunks_of(path);
  }

  fs::path folder, path;
  std::vector<lab::bitmap> pictures;
};

TEST_F(Animation, HasTheChunksInOrder) {
  std::string names;
  for (const chunk& part : write(3)) names += part.name + " ";
  EXPECT_EQ(names, "IHDR acTL fcTL IDAT fcTL fdAT fcTL fdAT IEND ");
}

TEST_F(Animation, SaysHowManyFramesAndPlaysForEver) {
  const auto chunks = write(5);
  EXPECT_EQ(chunks[1].data, (bytes{0, 0, 0, 5, 0, 0, 0, 0}));
}

TEST_F(Animation, NumbersFrameControlsAndFrameDataInOneSequence) {
  std::uint32_t next = 0;
  for (const chunk& part : write(5))
    if (part.name == "fcTL" || part.name == "fdAT") {
      EXPECT_EQ(number(part.data, 0), next++);
    }
  EXPECT_EQ(next, 9u);
}

TEST_F(Animation, GivesEachFrameSizePlaceAndDelay) {
  int frames = 0;
  for (const chunk& part : write(2, 300)) {
    if (part.name != "fcTL") continue;
    ++frames;
    ASSERT_EQ(part.data.size(), 26u);
    EXPECT_EQ(number(part.data, 4), 37u);
    EXPECT_EQ(number(part.data, 8), 20u);
    EXPECT_EQ(number(part.data, 12), 0u);
    EXPECT_EQ(number(part.data, 16), 0u);
    EXPECT_EQ(number(part.data, 20, 2), 300u);
    EXPECT_EQ(number(part.data, 22, 2), 1000u);
    EXPECT_EQ(number(part.data, 24, 2), 0u);  // neither disposed of nor blended
  }
  EXPECT_EQ(frames, 2);
}

TEST_F(Animation, ShowsItsFirstFrameToThoseWhoKnowOnlyPng) {
  write(3);
  EXPECT_TRUE(matches(lab::compare_exact(lab::read_png(path), pictures[0])));
}

TEST_F(Animation, HoldsEveryFrameAsItWentIn) {
  const auto chunks = write(5);
  std::size_t frame = 0;
  for (const chunk& part : chunks) {
    if (part.name != "IDAT" && part.name != "fdAT") continue;
    const std::ptrdiff_t skipped = part.name == "fdAT" ? 4 : 0;
    write_frame(folder / "frame.png", chunks[0],
                bytes(part.data.begin() + skipped, part.data.end()));
    EXPECT_TRUE(
        matches(lab::compare_exact(lab::read_png(folder / "frame.png"), pictures.at(frame))))
        << "frame " << frame;
    ++frame;
  }
  EXPECT_EQ(frame, 5u);
}

TEST_F(Animation, MayHaveOneFrame) {
  std::string names;
  for (const chunk& part : write(1)) names += part.name + " ";
  EXPECT_EQ(names, "IHDR acTL fcTL IDAT IEND ");
}

TEST_F(Animation, RefusesToBeWrittenWithoutFrames) {
  EXPECT_THROW(lab::animation(2, 2, 40).write(path), lab::invalid_input);
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Animation, RefusesFramesOfAnotherSize) {
  lab::animation animation(kHeight, kWidth, 40);
  EXPECT_THROW(animation.add(pictures[0]), lab::invalid_input);
}

TEST_F(Animation, RefusesSizesAndDelaysThatDoNotFit) {
  EXPECT_THROW(lab::animation(0, 2, 40), lab::invalid_input);
  EXPECT_THROW(lab::animation(2, -1, 40), lab::invalid_input);
  EXPECT_THROW(lab::animation(2, 2, 0), lab::invalid_input);
  EXPECT_THROW(lab::animation(2, 2, 65536), lab::invalid_input);
  EXPECT_NO_THROW(lab::animation(2, 2, 65535));
}

TEST_F(Animation, RefusesAPathThatCannotBeWritten) {
  lab::animation animation(kWidth, kHeight, 40);
  animation.add(pictures[0]);
  EXPECT_THROW(animation.write(folder / "none" / "a.png"), lab::invalid_input);
}

}  // namespace
