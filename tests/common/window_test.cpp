// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/window.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "lab/errors.hpp"

namespace {

// Each case sets the display that it is about. Nothing else in this program needs one.

TEST(Window, IsNotPossibleWithoutADisplay) {
  ::unsetenv("DISPLAY");
  std::string why_not;
  EXPECT_FALSE(lab::window_possible(&why_not));
  EXPECT_NE(why_not, "");
  EXPECT_FALSE(lab::window_possible());
}

TEST(Window, IsNotPossibleOnADisplayThatDoesNotAnswer) {
  ::setenv("DISPLAY", ":987", 1);
  std::string why_not;
  EXPECT_FALSE(lab::window_possible(&why_not));
  EXPECT_NE(why_not, "");
}

TEST(Window, GivesTheReasonInsteadOfHangingOrExiting) {
  for (const char* display : {"", ":987"}) {
    ::setenv("DISPLAY", display, 1);
    std::string why_not;
    ASSERT_FALSE(lab::window_possible(&why_not));
    try {
      lab::show(lab::bitmap(2, 2), "a picture");
      FAIL() << "a window was shown";
    } catch (const lab::not_possible& error) {
      EXPECT_EQ(error.what(), "no window: " + why_not);
    }
    int frames = 0;
    EXPECT_THROW(lab::play(
                     2, 2, [&](lab::bitmap&, int) { ++frames; }, "an animation"),
                 lab::not_possible);
    EXPECT_EQ(frames, 0);
    EXPECT_THROW(lab::play_opengl(
                     2, 2,
                     [&] {
                       ++frames;
                       return lab::gl_painter([](int) {});
                     },
                     "drawn by OpenGL"),
                 lab::not_possible);
    EXPECT_EQ(frames, 0);
  }
}

}  // namespace
