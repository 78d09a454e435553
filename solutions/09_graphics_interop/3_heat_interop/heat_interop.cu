// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 09.3 heat_interop: a simulation stays on the device, and is displayed without leaving it.
// Edit:  this nearly empty file: TODO(1) to TODO(4). heat_interop.hpp has the contract, and
//        given.hpp the two kernels of a time step, which are those of 08.4.
// Run:   scripts/lab run 09.3 -- --window          (or --out heat.png, for a browser)
// Test:  scripts/lab test 09.3
// Hints: scripts/lab hint 09.3                     Chapter: docs/09_graphics_interop.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::heat_interop {
namespace {

// TODO(1): a kernel: the colour of each cell (x, y), from a palette in device memory. The contract
//          has the index; __fmul_rn and __fsqrt_rn are a product and a root that are rounded on
//          their own. OpenGL has the lowest row first.
// BEGIN SOLUTION
__global__ void colour(int width, int height, const float* cells, const uchar4* colours,
                       uchar4* pixels) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height) {
    const float t = fminf(fmaxf(cells[static_cast<std::size_t>(y) * width + x], 0), 1);
    const int index = static_cast<int>(__fmul_rn(255, __fsqrt_rn(t)));
    const std::size_t row = static_cast<std::size_t>(height - 1 - y);  // counted upwards
    pixels[row * width + x] = colours[index];
  }
}
// END SOLUTION

// TODO(2): the data that stays on the device during the animation, and a function for a frame: its
//          time steps, copy_heaters and blend, and then the colours of the buffer written last,
//          into the caller's pixels. The next frame continues from there. (Two device_buffers can
//          be swapped: their memory stays where it is.) An event_timer gets the time of all of it.
// BEGIN SOLUTION
class device_plate {
 public:
  device_plate(const plate& start, std::span<const uchar4> colours, int steps_per_frame)
      : width_(start.width),
        height_(start.height),
        steps_(steps_per_frame),
        blocks_(static_cast<unsigned>((width_ + kTile - 1) / kTile),
                static_cast<unsigned>((height_ + kTile - 1) / kTile)),
        heaters_(start.heaters),
        cells_(start.initial),
        others_(start.initial.size()),
        colours_(colours) {}

  int width() const { return width_; }
  int height() const { return height_; }
  std::size_t count() const { return cells_.size(); }

  /// A frame's time steps, then the plate's colours, into `pixels`; `timer` measures all of it.
  void advance_and_colour(uchar4* pixels, event_timer& timer) {
    timer.start();
    for (int i = 0; i < steps_; ++i) {
      copy_heaters<<<blocks_, kThreads>>>(width_, height_, heaters_.data(), cells_.data());
      CUDA_CHECK(cudaGetLastError());
      blend<<<blocks_, kThreads>>>(width_, height_, cells_.data(), others_.data());
      CUDA_CHECK(cudaGetLastError());
      std::swap(cells_, others_);  // after any number of steps, cells_ has the newest values
    }
    colour<<<blocks_, kThreads>>>(width_, height_, cells_.data(), colours_.data(), pixels);
    CUDA_CHECK(cudaGetLastError());
    timer.stop();
  }

 private:
  int width_, height_, steps_;
  dim3 blocks_;
  device_buffer<float> heaters_, cells_, others_;
  device_buffer<uchar4> colours_;
};
// END SOLUTION

// TODO(3): step through_host: what is created once, and what is done for each frame. gl_picture
//          draws pixels in host memory.
// BEGIN SOLUTION
class view_through_host {
 public:
  explicit view_through_host(const device_plate& plate)
      : device_(plate.count()), host_(plate.count()), picture_(plate.width(), plate.height()) {}

  float draw(device_plate& plate) {
    event_timer timer;
    plate.advance_and_colour(device_.data(), timer);
    device_.copy_to(host_);
    picture_.draw(host_.data());
    return timer.milliseconds();
  }

 private:
  device_buffer<uchar4> device_;
  std::vector<uchar4> host_;
  gl_picture picture_;
};
// END SOLUTION

// TODO(4): step interop, as in 09.2: what is created once, and what is done for each frame. The
//          buffer is mapped as long as a kernel writes to it, and no longer.
// BEGIN SOLUTION
class view_in_opengl {
 public:
  explicit view_in_opengl(const device_plate& plate)
      : buffer_(plate.count() * sizeof(uchar4)),
        registered_(buffer_),
        picture_(plate.width(), plate.height()) {}

  float draw(device_plate& plate) {
    event_timer timer;
    mapped_buffer<uchar4> pixels(registered_, plate.count());
    plate.advance_and_colour(pixels.data(), timer);
    pixels.unmap();  // OpenGL's drawing after this waits for the kernels

    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer_.name());
    picture_.draw(nullptr);
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    return timer.milliseconds();
  }

 private:
  pixel_buffer buffer_;
  registered_buffer registered_;  // destroyed before its buffer
  gl_picture picture_;
};

template <class View>
frame_callback animate(const plate& start, std::span<const uchar4> colours, int steps) {
  struct animation {
    device_plate plate;
    View view;
    animation(const heat_interop::plate& first, std::span<const uchar4> palette, int n)
        : plate(first, palette, n), view(plate) {}
  };
  auto all = std::make_shared<animation>(start, colours, steps);
  return [all] { return all->view.draw(all->plate); };
}
// END SOLUTION

}  // namespace

frame_callback animate(step version, const plate& start, std::span<const rgba> colours,
                       int steps_per_frame) {
  require_good(start, colours, steps_per_frame);
  // TODO(3), TODO(4): a function that draws a frame of a plate made here, once, and not in each
  //          call. All copies of the function share the plate: std::shared_ptr.
  // BEGIN SOLUTION
  // STUB: throw not_written("the animation", 1);
  std::vector<uchar4> palette;
  for (const rgba& c : colours) palette.push_back(make_uchar4(c.r, c.g, c.b, c.a));
  return version == step::through_host ? animate<view_through_host>(start, palette, steps_per_frame)
                                       : animate<view_in_opengl>(start, palette, steps_per_frame);
  // END SOLUTION
}

}  // namespace lab::heat_interop
