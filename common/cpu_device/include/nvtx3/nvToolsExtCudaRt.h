// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Names for a time line, which CPU_DEVICE_TRACE writes: those of streams. Devices and events keep
// theirs.
#pragma once

#include "../cuda_runtime.h"
#include "nvToolsExt.h"

inline void nvtxNameCudaDeviceA(int, const char*) {}
inline void nvtxNameCudaDeviceW(int, const wchar_t*) {}
inline void nvtxNameCudaStreamA(cudaStream_t stream, const char* name) {
  cpu_device::name_stream(stream, name, nullptr);
}
inline void nvtxNameCudaStreamW(cudaStream_t stream, const wchar_t* name) {
  cpu_device::name_stream(stream, nullptr, name);
}
inline void nvtxNameCudaEventA(cudaEvent_t, const char*) {}
inline void nvtxNameCudaEventW(cudaEvent_t, const wchar_t*) {}

#define nvtxNameCudaDevice nvtxNameCudaDeviceA
#define nvtxNameCudaStream nvtxNameCudaStreamA
#define nvtxNameCudaEvent nvtxNameCudaEventA
