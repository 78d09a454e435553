// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: each block has a band of rows and one of columns to itself, and its
// threads stride within them; a stream and events of its own.

#include <cuda_runtime.h>

#include "given.hpp"
#include "lab/stream.hpp"
#include "lab/timer.hpp"

namespace lab::create_matrix {
namespace {

struct band {
  std::size_t begin, end;
};
__device__ band band_of(std::size_t count, unsigned block, unsigned blocks) {
  const std::size_t each = count / blocks, more = count % blocks;
  const std::size_t begin = block * each + (block < more ? block : more);
  return {begin, begin + each + (block < more ? 1 : 0)};
}

__global__ void fill_bands(int* elements, std::size_t rows, std::size_t columns) {
  const band across = band_of(columns, blockIdx.x, gridDim.x);
  const band down = band_of(rows, blockIdx.y, gridDim.y);
  for (std::size_t y = down.begin + threadIdx.y; y < down.end; y += blockDim.y) {
    int* const row = elements + y * columns;
    for (std::size_t x = across.begin + threadIdx.x; x < across.end; x += blockDim.x)
      row[x] = static_cast<int>(10 * y + x);
  }
}

class memory_of_stream {
 public:
  memory_of_stream(std::size_t bytes, cudaStream_t in) : in_(in) {
    CUDA_CHECK(cudaMallocAsync(&data_, bytes, in));
  }
  ~memory_of_stream() { CUDA_CHECK_NOTHROW(cudaFreeAsync(data_, in_)); }
  memory_of_stream(const memory_of_stream&) = delete;
  memory_of_stream& operator=(const memory_of_stream&) = delete;
  int* data() const { return static_cast<int*>(data_); }

 private:
  void* data_ = nullptr;
  cudaStream_t in_;
};

}  // namespace

launch_shape covering(std::size_t rows, std::size_t columns) {
  launch_shape shape;
  shape.block_x = shape.block_y = 16;
  const std::size_t across = columns == 0 ? 1 : (columns - 1) / 16 + 1;
  const std::size_t down = rows == 0 ? 1 : (rows - 1) / 16 + 1;
  shape.grid_x =
      static_cast<unsigned>(std::min<std::size_t>(across, device_limit(cudaDevAttrMaxGridDimX)));
  shape.grid_y =
      static_cast<unsigned>(std::min<std::size_t>(down, device_limit(cudaDevAttrMaxGridDimY)));
  return shape;
}

result create(std::size_t rows, std::size_t columns, launch_shape shape) {
  require_launchable(shape);
  result out;
  if (rows == 0 || columns == 0) return out;
  require_elements_of_int(rows, columns);

  const stream own;
  const memory_of_stream device(rows * columns * sizeof(int), own);
  event_timer timer;
  timer.start(own);
  fill_bands<<<dim3(shape.grid_x, shape.grid_y), dim3(shape.block_x, shape.block_y), 0, own>>>(
      device.data(), rows, columns);
  CUDA_CHECK(cudaGetLastError());
  timer.stop();
  out.elements.resize(rows * columns);
  CUDA_CHECK(cudaMemcpyAsync(out.elements.data(), device.data(), rows * columns * sizeof(int),
                             cudaMemcpyDeviceToHost, own));
  CUDA_CHECK(cudaStreamSynchronize(own));
  out.kernel_ms = timer.milliseconds();
  return out;
}

}  // namespace lab::create_matrix
