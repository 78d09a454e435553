// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A kernel draws into a pixel buffer object of a real OpenGL, and a texture made of it is read
// back. The OpenGL is Mesa's, on the processor and without a display; it is loaded when the test
// runs, which is skipped where there is none.

#include <cuda_gl_interop.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#if __has_include(<EGL/egl.h>) && __has_include(<EGL/eglext.h>) && __has_include(<GL/glext.h>)
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/glext.h>

namespace {

/// An OpenGL context that draws nowhere, current in this thread while it lives.
class surfaceless_context {
 public:
  surfaceless_context() {
    setenv("LIBGL_ALWAYS_SOFTWARE", "1", 1);
    library_ = dlopen("libEGL.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library_ == nullptr) {
      missing_ = "libEGL.so.1 is not installed";
      return;
    }
    const auto get_display = function<PFNEGLGETPLATFORMDISPLAYPROC>("eglGetPlatformDisplay");
    display_ = get_display == nullptr
                   ? EGL_NO_DISPLAY
                   : get_display(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
    if (display_ == EGL_NO_DISPLAY ||
        !function<PFNEGLINITIALIZEPROC>("eglInitialize")(display_, nullptr, nullptr)) {
      missing_ = "EGL has no display without a screen (EGL_PLATFORM_SURFACELESS_MESA)";
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
  ~surfaceless_context() {
    if (context_ != EGL_NO_CONTEXT) {
      make_current(EGL_NO_CONTEXT);
      function<PFNEGLDESTROYCONTEXTPROC>("eglDestroyContext")(display_, context_);
    }
    if (display_ != EGL_NO_DISPLAY) function<PFNEGLTERMINATEPROC>("eglTerminate")(display_);
  }
  surfaceless_context(const surfaceless_context&) = delete;
  surfaceless_context& operator=(const surfaceless_context&) = delete;

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
  void* library_ = nullptr;
  EGLDisplay display_ = EGL_NO_DISPLAY;
  EGLContext context_ = EGL_NO_CONTEXT;
  std::string missing_;
};

constexpr int kWidth = 37, kHeight = 19;

__host__ __device__ uchar4 colour(int x, int y) {
  return make_uchar4(static_cast<unsigned char>(7 * x), static_cast<unsigned char>(11 * y),
                     static_cast<unsigned char>(x ^ y), 255);
}
__global__ void draw(uchar4* pixels) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < kWidth && y < kHeight) pixels[y * kWidth + x] = colour(x, y);
}
__global__ void invert(uchar4* pixels) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= kWidth * kHeight) return;
  const uchar4 p = pixels[i];
  pixels[i] =
      make_uchar4(static_cast<unsigned char>(255 - p.x), static_cast<unsigned char>(255 - p.y),
                  static_cast<unsigned char>(255 - p.z), p.w);
}

TEST(GlInteropMesa, AKernelDrawsATextureByWayOfAPixelBuffer) {
  const surfaceless_context context;
  if (!context.missing().empty()) GTEST_SKIP() << context.missing();
  const auto bind_buffer = context.function<PFNGLBINDBUFFERPROC>("glBindBuffer");
  const auto bind_texture = context.function<void (*)(GLenum, GLuint)>("glBindTexture");

  GLuint buffer = 0;
  context.function<PFNGLGENBUFFERSPROC>("glGenBuffers")(1, &buffer);
  bind_buffer(GL_PIXEL_UNPACK_BUFFER, buffer);
  context.function<PFNGLBUFFERDATAPROC>("glBufferData")(
      GL_PIXEL_UNPACK_BUFFER, kWidth * kHeight * 4, nullptr, GL_DYNAMIC_DRAW);

  cudaGraphicsResource_t resource = nullptr;
  ASSERT_EQ(cudaGraphicsGLRegisterBuffer(&resource, buffer, cudaGraphicsRegisterFlagsNone),
            cudaSuccess);
  const auto with_pixels = [&](auto launch) {
    ASSERT_EQ(cudaGraphicsMapResources(1, &resource), cudaSuccess);
    uchar4* pixels = nullptr;
    std::size_t bytes = 0;
    ASSERT_EQ(cudaGraphicsResourceGetMappedPointer(&pixels, &bytes, resource), cudaSuccess);
    ASSERT_EQ(bytes, std::size_t{kWidth * kHeight * 4});
    launch(pixels);
    ASSERT_EQ(cudaGraphicsUnmapResources(1, &resource), cudaSuccess);
  };
  with_pixels([](uchar4* pixels) { draw<<<dim3(3, 2), dim3(16, 16)>>>(pixels); });
  // The second kernel needs what the first one left in OpenGL.
  with_pixels([](uchar4* pixels) { invert<<<6, 128>>>(pixels); });

  GLuint texture = 0;
  context.function<void (*)(GLsizei, GLuint*)>("glGenTextures")(1, &texture);
  bind_texture(GL_TEXTURE_2D, texture);
  context.function<void (*)(GLenum, GLint, GLint, GLsizei, GLsizei, GLint, GLenum, GLenum,
                            const void*)>("glTexImage2D")(
      GL_TEXTURE_2D, 0, GL_RGBA8, kWidth, kHeight, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
  std::vector<unsigned char> seen(kWidth * kHeight * 4);
  context.function<void (*)(GLenum, GLint, GLenum, GLenum, void*)>("glGetTexImage")(
      GL_TEXTURE_2D, 0, GL_RGBA, GL_UNSIGNED_BYTE, seen.data());
  EXPECT_EQ(context.function<GLenum (*)()>("glGetError")(), GLenum{GL_NO_ERROR});

  int wrong = 0;
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      const unsigned char* p = seen.data() + 4 * (y * kWidth + x);
      const uchar4 c = colour(x, y);
      if (p[0] != 255 - c.x || p[1] != 255 - c.y || p[2] != 255 - c.z || p[3] != c.w) ++wrong;
    }
  EXPECT_EQ(wrong, 0) << "pixels differ, of " << kWidth * kHeight;

  // Where the context is not current, nothing is asked of OpenGL.
  ASSERT_TRUE(context.make_current(EGL_NO_CONTEXT));
  EXPECT_EQ(cudaGraphicsMapResources(1, &resource), cudaErrorInvalidGraphicsContext);
  cudaGetLastError();
  ASSERT_TRUE(context.make_current());

  ASSERT_EQ(cudaGraphicsUnregisterResource(resource), cudaSuccess);
  context.function<PFNGLDELETEBUFFERSPROC>("glDeleteBuffers")(1, &buffer);
  context.function<void (*)(GLsizei, const GLuint*)>("glDeleteTextures")(1, &texture);
}

}  // namespace

#else

TEST(GlInteropMesa, AKernelDrawsATextureByWayOfAPixelBuffer) {
  GTEST_SKIP() << "the headers of EGL and OpenGL are not installed (libegl-dev, libgl-dev)";
}

#endif
