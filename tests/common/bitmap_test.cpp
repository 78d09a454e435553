// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/bitmap.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>

#include "lab/atomic_file.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"

namespace {

namespace fs = std::filesystem;
using lab::testing::matches;

/// A folder of its own for each test, removed at the end.
class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "lab_bitmap_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  static std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t files_there() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }

  /// The sentence of the invalid_input that `action` throws.
  template <class Action>
  static std::string refusal(Action action) {
    try {
      action();
    } catch (const lab::invalid_input& error) {
      return error.what();
    }
    return "not refused";
  }

  fs::path folder;
};

using AtomicFile = Files;
using Png = Files;

lab::bitmap random_picture(int width, int height, std::uint64_t seed) {
  lab::bitmap picture(width, height);
  const auto bytes = lab::random_bytes(picture.pixels().size() * 4, seed);
  std::memcpy(picture.pixels().data(), bytes.data(), bytes.size());
  return picture;
}

TEST(Bitmap, BeginsOpaqueBlack) {
  const lab::bitmap picture(3, 2);
  EXPECT_EQ(picture.width(), 3);
  EXPECT_EQ(picture.height(), 2);
  ASSERT_EQ(picture.pixels().size(), 6u);
  for (const lab::rgba pixel : picture.pixels()) EXPECT_EQ(pixel, (lab::rgba{0, 0, 0, 255}));
}

TEST(Bitmap, StoresRowAfterRow) {
  lab::bitmap picture(3, 2);
  picture.at(2, 1) = {1, 2, 3, 4};
  EXPECT_EQ(picture.pixels()[1 * 3 + 2], (lab::rgba{1, 2, 3, 4}));
  EXPECT_EQ(picture.pixels()[2], (lab::rgba{0, 0, 0, 255}));
}

TEST(Bitmap, RefusesPixelsOutside) {
  lab::bitmap picture(3, 2);
  EXPECT_THROW(picture.at(3, 0), std::out_of_range);
  EXPECT_THROW(picture.at(0, 2), std::out_of_range);
  EXPECT_THROW(picture.at(-1, 0), std::out_of_range);
  EXPECT_THROW(picture.at(0, -1), std::out_of_range);
  EXPECT_NO_THROW(picture.at(2, 1));
}

TEST(Bitmap, RefusesSidesBelowOne) {
  EXPECT_THROW(lab::bitmap(0, 1), lab::invalid_input);
  EXPECT_THROW(lab::bitmap(1, 0), lab::invalid_input);
  EXPECT_THROW(lab::bitmap(-3, -3), lab::invalid_input);
}

TEST_F(Png, ComesBackAsItWas) {
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 7}, {7, 1}, {33, 31}, {257, 100}}) {
    const lab::bitmap picture = random_picture(width, height, 5);
    lab::write_png(picture, folder / "p.png");
    EXPECT_TRUE(matches(lab::compare_exact(lab::read_png(folder / "p.png"), picture)))
        << width << " x " << height;
  }
  EXPECT_EQ(files_there(), 1u);
}

TEST_F(Png, BeginsWithThePngSignature) {
  lab::write_png(lab::bitmap(2, 2), folder / "p.png");
  EXPECT_EQ(content(folder / "p.png").substr(0, 8), "\x89PNG\r\n\x1A\n");
}

TEST_F(Png, RefusesAFolderThatIsNotThere) {
  const fs::path path = folder / "none" / "p.png";
  EXPECT_EQ(refusal([&] { lab::write_png(lab::bitmap(2, 2), path); }),
            "cannot write " + path.string() + ": there is no folder " + (folder / "none").string());
}

TEST_F(Png, RefusesAPathThatIsAFolder) {
  EXPECT_EQ(refusal([&] { lab::write_png(lab::bitmap(2, 2), folder); }),
            "cannot write " + folder.string() + ": it is a folder");
  EXPECT_EQ(files_there(), 0u);
}

