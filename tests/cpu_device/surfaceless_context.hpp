// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A real OpenGL without a screen, for tests: Mesa's on the processor for the CPU device, that of
// the GPU where nvcc compiles the test. It is loaded when the test runs; HAVE_SURFACELESS_CONTEXT
// is defined where the headers of EGL and OpenGL are installed.
#pragma once

#if __has_include(<EGL/egl.h>) && __has_include(<EGL/eglext.h>) && __has_include(<GL/glext.h>)
#define HAVE_SURFACELESS_CONTEXT 1
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <dlfcn.h>

#include <cstdlib>
#include <string>

namespace surfaceless {

/// An OpenGL context that draws nowhere, current in this thread while it lives.
class context {
 public:
  context() {
#ifdef __CPU_DEVICE__
    setenv("LIBGL_ALWAYS_SOFTWARE", "1", 1);
#endif
    library_ = dlopen("libEGL.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library_ == nullptr) {
      missing_ = "libEGL.so.1 is not installed";
      return;
    }
    display_ = find_display();
    if (display_ == EGL_NO_DISPLAY ||
        !function<PFNEGLINITIALIZEPROC>("eglInitialize")(display_, nullptr, nullptr)) {
      missing_ = "EGL has no display without a screen";
      return;
    }
    const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, 0, EGL_NONE};
    EGLConfig config = nullptr;
    EGLint count = 0;
    function<PFNEGLBINDAPIPROC>("eglBindAPI")(EGL_OPENGL_API);
    function<PFNEGLCHOOSECONFIGPROC>("eglChooseConfig")(display_, wanted, &config, 1, &count);
    context_ = function<PFNEGLCREATECONTEXTPROC>("eglCreateContext")(display_, config,
                                                                     EGL_NO_CONTEXT, nullptr);
    if (context_ == EGL_NO_CONTEXT || !make_current(context_))
      missing_ = "EGL makes no context of OpenGL";
  }
  ~context() {
    if (context_ != EGL_NO_CONTEXT) {
      make_current(EGL_NO_CONTEXT);
      function<PFNEGLDESTROYCONTEXTPROC>("eglDestroyContext")(display_, context_);
    }
    if (display_ != EGL_NO_DISPLAY) function<PFNEGLTERMINATEPROC>("eglTerminate")(display_);
  }
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  /// Why there is none; empty if there is.
  const std::string& missing() const { return missing_; }

  bool make_current(EGLContext context) const {
    return function<PFNEGLMAKECURRENTPROC>("eglMakeCurrent")(display_, EGL_NO_SURFACE,
                                                             EGL_NO_SURFACE, context) == EGL_TRUE;
  }
  bool make_current() const { return make_current(context_); }

  /// A function of EGL, or of OpenGL.
  template <class Pointer>
  Pointer function(const char* name) const {
    void* found = dlsym(library_, name);
    if (found == nullptr) {
      const auto find =
          reinterpret_cast<PFNEGLGETPROCADDRESSPROC>(dlsym(library_, "eglGetProcAddress"));
      found = reinterpret_cast<void*>(find(name));
    }
    return reinterpret_cast<Pointer>(found);
  }

 private:
  EGLDisplay find_display() const {
    const auto get_display = function<PFNEGLGETPLATFORMDISPLAYPROC>("eglGetPlatformDisplay");
    if (get_display == nullptr) return EGL_NO_DISPLAY;
#ifdef __CPU_DEVICE__
    return get_display(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
#else  // EGL's first device is the GPU's
    const auto query = function<PFNEGLQUERYDEVICESEXTPROC>("eglQueryDevicesEXT");
    EGLDeviceEXT device = nullptr;
    EGLint count = 0;
    if (query == nullptr || !query(1, &device, &count) || count == 0) return EGL_NO_DISPLAY;
    return get_display(EGL_PLATFORM_DEVICE_EXT, device, nullptr);
#endif
  }

  void* library_ = nullptr;
  EGLDisplay display_ = EGL_NO_DISPLAY;
  EGLContext context_ = EGL_NO_CONTEXT;
  std::string missing_;
};

}  // namespace surfaceless

#endif
