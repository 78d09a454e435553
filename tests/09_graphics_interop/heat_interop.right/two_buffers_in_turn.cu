// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: a time step is a single kernel; the colours go to two buffers of
// OpenGL in turn; and on their way through the host, to pinned memory.

#include <cuda_runtime.h>

#include <array>

#include "given.hpp"
#include "lab/pinned_buffer.hpp"

namespace lab::heat_interop {
namespace {

__global__ void heat_and_blend(int width, int height, const float* heaters, const float* input,
                               float* output) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= width || y >= height) return;
  const auto heated = [&](int column, int row) {
    const std::size_t i = static_cast<std::size_t>(min(max(row, 0), height - 1)) * width +
                          min(max(column, 0), width - 1);
    return heaters[i] != 0 ? heaters[i] : input[i];
  };
  const float own = heated(x, y);
  const float up_and_down = __fadd_rn(heated(x, y - 1), heated(x, y + 1));
  const float around = __fadd_rn(__fadd_rn(up_and_down, heated(x - 1, y)), heated(x + 1, y));
  output[static_cast<std::size_t>(y) * width + x] =
      __fadd_rn(own, __fmul_rn(0.25F, __fsub_rn(around, __fmul_rn(4, own))));
}

__global__ void colour(int width, int height, const float* cells, const uchar4* colours,
                       uchar4* pixels) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= width || y >= height) return;
  const float t = fminf(fmaxf(cells[static_cast<std::size_t>(y) * width + x], 0), 1);
  pixels[static_cast<std::size_t>(height - 1 - y) * width + x] =
      colours[static_cast<int>(__fmul_rn(255, __fsqrt_rn(t)))];
}

class device_plate {
 public:
  device_plate(const plate& start, std::span<const rgba> colours, int steps)
      : width_(start.width),
        height_(start.height),
        steps_(steps),
        blocks_(static_cast<unsigned>((width_ + kTile - 1) / kTile),
                static_cast<unsigned>((height_ + kTile - 1) / kTile)),
        cells_{device_buffer<float>(start.initial), device_buffer<float>(start.initial.size())},
        heaters_(start.heaters),
        colours_(colours) {}

  std::size_t count() const { return heaters_.size(); }

  float frame(uchar4* pixels) {
    event_timer timer;
    timer.start();
    for (int k = 0; k < steps_; ++k, now_ = 1 - now_) {
      heat_and_blend<<<blocks_, kThreads>>>(width_, height_, heaters_.data(), cells_[now_].data(),
                                            cells_[1 - now_].data());
      CUDA_CHECK(cudaGetLastError());
    }
    colour<<<blocks_, kThreads>>>(width_, height_, cells_[now_].data(),
                                  reinterpret_cast<const uchar4*>(colours_.data()), pixels);
    CUDA_CHECK(cudaGetLastError());
    timer.stop();
    return timer.milliseconds();
  }

 private:
  int width_, height_, steps_;
  dim3 blocks_;
  std::array<device_buffer<float>, 2> cells_;
  std::size_t now_ = 0;
  device_buffer<float> heaters_;
  device_buffer<rgba> colours_;
};

struct through_pinned_memory {
  device_plate cells;
  gl_picture picture;
  device_buffer<uchar4> pixels{cells.count()};
  pinned_buffer<uchar4> on_host{cells.count()};

  float draw() {
    const float ms = cells.frame(pixels.data());
    pixels.copy_to(on_host.span());
    picture.draw(on_host.data());
    return ms;
  }
};

struct opengl_buffer {
  pixel_buffer memory;
  registered_buffer registered{memory};

  explicit opengl_buffer(std::size_t pixels) : memory(pixels * sizeof(uchar4)) {}
};

struct in_turn {
  device_plate cells;
  gl_picture picture;
  opengl_buffer even{cells.count()};
  opengl_buffer odd{cells.count()};
  bool is_odd = false;

  float draw() {
    const opengl_buffer& buffer = is_odd ? odd : even;
    is_odd = !is_odd;
    mapped_buffer<uchar4> mapped(buffer.registered, cells.count());
    const float ms = cells.frame(mapped.data());
    mapped.unmap();
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer.memory.name());
    picture.draw(nullptr);
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    return ms;
  }
};

template <class View>
frame_callback frames_of(const plate& start, std::span<const rgba> colours, int steps) {
  const std::shared_ptr<View> view(
      new View{.cells = {start, colours, steps}, .picture = {start.width, start.height}});
  return [view] { return view->draw(); };
}

}  // namespace

frame_callback animate(step version, const plate& start, std::span<const rgba> colours,
                       int steps_per_frame) {
  require_good(start, colours, steps_per_frame);
  return version == step::interop
             ? frames_of<in_turn>(start, colours, steps_per_frame)
             : frames_of<through_pinned_memory>(start, colours, steps_per_frame);
}

}  // namespace lab::heat_interop
