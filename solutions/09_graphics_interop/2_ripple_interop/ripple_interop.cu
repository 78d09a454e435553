// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 09.2 ripple_interop: frame after frame in one OpenGL buffer.
// Edit:  this file, from TODO(1) to TODO(3). The formula is that of 04.2.
// Run:   scripts/lab run 09.2 -- --window          (or --out ripple.png, for a browser)
// Test:  scripts/lab test 09.2
// Hints: scripts/lab hint 09.2                     Chapter: docs/09_graphics_interop.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::ripple_interop {
namespace {

constexpr int kTile = 16;  // a block is kTile x kTile threads

// --- given: the kernel's parts, as in 04.2 -------------------------------------------------------

/// tick / 7 without whole turns, so that a float is precise enough at any tick.
float phase_of(int tick) { return static_cast<float>(std::fmod(tick / 7.0, 2 * std::numbers::pi)); }

// --- the kernel: for both steps ------------------------------------------------------------------

/// OpenGL's rows: the lowest one first. (So both steps can pass them to glDrawPixels.)
__global__ void ripple(int width, int height, float phase, uchar4* pixels) {
  // TODO(1): store the grey value of this thread's pixel (x, y), where row 0 is the top row.
  // BEGIN SOLUTION
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height) {
    const unsigned char grey = grey_at(width, height, phase, x, y);
    const std::size_t row = static_cast<std::size_t>(height - 1 - y);  // counted upwards
    pixels[row * width + x] = make_uchar4(grey, grey, grey, 255);
  }
  // END SOLUTION
}

/// Launches the kernel in the default stream; `timer` measures it.
void launch(int width, int height, int tick, uchar4* pixels, event_timer& timer) {
  const dim3 blocks(static_cast<unsigned>((width + kTile - 1) / kTile),
                    static_cast<unsigned>((height + kTile - 1) / kTile));
  timer.start();
  ripple<<<blocks, dim3(kTile, kTile)>>>(width, height, phase_of(tick), pixels);
  timer.stop();
  CUDA_CHECK(cudaGetLastError());
}

// --- given: through_host -------------------------------------------------------------------------
// Each pixel goes to the host and back to the device, twice over the bus, and the host waits.

class pond_through_host {
 public:
  pond_through_host(int width, int height)
      : width_(width),
        height_(height),
        device_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height)),
        host_(device_.size()),
        picture_(width, height) {}

  float draw(int tick) {
    event_timer timer;
    launch(width_, height_, tick, device_.data(), timer);
    device_.copy_to(host_);       // down …
    picture_.draw(host_.data());  // … and up
    return timer.milliseconds();
  }

 private:
  int width_, height_;
  device_buffer<uchar4> device_;
  std::vector<uchar4> host_;
  gl_picture picture_;
};

// --- interop -------------------------------------------------------------------------------------
// From lab/: pixel_buffer owns an OpenGL buffer, registered_buffer its registration with CUDA. A
// mapped_buffer<uchar4>(registered, count) maps it: data() is the pointer, unmap() ends it. You
// wrote these in 09.1. A gl_picture draws, as above; with a buffer bound to
// GL_PIXEL_UNPACK_BUFFER, draw(nullptr) draws what is in that buffer.

class pond_in_opengl {
 public:
  // TODO(2): what is created once for all frames, and in which order is it destroyed?
  // BEGIN SOLUTION
  // STUB: pond_in_opengl(int, int) { throw not_written("step interop", 2); }
  pond_in_opengl(int width, int height)
      : width_(width),
        height_(height),
        count_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height)),
        buffer_(count_ * sizeof(uchar4)),
        registered_(buffer_),
        picture_(width, height) {}
  // END SOLUTION

  float draw(int tick) {
    // TODO(2): what is done for each frame. Kernels use the buffer only while it is mapped, OpenGL
    //          only while it is not; and no buffer stays bound.
    // BEGIN SOLUTION
    // STUB: return 0;
    event_timer timer;
    mapped_buffer<uchar4> pixels(registered_, count_);
    launch(width_, height_, tick, pixels.data(), timer);
    pixels.unmap();  // OpenGL's drawing after this waits for the kernel

    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer_.name());
    picture_.draw(nullptr);  // from the beginning of the bound buffer
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    return timer.milliseconds();
    // END SOLUTION
  }

 private:
  // BEGIN SOLUTION
  int width_, height_;
  std::size_t count_;
  pixel_buffer buffer_;           // destroyed last: a buffer is deleted after …
  registered_buffer registered_;  // … CUDA has unregistered it
  gl_picture picture_;
  // END SOLUTION
};

// --- the animation -------------------------------------------------------------------------------

/// One pond, many frames: all copies of the returned function share it.
template <class Pond>
frame_callback animate(int width, int height) {
  // TODO(3): a lambda that draws on a pond made here, once, and not in each call. (As in 04.2.)
  // BEGIN SOLUTION
  // STUB: Pond(width, height).draw(0);
  // STUB: throw not_written("the animation", 3);
  auto pond = std::make_shared<Pond>(width, height);
  return [pond](int tick) { return pond->draw(tick); };
  // END SOLUTION
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

frame_callback animate(step version, int width, int height) {
  require_good(width, height);
  return version == step::through_host ? animate<pond_through_host>(width, height)
                                       : animate<pond_in_opengl>(width, height);
}

result frame(step version, int width, int height, int tick) {
  require_good(width, height);
  const gl_canvas canvas(width, height);  // where OpenGL draws until the end of this function
  const float kernel_ms = animate(version, width, height)(tick);
  return {canvas.read(), kernel_ms};
}

}  // namespace lab::ripple_interop
