// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Textures of OpenGL in kernels: cudaGraphicsGLRegisterImage and the array of a mapped texture. The
// OpenGL is a real one; where there is none, the tests are skipped.

#include <cuda_gl_interop.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "conformance.hpp"
#include "surfaceless_context.hpp"

#ifdef HAVE_SURFACELESS_CONTEXT

namespace {

using conformance::device_array;
using conformance::in_every_order;
using conformance::in_every_policy;

constexpr int kWidth = 37, kHeight = 19, kDepth = 5;

using bytes = std::vector<unsigned char>;

bytes numbered(std::size_t count, unsigned from) {
  bytes values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<unsigned char>(from + 7 * i + i / 251);
  return values;
}

/// Texels of every format: what OpenGL calls it, how it is transferred, what CUDA calls it.
struct texel_format {
  const char* name;
  GLint internal;
  GLenum format, type;
  cudaChannelFormatDesc desc;
};
const texel_format kRgba8 = {
    "GL_RGBA8", GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE, {8, 8, 8, 8, cudaChannelFormatKindUnsigned}};
const texel_format kR32f = {
    "GL_R32F", GL_R32F, GL_RED, GL_FLOAT, {32, 0, 0, 0, cudaChannelFormatKindFloat}};
std::size_t texel_bytes(const texel_format& f) {
  return static_cast<std::size_t>(f.desc.x + f.desc.y + f.desc.z + f.desc.w) / 8;
}

/// A context, and a texture of it that is registered.
class GlImages : public testing::Test {
 protected:
  void SetUp() override {
    if (!context.missing().empty()) GTEST_SKIP() << context.missing();
    gl<void (*)(GLenum, GLint)>("glPixelStorei")(GL_PACK_ALIGNMENT, 1);
    gl<void (*)(GLenum, GLint)>("glPixelStorei")(GL_UNPACK_ALIGNMENT, 1);
    gl<void (*)(GLsizei, GLuint*)>("glGenTextures")(1, &texture);
  }
  void TearDown() override {
    if (!context.missing().empty()) return;
    if (resource != nullptr) {
      EXPECT_EQ(cudaGraphicsUnregisterResource(resource), cudaSuccess) << "still mapped?";
    }
    EXPECT_EQ(gl<GLenum (*)()>("glGetError")(), GLenum{GL_NO_ERROR});
    gl<void (*)(GLsizei, const GLuint*)>("glDeleteTextures")(1, &texture);
#ifdef __CPU_DEVICE__
    EXPECT_EQ(cpu_device::live_allocations(), 0U);
#endif
  }

  template <class Function>
  Function gl(const char* name) const {
    return context.function<Function>(name);
  }
  void bind(GLenum target, GLuint name) const {
    gl<void (*)(GLenum, GLuint)>("glBindTexture")(target, name);
  }
  int setting(GLenum name) const {
    GLint value = -1;
    gl<void (*)(GLenum, GLint*)>("glGetIntegerv")(name, &value);
    return value;
  }

  /// Gives the texture this image.
  void draw(const texel_format& f, const void* texels, int width = kWidth) const {
    bind(GL_TEXTURE_2D, texture);
    // Without mipmaps, as the filter of a new texture wants them.
    gl<void (*)(GLenum, GLenum, GLint)>("glTexParameteri")(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER,
                                                           GL_NEAREST);
    gl<void (*)(GLenum, GLint, GLint, GLsizei, GLsizei, GLint, GLenum, GLenum, const void*)>(
        "glTexImage2D")(GL_TEXTURE_2D, 0, f.internal, width, kHeight, 0, f.format, f.type, texels);
    bind(GL_TEXTURE_2D, 0);
  }
  bytes seen(const texel_format& f, GLenum target = GL_TEXTURE_2D, int depth = 1) const {
    bytes texels(static_cast<std::size_t>(kWidth * kHeight * depth) * texel_bytes(f));
    bind(target, texture);
    gl<void (*)(GLenum, GLint, GLenum, GLenum, void*)>("glGetTexImage")(target, 0, f.format, f.type,
                                                                        texels.data());
    bind(target, 0);
    return texels;
  }

