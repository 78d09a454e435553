// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The OpenGL of a grader: contexts and pictures are the worker's, where the student's code draws.
// stub/opengl.cpp has the other end.

#include "lab/opengl.hpp"

#include <set>
#include <string>

#include "../wire/exceptions.hpp"
#include "worker.hpp"

namespace grading {
namespace {

const bool kGlError = wire::add_exception<lab::gl_error>();

/// The contexts that live here, by number. The worker has one for each.
std::set<int>& contexts() {
  static auto* const all = new std::set<int>;  // until the end of the process, as contexts may be
  return *all;
}

void make_context(int number) { wire::call<void, int>(function("gl_context.make"), number); }

template <class R, class... P>
R ask(const char* name, R without_worker, std::type_identity_t<P>... arguments) noexcept {
  try {
    return wire::call<R, P...>(function(name), arguments...);
  } catch (...) {
    return without_worker;
  }
}

}  // namespace
}  // namespace grading

using grading::ask;

namespace lab {

struct gl_context::state {
  int number = 0;
  std::string description;
};

gl_context::gl_context() : state_(std::make_unique<state>()) {
  static int last = 0;
  state_->number = ++last;
  grading::make_context(state_->number);
  static const bool kAgain = [] {
    grading::on_new_worker([] {
      for (const int number : grading::contexts()) grading::make_context(number);
    });
    return true;
  }();
  (void)kAgain;
  grading::contexts().insert(state_->number);
  state_->description =
      wire::call<std::string, int>(grading::function("gl_context.description"), state_->number);
}
gl_context::~gl_context() { grading::contexts().erase(state_->number); }  // the worker's ends later
const std::string& gl_context::description() const noexcept { return state_->description; }
void gl_context::leave() {
  wire::call<void, int>(grading::function("gl_context.leave"), state_->number);
}
void gl_context::enter() {
  wire::call<void, int>(grading::function("gl_context.enter"), state_->number);
}

gl_canvas::gl_canvas(int width, int height) : width_(width), height_(height) {
  framebuffer_ = wire::call<GLuint, int, int>(grading::function("gl_canvas.make"), width_, height_);
}
gl_canvas::~gl_canvas() { (void)ask<bool, GLuint>("gl_canvas.release", false, framebuffer_); }
bitmap gl_canvas::read() const {
  bitmap picture = wire::call<bitmap, GLuint>(grading::function("gl_canvas.read"), framebuffer_);
  if (picture.width() != width_ || picture.height() != height_)
    throw std::runtime_error("the worker has read a picture of another size");
  return picture;
}

}  // namespace lab

extern "C" {  // tests make and delete one object at a time
GLboolean glIsBuffer(GLuint buffer) {
  return ask<GLboolean, GLuint>("glIsBuffer", GL_FALSE, buffer);
}
void glGenBuffers(GLsizei, GLuint* one) { *one = ask<GLuint>("glGenBuffers", 0); }
void glDeleteBuffers(GLsizei, const GLuint* one) {
  (void)ask<bool, GLuint>("glDeleteBuffers", false, *one);
}
void glGenFramebuffers(GLsizei, GLuint* one) { *one = ask<GLuint>("glGenFramebuffers", 0); }
void glBindFramebuffer(GLenum where, GLuint framebuffer) {
  (void)ask<bool, GLenum, GLuint>("glBindFramebuffer", false, where, framebuffer);
}
void glDeleteFramebuffers(GLsizei, const GLuint* one) {
  (void)ask<bool, GLuint>("glDeleteFramebuffers", false, *one);
}
void glGetIntegerv(GLenum which, GLint* value) {
  *value = ask<GLint, GLenum>("glGetIntegerv", -1, which);
}
GLenum glGetError() { return ask<GLenum>("glGetError", GL_INVALID_OPERATION); }
}
