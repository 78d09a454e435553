// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A window for pictures, where there is a display.
#pragma once

#include <functional>
#include <string>

#include "lab/bitmap.hpp"

namespace lab {

/// Whether a window can be opened: the program was built with freeglut, and the display answers.
/// If not, `why_not` (when given) gets the reason.
bool window_possible(std::string* why_not = nullptr);

/// Shows the picture until Esc or q is pressed or the window is closed. Throws not_possible, with
/// the reason, when there can be no window.
void show(const bitmap& picture, const std::string& title);

/// Draws one frame after the other into the same picture: `draw(picture, tick)` with tick = 0, 1,
/// 2, … until Esc or q is pressed or the window is closed. What `draw` throws comes out of play().
/// Throws not_possible, with the reason, when there can be no window.
void play(int width, int height, const std::function<void(bitmap& picture, int tick)>& draw,
          const std::string& title);

/// Draws frame `tick` with OpenGL, in the context that is current.
using gl_painter = std::function<void(int tick)>;

/// As play(), but nothing of a picture passes through here: `make_painter` is called once, with the
/// window's OpenGL context current, and what it returns draws each frame into that window, over the
/// whole viewport, as lab::gl_picture does. It is destroyed while the context is still there. No
/// other context may be current in this thread. The window has width x height pixels, or less where
/// the screen is too small for that.
void play_opengl(int width, int height, const std::function<gl_painter()>& make_painter,
                 const std::string& title);

}  // namespace lab