  cudaError_t try_to_register(unsigned flags, GLenum target = GL_TEXTURE_2D) {
    return cudaGraphicsGLRegisterImage(&resource, texture, target, flags);
  }
  cudaArray_t map(cudaStream_t stream = nullptr) {
    cudaArray_t array = nullptr;
    EXPECT_EQ(cudaGraphicsMapResources(1, &resource, stream), cudaSuccess);
    EXPECT_EQ(cudaGraphicsSubResourceGetMappedArray(&array, resource, 0, 0), cudaSuccess);
    return array;
  }
  void unmap(cudaStream_t stream = nullptr) {
    EXPECT_EQ(cudaGraphicsUnmapResources(1, &resource, stream), cudaSuccess);
  }

  surfaceless::context context;
  GLuint texture = 0;
  cudaGraphicsResource_t resource = nullptr;
};

cudaResourceDesc resource_of(cudaArray_t array) {
  cudaResourceDesc desc = {};
  desc.resType = cudaResourceTypeArray;
  desc.res.array.array = array;
  return desc;
}
cudaTextureObject_t texture_of(cudaArray_t array) {
  const cudaResourceDesc resource = resource_of(array);
  cudaTextureDesc desc = {};
  desc.addressMode[0] = desc.addressMode[1] = desc.addressMode[2] = cudaAddressModeClamp;
  desc.filterMode = cudaFilterModePoint;
  desc.readMode = cudaReadModeElementType;
  cudaTextureObject_t object = 0;
  EXPECT_EQ(cudaCreateTextureObject(&object, &resource, &desc, nullptr), cudaSuccess);
  return object;
}
cudaSurfaceObject_t surface_of(cudaArray_t array) {
  const cudaResourceDesc resource = resource_of(array);
  cudaSurfaceObject_t object = 0;
  EXPECT_EQ(cudaCreateSurfaceObject(&object, &resource), cudaSuccess);
  return object;
}

__global__ void read_texture(cudaTextureObject_t from, uchar4* to) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < kWidth && y < kHeight)
    to[y * kWidth + x] =
        tex2D<uchar4>(from, static_cast<float>(x) + 0.5F, static_cast<float>(y) + 0.5F);
}
__global__ void invert(cudaSurfaceObject_t image) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= kWidth || y >= kHeight) return;
  const int at = x * static_cast<int>(sizeof(uchar4));
  const auto p = surf2Dread<uchar4>(image, at, y);
  surf2Dwrite(make_uchar4(static_cast<unsigned char>(255 - p.x), p.y, p.z, p.w), image, at, y);
}
__global__ void double_3d(cudaSurfaceObject_t image) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(blockIdx.x);
  const int at = x * static_cast<int>(sizeof(float));
  for (int z = 0; z < kDepth; ++z)
    surf3Dwrite(2 * surf3Dread<float>(image, at, y, z), image, at, y, z);
}
const dim3 kGrid((kWidth + 15) / 16, (kHeight + 15) / 16), kBlock(16, 16);

bytes inverted(bytes texels) {
  for (std::size_t i = 0; i < texels.size(); i += 4)
    texels[i] = static_cast<unsigned char>(255 - texels[i]);
  return texels;
}

TEST_F(GlImages, AKernelReadsWhatOpenGlHas) {
  const bytes texels = numbered(kWidth * kHeight * 4, 3);
  draw(kRgba8, texels.data());
  ASSERT_EQ(try_to_register(cudaGraphicsRegisterFlagsReadOnly), cudaSuccess);
  in_every_order([&] {
    const device_array<uchar4> copy(kWidth * kHeight, make_uchar4(0, 0, 0, 0));
    const cudaTextureObject_t object = texture_of(map());
    read_texture<<<kGrid, kBlock>>>(object, copy.data());
    const std::vector<uchar4> got = copy.to_host();
    EXPECT_EQ(bytes(&got[0].x, &got[0].x + texels.size()), texels);
    EXPECT_EQ(cudaDestroyTextureObject(object), cudaSuccess);
    unmap();
  });
}

