// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Pictures and buffers of OpenGL: lab/opengl.hpp.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "lab/errors.hpp"
#include "lab/opengl.hpp"

namespace lab {
namespace {

std::string name_of(GLenum error) {
  switch (error) {
    case GL_INVALID_ENUM:
      return "GL_INVALID_ENUM";
    case GL_INVALID_VALUE:
      return "GL_INVALID_VALUE";
    case GL_INVALID_OPERATION:
      return "GL_INVALID_OPERATION";
    case GL_INVALID_FRAMEBUFFER_OPERATION:
      return "GL_INVALID_FRAMEBUFFER_OPERATION";
    case GL_OUT_OF_MEMORY:
      return "GL_OUT_OF_MEMORY";
    default:
      return "error " + std::to_string(error);
  }
}

/// Throws unless OpenGL can have a picture of this size; `limit` is the name of its limit.
void require_possible(int width, int height, GLenum limit) {
  if (glGetString(GL_VERSION) == nullptr)
    throw not_possible("no OpenGL context is current in this thread (lab::gl_context makes one)");
  GLint longest = 0;
  glGetIntegerv(limit, &longest);
  if (width < 1 || height < 1 || width > longest || height > longest)
    throw invalid_input("OpenGL cannot draw a picture of " + std::to_string(width) + " x " +
                        std::to_string(height) + " pixels here; a side has 1 to " +
                        std::to_string(longest));
  check_gl("what was drawn before");
}

gl_error no_memory(int width, int height) {
  return gl_error("OpenGL has no memory for a picture of " + std::to_string(width) + " x " +
                  std::to_string(height) + " pixels");
}

}  // namespace

void check_gl(const char* what) {
  const GLenum first = glGetError();
  if (first == GL_NO_ERROR) return;
  // OpenGL may keep several; they are of the same calls. (A lost context gives errors without end.)
  for (int i = 0; i < 16 && glGetError() != GL_NO_ERROR; ++i) {
  }
  throw gl_error(std::string(what) + " failed: " + name_of(first));
}

gl_canvas::gl_canvas(int width, int height) : width_(width), height_(height) {
  require_possible(width, height, GL_MAX_RENDERBUFFER_SIZE);

  glGetIntegerv(GL_FRAMEBUFFER_BINDING, &before_);
  glGetIntegerv(GL_VIEWPORT, viewport_before_);
  glGenRenderbuffers(1, &pixels_);
  glBindRenderbuffer(GL_RENDERBUFFER, pixels_);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, width, height);
  glGenFramebuffers(1, &framebuffer_);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer_);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, pixels_);
  const bool complete = glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
  if (!complete || glGetError() != GL_NO_ERROR) {
    release();
    throw no_memory(width, height);
  }
  glViewport(0, 0, width, height);
  glClearColor(kUndrawn.r / 255.0F, kUndrawn.g / 255.0F, kUndrawn.b / 255.0F, kUndrawn.a / 255.0F);
  glClear(GL_COLOR_BUFFER_BIT);
  glWindowPos2i(0, 0);
  glPixelZoom(1, 1);
  try {
    check_gl("making a picture to draw into");
  } catch (const gl_error&) {  // an OpenGL without these functions: the core profile has none
    release();
    throw;
  }
}

gl_canvas::~gl_canvas() { release(); }

void gl_canvas::release() {
  glBindFramebuffer(GL_FRAMEBUFFER, static_cast<GLuint>(before_));
  glViewport(viewport_before_[0], viewport_before_[1], viewport_before_[2], viewport_before_[3]);
  glDeleteFramebuffers(1, &framebuffer_);
  glDeleteRenderbuffers(1, &pixels_);
}

bitmap gl_canvas::read() const {
  GLint reading_from = 0;
  glGetIntegerv(GL_READ_FRAMEBUFFER_BINDING, &reading_from);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer_);
  bitmap picture(width_, height_);
  glReadPixels(0, 0, width_, height_, GL_RGBA, GL_UNSIGNED_BYTE, picture.pixels().data());
  glBindFramebuffer(GL_READ_FRAMEBUFFER, static_cast<GLuint>(reading_from));
  check_gl("glReadPixels");

  const std::span<rgba> pixels = picture.pixels();
  const auto wide = static_cast<std::size_t>(width_);
  for (std::size_t top = 0, bottom = static_cast<std::size_t>(height_) - 1; top < bottom;
       ++top, --bottom)
    std::ranges::swap_ranges(pixels.subspan(top * wide, wide), pixels.subspan(bottom * wide, wide));
  return picture;
}

gl_picture::gl_picture(int width, int height) : width_(width), height_(height) {
  require_possible(width, height, GL_MAX_TEXTURE_SIZE);

  glGenTextures(1, &texture_);
  glBindTexture(GL_TEXTURE_2D, texture_);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
  glBindTexture(GL_TEXTURE_2D, 0);

  GLint reading_from = 0;
  glGetIntegerv(GL_READ_FRAMEBUFFER_BINDING, &reading_from);
  glGenFramebuffers(1, &framebuffer_);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer_);
  glFramebufferTexture2D(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture_, 0);
  const bool complete = glCheckFramebufferStatus(GL_READ_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
  glBindFramebuffer(GL_READ_FRAMEBUFFER, static_cast<GLuint>(reading_from));
  if (!complete || glGetError() != GL_NO_ERROR) {
    release();
    throw no_memory(width, height);
  }
}

gl_picture::~gl_picture() { release(); }

void gl_picture::release() {
  glDeleteFramebuffers(1, &framebuffer_);
  glDeleteTextures(1, &texture_);
}

void gl_picture::draw(const void* pixels) try {
  glBindTexture(GL_TEXTURE_2D, texture_);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, width_, height_, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  glBindTexture(GL_TEXTURE_2D, 0);
  check_gl("glTexSubImage2D");

  GLint left_bottom_width_height[4] = {}, reading_from = 0;
  glGetIntegerv(GL_VIEWPORT, left_bottom_width_height);
  glGetIntegerv(GL_READ_FRAMEBUFFER_BINDING, &reading_from);
  const auto [left, bottom, wide, high] = left_bottom_width_height;
  glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer_);
  glBlitFramebuffer(0, 0, width_, height_, left, bottom, left + wide, bottom + high,
                    GL_COLOR_BUFFER_BIT, GL_NEAREST);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, static_cast<GLuint>(reading_from));
  check_gl("glBlitFramebuffer");
} catch (const gl_error&) {
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);  // the caller no longer gets there
  throw;
}

pixel_buffer::pixel_buffer(std::size_t bytes) {
  glGenBuffers(1, &name_);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, name_);
  glBufferData(GL_PIXEL_UNPACK_BUFFER, static_cast<GLsizeiptr>(bytes), nullptr, GL_DYNAMIC_DRAW);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  try {
    check_gl("glBufferData");
  } catch (const gl_error&) {
    glDeleteBuffers(1, &name_);
    throw;
  }
}

pixel_buffer::~pixel_buffer() { glDeleteBuffers(1, &name_); }

}  // namespace lab
