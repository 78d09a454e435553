// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/opengl.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lab/errors.hpp"
#include "lab/opengl_mapping.hpp"
#include "lab_testing.hpp"

namespace {

using lab::bitmap;
using lab::gl_canvas;
using lab::pixel_buffer;
using lab::rgba;

std::unique_ptr<lab::gl_context> context;
const lab::testing::needs needs_opengl([] { context = std::make_unique<lab::gl_context>(); });

/// A different colour for each pixel.
rgba colour(int x, int y) {
  return {static_cast<std::uint8_t>(3 * x + 1), static_cast<std::uint8_t>(7 * y + 2),
          static_cast<std::uint8_t>(x * y), 255};
}

/// width x height pixels, the lowest row first, as OpenGL has them.
std::vector<rgba> pixels_upwards(int width, int height) {
  std::vector<rgba> pixels;
  for (int y = height - 1; y >= 0; --y)
    for (int x = 0; x < width; ++x) pixels.push_back(colour(x, y));
  return pixels;
}

/// Names are numbers from 1 on. Some OpenGLs never use one twice.
constexpr GLuint kMostNames = 10'000;

TEST(GlContext, SaysWhoDraws) {
  EXPECT_NE(context->description().find("OpenGL "), std::string::npos) << context->description();
  EXPECT_EQ(context->description().find('?'), std::string::npos) << context->description();
}

TEST(GlContext, ComesAndGoesAndIsThereAgain) {
  context->leave();
  EXPECT_THROW(gl_canvas(2, 2), lab::not_possible);
  context->enter();
  EXPECT_NO_THROW(gl_canvas(2, 2));
  {
    const lab::gl_context other;
    EXPECT_NO_THROW(gl_canvas(2, 2));
  }
  EXPECT_THROW(gl_canvas(2, 2), lab::not_possible) << "the end of a context left one behind";
  context->enter();
}

TEST(GlCanvas, IsUndrawnAtFirst) {
  const gl_canvas canvas(3, 2);
  const bitmap picture = canvas.read();
  ASSERT_EQ(picture.width(), 3);
  ASSERT_EQ(picture.height(), 2);
  for (const rgba& pixel : picture.pixels()) EXPECT_EQ(pixel, gl_canvas::kUndrawn);
}

TEST(GlCanvas, HasWhatOpenGlDrewWithTheUpperRowFirst) {
  for (const auto& [width, height] : {std::pair{1, 1}, {5, 3}, {3, 5}, {37, 1}, {1, 37}, {64, 2}}) {
    const gl_canvas canvas(width, height);
    const auto pixels = pixels_upwards(width, height);
    glDrawPixels(width, height, GL_RGBA, GL_UNSIGNED_BYTE, pixels.data());
    const bitmap picture = canvas.read();
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) EXPECT_EQ(picture.at(x, y), colour(x, y)) << x << ", " << y;
  }
}

TEST(GlCanvas, DrawsWhereItIsOnlyWhileItLives) {
  const gl_canvas outer(4, 4);
  const rgba white = {255, 255, 255, 255};
  {
    const gl_canvas inner(4, 4);
    glDrawPixels(1, 1, GL_RGBA, GL_UNSIGNED_BYTE, &white);
    EXPECT_EQ(outer.read().at(0, 3), gl_canvas::kUndrawn);
    EXPECT_EQ(inner.read().at(0, 3), white);
  }
  glDrawPixels(1, 1, GL_RGBA, GL_UNSIGNED_BYTE, &white);
  EXPECT_EQ(outer.read().at(0, 3), white);
}

TEST(GlCanvas, BeginsAtTheLowerLeftCornerWhateverWasDrawnBefore) {
  const gl_canvas before(4, 4);
  glWindowPos2i(2, 1);
  glPixelZoom(2, 2);
  const gl_canvas canvas(4, 4);
  const rgba white = {255, 255, 255, 255};
  glDrawPixels(1, 1, GL_RGBA, GL_UNSIGNED_BYTE, &white);
  const bitmap picture = canvas.read();
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 4; ++x)
      EXPECT_EQ(picture.at(x, y), x == 0 && y == 3 ? white : gl_canvas::kUndrawn) << x << ", " << y;
}

std::array<GLint, 4> viewport() {
  std::array<GLint, 4> left_bottom_width_height{};
  glGetIntegerv(GL_VIEWPORT, left_bottom_width_height.data());
  return left_bottom_width_height;
}

TEST(GlCanvas, IsTheWholeViewportWhileItLives) {
  const auto before = viewport();
  {
    const gl_canvas outer(4, 7);
    EXPECT_EQ(viewport(), (std::array<GLint, 4>{0, 0, 4, 7}));
    { const gl_canvas inner(20, 3); }
    EXPECT_EQ(viewport(), (std::array<GLint, 4>{0, 0, 4, 7}));
  }
  EXPECT_EQ(viewport(), before);
}

TEST(GlCanvas, IsReadWithoutChangingWhereOthersRead) {
  const gl_canvas outer(4, 4), inner(4, 4);
  GLint before = -1, after = -1;
  glGetIntegerv(GL_READ_FRAMEBUFFER_BINDING, &before);
  (void)outer.read();
  glGetIntegerv(GL_READ_FRAMEBUFFER_BINDING, &after);
  EXPECT_EQ(after, before);
}

