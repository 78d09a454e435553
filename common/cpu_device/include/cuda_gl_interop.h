// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// OpenGL buffers for kernels. Nothing here needs OpenGL to be installed or linked: its functions
// are looked up in the running program, through the window system whose context is current.
#pragma once

#include "cpu_device/graphics.h"

#if __has_include(<GL/gl.h>)
#include <GL/gl.h>
#else
typedef unsigned int GLenum;
typedef unsigned int GLuint;
#endif

enum cudaGLDeviceList {
  cudaGLDeviceListAll = 1,
  cudaGLDeviceListCurrentFrame = 2,
  cudaGLDeviceListNextFrame = 3
};

/// The CUDA devices that can use buffers of the current OpenGL context: all there are. Writes at
/// most `room` numbers to `devices`.
cudaError_t cudaGLGetDevices(unsigned int* count, int* devices, unsigned int room,
                             cudaGLDeviceList list);

/// A buffer object that has its storage (glBufferData). `flags`: cudaGraphicsRegisterFlagsNone,
/// …ReadOnly or …WriteDiscard.
cudaError_t cudaGraphicsGLRegisterBuffer(cudaGraphicsResource_t* resource, GLuint buffer,
                                         unsigned int flags);
/// cudaErrorNotSupported: only buffers can be registered.
cudaError_t cudaGraphicsGLRegisterImage(cudaGraphicsResource_t* resource, GLuint image,
                                        GLenum target, unsigned int flags);

/// What programs from before CUDA 5 begin with; the same as cudaSetDevice.
inline cudaError_t cudaGLSetGLDevice(int device) { return cudaSetDevice(device); }
