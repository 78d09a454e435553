// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What tests ask of OpenGL's buffers and contexts, besides the pictures.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <optional>

#include "lab/opengl.hpp"

namespace lab::testing {

/// How many buffers the current context has, of the first and of the latest names: where some
/// OpenGL gives the names of deleted buffers again, and where another goes on counting.
inline int buffers() {
  constexpr GLuint kNames = 32;
  GLuint next = 0;
  glGenBuffers(1, &next);
  glDeleteBuffers(1, &next);
  int count = 0;
  for (GLuint name = 1; name < next + kNames; ++name)
    if (name < kNames || name + kNames > next) count += glIsBuffer(name) == GL_TRUE ? 1 : 0;
  return count;
}

/// Whether no buffer is bound that pixels or vertices would come from or go to.
inline ::testing::AssertionResult no_buffer_is_bound() {
  for (const GLenum where :
       {GL_PIXEL_UNPACK_BUFFER_BINDING, GL_PIXEL_PACK_BUFFER_BINDING, GL_ARRAY_BUFFER_BINDING}) {
    GLint bound = -1;
    glGetIntegerv(where, &bound);
    if (bound != 0)
      return ::testing::AssertionFailure()
             << "a buffer is bound, number " << bound << ", to "
             << (where == GL_PIXEL_UNPACK_BUFFER_BINDING ? "GL_PIXEL_UNPACK_BUFFER"
                 : where == GL_PIXEL_PACK_BUFFER_BINDING ? "GL_PIXEL_PACK_BUFFER"
                                                         : "GL_ARRAY_BUFFER");
  }
  return ::testing::AssertionSuccess();
}

/// Notes how many buffers there are. (The tests of calls that fail look at CUDA's objects alone:
/// their `call` asks this first of all, and so learns what the failure before it has left.)
class buffers_before {
 public:
  /// Whether no buffer is bound, and there are no more than there were.
  ::testing::AssertionResult nothing_left() const {
    if (const int now = buffers(); now > count_)
      return ::testing::AssertionFailure()
             << "OpenGL has " << now - count_ << " buffers more than before the call";
    return no_buffer_is_bound();
  }

 private:
  int count_ = buffers();
};

/// While it lives, OpenGL draws where it cannot draw: what tries to is an error.
class nowhere_to_draw {
 public:
  nowhere_to_draw() {
    glGenFramebuffers(1, &framebuffer_);
    glGetIntegerv(GL_FRAMEBUFFER_BINDING, &before_);
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer_);  // nothing is attached to it
  }
  nowhere_to_draw(const nowhere_to_draw&) = delete;
  nowhere_to_draw& operator=(const nowhere_to_draw&) = delete;
  ~nowhere_to_draw() {
    glBindFramebuffer(GL_FRAMEBUFFER, static_cast<GLuint>(before_));
    glDeleteFramebuffers(1, &framebuffer_);
  }

 private:
  GLuint framebuffer_ = 0;
  GLint before_ = 0;
};

/// While it lives, another context is current in this thread than `usual`.
class another_context {
 public:
  explicit another_context(gl_context& usual) : usual_(usual) {
    usual_.leave();
    other_.emplace();
  }
  another_context(const another_context&) = delete;
  another_context& operator=(const another_context&) = delete;
  ~another_context() {
    other_.reset();
    try {
      usual_.enter();
    } catch (const std::exception& error) {  // a grader has lost its worker
      ADD_FAILURE() << error.what();
    }
  }

 private:
  gl_context& usual_;
  std::optional<gl_context> other_;
};

}  // namespace lab::testing
