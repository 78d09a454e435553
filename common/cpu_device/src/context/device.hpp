// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Devices, their errors and their streams. Internal to the CPU device.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "cpu_device/graphs.h"
#include "cpu_device/runtime_api.h"
#include "cpu_device/textures.h"

namespace cpu_device {

/// Held by every call of the API that changes something: host threads take turns.
std::recursive_mutex& api_mutex();

int device_count();
bool is_device(int device);
cudaError_t no_such_device(int device);
/// Which of the devices there are, where CUDA_VISIBLE_DEVICES chooses or reorders.
int device_slot(int device);
/// The calling host thread's device.
int current_device();

/// Records `error` as this host thread's last error, says why where a sentence is given, and
/// returns it.
cudaError_t fail(cudaError_t error, const std::string& sentence = {});

/// The error that a kernel left on the current device (it stays until cudaDeviceReset), or success.
cudaError_t pending_error();
/// Whether `device` may use memory of `peer` (cudaDeviceEnablePeerAccess).
bool peer_enabled(int device, int peer);
/// Marks the device broken, as a GPU's context is after a failed kernel.
void break_device(int device, cudaError_t error);

/// The last thing a call does before it works: gives back what a broken device gives.
#define CPU_DEVICE_RETURN_PENDING_ERROR()                           \
  do {                                                              \
    const cudaError_t pending = ::cpu_device::pending_error();      \
    if (pending != cudaSuccess) return ::cpu_device::fail(pending); \
  } while (false)

/// Counts the handles of the libraries, which are linked only where they are used; under
/// api_mutex().
std::size_t& library_handles();

/// Puts work at the end of a stream. It runs now (eager) or later (stream_policy). In a captured
/// stream it becomes a node of this type instead.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work,
                    cudaGraphNodeType type = cudaGraphNodeTypeMemcpy);
/// As enqueue, and comes back when it has run.
cudaError_t enqueue_and_wait(cudaStream_t stream, std::function<void()> work);
/// Runs everything that was queued on a device.
void finish_device(int device);
/// False for a handle that names no stream.
bool is_stream(cudaStream_t stream);
void forget_streams(int device);
/// textures.cpp: the arrays of a device and what refers to them; and what textures may measure.
void forget_textures(int device);
void forget_settings(int device);
/// The bytes of a texel; 0 for a format that arrays do not have.
std::size_t bytes_of_texel(const cudaChannelFormatDesc& desc);
/// An array that shows a texture of OpenGL while that is mapped; `texels` are its rows without
/// gaps. Only free_graphics_array() frees it.
cudaError_t make_graphics_array(cudaArray_t* array, char** texels,
                                const cudaChannelFormatDesc& desc, const cudaExtent& extent,
                                unsigned flags, int device, const void* made_at,
                                const char* function);
void free_graphics_array(cudaArray_t array);
/// graphics.cpp: what is registered of OpenGL; and whether this is the begin of a mapped buffer.
void forget_graphics(int device);
bool is_graphics_memory(const void* pointer);
/// memory_api.cpp: memory of cudaMallocAsync.
cudaError_t allocate_async(void** pointer, std::size_t bytes, int device, const void* made_at);
/// launch.cpp: the dynamic shared memory that a kernel may ask for.
std::size_t shared_limit_of(const void* kernel);
/// launch.cpp: the threads that a block of it may have, by its __launch_bounds__.
unsigned thread_limit_of(const void* kernel);
void set_texture_limits(cudaDeviceProp& properties);
/// True if asynchronous work may still be waiting (deferred and interleaved order).
bool runs_late();
/// True if work on this stream may run after the call that puts it there.
bool keeps_work(cudaStream_t stream);
/// Fails for calls that must not be made while a stream is captured; those that wait for the whole
/// device must not be made in any mode.
cudaError_t refuse_in_capture(const char* function, bool device_wide = false);

}  // namespace cpu_device
