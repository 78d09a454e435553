// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "api/opengl.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "api/calls.hpp"
#include "base/report.hpp"
#include "context/device.hpp"

namespace cpu_device {
namespace {

// Of OpenGL's specification. Its headers need not be there, and may differ in their version.
constexpr unsigned kArrayBuffer = 0x8892;
constexpr unsigned kArrayBufferBinding = 0x8894;
constexpr unsigned kBufferSize = 0x8764;

constexpr unsigned kTextureWidth = 0x1000, kTextureHeight = 0x1001, kTextureDepth = 0x8071;
constexpr unsigned kChannelBits[] = {0x805C, 0x805D, 0x805E, 0x805F};  // red, green, blue, alpha
constexpr unsigned kRedType = 0x8C10;
constexpr unsigned kSignedInt = 0x1404, kUnsignedInt = 0x1405, kFloat = 0x1406;
constexpr unsigned kUnsignedNormalized = 0x8C17;

/// How a window system tells whether a context of its own is current, and finds OpenGL's functions.
struct window_system {
  const char* current_context;
  const char* find_function;
  const char* libraries[2];
};
constexpr window_system kWindowSystems[] = {
    {"eglGetCurrentContext", "eglGetProcAddress", {"libEGL.so.1", "libEGL.so"}},
    {"glXGetCurrentContext", "glXGetProcAddressARB", {"libGLX.so.0", "libGL.so.1"}},
    {"OSMesaGetCurrentContext", "OSMesaGetProcAddress", {"libOSMesa.so.8", "libOSMesa.so"}},
};
using function_finder = void* (*)(const char*);

/// A function of the program, or of a library that it has loaded; nothing is loaded for it.
void* loaded_function(const char* name, const window_system& system) {
  if (void* found = dlsym(RTLD_DEFAULT, name)) return found;
  for (const char* library : system.libraries)  // GLFW and SDL load them for themselves alone
    if (void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD)) {
      void* found = dlsym(handle, name);
      dlclose(handle);
      if (found != nullptr) return found;
    }
  return nullptr;
}

/// The window system whose context is current; null if there is none.
const window_system* current_system() {
  for (const window_system& system : kWindowSystems) {
    const auto current =
        reinterpret_cast<void* (*)()>(loaded_function(system.current_context, system));
    if (current != nullptr && current() != nullptr) return &system;
  }
  return nullptr;
}

template <class Function>
bool find(Function*& function, const char* name, function_finder find_function) {
  void* found = find_function(name);
  if (found == nullptr) found = dlsym(RTLD_DEFAULT, name);
  function = reinterpret_cast<Function*>(found);
  return found != nullptr;
}

/// The program's own settings for the transfer of pixels, and its buffers for it, are set aside
/// while this lives: texels are transferred to or from plain memory, without gaps.
class plain_transfer {
 public:
  plain_transfer(const gl_functions& gl, bool reads) : gl_(gl), settings_(reads ? kRead : kWrite) {
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      gl_.get_integer(settings_[i].name, &before_[i]);
      gl_.pixel_store(settings_[i].name, settings_[i].value);
    }
    target_ = reads ? 0x88EB : 0x88EC;  // GL_PIXEL_PACK_BUFFER, GL_PIXEL_UNPACK_BUFFER
    gl_.get_integer(reads ? 0x88ED : 0x88EF, &buffer_);
    gl_.bind_buffer(target_, 0);
  }
  ~plain_transfer() {
    for (std::size_t i = 0; i < settings_.size(); ++i)
      gl_.pixel_store(settings_[i].name, before_[i]);
    gl_.bind_buffer(target_, static_cast<unsigned>(buffer_));
  }
  plain_transfer(const plain_transfer&) = delete;
  plain_transfer& operator=(const plain_transfer&) = delete;

 private:
  struct setting {
    unsigned name;
    int value;
  };
  // Swapped bytes, row length, skipped rows, pixels and images, image height, alignment.
  using list = std::array<setting, 7>;
  static constexpr list kRead = {
      {{0x0D00, 0}, {0x0D02, 0}, {0x0D03, 0}, {0x0D04, 0}, {0x806B, 0}, {0x806C, 0}, {0x0D05, 1}}};
  static constexpr list kWrite = {
      {{0x0CF0, 0}, {0x0CF2, 0}, {0x0CF3, 0}, {0x0CF4, 0}, {0x806D, 0}, {0x806E, 0}, {0x0CF5, 1}}};

