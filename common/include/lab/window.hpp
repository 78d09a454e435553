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

}  // namespace lab
