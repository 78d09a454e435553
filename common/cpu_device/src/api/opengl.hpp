// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The OpenGL of the running program: its buffers and textures, read and written. Its functions are
// found through the window system whose context is current. Internal to the CPU device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu_device/textures.h"

namespace cpu_device {

/// The functions of the OpenGL context that is current in this host thread.
struct gl_functions {
  unsigned char (*is_buffer)(unsigned) = nullptr;
  void (*bind_buffer)(unsigned, unsigned) = nullptr;
  void (*get_integer)(unsigned, int*) = nullptr;
  void (*get_buffer_parameter)(unsigned, unsigned, int*) = nullptr;
  void (*read)(unsigned, std::intptr_t, std::intptr_t, void*) = nullptr;
  void (*write)(unsigned, std::intptr_t, std::intptr_t, const void*) = nullptr;
  unsigned (*get_error)() = nullptr;
  // Of textures; only find_gl_textures() looks for them.
  unsigned char (*is_texture)(unsigned) = nullptr;
  void (*bind_texture)(unsigned, unsigned) = nullptr;
  void (*get_level_parameter)(unsigned, int, unsigned, int*) = nullptr;
  void (*pixel_store)(unsigned, int) = nullptr;
  void (*read_texture)(unsigned, int, unsigned, unsigned, void*) = nullptr;
  void (*write_2d)(unsigned, int, int, int, int, int, unsigned, unsigned, const void*) = nullptr;
  void (*write_3d)(unsigned, int, int, int, int, int, int, int, unsigned, unsigned,
                   const void*) = nullptr;
};

/// Fails where this thread has no OpenGL context.
cudaError_t find_gl(gl_functions& gl);
/// The same, with the functions of textures.
cudaError_t find_gl_textures(gl_functions& gl);

/// An error that the program's own calls of OpenGL have left must not be taken for one of ours.
void take_old_errors(const gl_functions& gl);

/// Has a buffer bound while it lives. What the program has bound comes back.
class bound_buffer {
 public:
  bound_buffer(const gl_functions& gl, unsigned buffer);
  ~bound_buffer();
  bound_buffer(const bound_buffer&) = delete;
  bound_buffer& operator=(const bound_buffer&) = delete;

  std::size_t bytes() const;
  bool read(void* to, std::size_t bytes) const;
  bool write(const void* from, std::size_t bytes) const;

 private:
  const gl_functions& gl_;
  int before_ = 0;
};

/// A kind of texture that kernels can have.
struct texture_target {
  unsigned target, binding;  // OpenGL's numbers
  const char* name;
  bool has_depth;
};
/// Null for the other kinds.
const texture_target* find_texture_target(unsigned target);

/// The first image of a texture (mipmaps are not looked at): its size, its texels as CUDA describes
/// them, and as OpenGL transfers them.
struct texture_image {
  cudaExtent extent{};  // depth 0 where the texture has none, as in CUDA
  cudaChannelFormatDesc desc{};
  unsigned format = 0, type = 0;  // type 0: no texels, or not of 1, 2 or 4 equal channels

  bool operator==(const texture_image& other) const;
};

/// Has a texture bound while it lives. What the program has bound comes back.
class bound_texture {
 public:
  bound_texture(const gl_functions& gl, const texture_target& target, unsigned texture);
  ~bound_texture();
  bound_texture(const bound_texture&) = delete;
  bound_texture& operator=(const bound_texture&) = delete;

  /// False for a texture of another kind.
  bool is_of_this_kind() const { return is_of_this_kind_; }
  texture_image image() const;
  /// Rows of texels without gaps.
  bool read(const texture_image& image, void* to) const;
  bool write(const texture_image& image, const void* from) const;

 private:
  const gl_functions& gl_;
  const texture_target& target_;
  int before_ = 0;
  bool is_of_this_kind_ = true;
};

}  // namespace cpu_device
