// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// An OpenGL context without a window: lab/opengl.hpp.

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <cuda_gl_interop.h>
#include <cuda_runtime.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/opengl.hpp"

namespace lab {
namespace {

template <class Function>
Function egl_function(const char* name) {
  return reinterpret_cast<Function>(eglGetProcAddress(name));
}

/// Whether the space-separated list has this word, whole.
bool has_word(const char* list, const std::string& word) {
  const std::string padded = std::string(" ") + (list == nullptr ? "" : list) + " ";
  return padded.find(" " + word + " ") != std::string::npos;
}

/// EGL's number for a CUDA device (EGL_NV_device_cuda), for headers that are older than that.
constexpr EGLint kCudaDevice = 0x323A;

/// Whether this device of EGL is the one for the current CUDA device: the same GPU, or, for the CPU
/// device, the one that draws on the processor.
bool suits_cuda(EGLDeviceEXT device) {
  const auto describe = egl_function<PFNEGLQUERYDEVICESTRINGEXTPROC>("eglQueryDeviceStringEXT");
  const auto ask = egl_function<PFNEGLQUERYDEVICEATTRIBEXTPROC>("eglQueryDeviceAttribEXT");
  const char* extensions = describe == nullptr ? nullptr : describe(device, EGL_EXTENSIONS);
  if (on_cpu_device()) return has_word(extensions, "EGL_MESA_device_software");
  int current = 0;
  CUDA_CHECK(cudaGetDevice(&current));
  EGLAttrib number = -1;
  return has_word(extensions, "EGL_NV_device_cuda") && ask != nullptr &&
         ask(device, kCudaDevice, &number) == EGL_TRUE && number == current;
}

/// Where a context may come from, best first.
std::vector<EGLDisplay> displays() {
  std::vector<EGLDisplay> found;
  const char* extensions = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  const auto display_of = egl_function<PFNEGLGETPLATFORMDISPLAYEXTPROC>("eglGetPlatformDisplayEXT");
  const auto list_devices = egl_function<PFNEGLQUERYDEVICESEXTPROC>("eglQueryDevicesEXT");
  if (display_of != nullptr && list_devices != nullptr) {
    EGLDeviceEXT devices[32] = {};
    EGLint count = 0;
    if (list_devices(32, devices, &count) == EGL_TRUE)
      for (EGLint i = 0; i < count; ++i)
        if (suits_cuda(devices[i]))
          found.push_back(display_of(EGL_PLATFORM_DEVICE_EXT, devices[i], nullptr));
  }
  if (display_of != nullptr && has_word(extensions, "EGL_MESA_platform_surfaceless"))
    found.push_back(display_of(EGL_PLATFORM_SURFACELESS_MESA, nullptr, nullptr));
  found.push_back(eglGetDisplay(EGL_DEFAULT_DISPLAY));
  std::erase(found, EGL_NO_DISPLAY);
  return found;
}

std::string text(GLenum what) {
  const GLubyte* found = glGetString(what);
  return found == nullptr ? "?" : reinterpret_cast<const char*>(found);
}

/// Empty if CUDA can use this context's buffers: the only sure way to know is to register one.
std::string why_cuda_cannot_use_it() {
  const pixel_buffer buffer(64);
  cudaGraphicsResource_t resource = nullptr;
  cudaError_t status =
      cudaGraphicsGLRegisterBuffer(&resource, buffer.name(), cudaGraphicsRegisterFlagsNone);
  if (status == cudaSuccess) status = cudaGraphicsUnregisterResource(resource);
  if (status == cudaSuccess) return {};
  (void)cudaGetLastError();
  return std::string("this CUDA device cannot use the buffers of that OpenGL, which draws on ") +
         "another device (" + cudaGetErrorName(status) + ")";
}

}  // namespace

struct gl_context::state {
  EGLDisplay display = EGL_NO_DISPLAY;
  EGLSurface surface = EGL_NO_SURFACE;
  EGLContext context = EGL_NO_CONTEXT;
  std::string description;

  state() = default;
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() { close(); }

  /// Empty if there is a context now, and current; else what was in the way.
  std::string open(EGLDisplay on) {
    if (eglInitialize(on, nullptr, nullptr) != EGL_TRUE) return "EGL cannot be initialised";
    display = on;
    // A surface of one pixel, since not every EGL makes a context current without any. Nobody draws
    // on it: that is what gl_canvas is for.
    const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, EGL_PBUFFER_BIT,
                             EGL_NONE};
    const EGLint one_pixel[] = {EGL_WIDTH, 1, EGL_HEIGHT, 1, EGL_NONE};
    EGLConfig config = nullptr;
    EGLint count = 0;
    if (eglBindAPI(EGL_OPENGL_API) != EGL_TRUE ||
        eglChooseConfig(display, wanted, &config, 1, &count) != EGL_TRUE || count == 0)
      return "EGL has no OpenGL, or none without a window";
    surface = eglCreatePbufferSurface(display, config, one_pixel);
    context = eglCreateContext(display, config, EGL_NO_CONTEXT, nullptr);
    if (context == EGL_NO_CONTEXT || eglMakeCurrent(display, surface, surface, context) != EGL_TRUE)
      return "EGL makes no context of OpenGL";
    description = text(GL_RENDERER) + ", OpenGL " + text(GL_VERSION);
    if (std::string why_not = why_cuda_cannot_use_it(); !why_not.empty())
      return description + ": " + why_not;
    return {};
  }

  void close() {
    if (display == EGL_NO_DISPLAY) return;
    if (context != EGL_NO_CONTEXT && eglGetCurrentContext() == context)
      eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    if (context != EGL_NO_CONTEXT) eglDestroyContext(display, context);
    if (surface != EGL_NO_SURFACE) eglDestroySurface(display, surface);
    // The display itself stays: it is EGL's, and other contexts of this process may be on it.
    display = EGL_NO_DISPLAY;
    surface = EGL_NO_SURFACE;
    context = EGL_NO_CONTEXT;
  }
};

gl_context::gl_context() : state_(std::make_unique<state>()) {
  std::string reasons;
  for (EGLDisplay display : displays()) {
    const std::string why_not = state_->open(display);
    if (why_not.empty()) return;
    state_->close();
    // Two ways may lead to the same EGL.
    if (reasons.find(why_not) == std::string::npos)
      reasons += (reasons.empty() ? "" : "; ") + why_not;
  }
  throw not_possible(
      "no OpenGL without a window: " + (reasons.empty() ? "EGL finds no device" : reasons) +
      ". Try: a driver with OpenGL (for the CPU device Mesa's: libegl1 and libgl1-mesa-dri).");
}

gl_context::~gl_context() = default;

const std::string& gl_context::description() const noexcept { return state_->description; }

void gl_context::leave() {
  eglMakeCurrent(state_->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
}

void gl_context::enter() {
  if (eglMakeCurrent(state_->display, state_->surface, state_->surface, state_->context) !=
      EGL_TRUE)
    throw not_possible("EGL does not make the OpenGL context current in this thread again");
}

}  // namespace lab
