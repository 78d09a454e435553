// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Counts the pixels that OpenGL takes from host memory: where it draws them, or puts them into a
// texture, while no buffer is bound that it could take them from. A program that includes this
// calls OpenGL's own functions by way of those below. One file of a program can include it.
#pragma once

#include <GL/gl.h>
#include <GL/glext.h>
#include <dlfcn.h>

#include <cstddef>

namespace lab::testing {

inline std::size_t uploads_from_the_host = 0;

namespace detail {
inline void count_upload(const void* pixels) {
  GLint bound = 0;
  glGetIntegerv(GL_PIXEL_UNPACK_BUFFER_BINDING, &bound);
  if (bound == 0 && pixels != nullptr) ++uploads_from_the_host;
}

/// OpenGL's function of this name.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
}  // namespace detail

}  // namespace lab::testing

extern "C" {

void glDrawPixels(GLsizei width, GLsizei height, GLenum format, GLenum type, const void* pixels) {
  lab::testing::detail::count_upload(pixels);
  static auto* const call = lab::testing::detail::next<decltype(glDrawPixels)>("glDrawPixels");
  call(width, height, format, type, pixels);
}

void glTexImage2D(GLenum target, GLint level, GLint internal, GLsizei width, GLsizei height,
                  GLint border, GLenum format, GLenum type, const void* pixels) {
  lab::testing::detail::count_upload(pixels);
  static auto* const call = lab::testing::detail::next<decltype(glTexImage2D)>("glTexImage2D");
  call(target, level, internal, width, height, border, format, type, pixels);
}

void glTexSubImage2D(GLenum target, GLint level, GLint x, GLint y, GLsizei width, GLsizei height,
                     GLenum format, GLenum type, const void* pixels) {
  lab::testing::detail::count_upload(pixels);
  static auto* const call =
      lab::testing::detail::next<decltype(glTexSubImage2D)>("glTexSubImage2D");
  call(target, level, x, y, width, height, format, type, pixels);
}
}
