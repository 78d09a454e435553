// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// OpenGL without a window: a context, a picture to draw into, a buffer of pixels. What includes
// this is linked with OpenGL, and left out where OpenGL is not installed.
#pragma once

#include <GL/gl.h>
#include <GL/glext.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

#include "lab/bitmap.hpp"

namespace lab {

/// A call of OpenGL that failed. what() names it and the error: `glDrawPixels failed:
/// GL_INVALID_OPERATION`.
class gl_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws gl_error if a call of OpenGL has failed since the last check. `what` names those calls.
/// (OpenGL does not report errors itself: it keeps them until they are queried.)
void check_gl(const char* what);

/// An OpenGL context without a window, made with EGL, and current in this thread from its
/// construction to its end. It is one whose buffers the current CUDA device can use: on a GPU that
/// of the same GPU; on the CPU device one of this machine's, Mesa's on the processor if there is.
///
/// Throws not_possible, with the reason, where there can be none. One for each thread is enough.
class gl_context {
 public:
  gl_context();
  ~gl_context();
  gl_context(const gl_context&) = delete;
  gl_context& operator=(const gl_context&) = delete;

  /// The renderer, and the OpenGL version: "llvmpipe (LLVM 15.0.6, 256 bits), OpenGL 4.5 …".
  const std::string& description() const noexcept;

  /// No longer current in this thread, as is needed before a window makes its own context …
  void leave();
  /// … and current again. Throws not_possible if EGL refuses.
  void enter();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// A picture of OpenGL (a framebuffer object, red, green, blue and opacity of 8 bits each). While
/// it lives, what OpenGL draws goes there, and the viewport is all of it; then both are as they
/// were before. At first each pixel is kUndrawn, and the place where glDrawPixels draws is the
/// lower left corner.
///
/// Throws invalid_input when a side is less than 1 or more than this OpenGL can; not_possible where
/// no context is current in this thread.
class gl_canvas {
 public:
  static constexpr rgba kUndrawn = {255, 0, 255, 0};

  gl_canvas(int width, int height);
  ~gl_canvas();
  gl_canvas(const gl_canvas&) = delete;
  gl_canvas& operator=(const gl_canvas&) = delete;

  /// What OpenGL has drawn, once it has finished. OpenGL's rows go upwards and a bitmap's go
  /// downwards; this reverses them, so that the top stays at the top.
  bitmap read() const;

 private:
  void release();

  int width_, height_;
  GLint before_ = 0;
  GLint viewport_before_[4] = {};
  GLuint framebuffer_ = 0, pixels_ = 0;
};

/// Shows pictures of one size where OpenGL draws at the moment, over the whole viewport: a texture
/// gets the pixels, and is drawn from there. glDrawPixels needs no texture, but the OpenGL of
/// today's GPUs does its work with textures, and drivers may take a long way round for the old
/// call.
///
/// Throws invalid_input when a side is less than 1 or more than this OpenGL can; not_possible where
/// no context is current in this thread; gl_error where there is no memory for the texture.
class gl_picture {
 public:
  gl_picture(int width, int height);
  ~gl_picture();
  gl_picture(const gl_picture&) = delete;
  gl_picture& operator=(const gl_picture&) = delete;

  /// Draws width x height pixels (red, green, blue, opacity of 8 bits each), the lowest row first.
  /// They are where `pixels` points to. But while a buffer is bound to GL_PIXEL_UNPACK_BUFFER, the
  /// argument is an offset in it, so nullptr is its beginning: OpenGL takes them from there.
  /// Throws gl_error when OpenGL reports an error, such as a buffer that is too small; then no
  /// buffer is bound there any more.
  void draw(const void* pixels);

 private:
  void release();

  int width_, height_;
  GLuint texture_ = 0, framebuffer_ = 0;
};

/// Owns a buffer of OpenGL with room for `bytes` bytes, for pixels to be drawn from
/// (GL_PIXEL_UNPACK_BUFFER). Its three steps are those of every OpenGL program: glGenBuffers gives
/// it a name, a number; glBindBuffer makes it the one that calls refer to; glBufferData gives it
/// memory, whose contents are undefined. Afterwards it is not bound.
///
/// Throws gl_error if the memory cannot be allocated.
class pixel_buffer {
 public:
  explicit pixel_buffer(std::size_t bytes);
  ~pixel_buffer();
  pixel_buffer(const pixel_buffer&) = delete;
  pixel_buffer& operator=(const pixel_buffer&) = delete;

  GLuint name() const noexcept { return name_; }

 private:
  GLuint name_ = 0;
};

}  // namespace lab
