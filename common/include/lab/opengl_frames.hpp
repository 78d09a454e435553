// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// An animation that OpenGL draws, as a program's file and window.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lab/command_line.hpp"
#include "lab/opengl.hpp"
#include "lab/window.hpp"

namespace lab {

/// program::emit_frames() for frames that are drawn with OpenGL: those of the file are drawn into a
/// picture of `context`, and read from it; those of the window are drawn where they are seen, in
/// the window's own context. For each of the two `make_painter` makes a new painter.
inline void emit_opengl_frames(program& from, gl_context& context, int width, int height,
                               int delay_ms, const std::function<gl_painter()>& make_painter) {
  struct on_canvas {
    gl_canvas canvas;
    gl_painter paint;
  };
  std::unique_ptr<on_canvas> file;  // made with the first frame, if there is one
  const auto draw = [&](bitmap& picture, int tick) {
    if (file == nullptr)
      file.reset(new on_canvas{.canvas = {width, height}, .paint = make_painter()});
    file->paint(tick);
    picture = file->canvas.read();
  };
  from.emit_frames(width, height, delay_ms, draw, [&](const std::string& title) {
    file.reset();
    context.leave();
    play_opengl(width, height, make_painter, title);
    context.enter();
  });
}

}  // namespace lab