TEST(GlCanvas, LeavesNothingBehind) {
  const auto things = [] {
    int count = 0;
    for (GLuint name = 1; name < kMostNames; ++name)
      count +=
          (glIsFramebuffer(name) == GL_TRUE ? 1 : 0) + (glIsRenderbuffer(name) == GL_TRUE ? 1 : 0);
    return count;
  };
  const int before = things();
  {
    const gl_canvas canvas(4, 4);
    EXPECT_EQ(things(), before + 2);
  }
  EXPECT_EQ(things(), before);
}

TEST(GlCanvas, RefusesPicturesThatCannotBe) {
  EXPECT_THROW(gl_canvas(0, 1), lab::invalid_input);
  EXPECT_THROW(gl_canvas(1, -1), lab::invalid_input);
  EXPECT_THROW(gl_canvas(1 << 30, 1), lab::invalid_input);
  EXPECT_THROW(gl_canvas(1, 1 << 30), lab::invalid_input);
}

// --- pictures that are drawn ---------------------------------------------------------------------

TEST(GlPicture, DrawsPixelsOfTheHostLowestRowFirst) {
  for (const auto& [width, height] : {std::pair{1, 1}, {5, 3}, {3, 5}, {37, 1}, {1, 37}, {64, 2}}) {
    const gl_canvas canvas(width, height);
    lab::gl_picture drawn(width, height);
    drawn.draw(pixels_upwards(width, height).data());
    const bitmap picture = canvas.read();
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) EXPECT_EQ(picture.at(x, y), colour(x, y)) << x << ", " << y;
  }
}

TEST(GlPicture, DrawsPixelsOfTheBufferThatIsBound) {
  const std::vector<rgba> pixels = pixels_upwards(6, 4);
  const pixel_buffer buffer(pixels.size() * sizeof(rgba));
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer.name());
  glBufferSubData(GL_PIXEL_UNPACK_BUFFER, 0, static_cast<GLsizeiptr>(pixels.size() * sizeof(rgba)),
                  pixels.data());
  const gl_canvas canvas(6, 4);
  lab::gl_picture drawn(6, 4);
  drawn.draw(nullptr);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  const bitmap picture = canvas.read();
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 6; ++x) EXPECT_EQ(picture.at(x, y), colour(x, y)) << x << ", " << y;
}

TEST(GlPicture, FillsTheViewportAndNothingElse) {
  const gl_canvas canvas(8, 5);
  glViewport(2, 1, 4, 2);  // two columns and one row for each pixel; y counts upwards
  lab::gl_picture drawn(2, 2);
  drawn.draw(pixels_upwards(2, 2).data());
  const bitmap picture = canvas.read();
  for (int y = 0; y < 5; ++y)
    for (int x = 0; x < 8; ++x) {
      const bool inside = x >= 2 && x < 6 && y >= 2 && y < 4;
      EXPECT_EQ(picture.at(x, y), inside ? colour((x - 2) / 2, y - 2) : gl_canvas::kUndrawn)
          << x << ", " << y;
    }
}

TEST(GlPicture, DrawsNewPixelsEachTimeAndLeavesTheBindingsAlone) {
  const gl_canvas canvas(3, 2);
  lab::gl_picture drawn(3, 2);
  GLint reading_from = 0, before = 0;
  glGetIntegerv(GL_READ_FRAMEBUFFER_BINDING, &before);
  for (const std::uint8_t grey : {7, 90, 255}) {
    drawn.draw(std::vector<rgba>(6, rgba{grey, grey, grey, 255}).data());
    const bitmap picture = canvas.read();
    for (const rgba& pixel : picture.pixels()) EXPECT_EQ(pixel, (rgba{grey, grey, grey, 255}));
  }
  glGetIntegerv(GL_READ_FRAMEBUFFER_BINDING, &reading_from);
  EXPECT_EQ(reading_from, before);
}

TEST(GlPicture, SaysThatABufferIsTooSmall) {
  const gl_canvas canvas(4, 4);
  lab::gl_picture drawn(4, 4);
  const pixel_buffer buffer(4 * 4 * sizeof(rgba) - 1);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer.name());
  EXPECT_THROW(drawn.draw(nullptr), lab::gl_error);
  GLint bound = -1;
  glGetIntegerv(GL_PIXEL_UNPACK_BUFFER_BINDING, &bound);
  EXPECT_EQ(bound, 0) << "nobody unbinds it when draw() has thrown";
}

TEST(GlPicture, LeavesNothingBehind) {
  const auto things = [] {
    int count = 0;
    for (GLuint name = 1; name < kMostNames; ++name)
      count += (glIsFramebuffer(name) == GL_TRUE ? 1 : 0) + (glIsTexture(name) == GL_TRUE ? 1 : 0);
    return count;
  };
  const int before = things();
  {
    const lab::gl_picture picture(4, 4);
    EXPECT_EQ(things(), before + 2);
  }
  EXPECT_EQ(things(), before);
}

