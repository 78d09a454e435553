// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: the cells before a time step and those after it are the two halves of
// one buffer, and nothing is swapped.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::heat_interop {
namespace {

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

class device_plate {
 public:
  device_plate(const plate& start, std::span<const uchar4> colours, int steps_per_frame)
      : width_(start.width),
        height_(start.height),
        steps_(steps_per_frame),
        blocks_(static_cast<unsigned>((width_ + kTile - 1) / kTile),
                static_cast<unsigned>((height_ + kTile - 1) / kTile)),
        heaters_(start.heaters),
        cells_(2 * start.initial.size()),
        count_(start.initial.size()),
        colours_(colours) {
    CUDA_CHECK(cudaMemcpy(cells_.data(), start.initial.data(), start.initial.size_bytes(),
                          cudaMemcpyHostToDevice));
  }

  int width() const { return width_; }
  int height() const { return height_; }
  std::size_t count() const { return count_; }

  /// A frame's time steps, then the plate's colours, into `pixels`; `timer` measures all of it.
  void advance_and_colour(uchar4* pixels, event_timer& timer) {
    timer.start();
    for (int i = 0; i < steps_; ++i) {
      float* const here = cells_.data() + now_ * count_;
      copy_heaters<<<blocks_, kThreads>>>(width_, height_, heaters_.data(), here);
      CUDA_CHECK(cudaGetLastError());
      now_ ^= 1U;
      blend<<<blocks_, kThreads>>>(width_, height_, here, cells_.data() + now_ * count_);
      CUDA_CHECK(cudaGetLastError());
    }
    colour<<<blocks_, kThreads>>>(width_, height_, cells_.data() + now_ * count_, colours_.data(),
                                  pixels);
    CUDA_CHECK(cudaGetLastError());
    timer.stop();
  }

 private:
  int width_, height_, steps_;
  dim3 blocks_;
  device_buffer<float> heaters_, cells_;
  std::size_t count_;
  std::size_t now_ = 0;
  device_buffer<uchar4> colours_;
};

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

}  // namespace

frame_callback animate(step version, const plate& start, std::span<const rgba> colours,
                       int steps_per_frame) {
  require_good(start, colours, steps_per_frame);
  // TODO(3), TODO(4): a function that draws a frame of a plate made here, once, and not in each
  //          call. All copies of the function share the plate: std::shared_ptr.
  std::vector<uchar4> palette;
  for (const rgba& c : colours) palette.push_back(make_uchar4(c.r, c.g, c.b, c.a));
  return version == step::through_host ? animate<view_through_host>(start, palette, steps_per_frame)
                                       : animate<view_in_opengl>(start, palette, steps_per_frame);
}

}  // namespace lab::heat_interop