TEST_F(Png, RefusesAFileInsideAFile) {
  std::ofstream(folder / "file") << "x";
  EXPECT_NE(refusal([&] { lab::write_png(lab::bitmap(2, 2), folder / "file" / "p.png"); }),
            "not refused");
}

TEST_F(Png, RefusesAFullDisk) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  EXPECT_EQ(refusal([] { lab::write_png(lab::bitmap(2, 2), "/dev/full"); }),
            "cannot write /dev/full: No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(Png, RefusesToReadWhatIsNoPicture) {
  const fs::path path = folder / "p.png";
  EXPECT_TRUE(refusal([&] { lab::read_png(path); }).starts_with("cannot read " + path.string()));
  std::ofstream(path) << "this is not a picture";
  EXPECT_TRUE(refusal([&] { lab::read_png(path); }).starts_with("cannot read " + path.string()));
}

TEST_F(Png, RefusesToReadATruncatedFile) {
  lab::write_png(random_picture(50, 50, 1), folder / "p.png");
  fs::resize_file(folder / "p.png", fs::file_size(folder / "p.png") / 2);
  EXPECT_NE(refusal([&] { lab::read_png(folder / "p.png"); }), "not refused");
}

TEST_F(AtomicFile, AppearsOnCommit) {
  lab::atomic_file file(folder / "f");
  file.write("abc", 3);
  EXPECT_FALSE(fs::exists(folder / "f"));
  file.commit();
  EXPECT_EQ(content(folder / "f"), "abc");
  EXPECT_EQ(files_there(), 1u);
}

TEST_F(AtomicFile, LeavesNothingWithoutCommit) {
  { lab::atomic_file(folder / "f").write("abc", 3); }
  EXPECT_EQ(files_there(), 0u);
}

TEST_F(AtomicFile, LeavesTheOldFileWithoutCommit) {
  std::ofstream(folder / "f") << "old";
  { lab::atomic_file(folder / "f").write("abc", 3); }
  EXPECT_EQ(content(folder / "f"), "old");
  EXPECT_EQ(files_there(), 1u);
}

TEST_F(AtomicFile, ReplacesTheOldFileAsAWhole) {
  std::ofstream(folder / "f") << "a longer old text";
  lab::atomic_file file(folder / "f");
  file.write("new", 3);
  file.commit();
  EXPECT_EQ(content(folder / "f"), "new");
}

TEST_F(AtomicFile, FollowsALink) {
  fs::create_directory(folder / "real");
  std::ofstream(folder / "real" / "f") << "old";
  fs::create_symlink("real/f", folder / "link");
  lab::atomic_file file(folder / "link");
  file.write("new", 3);
  file.commit();
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(content(folder / "real" / "f"), "new");
}

TEST_F(AtomicFile, WritesADeviceInPlace) {
  lab::atomic_file file("/dev/null");
  file.write("abc", 3);
  file.commit();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(AtomicFile, RefusesAReadOnlyFile) {
  std::ofstream(folder / "f") << "old";
  fs::permissions(folder / "f", fs::perms::owner_read | fs::perms::others_read);
  fs::permissions(folder, fs::perms::all);
  const ::pid_t child = ::fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    constexpr ::uid_t kNobody = 65534;
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(3);  // root may write everything
    const std::string expected = "cannot write " + (folder / "f").string() + ": Permission denied";
    ::_exit(refusal([&] { lab::atomic_file file(folder / "f"); }) == expected ? 0 : 4);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(content(folder / "f"), "old");
}

TEST_F(AtomicFile, IsRemovedByCtrlC) {
  const ::pid_t child = ::fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    lab::atomic_file file(folder / "f");
    file.write("abc", 3);
    std::fflush(file.stream());
    if (files_there() != 1) ::_exit(3);
    std::raise(SIGINT);
    ::_exit(4);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "exited with " << WEXITSTATUS(status);
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  EXPECT_EQ(files_there(), 0u);
}

}  // namespace
