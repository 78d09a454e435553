// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 09.3 heat_interop: a simulation stays on the device, and is seen without leaving it.
// Edit:  this file, from TODO(1) to TODO(3). The time steps are those of 08.4.
// Run:   scripts/lab run 09.3 -- --window          (or --out heat.png, for a browser)
// Test:  scripts/lab test 09.3
// Hints: scripts/lab hint 09.3                     Chapter: docs/09_graphics_interop.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::heat_interop {
namespace {

// --- the colours ---------------------------------------------------------------------------------

/// `pixels` get the plate's colours in OpenGL's order: the lowest row first.
__global__ void colour(int width, int height, const float* cells, const uchar4* colours,
                       uchar4* pixels) {
  // TODO(1): the colour of this thread's cell (x, y), in its place. The contract has the index;
  //          __fmul_rn and __fsqrt_rn are a product and a root that are rounded on their own.
}

// --- the plate on the device ---------------------------------------------------------------------

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

  /// A frame's time steps, then the plate's colours, into `pixels`; `timer` gets the time of all.
  void advance_and_colour(uchar4* pixels, event_timer& timer) {
    // TODO(2): steps_ times copy_heaters and blend. cells_ has the plate after each step, and the
    //          next call goes on from there. (Two device_buffers can be swapped: their memory stays
    //          where it is.) Then the colours of what was written last.
    throw not_written("a frame", 1);  // 1 and 2 are this
  }

 private:
  int width_, height_, steps_;
  dim3 blocks_;
  device_buffer<float> heaters_, cells_, others_;
  device_buffer<uchar4> colours_;
};

// --- given: through_host -------------------------------------------------------------------------

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

// --- interop -------------------------------------------------------------------------------------

class view_in_opengl {
 public:
  // TODO(3): as in 09.2: what is made once (the plate has count() cells), and what is done for each
  //          frame. The buffer is CUDA's as long as a kernel writes into it, and no longer.
  explicit view_in_opengl(const device_plate&) { throw not_written("step interop", 3); }

  float draw(device_plate& plate) {
    return 0;  // ms
  }

 private:
};

// --- given: the animation, and what cannot be simulated ------------------------------------------

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

frame_callback animate(step which, const plate& start, std::span<const rgba> colours,
                       int steps_per_frame) {
  require_good(start, colours, steps_per_frame);
  std::vector<uchar4> palette;
  for (const rgba& c : colours) palette.push_back(make_uchar4(c.r, c.g, c.b, c.a));
  return which == step::through_host ? animate<view_through_host>(start, palette, steps_per_frame)
                                     : animate<view_in_opengl>(start, palette, steps_per_frame);
}

}  // namespace lab::heat_interop
