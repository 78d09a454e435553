// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The worker's end of what a test asks of OpenGL: see proxy/opengl.cpp.

#include "lab/opengl.hpp"

#include <map>
#include <memory>

#include "../wire/exceptions.hpp"
#include "stub.hpp"

namespace worker {
namespace {

const bool kGlError = wire::add_exception<lab::gl_error>();

std::map<int, std::unique_ptr<lab::gl_context>>& contexts() {
  static auto* const all = new std::map<int, std::unique_ptr<lab::gl_context>>;  // until the end
  return *all;
}
std::map<GLuint, std::unique_ptr<lab::gl_canvas>>& canvases() {
  static auto* const all = new std::map<GLuint, std::unique_ptr<lab::gl_canvas>>;
  return *all;
}

template <class R, class... P, class Function>
offer answer(const char* name, Function function) {
  return {name, wire::handler_of<R, P...>(function)};
}

const offer kOffers[] = {
    answer<void, int>("gl_context.make",
                      [](int number) { contexts()[number] = std::make_unique<lab::gl_context>(); }),
    answer<std::string, int>("gl_context.description",
                             [](int number) { return contexts().at(number)->description(); }),
    answer<void, int>("gl_context.leave", [](int number) { contexts().at(number)->leave(); }),
    answer<void, int>("gl_context.enter", [](int number) { contexts().at(number)->enter(); }),
    answer<GLuint, int, int>("gl_canvas.make",
                             [](int width, int height) {
                               static GLuint last = 0;
                               auto canvas = std::make_unique<lab::gl_canvas>(width, height);
                               canvases()[++last] = std::move(canvas);
                               return last;
                             }),
    answer<bool, GLuint>("gl_canvas.release",
                         [](GLuint number) { return canvases().erase(number) == 1; }),
    answer<lab::bitmap, GLuint>("gl_canvas.read",
                                [](GLuint number) { return canvases().at(number)->read(); }),
    answer<GLboolean, GLuint>("glIsBuffer", [](GLuint buffer) { return glIsBuffer(buffer); }),
    answer<GLuint>("glGenBuffers",
                   [] {
                     GLuint one = 0;
                     glGenBuffers(1, &one);
                     return one;
                   }),
    answer<bool, GLuint>("glDeleteBuffers",
                         [](GLuint one) {
                           glDeleteBuffers(1, &one);
                           return true;
                         }),
    answer<GLuint>("glGenFramebuffers",
                   [] {
                     GLuint one = 0;
                     glGenFramebuffers(1, &one);
                     return one;
                   }),
    answer<bool, GLenum, GLuint>("glBindFramebuffer",
                                 [](GLenum where, GLuint framebuffer) {
                                   glBindFramebuffer(where, framebuffer);
                                   return true;
                                 }),
    answer<bool, GLuint>("glDeleteFramebuffers",
                         [](GLuint one) {
                           glDeleteFramebuffers(1, &one);
                           return true;
                         }),
    answer<GLint, GLenum>("glGetIntegerv",
                          [](GLenum which) {
                            GLint value = -1;
                            glGetIntegerv(which, &value);
                            return value;
                          }),
    answer<GLenum>("glGetError", [] { return glGetError(); }),
};

}  // namespace
}  // namespace worker
