// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 09.1 gl_image: a kernel draws into an OpenGL buffer, and no pixel passes through the host.
// Edit:  this file, from TODO(1) to TODO(5). gl_image.hpp says what to draw.
// Run:   scripts/lab run 09.1                      (writes gl_image.png)
// Test:  scripts/lab test 09.1
// Hints: scripts/lab hint 09.1                     Chapter: docs/09_graphics_interop.md

#include <cuda_gl_interop.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::gl_image {
namespace {

constexpr int kTile = 16;  // a block is kTile x kTile threads

/// `pixels` is an OpenGL buffer. It has the picture row by row, the *lowest* row first.
__global__ void paint(int width, int height, uchar4* pixels) {
  // TODO(1): store the colour of this thread's pixel (x, y), where row 0 is the top row.
  //          Threads outside the picture do nothing.
  // BEGIN SOLUTION
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height) {
    const std::size_t row = static_cast<std::size_t>(height - 1 - y);  // counted upwards
    pixels[row * width + x] = colour_at(width, height, x, y);
  }
  // END SOLUTION
}

// --- who owns what -------------------------------------------------------------------------------

/// CUDA knows the buffer as long as this object lives. Registering is slow: do it once.
class registration {
 public:
  explicit registration(const pixel_buffer& buffer) {
    // TODO(2): register buffer.name() with CUDA, as one whose old contents no kernel reads.
    // BEGIN SOLUTION
    // STUB: throw not_written("the registration", 2);
    CUDA_CHECK(cudaGraphicsGLRegisterBuffer(&resource_, buffer.name(),
                                            cudaGraphicsRegisterFlagsWriteDiscard));
    // END SOLUTION
  }
  registration(const registration&) = delete;
  registration& operator=(const registration&) = delete;
  ~registration() {
    // TODO(2): undo it. A destructor does not throw: CUDA_CHECK_NOTHROW.
    // BEGIN SOLUTION
    CUDA_CHECK_NOTHROW(cudaGraphicsUnregisterResource(resource_));
    // END SOLUTION
  }

  cudaGraphicsResource_t resource() const { return resource_; }

 private:
  cudaGraphicsResource_t resource_ = nullptr;
};

/// The buffer belongs to CUDA from map to unmap, and to OpenGL at all other times.
class mapping {
 public:
  explicit mapping(const registration& registered) : resource_(registered.resource()) {
    // TODO(3): map the resource.
    // BEGIN SOLUTION
    // STUB: throw not_written("the mapping", 3);
    CUDA_CHECK(cudaGraphicsMapResources(1, &resource_));
    // END SOLUTION
  }
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;
  ~mapping() {  // for the case that an exception is thrown
    if (resource_ != nullptr) CUDA_CHECK_NOTHROW(cudaGraphicsUnmapResources(1, &resource_));
  }

  /// The buffer's address in device memory until it is unmapped. `bytes` is its size.
  uchar4* pixels(std::size_t& bytes) const {
    // TODO(3): ask CUDA. The address may be different each time the buffer is mapped.
    // BEGIN SOLUTION
    // STUB: bytes = 0;
    // STUB: return nullptr;
    void* memory = nullptr;
    CUDA_CHECK(cudaGraphicsResourceGetMappedPointer(&memory, &bytes, resource_));
    return static_cast<uchar4*>(memory);
    // END SOLUTION
  }

  void unmap() {
    cudaGraphicsResource_t mapped = std::exchange(resource_, nullptr);  // once is enough
    // TODO(3): unmap it. OpenGL's drawing after this call waits for kernels launched before it.
    // BEGIN SOLUTION
    CUDA_CHECK(cudaGraphicsUnmapResources(1, &mapped));
    // END SOLUTION
  }

 private:
  cudaGraphicsResource_t resource_ = nullptr;
};

// --- OpenGL's turn -------------------------------------------------------------------------------

/// Makes OpenGL draw the buffer's width x height pixels, from the lower left corner.
void draw_pixels(const pixel_buffer& buffer, int width, int height) {
  // TODO(4): bind the buffer as GL_PIXEL_UNPACK_BUFFER. Then the last argument of glDrawPixels
  //          is an offset in that buffer instead of a pointer. Pixels are GL_RGBA,
  //          GL_UNSIGNED_BYTE each. Afterwards no buffer is bound; check_gl() checks for errors.
  // BEGIN SOLUTION
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer.name());
  glDrawPixels(width, height, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  check_gl("glDrawPixels");
  // END SOLUTION
}

}  // namespace

result draw(int width, int height) {
  require_good(width, height);
  const gl_canvas canvas(width, height);  // what OpenGL draws goes here

  // TODO(5): a pixel_buffer for all pixels (its size is in bytes), registered; map it, launch
  //          paint with the mapped address, unmap it, draw its pixels.
  //          Invariant: kernels use the buffer only between map and unmap, OpenGL only outside.
  // BEGIN SOLUTION
  // STUB: const pixel_buffer buffer(4);
  // STUB: mapping(registration(buffer)).unmap();
  // STUB: throw not_written("drawing", 5);
  const std::size_t count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  const pixel_buffer buffer(count * sizeof(uchar4));
  const registration registered(buffer);  // destroyed before its buffer
  const dim3 threads(kTile, kTile);
  const dim3 blocks(static_cast<unsigned>((width + kTile - 1) / kTile),
                    static_cast<unsigned>((height + kTile - 1) / kTile));

  mapping mapped(registered);
  std::size_t bytes = 0;
  uchar4* pixels = mapped.pixels(bytes);
  if (bytes < count * sizeof(uchar4)) throw gl_error("OpenGL's buffer is too small");
  const float kernel_ms = time_kernel([&] { paint<<<blocks, threads>>>(width, height, pixels); });
  mapped.unmap();  // from here on `pixels` is invalid

  draw_pixels(buffer, width, height);
  return {canvas.read(), kernel_ms};
  // END SOLUTION
}

}  // namespace lab::gl_image
