// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Three-dimensional memory, and copies between arrays and memory.

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "api/arrays.hpp"
#include "api/memory_api.hpp"
#include "api/stream_queue.hpp"
#include "base/memory.hpp"

namespace cpu_device {
namespace {

/// One side of a copy: rows of bytes, slices of rows.
struct side {
  const char* name;
  char* begin;
  std::size_t pitch, slice;
};

struct box {
  std::size_t width_bytes, height, depth;
};

/// Checks that `s` is the memory that the direction promises, and long enough.
cudaError_t check_memory(const side& s, const box& b, bool should_be_device, bool may_be_either,
                         bool* pageable) {
  const auto wrong = [&](const std::string& why) {
    return fail(cudaErrorInvalidValue, this_call() + ": the " + s.name + " " + why);
  };
  if (s.begin == nullptr) return wrong("is a null pointer.");
  const auto a = find_allocation(s.begin);
  if (!a) {
    if (const auto gone = find_freed(s.begin)) return wrong("is " + describe(*gone) + ".");
    if (should_be_device && !may_be_either)
      return wrong(
          "is host memory, but the direction says that it is on the device. Try: "
          "cudaMemcpyHostToDevice or cudaMemcpyDeviceToHost, or cudaMemcpyDefault.");
    *pageable = true;
    return cudaSuccess;
  }
  if (!should_be_device && !may_be_either && a->kind == memory_kind::device)
    return wrong("is " + describe(*a) +
                 ", but the direction says that it is host memory. Try: cudaMemcpyDeviceToDevice, "
                 "or cudaMemcpyDefault.");
  const auto left = a->bytes - static_cast<std::size_t>(s.begin - a->begin);
  const std::size_t needed = (b.depth - 1) * s.slice + (b.height - 1) * s.pitch + b.width_bytes;
  if (needed > left)
    return wrong("has only " + std::to_string(left) + " bytes left of " + describe(*a) + ", and " +
                 std::to_string(needed) + " are to be copied.");
  return cudaSuccess;
}

cudaError_t run_copy(const side& to, const side& from, const box& b, cudaStream_t stream, bool wait,
                     parameters_ptr parameters = nullptr) {
  const auto run = [=] {
    note_copy(to.begin, from.begin, {b.width_bytes, b.height, b.depth, from.pitch, from.slice},
              stream);
    for (std::size_t z = 0; z < b.depth; ++z)
      for (std::size_t y = 0; y < b.height; ++y)
        std::memmove(to.begin + z * to.slice + y * to.pitch,
                     from.begin + z * from.slice + y * from.pitch, b.width_bytes);
  };
  return wait ? enqueue_and_wait(stream, run, std::move(parameters))
              : enqueue(stream, run, cudaGraphNodeTypeMemcpy, std::move(parameters));
}

/// The part of an array that a copy means; false when it leaves the array.
bool array_side(const cudaArray& a, std::size_t x_bytes, std::size_t y, std::size_t z, const box& b,
                side& s) {
  if (x_bytes > a.row_bytes || b.width_bytes > a.row_bytes - x_bytes) return false;
  if (y > a.rows || b.height > a.rows - y || z > a.slices || b.depth > a.slices - z) return false;
  s.begin = a.data + z * a.slice_bytes() + y * a.row_bytes + x_bytes;
  s.pitch = a.row_bytes;
  s.slice = a.slice_bytes();
  return true;
}

cudaError_t outside_array(const cudaArray& a, const char* unit) {
  return fail(cudaErrorInvalidValue, this_call() + ": the copy leaves the array, which has " +
                                         std::to_string(a.slices) + " x " + std::to_string(a.rows) +
                                         " rows of " + std::to_string(a.row_bytes) + " bytes (" +
                                         std::to_string(a.extent.width) + " elements). " + unit);
}

enum class direction { to_array, from_array };

/// Between an array and memory, two-dimensional. With `as_one_row` the array's rows are one long
/// row, and the `width_bytes` may go over several of them.
cudaError_t copy_2d(direction way, cudaArray_const_t handle, std::size_t x_bytes, std::size_t y,
                    const void* memory, std::size_t pitch, std::size_t width_bytes,
                    std::size_t height, cudaMemcpyKind kind, cudaStream_t stream, bool wait,
                    bool as_one_row = false) {
  const bool to_array = way == direction::to_array;
  const auto host_kind = to_array ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  if (kind != host_kind && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
    return fail(cudaErrorInvalidMemcpyDirection,
                this_call() + ": an array is on the device. Try: " +
                    (to_array ? "cudaMemcpyHostToDevice." : "cudaMemcpyDeviceToHost."));
  const cudaArray* found = find_array(handle);
  if (found == nullptr) return no_such_array(handle);
  if (width_bytes == 0 || height == 0) return cudaSuccess;
  if (width_bytes > pitch)
    return fail(height > 1 ? cudaErrorInvalidPitchValue : cudaErrorInvalidValue,
                this_call() + ": a row of " + std::to_string(width_bytes) +
                    " bytes is wider than the pitch of " + std::to_string(pitch) + ".");
  cudaArray a = *found;
  if (as_one_row && y < a.rows && x_bytes < a.row_bytes) {
    x_bytes += y * a.row_bytes;
    y = 0;
    a.row_bytes = a.slice_bytes();
    a.rows = 1;
  }
  const box b{width_bytes, height, 1};
  side in_array{to_array ? "destination" : "source", nullptr, 0, 0};
  if (!array_side(a, x_bytes, y, 0, b, in_array))
    return outside_array(*found, "Offsets and widths count bytes.");
  const side in_memory{to_array ? "source" : "destination",
                       static_cast<char*>(const_cast<void*>(memory)), pitch, 0};
  bool pageable = false;
  const cudaError_t status = check_memory(in_memory, b, kind == cudaMemcpyDeviceToDevice,
                                          kind == cudaMemcpyDefault, &pageable);
  if (status != cudaSuccess) return status;
  parameters_ptr parameters;
  const std::size_t element = found->texel_bytes;
  if (x_bytes % element == 0 && width_bytes % element == 0) {
    cudaMemcpy3DParms p = {};
    (to_array ? p.dstArray : p.srcArray) = const_cast<cudaArray_t>(handle);
    (to_array ? p.dstPos : p.srcPos) = {x_bytes / element, y, 0};
    (to_array ? p.srcPtr : p.dstPtr) = {in_memory.begin, pitch, width_bytes, height};
    p.extent = {width_bytes / element, height, 1};
    p.kind = kind;
    parameters = parameters_on(stream, p);
  }
  return to_array
             ? run_copy(in_array, in_memory, b, stream, wait || pageable, std::move(parameters))
             : run_copy(in_memory, in_array, b, stream, wait || pageable, std::move(parameters));
}

/// One side of cudaMemcpy3D.
struct side_3d {
  const char* name;
  cudaArray_const_t array;
  cudaPitchedPtr memory;
  cudaPos at;
};

/// Rows and slices of pitched memory must hold what is copied.
cudaError_t check_pitched(const side_3d& s, const box& b, bool with_an_array) {
  const auto wrong = [&](bool pitch, const std::string& why) {
    return fail(pitch && !with_an_array ? cudaErrorInvalidPitchValue : cudaErrorInvalidValue,
                this_call() + ": the " + s.name + "'s " + why);
  };
  if (b.width_bytes > s.memory.pitch)
    return wrong(true, "rows are " + std::to_string(s.memory.pitch) + " bytes apart (pitch), and " +
                           std::to_string(b.width_bytes) + " bytes of each are to be copied.");
  if (s.at.x > s.memory.pitch - b.width_bytes)
    return wrong(false, "x and the width go beyond the pitch.");
  const std::string rows =
      "slices have " + std::to_string(s.memory.ysize) + " rows (ysize), and the copy needs more.";
  if (b.depth > 1 && b.height > s.memory.ysize) return wrong(true, rows);
  if (s.memory.ysize != 0 && (s.at.y > s.memory.ysize || b.height > s.memory.ysize - s.at.y))
    return wrong(false, rows);
  return cudaSuccess;
}

cudaError_t copy_3d(const cudaMemcpy3DParms* p, cudaStream_t stream, bool wait) {
  if (p == nullptr) return fail(cudaErrorInvalidValue);
  if (static_cast<unsigned>(p->kind) > cudaMemcpyDefault)
    return fail(cudaErrorInvalidMemcpyDirection);
  const side_3d from{"source", p->srcArray, p->srcPtr, p->srcPos};
  const side_3d to{"destination", p->dstArray, p->dstPtr, p->dstPos};
  std::size_t element = 1;
  for (const side_3d* s : {&from, &to}) {
    if ((s->array == nullptr) == (s->memory.ptr == nullptr))
      return fail(cudaErrorInvalidValue, this_call() + ": the " + s->name +
                                             " must be an array or a pointer, and only one of "
                                             "them. Try: cudaMemcpy3DParms p = {};");
    if (s->array == nullptr) continue;
    const cudaArray* a = find_array(s->array);
    if (a == nullptr) return no_such_array(s->array);
    element = a->texel_bytes;
  }
  if (from.array != nullptr && to.array != nullptr) {
    if (find_array(from.array)->texel_bytes != find_array(to.array)->texel_bytes)
      return fail(cudaErrorInvalidValue,
                  this_call() + ": the elements of the two arrays differ in size.");
    if (p->kind != cudaMemcpyDeviceToDevice && p->kind != cudaMemcpyDefault)
      return fail(
          cudaErrorInvalidValue,
          this_call() + ": both sides are arrays, on the device. Try: cudaMemcpyDeviceToDevice.");
  }
  if (p->extent.width == 0 || p->extent.height == 0 || p->extent.depth == 0) return cudaSuccess;
  if (p->extent.width > SIZE_MAX / 16) return fail(cudaErrorInvalidValue);
  const box b{p->extent.width * element, p->extent.height, p->extent.depth};
  const bool with_an_array = from.array != nullptr || to.array != nullptr;
  side sides[2];
  bool pageable = false;
  for (const side_3d* s : {&from, &to}) {
    side& here = sides[s == &to];
    here.name = s->name;
    if (s->array != nullptr) {
      const cudaArray* a = find_array(s->array);
      if (s->at.x > a->extent.width ||
          !array_side(*a, s->at.x * a->texel_bytes, s->at.y, s->at.z, b, here))
        return outside_array(*a, "With an array, extent.width and the positions count elements.");
      continue;
    }
    cudaError_t status = check_pitched(*s, b, with_an_array);
    if (status != cudaSuccess) return status;
    here.pitch = s->memory.pitch;
    here.slice = s->memory.pitch * s->memory.ysize;
    here.begin =
        static_cast<char*>(s->memory.ptr) + s->at.z * here.slice + s->at.y * here.pitch + s->at.x;
    const bool device_kind =
        s == &to ? p->kind == cudaMemcpyHostToDevice || p->kind == cudaMemcpyDeviceToDevice
                 : p->kind == cudaMemcpyDeviceToHost || p->kind == cudaMemcpyDeviceToDevice;
    status = check_memory(here, b, device_kind, p->kind == cudaMemcpyDefault, &pageable);
    if (status != cudaSuccess) return status;
  }
  return run_copy(sides[1], sides[0], b, stream, wait || pageable, parameters_on(stream, *p));
}

}  // namespace

}  // namespace cpu_device

using namespace cpu_device;

cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  return call(api::cudaMalloc3D, [&] {
    if (pointer == nullptr || extent.width > SIZE_MAX - kPitchAlignment)
      return fail(cudaErrorInvalidValue);
    const std::size_t pitch =
        (extent.width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    if (extent.height != 0 && extent.depth != 0 && pitch > SIZE_MAX / extent.height / extent.depth)
      return fail(cudaErrorMemoryAllocation);
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, pitch * extent.height * extent.depth);
    if (status == cudaSuccess) *pointer = {memory, pitch, extent.width, extent.height};
    return status;
  });
}
cudaError_t cudaMemset3DAsync(cudaPitchedPtr p, int value, cudaExtent extent, cudaStream_t stream) {
  return call(api::cudaMemset3DAsync, [&] {
    if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return cudaSuccess;
    const box b{extent.width, extent.height, extent.depth};
    const side to{"memory", static_cast<char*>(p.ptr), p.pitch, p.pitch * p.ysize};
    if (b.width_bytes > p.pitch || (b.height > p.ysize && (b.depth > 1 || p.ysize != 0)))
      return fail(cudaErrorInvalidValue,
                  "cudaMemset3D: the extent is larger than the pitch or the ysize.");
    bool pageable = false;
    const cudaError_t status = check_memory(to, b, true, false, &pageable);
    if (status != cudaSuccess) return status;
    // A node fills two dimensions: that is all that cudaMemsetParams has.
    if (becomes_node(stream)) {
      cudaError_t added = cudaSuccess;
      for (std::size_t z = 0; z < b.depth && added == cudaSuccess; ++z)
        added = cudaMemset2DAsync(to.begin + z * to.slice, to.pitch, value, b.width_bytes, b.height,
                                  stream);
      return added;
    }
    return enqueue(stream, [=] {
      note_copy(to.begin, nullptr, {b.width_bytes, b.height, b.depth}, stream);
      for (std::size_t z = 0; z < b.depth; ++z)
        for (std::size_t y = 0; y < b.height; ++y)
          std::memset(to.begin + z * to.slice + y * to.pitch, value, b.width_bytes);
    });
  });
}
cudaError_t cudaMemset3D(cudaPitchedPtr p, int value, cudaExtent extent) {
  return call(api::cudaMemset3D, [&] { return cudaMemset3DAsync(p, value, extent, nullptr); });
}
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, std::size_t x_bytes, std::size_t y,
                                const void* from, std::size_t from_pitch, std::size_t width_bytes,
                                std::size_t height, cudaMemcpyKind kind) {
  return call(api::cudaMemcpy2DToArray, [&] {
    return copy_2d(direction::to_array, to, x_bytes, y, from, from_pitch, width_bytes, height, kind,
                   nullptr, true);
  });
}
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, std::size_t x_bytes, std::size_t y,
                                     const void* from, std::size_t from_pitch,
                                     std::size_t width_bytes, std::size_t height,
                                     cudaMemcpyKind kind, cudaStream_t stream) {
  return call(api::cudaMemcpy2DToArrayAsync, [&] {
    return copy_2d(direction::to_array, to, x_bytes, y, from, from_pitch, width_bytes, height, kind,
                   stream, false);
  });
}
cudaError_t cudaMemcpy2DFromArray(void* to, std::size_t to_pitch, cudaArray_const_t from,
                                  std::size_t x_bytes, std::size_t y, std::size_t width_bytes,
                                  std::size_t height, cudaMemcpyKind kind) {
  return call(api::cudaMemcpy2DFromArray, [&] {
    return copy_2d(direction::from_array, from, x_bytes, y, to, to_pitch, width_bytes, height, kind,
                   nullptr, true);
  });
}
cudaError_t cudaMemcpy2DFromArrayAsync(void* to, std::size_t to_pitch, cudaArray_const_t from,
                                       std::size_t x_bytes, std::size_t y, std::size_t width_bytes,
                                       std::size_t height, cudaMemcpyKind kind,
                                       cudaStream_t stream) {
  return call(api::cudaMemcpy2DFromArrayAsync, [&] {
    return copy_2d(direction::from_array, from, x_bytes, y, to, to_pitch, width_bytes, height, kind,
                   stream, false);
  });
}
cudaError_t cudaMemcpyToArray(cudaArray_t to, std::size_t x_bytes, std::size_t y, const void* from,
                              std::size_t bytes, cudaMemcpyKind kind) {
  return call(api::cudaMemcpyToArray, [&] {
    return copy_2d(direction::to_array, to, x_bytes, y, from, bytes, bytes, 1, kind, nullptr, true,
                   true);
  });
}
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, std::size_t x_bytes,
                                std::size_t y, std::size_t bytes, cudaMemcpyKind kind) {
  return call(api::cudaMemcpyFromArray, [&] {
    return copy_2d(direction::from_array, from, x_bytes, y, to, bytes, bytes, 1, kind, nullptr,
                   true, true);
  });
}
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, std::size_t to_x_bytes, std::size_t to_y,
                                     cudaArray_const_t from, std::size_t from_x_bytes,
                                     std::size_t from_y, std::size_t width_bytes,
                                     std::size_t height, cudaMemcpyKind kind) {
  return call(api::cudaMemcpy2DArrayToArray, [&] {
    if (kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
      return fail(cudaErrorInvalidMemcpyDirection,
                  "cudaMemcpy2DArrayToArray: arrays are on the device. Try: "
                  "cudaMemcpyDeviceToDevice.");
    const cudaArray* a = find_array(to);
    if (a == nullptr) return no_such_array(to);
    const cudaArray* c = find_array(from);
    if (c == nullptr) return no_such_array(from);
    if (width_bytes == 0 || height == 0) return cudaSuccess;
    const box b{width_bytes, height, 1};
    side to_side{"destination", nullptr, 0, 0}, from_side{"source", nullptr, 0, 0};
    if (!array_side(*a, to_x_bytes, to_y, 0, b, to_side))
      return outside_array(*a, "Offsets and widths count bytes.");
    if (!array_side(*c, from_x_bytes, from_y, 0, b, from_side))
      return outside_array(*c, "Offsets and widths count bytes.");
    return run_copy(to_side, from_side, b, nullptr, true);
  });
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
  return call(api::cudaMemcpy3D, [&] { return copy_3d(p, nullptr, true); });
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  return call(api::cudaMemcpy3DAsync, [&] { return copy_3d(p, stream, false); });
}
