// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A kernel draws into a pixel buffer object of a real OpenGL, and a texture made of it is read
// back. The OpenGL is Mesa's, on the processor and without a display; it is loaded when the test
// runs, which is skipped where there is none.

#include <cuda_gl_interop.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "surfaceless_context.hpp"

#ifdef HAVE_SURFACELESS_CONTEXT

namespace {

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
  const surfaceless::context context;
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