  const gl_functions& gl_;
  const list& settings_;
  int before_[std::tuple_size_v<list>] = {};
  unsigned target_ = 0;
  int buffer_ = 0;
};

}  // namespace

cudaError_t find_gl(gl_functions& gl) {
  const window_system* system = current_system();
  if (system == nullptr)
    return fail(cudaErrorInvalidGraphicsContext,
                this_call() +
                    ": no OpenGL context is current in this host thread. Try: make the call after "
                    "the window is there (glutCreateWindow, glfwMakeContextCurrent, "
                    "eglMakeCurrent), in the thread that draws.");
  const auto finder =
      reinterpret_cast<function_finder>(loaded_function(system->find_function, *system));
  if (finder != nullptr && find(gl.is_buffer, "glIsBuffer", finder) &&
      find(gl.bind_buffer, "glBindBuffer", finder) &&
      find(gl.get_integer, "glGetIntegerv", finder) &&
      find(gl.get_buffer_parameter, "glGetBufferParameteriv", finder) &&
      find(gl.read, "glGetBufferSubData", finder) && find(gl.write, "glBufferSubData", finder) &&
      find(gl.get_error, "glGetError", finder))
    return cudaSuccess;
  return fail(cudaErrorInvalidGraphicsContext,
              this_call() +
                  ": the current OpenGL context has no buffers that can be read "
                  "(glGetBufferSubData). Try: a context of desktop OpenGL 1.5 or later.");
}

cudaError_t find_gl_textures(gl_functions& gl) {
  if (const cudaError_t status = find_gl(gl); status != cudaSuccess) return status;
  const window_system* system = current_system();
  const auto finder =
      reinterpret_cast<function_finder>(loaded_function(system->find_function, *system));
  if (find(gl.is_texture, "glIsTexture", finder) &&
      find(gl.bind_texture, "glBindTexture", finder) &&
      find(gl.get_level_parameter, "glGetTexLevelParameteriv", finder) &&
      find(gl.pixel_store, "glPixelStorei", finder) &&
      find(gl.read_texture, "glGetTexImage", finder) &&
      find(gl.write_2d, "glTexSubImage2D", finder) && find(gl.write_3d, "glTexSubImage3D", finder))
    return cudaSuccess;
  return fail(cudaErrorInvalidGraphicsContext,
              this_call() +
                  ": the current OpenGL context has no textures that can be read (glGetTexImage). "
                  "Try: a context of desktop OpenGL 3.0 or later.");
}

void take_old_errors(const gl_functions& gl) {
  for (int i = 0; i < 16; ++i) {  // a lost context gives errors without end
    const unsigned error = gl.get_error();
    if (error == 0) return;
    char number[16];
    std::snprintf(number, sizeof number, "0x%04X", error);
    explain(this_call() + ": an earlier call of OpenGL had failed (glGetError: " + number +
            "). Try: glGetError() after each of them.");
  }
}

// --- buffers -----------------------------------------------------------------------------------

bound_buffer::bound_buffer(const gl_functions& gl, unsigned buffer) : gl_(gl) {
  gl_.get_integer(kArrayBufferBinding, &before_);
  gl_.bind_buffer(kArrayBuffer, buffer);
}
bound_buffer::~bound_buffer() { gl_.bind_buffer(kArrayBuffer, static_cast<unsigned>(before_)); }

std::size_t bound_buffer::bytes() const {
  int size = 0;
  gl_.get_buffer_parameter(kArrayBuffer, kBufferSize, &size);
  return static_cast<std::size_t>(std::max(size, 0));
}
bool bound_buffer::read(void* to, std::size_t bytes) const {
  gl_.read(kArrayBuffer, 0, static_cast<std::intptr_t>(bytes), to);
  return gl_.get_error() == 0;
}
bool bound_buffer::write(const void* from, std::size_t bytes) const {
  gl_.write(kArrayBuffer, 0, static_cast<std::intptr_t>(bytes), from);
  return gl_.get_error() == 0;
}

// --- textures ----------------------------------------------------------------------------------

const texture_target* find_texture_target(unsigned target) {
  static constexpr texture_target kTargets[] = {
      {0x0DE1, 0x8069, "GL_TEXTURE_2D", false},
      {0x84F5, 0x84F6, "GL_TEXTURE_RECTANGLE", false},
      {0x806F, 0x806A, "GL_TEXTURE_3D", true},
  };
  for (const texture_target& t : kTargets)
    if (t.target == target) return &t;
  return nullptr;
}