TEST_F(GlImages, OpenGlHasWhatAKernelWrites) {
  bytes texels = numbered(kWidth * kHeight * 4, 100);
  draw(kRgba8, texels.data());
  ASSERT_EQ(try_to_register(cudaGraphicsRegisterFlagsSurfaceLoadStore), cudaSuccess);
  in_every_policy([&] {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    const cudaSurfaceObject_t object = surface_of(map(stream));
    invert<<<kGrid, kBlock, 0, stream>>>(object);
    unmap(stream);
    texels = inverted(texels);
    EXPECT_EQ(seen(kRgba8), texels);
    EXPECT_EQ(cudaDestroySurfaceObject(object), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  });
}

TEST_F(GlImages, CopiesReachTheArray) {
  std::vector<float> values(kWidth * kHeight);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.5F - static_cast<float>(i);
  draw(kR32f, values.data());
  ASSERT_EQ(try_to_register(cudaGraphicsRegisterFlagsNone), cudaSuccess);
  const cudaArray_t array = map();
  constexpr std::size_t kRow = kWidth * sizeof(float);
  std::vector<float> before(values.size());
  ASSERT_EQ(cudaMemcpy2DFromArray(before.data(), kRow, array, 0, 0, kRow, kHeight,
                                  cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(before, values);
  for (float& v : values) v = 3 * v + 1;
  ASSERT_EQ(
      cudaMemcpy2DToArray(array, 0, 0, values.data(), kRow, kRow, kHeight, cudaMemcpyHostToDevice),
      cudaSuccess);
  unmap();
  const bytes after = seen(kR32f);
  EXPECT_EQ(std::memcmp(after.data(), values.data(), after.size()), 0);
}

TEST_F(GlImages, TheArrayHasTheFormatOfTheTexture) {
  const auto u = cudaChannelFormatKindUnsigned, s = cudaChannelFormatKindSigned;
  const auto f = cudaChannelFormatKindFloat;
  const texel_format formats[] = {
      kRgba8,
      kR32f,
      {"GL_RGBA", GL_RGBA, GL_RGBA, GL_UNSIGNED_BYTE, {8, 8, 8, 8, u}},
      {"GL_R8", GL_R8, GL_RED, GL_UNSIGNED_BYTE, {8, 0, 0, 0, u}},
      {"GL_RG8", GL_RG8, GL_RG, GL_UNSIGNED_BYTE, {8, 8, 0, 0, u}},
      {"GL_RGBA16", GL_RGBA16, GL_RGBA, GL_UNSIGNED_SHORT, {16, 16, 16, 16, u}},
      {"GL_R16UI", GL_R16UI, GL_RED_INTEGER, GL_UNSIGNED_SHORT, {16, 0, 0, 0, u}},
      {"GL_RG8I", GL_RG8I, GL_RG_INTEGER, GL_BYTE, {8, 8, 0, 0, s}},
      {"GL_RG16I", GL_RG16I, GL_RG_INTEGER, GL_SHORT, {16, 16, 0, 0, s}},
      {"GL_R32I", GL_R32I, GL_RED_INTEGER, GL_INT, {32, 0, 0, 0, s}},
      {"GL_RGBA32UI", GL_RGBA32UI, GL_RGBA_INTEGER, GL_UNSIGNED_INT, {32, 32, 32, 32, u}},
      {"GL_RG32F", GL_RG32F, GL_RG, GL_FLOAT, {32, 32, 0, 0, f}},
      {"GL_RGBA32F", GL_RGBA32F, GL_RGBA, GL_FLOAT, {32, 32, 32, 32, f}}};
  for (const texel_format& format : formats) {
    SCOPED_TRACE(format.name);
    bytes texels = numbered(kWidth * kHeight * texel_bytes(format), 1);
    // Floats that no transfer changes: every exponent below that of NaN.
    if (format.desc.f == f)
      for (std::size_t i = 3; i < texels.size(); i += 4) texels[i] = 0x40;
    draw(format, texels.data());
    ASSERT_EQ(try_to_register(cudaGraphicsRegisterFlagsNone), cudaSuccess);
    const cudaArray_t array = map();
    cudaChannelFormatDesc desc = {};
    cudaExtent extent = {};
    ASSERT_EQ(cudaArrayGetInfo(&desc, &extent, nullptr, array), cudaSuccess);
    EXPECT_EQ(desc.x, format.desc.x);
    EXPECT_EQ(desc.y, format.desc.y);
    EXPECT_EQ(desc.z, format.desc.z);
    EXPECT_EQ(desc.w, format.desc.w);
    EXPECT_EQ(desc.f, format.desc.f);
    EXPECT_EQ(extent.width, std::size_t{kWidth});
    EXPECT_EQ(extent.height, std::size_t{kHeight});
    EXPECT_EQ(extent.depth, 0U);
    const std::size_t row = kWidth * texel_bytes(format);
    bytes copy(texels.size());
    ASSERT_EQ(
        cudaMemcpy2DFromArray(copy.data(), row, array, 0, 0, row, kHeight, cudaMemcpyDeviceToHost),
        cudaSuccess);
    EXPECT_EQ(copy, texels);
    unmap();
    EXPECT_EQ(seen(format), texels) << "after it was written back";
    ASSERT_EQ(cudaGraphicsUnregisterResource(resource), cudaSuccess);
    resource = nullptr;
  }
}

TEST_F(GlImages, ATextureWithDepthIsAnArrayWithDepth) {
  std::vector<float> values(kWidth * kHeight * kDepth);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 99.5F;
  bind(GL_TEXTURE_3D, texture);
  gl<void (*)(GLenum, GLenum, GLint)>("glTexParameteri")(GL_TEXTURE_3D, GL_TEXTURE_MIN_FILTER,
                                                         GL_NEAREST);
  gl<void (*)(GLenum, GLint, GLint, GLsizei, GLsizei, GLsizei, GLint, GLenum, GLenum, const void*)>(
      "glTexImage3D")(GL_TEXTURE_3D, 0, GL_R32F, kWidth, kHeight, kDepth, 0, GL_RED, GL_FLOAT,
                      values.data());
  bind(GL_TEXTURE_3D, 0);
  ASSERT_EQ(try_to_register(cudaGraphicsRegisterFlagsSurfaceLoadStore, GL_TEXTURE_3D), cudaSuccess);
  const cudaSurfaceObject_t object = surface_of(map());
  double_3d<<<kHeight, kWidth>>>(object);
  unmap();
  EXPECT_EQ(cudaDestroySurfaceObject(object), cudaSuccess);
  const bytes after = seen(kR32f, GL_TEXTURE_3D, kDepth);
  for (float& v : values) v *= 2;
  EXPECT_EQ(std::memcmp(after.data(), values.data(), after.size()), 0);
}

TEST_F(GlImages, TheProgramsSettingsOfOpenGlStay) {
  const bytes texels = numbered(kWidth * kHeight * 4, 9);
  draw(kRgba8, texels.data());
  ASSERT_EQ(try_to_register(cudaGraphicsRegisterFlagsSurfaceLoadStore), cudaSuccess);
  GLuint names[2] = {}, other = 0;
  gl<PFNGLGENBUFFERSPROC>("glGenBuffers")(2, names);
  gl<void (*)(GLsizei, GLuint*)>("glGenTextures")(1, &other);
  const auto bind_buffer = gl<PFNGLBINDBUFFERPROC>("glBindBuffer");
  const auto store = gl<void (*)(GLenum, GLint)>("glPixelStorei");
  const auto set = [&](int alignment, int length, GLuint pack, GLuint unpack, GLuint bound) {
    store(GL_PACK_ALIGNMENT, alignment);
    store(GL_UNPACK_ALIGNMENT, alignment);
    store(GL_PACK_ROW_LENGTH, length);
    store(GL_UNPACK_ROW_LENGTH, length);
    store(GL_UNPACK_SKIP_PIXELS, length / 10);
    bind_buffer(GL_PIXEL_PACK_BUFFER, pack);
    bind_buffer(GL_PIXEL_UNPACK_BUFFER, unpack);
    bind(GL_TEXTURE_2D, bound);
  };
  set(8, 50, names[0], names[1], other);
  const cudaSurfaceObject_t object = surface_of(map());
  invert<<<kGrid, kBlock>>>(object);
  unmap();
  EXPECT_EQ(setting(GL_PACK_ALIGNMENT), 8);
  EXPECT_EQ(setting(GL_UNPACK_ALIGNMENT), 8);
  EXPECT_EQ(setting(GL_PACK_ROW_LENGTH), 50);
  EXPECT_EQ(setting(GL_UNPACK_ROW_LENGTH), 50);
  EXPECT_EQ(setting(GL_UNPACK_SKIP_PIXELS), 5);
  EXPECT_EQ(setting(GL_PIXEL_PACK_BUFFER_BINDING), static_cast<int>(names[0]));
  EXPECT_EQ(setting(GL_PIXEL_UNPACK_BUFFER_BINDING), static_cast<int>(names[1]));
  EXPECT_EQ(setting(GL_TEXTURE_BINDING_2D), static_cast<int>(other));
  set(1, 0, 0, 0, 0);
  EXPECT_EQ(seen(kRgba8), inverted(texels)) << "and none of them mattered";
  EXPECT_EQ(cudaDestroySurfaceObject(object), cudaSuccess);
  gl<PFNGLDELETEBUFFERSPROC>("glDeleteBuffers")(2, names);
  gl<void (*)(GLsizei, const GLuint*)>("glDeleteTextures")(1, &other);
}

TEST_F(GlImages, WhatIsNotMappedHasNoArray) {
  draw(kRgba8, nullptr);
  ASSERT_EQ(try_to_register(cudaGraphicsRegisterFlagsNone), cudaSuccess);
  cudaArray_t array = nullptr;
  void* pointer = nullptr;
  EXPECT_NE(cudaGraphicsSubResourceGetMappedArray(&array, resource, 0, 0), cudaSuccess);
  map();
  EXPECT_EQ(cudaGraphicsSubResourceGetMappedArray(&array, resource, 1, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphicsSubResourceGetMappedArray(&array, resource, 0, 1), cudaErrorInvalidValue);
  EXPECT_NE(cudaGraphicsResourceGetMappedPointer(&pointer, nullptr, resource), cudaSuccess)
      << "an array is no memory with an address";
  unmap();
  EXPECT_NE(cudaGraphicsSubResourceGetMappedArray(&array, resource, 0, 0), cudaSuccess);
  EXPECT_EQ(array, nullptr);
  EXPECT_EQ(pointer, nullptr);
  cudaGetLastError();
}

TEST_F(GlImages, WhatIsNoTextureIsNotRegistered) {
  EXPECT_NE(try_to_register(0), cudaSuccess) << "never bound";
  draw(kRgba8, nullptr);
  EXPECT_NE(cudaGraphicsGLRegisterImage(&resource, texture + 1000, GL_TEXTURE_2D, 0), cudaSuccess);
#ifdef __CPU_DEVICE__  // a GPU was seen to take it
  EXPECT_NE(try_to_register(0, GL_TEXTURE_3D), cudaSuccess) << "of another kind";
#endif
  EXPECT_NE(try_to_register(0, GL_ARRAY_BUFFER), cudaSuccess) << "no kind of texture";
  EXPECT_EQ(cudaGraphicsGLRegisterImage(nullptr, texture, GL_TEXTURE_2D, 0), cudaErrorInvalidValue);
  EXPECT_EQ(resource, nullptr);
  cudaGetLastError();
}

#ifdef __CPU_DEVICE__

/// What a call prints; it must give `error`.
void expect_sentence(cudaError_t error, const std::function<cudaError_t()>& call,
                     std::initializer_list<const char*> parts) {
  testing::internal::CaptureStderr();
  EXPECT_STREQ(cudaGetErrorName(call()), cudaGetErrorName(error));
  EXPECT_EQ(cudaGetLastError(), error);
  const std::string text = testing::internal::GetCapturedStderr();
  for (const char* part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin: " << text;
}

TEST_F(GlImages, RefusalsSayWhy) {
  cudaArray_t array = nullptr;
  void* pointer = nullptr;
  const auto image = [&](unsigned flags, GLenum target) {
    return [this, flags, target] { return try_to_register(flags, target); };
  };
  expect_sentence(cudaErrorInvalidValue, image(0, GL_TEXTURE_2D), {"does not exist"});
  bind(GL_TEXTURE_2D, texture);
  bind(GL_TEXTURE_2D, 0);
  expect_sentence(cudaErrorInvalidValue, image(0, GL_TEXTURE_2D), {"no image yet", "glTexImage2D"});
  draw(kRgba8, nullptr);
  expect_sentence(cudaErrorInvalidValue, image(0, GL_TEXTURE_3D), {"is no GL_TEXTURE_3D"});
  expect_sentence(cudaErrorNotSupported, image(0, GL_TEXTURE_CUBE_MAP),
                  {"GL_TEXTURE_2D", "no cubemaps"});
  expect_sentence(cudaErrorInvalidValue, image(3, GL_TEXTURE_2D), {"the flags of a texture"});
  expect_sentence(cudaErrorInvalidValue, image(16, GL_TEXTURE_2D), {"the flags of a texture"});
  const texel_format three = {"", GL_RGB8, GL_RGB, GL_UNSIGNED_BYTE, {}};
  const texel_format half = {"", GL_R16F, GL_RED, GL_FLOAT, {}};
  draw(three, nullptr);
  expect_sentence(cudaErrorInvalidValue, image(0, GL_TEXTURE_2D), {"(not 3)", "GL_RGBA8"});
  draw(half, nullptr);
  expect_sentence(cudaErrorNotSupported, image(0, GL_TEXTURE_2D), {"half precision"});

  draw(kRgba8, nullptr);
  ASSERT_EQ(try_to_register(0), cudaSuccess);
  const auto get = [&](unsigned index) {
    return [&, index] { return cudaGraphicsSubResourceGetMappedArray(&array, resource, index, 0); };
  };
  expect_sentence(cudaErrorNotMapped, get(0), {"texture", "is not mapped"});
  const cudaArray_t mapped = map();
  expect_sentence(cudaErrorInvalidValue, get(1), {"one image"});
  expect_sentence(cudaErrorNotMappedAsPointer,
                  [&] { return cudaGraphicsResourceGetMappedPointer(&pointer, nullptr, resource); },
                  {"is no buffer", "cudaGraphicsSubResourceGetMappedArray"});
  expect_sentence(cudaErrorInvalidValue, [&] { return cudaFreeArray(mapped); },
                  {"cudaGraphicsUnmapResources gives it back"});
  unmap();
  expect_sentence(cudaErrorInvalidResourceHandle,
                  [&] { return cudaArrayGetInfo(nullptr, nullptr, nullptr, mapped); },
                  {"does not exist"});
}

TEST_F(GlImages, ASurfaceNeedsTheFlagForIt) {
  draw(kRgba8, nullptr);
  ASSERT_EQ(try_to_register(cudaGraphicsRegisterFlagsNone), cudaSuccess);
  const cudaResourceDesc desc = resource_of(map());
  cudaSurfaceObject_t object = 0;
  EXPECT_EQ(cudaCreateSurfaceObject(&object, &desc), cudaErrorInvalidValue);
  cudaGetLastError();
  unmap();
}

TEST_F(GlImages, WritingToAReadOnlyOneIsReported) {
  const bytes texels = numbered(kWidth * kHeight * 4, 77);
  draw(kRgba8, texels.data());
  ASSERT_EQ(try_to_register(cudaGraphicsRegisterFlagsReadOnly |
                            cudaGraphicsRegisterFlagsSurfaceLoadStore),
            cudaSuccess);
  const cudaSurfaceObject_t object = surface_of(map());
  invert<<<kGrid, kBlock>>>(object);
  const std::size_t reports = cpu_device::report_count();
  unmap();
  EXPECT_EQ(cpu_device::report_count(), reports + 1);
  EXPECT_NE(cpu_device::last_report().find("read only"), std::string::npos);
  EXPECT_EQ(cudaDestroySurfaceObject(object), cudaSuccess);
  EXPECT_EQ(seen(kRgba8), texels);
}

TEST_F(GlImages, ANewImageMustBeRegisteredAgain) {
  draw(kRgba8, nullptr);
  ASSERT_EQ(try_to_register(cudaGraphicsRegisterFlagsNone), cudaSuccess);
  const auto try_to_map = [&] { return cudaGraphicsMapResources(1, &resource); };
  draw(kRgba8, nullptr, kWidth + 1);
  expect_sentence(cudaErrorMapBufferObjectFailed, try_to_map,
                  {"had 37 x 19 texels", "has 38 x 19 now", "register it again"});
  draw(kR32f, nullptr);
  expect_sentence(cudaErrorMapBufferObjectFailed, try_to_map, {"of another format"});
}

TEST_F(GlImages, AResetForgetsMappedTextures) {
  draw(kRgba8, nullptr);
  ASSERT_EQ(try_to_register(cudaGraphicsRegisterFlagsNone), cudaSuccess);
  const std::size_t before = cpu_device::live_objects(cpu_device::object_kind::graphics_resource);
  map();
  ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cpu_device::live_objects(cpu_device::object_kind::graphics_resource), before - 1);
  resource = nullptr;
}

#endif

}  // namespace

#else

TEST(GlImages, NeedsOpenGl) {
  GTEST_SKIP() << "the headers of EGL and OpenGL are not installed (libegl-dev, libgl-dev)";
}

#endif
