// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: map, kernel and unmap are in a stream of their own, with an
// event_timer; OpenGL draws the buffer by way of a texture (gl_picture).

#include "given.hpp"
#include "lab/stream.hpp"
#include "lab/timer.hpp"

namespace lab::gl_image {
namespace {

__global__ void paint_row(uchar4* lowest, int width, int height) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y);
  if (x < width) lowest[row * width + x] = colour_at(width, height, x, height - 1 - row);
}

/// Undoes something at the end of its life.
template <class Undo>
struct at_the_end {
  Undo undo;
  ~at_the_end() { undo(); }
};
template <class Undo>
at_the_end(Undo) -> at_the_end<Undo>;

float paint_into(const pixel_buffer& buffer, int width, int height) {
  cudaGraphicsResource_t resource = nullptr;
  CUDA_CHECK(cudaGraphicsGLRegisterBuffer(&resource, buffer.name(), cudaGraphicsRegisterFlagsNone));
  const at_the_end unregister{
      [&] { CUDA_CHECK_NOTHROW(cudaGraphicsUnregisterResource(resource)); }};
  const stream queue;
  event_timer timer;
  CUDA_CHECK(cudaGraphicsMapResources(1, &resource, queue));
  bool mapped = true;
  const at_the_end unmap{[&] {
    if (mapped) CUDA_CHECK_NOTHROW(cudaGraphicsUnmapResources(1, &resource, queue));
  }};
  void* address = nullptr;
  std::size_t bytes = 0;
  CUDA_CHECK(cudaGraphicsResourceGetMappedPointer(&address, &bytes, resource));
  const dim3 blocks((static_cast<unsigned>(width) + 127) / 128, static_cast<unsigned>(height));
  timer.start(queue);
  paint_row<<<blocks, 128, 0, queue>>>(static_cast<uchar4*>(address), width, height);
  CUDA_CHECK(cudaGetLastError());
  timer.stop();
  mapped = false;
  CUDA_CHECK(cudaGraphicsUnmapResources(1, &resource, queue));
  return timer.milliseconds();
}

}  // namespace

result draw(int width, int height) {
  require_good(width, height);
  const gl_canvas canvas(width, height);
  gl_picture on_screen(width, height);
  const pixel_buffer buffer(sizeof(uchar4) * static_cast<std::size_t>(width) *
                            static_cast<std::size_t>(height));
  const float kernel_ms = paint_into(buffer, width, height);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer.name());
  const at_the_end unbind{[] { glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0); }};
  on_screen.draw(nullptr);
  return {canvas.read(), kernel_ms};
}

}  // namespace lab::gl_image
