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

std::unique_ptr<lab::gl_context>& context() {
  static auto* const one = new std::unique_ptr<lab::gl_context>;  // until the end of the process
  return *one;
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
    answer<void>("gl_context.make", [] { context() = std::make_unique<lab::gl_context>(); }),
    answer<std::string>("gl_context.description", [] { return context()->description(); }),
    answer<void>("gl_context.leave", [] { context()->leave(); }),
    answer<void>("gl_context.enter", [] { context()->enter(); }),
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