TEST(GlPicture, RefusesPicturesThatCannotBe) {
  EXPECT_THROW(lab::gl_picture(0, 1), lab::invalid_input);
  EXPECT_THROW(lab::gl_picture(1, -1), lab::invalid_input);
  EXPECT_THROW(lab::gl_picture(1 << 30, 1), lab::invalid_input);
  context->leave();
  EXPECT_THROW(lab::gl_picture(2, 2), lab::not_possible);
  context->enter();
}

TEST(CheckGl, NamesTheErrorOnce) {
  lab::check_gl("nothing");
  glBindBuffer(GL_RGBA, 0);
  try {
    lab::check_gl("glBindBuffer");
    FAIL() << "no error was thrown";
  } catch (const lab::gl_error& error) {
    EXPECT_STREQ(error.what(), "glBindBuffer failed: GL_INVALID_ENUM");
  }
  lab::check_gl("nothing");
}

TEST(PixelBuffer, HasItsBytesAndIsNotBound) {
  const pixel_buffer buffer(1000);
  GLint bound = -1, bytes = 0;
  glGetIntegerv(GL_PIXEL_UNPACK_BUFFER_BINDING, &bound);
  EXPECT_EQ(bound, 0);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer.name());
  glGetBufferParameteriv(GL_PIXEL_UNPACK_BUFFER, GL_BUFFER_SIZE, &bytes);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  EXPECT_EQ(bytes, 1000);
}

TEST(PixelBuffer, IsDeletedInTheEnd) {
  GLuint name = 0;
  {
    const pixel_buffer buffer(16);
    name = buffer.name();
    EXPECT_TRUE(glIsBuffer(name));
  }
  EXPECT_FALSE(glIsBuffer(name));
}

TEST(MappedBuffer, CarriesACopyOfCudaToOpenGl) {
  const std::vector<rgba> pixels = pixels_upwards(6, 4);
  const std::size_t bytes = pixels.size() * sizeof(rgba);
  const gl_canvas canvas(6, 4);
  const pixel_buffer buffer(bytes);
  const lab::registered_buffer registered(buffer);
  {
    lab::mapped_buffer<rgba> mapped(registered, pixels.size());
    CUDA_CHECK(cudaMemcpy(mapped.data(), pixels.data(), bytes, cudaMemcpyHostToDevice));
    mapped.unmap();
  }
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer.name());
  glDrawPixels(6, 4, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  const bitmap picture = canvas.read();
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 6; ++x) EXPECT_EQ(picture.at(x, y), colour(x, y));
}

TEST(MappedBuffer, IsUnmappedOnEveryWay) {
  const pixel_buffer buffer(40);
  const lab::registered_buffer registered(buffer);
  EXPECT_THROW(lab::mapped_buffer<int>(registered, 11), lab::invalid_input);
  { const lab::mapped_buffer<int> mapped(registered, 10); }
  lab::mapped_buffer<int> mapped(registered, 10);  // it could not be mapped twice
  mapped.unmap();
}

TEST(MappedBuffer, IsUnmappedOnlyOnce) {
  const pixel_buffer buffer(40);
  const lab::registered_buffer registered(buffer);
  auto first = std::make_unique<lab::mapped_buffer<int>>(registered, 10);
  first->unmap();
  lab::mapped_buffer<int> second(registered, 10);
  first.reset();  // has nothing to unmap any more: the mapping is the second's
  EXPECT_NO_THROW(second.unmap());
}

// --- where something is missing: this program again, in a worse world ---------------------------

/// Runs the case of this name with `variables` in its environment, and adds what it says.
int run_again(const std::string& name, const std::string& variables, std::string& output) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command =
      "env " + variables + " '" + program + "' --gtest_filter=" + name + " 2>&1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return -1;
  std::array<char, 4096> part;
  while (std::fgets(part.data(), static_cast<int>(part.size()), pipe) != nullptr)
    output += part.data();
  const int status = ::pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Tests, AreSkippedWhereThereIsNoContext) {
  std::string output;
  // Where EGL looks for drivers.
  EXPECT_EQ(run_again("GlCanvas.IsUndrawnAtFirst", "__EGL_VENDOR_LIBRARY_FILENAMES=/none", output),
            77)
      << output;
  EXPECT_NE(output.find("SKIPPED: no OpenGL without a window: "), std::string::npos) << output;
  EXPECT_EQ(output.find("[ RUN"), std::string::npos) << output;
}

#ifdef __CPU_DEVICE__
TEST(Tests, FailWhenABufferStaysRegistered) {
  if (std::getenv("LAB_TEST_MISBEHAVE") != nullptr) {
    auto* buffer = new pixel_buffer(4);
    new lab::registered_buffer(*buffer);
    return;
  }
  std::string output;
  EXPECT_EQ(run_again("Tests.FailWhenABufferStaysRegistered", "LAB_TEST_MISBEHAVE=1", output), 1);
  EXPECT_NE(output.find("this test leaves registrations of OpenGL's buffers and textures that "
                        "nobody destroys: 1"),
            std::string::npos)
      << output;
}
#endif

}  // namespace
