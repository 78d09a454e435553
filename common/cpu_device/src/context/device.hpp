// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The devices there are, the current one, and what a kernel did to them. Internal to the CPU
// device.
#pragma once

#include <mutex>

#include "base/memory.hpp"
#include "context/errors.hpp"
#include "cpu_device/runtime_api.h"

namespace cpu_device {

/// Held by every call of the API (api/calls.hpp takes it): host threads take turns.
std::recursive_mutex& api_mutex();

int device_count();
bool is_device(int device);
cudaError_t no_such_device(int device);
/// Which of the devices there are, where CUDA_VISIBLE_DEVICES chooses or reorders.
int device_slot(int device);
/// The calling host thread's device.
int current_device();
void set_current_device(int device);

/// The error that a kernel left on the current device (it stays until cudaDeviceReset), or success.
cudaError_t pending_error();
/// The error that a kernel left on this device, or success.
cudaError_t error_of(int device);
/// Marks the device broken, as a GPU's context is after a failed kernel.
void break_device(int device, cudaError_t error);

/// What a device has is forgotten in this order.
enum class reset_step { streams, events, graphics, arrays, settings, pools, variables, count };
/// Whoever keeps something for devices says here how it is forgotten, before main() starts.
bool on_reset(reset_step step, void (*forget)(int device));
/// Forgets all that belongs to the device, its memory and its error.
void reset_device(int device);

/// The current device's flags (cudaSetDeviceFlags).
unsigned& device_flags();
/// Whether it could be allowed to use memory of `peer`: set_peer_group().
bool can_reach(int device, int peer);
/// Whether kernels and libraries on `device` may use the allocation: memory of a pool where access
/// was given (cudaMemPoolSetAccess), other memory where the devices are peers
/// (cudaDeviceEnablePeerAccess).
bool may_use(int device, const allocation& a);
/// For the current device; false if there is nothing to change.
bool enable_peer(int peer);
bool disable_peer(int peer);

}  // namespace cpu_device
