// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: step interop makes CUDA's calls itself, what must end ends in guards
// around functions, and a row of blocks draws each row of OpenGL's. The animation is a std::bind of
// a pond whose type is forgotten.

#include <cuda_runtime.h>

#include <functional>

#include "given.hpp"

namespace lab::ripple_interop {
namespace {

/// A destructor cannot report an error: it is taken out of the runtime.
void forget(cudaError_t status) {
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
}

constexpr int kTile = 16;  // a block is kTile x kTile threads

// --- given: the kernel's parts, as in 04.2 -------------------------------------------------------

/// tick / 7 without whole turns, so that a float is precise enough at any tick.
float phase_of(int tick) { return static_cast<float>(std::fmod(tick / 7.0, 2 * std::numbers::pi)); }

// --- the kernel: for both steps ------------------------------------------------------------------

/// OpenGL's rows: the lowest one first. (So both steps can pass them to glDrawPixels.)
__global__ void ripple(int width, int height, float phase, uchar4* pixels) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= width || y >= height) return;
  const unsigned char grey = grey_at(width, height, phase, x, y);
  pixels[static_cast<std::size_t>(height - 1 - y) * width + x] = make_uchar4(grey, grey, grey, 255);
}

/// A row of blocks for each row of OpenGL's, counted from below.
__global__ void ripple_rows(int width, int height, float phase, uchar4* pixels) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= static_cast<unsigned>(width)) return;
  const int from_top = height - static_cast<int>(blockIdx.y) - 1;
  const unsigned char g = grey_at(width, height, phase, static_cast<int>(x), from_top);
  pixels[std::size_t{blockIdx.y} * static_cast<unsigned>(width) + x] = uchar4{g, g, g, 255};
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

/// Something that ends when this does, unless it was ended before.
template <class F>
class at_end {
 public:
  explicit at_end(F end) : end_(std::move(end)) {}
  at_end(const at_end&) = delete;
  at_end& operator=(const at_end&) = delete;
  ~at_end() {
    if (!done_) static_cast<void>(end_());
  }
  auto now() {
    done_ = true;
    return end_();
  }

 private:
  F end_;
  bool done_ = false;
};

struct pond_in_opengl {
  pond_in_opengl(int w, int h)
      : width(w),
        height(h),
        shown(w, h),
        pixels(sizeof(uchar4) * static_cast<std::size_t>(w) * static_cast<std::size_t>(h)) {
    CUDA_CHECK(cudaGraphicsGLRegisterBuffer(&handle, pixels.name(),
                                            cudaGraphicsRegisterFlagsWriteDiscard));
  }
  pond_in_opengl(const pond_in_opengl&) = delete;
  pond_in_opengl& operator=(const pond_in_opengl&) = delete;
  ~pond_in_opengl() { forget(cudaGraphicsUnregisterResource(handle)); }

  float draw(int tick) {
    constexpr unsigned kRow = 128;
    cudaEvent_t from = nullptr, to = nullptr;
    CUDA_CHECK(cudaEventCreate(&from));
    const at_end no_from([&] { forget(cudaEventDestroy(from)); });
    CUDA_CHECK(cudaEventCreate(&to));
    const at_end no_to([&] { forget(cudaEventDestroy(to)); });

    CUDA_CHECK(cudaGraphicsMapResources(1, &handle, nullptr));
    at_end mapping([this] { return cudaGraphicsUnmapResources(1, &handle, nullptr); });
    void* memory = nullptr;
    std::size_t bytes = 0;
    CUDA_CHECK(cudaGraphicsResourceGetMappedPointer(&memory, &bytes, handle));
    CUDA_CHECK(cudaEventRecord(from));
    const dim3 grid((static_cast<unsigned>(width) + kRow - 1) / kRow,
                    static_cast<unsigned>(height));
    ripple_rows<<<grid, kRow>>>(width, height, phase_of(tick), static_cast<uchar4*>(memory));
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(to));
    CUDA_CHECK(mapping.now());

    {
      glBindBuffer(GL_PIXEL_UNPACK_BUFFER, pixels.name());
      const at_end bound([] { return glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0), 0; });
      shown.draw(nullptr);
    }
    float ms = 0;
    CUDA_CHECK(cudaEventSynchronize(to));
    CUDA_CHECK(cudaEventElapsedTime(&ms, from, to));
    return ms;
  }

  int width, height;
  gl_picture shown;
  pixel_buffer pixels;
  cudaGraphicsResource_t handle = nullptr;
};

// --- the animation -------------------------------------------------------------------------------

/// One pond, many frames: all copies of the returned function share it.
template <class Pond>
frame_callback animate(int width, int height) {
  const std::shared_ptr<void> any(new Pond(width, height),
                                  [](void* pond) { delete static_cast<Pond*>(pond); });
  return std::bind([](const std::shared_ptr<void>& pond,
                      int tick) { return static_cast<Pond*>(pond.get())->draw(tick); },
                   any, std::placeholders::_1);
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