bool texture_image::operator==(const texture_image& other) const {
  return extent.width == other.extent.width && extent.height == other.extent.height &&
         extent.depth == other.extent.depth && format == other.format && type == other.type;
}

bound_texture::bound_texture(const gl_functions& gl, const texture_target& target, unsigned texture)
    : gl_(gl), target_(target) {
  gl_.get_integer(target.binding, &before_);
  gl_.bind_texture(target.target, texture);
  is_of_this_kind_ = gl_.get_error() == 0;  // GL_INVALID_OPERATION: bound to another target before
}
bound_texture::~bound_texture() {
  gl_.bind_texture(target_.target, static_cast<unsigned>(before_));
}

texture_image bound_texture::image() const {
  const auto parameter = [this](unsigned name) {
    int value = 0;
    gl_.get_level_parameter(target_.target, 0, name, &value);
    return value;
  };
  texture_image image;
  image.extent.width = static_cast<std::size_t>(parameter(kTextureWidth));
  image.extent.height = static_cast<std::size_t>(parameter(kTextureHeight));
  if (target_.has_depth) image.extent.depth = static_cast<std::size_t>(parameter(kTextureDepth));

  // What OpenGL chose for the texels: a program may have asked for no more than GL_RGBA.
  int bits[4];
  for (int i = 0; i < 4; ++i) bits[i] = parameter(kChannelBits[i]);
  const int channels = bits[3] != 0 ? 4 : bits[2] != 0 ? 3 : bits[1] != 0 ? 2 : 1;
  const bool equal = std::all_of(bits, bits + channels, [&](int b) { return b == bits[0]; });
  const int size = bits[0] == 8 ? 0 : bits[0] == 16 ? 1 : bits[0] == 32 ? 2 : -1;
  const auto kind = static_cast<unsigned>(parameter(kRedType));
  if (channels == 3 || !equal || size < 0 || image.extent.width == 0) return image;
  const bool normalized = kind == kUnsignedNormalized, real = kind == kFloat;
  const bool integers = kind == kSignedInt || kind == kUnsignedInt;
  if (!normalized && !real && !integers) return image;

  constexpr unsigned kFormats[2][3] = {{0x1903, 0x8227, 0x1908},   // GL_RED, GL_RG, GL_RGBA
                                       {0x8D94, 0x8228, 0x8D99}};  // GL_RED_INTEGER ...
  constexpr unsigned kUnsignedTypes[] = {0x1401, 0x1403, 0x1405};  // GL_UNSIGNED_BYTE ...
  constexpr unsigned kSignedTypes[] = {0x1400, 0x1402, 0x1404};    // GL_BYTE ...
  constexpr unsigned kFloatTypes[] = {0, 0x140B, 0x1406};          // -, GL_HALF_FLOAT, GL_FLOAT
  image.format = kFormats[integers ? 1 : 0][channels / 2];
  image.type = (real ? kFloatTypes : kind == kSignedInt ? kSignedTypes : kUnsignedTypes)[size];
  image.desc = {bits[0], channels > 1 ? bits[0] : 0, channels > 2 ? bits[0] : 0,
                channels > 2 ? bits[0] : 0,
                real                 ? cudaChannelFormatKindFloat
                : kind == kSignedInt ? cudaChannelFormatKindSigned
                                     : cudaChannelFormatKindUnsigned};
  return image;
}

bool bound_texture::read(const texture_image& image, void* to) const {
  const plain_transfer plain(gl_, true);
  gl_.read_texture(target_.target, 0, image.format, image.type, to);
  return gl_.get_error() == 0;
}
bool bound_texture::write(const texture_image& image, const void* from) const {
  const plain_transfer plain(gl_, false);
  const auto size = [](std::size_t n) { return static_cast<int>(n); };
  const cudaExtent& e = image.extent;
  if (target_.has_depth)
    gl_.write_3d(target_.target, 0, 0, 0, 0, size(e.width), size(e.height), size(e.depth),
                 image.format, image.type, from);
  else
    gl_.write_2d(target_.target, 0, 0, 0, size(e.width), size(e.height), image.format, image.type,
                 from);
  return gl_.get_error() == 0;
}

}  // namespace cpu_device
