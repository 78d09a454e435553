// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "context/device.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

#include "cpu_device.h"
#include "cpu_device/host_work.h"

namespace cpu_device {

std::atomic<std::size_t> unsettled{0};

namespace {

constexpr int kMaxDevices = 16;

struct device_state {
  cudaError_t broken = cudaSuccess;
  unsigned flags = cudaDeviceMapHost;
  std::set<int> peers;
};
// Never destroyed: static objects may use the device when the program ends.
device_state& state_of(int device) {
  static auto* all = new std::array<device_state, kMaxDevices>;
  return (*all)[static_cast<std::size_t>(device)];
}

thread_local constinit int tls_device = 0;

using forget_function = void (*)(int device);
constinit std::array<forget_function, static_cast<int>(reset_step::count)> forget_steps{};

unsigned& peer_group() {
  static unsigned now = [] {
    const char* text = std::getenv("CPU_DEVICE_PEER_GROUP");
    if (text == nullptr || *text == '\0') return 0U;
    char* end = nullptr;
    const long devices = std::strtol(text, &end, 10);
    if (*end == '\0' && devices >= 0 && devices <= kMaxDevices)
      return static_cast<unsigned>(devices);
    std::fprintf(stderr,
                 "CPU device: CPU_DEVICE_PEER_GROUP=%s is ignored: it is a number of devices, 0 to "
                 "%d.\n",
                 text, kMaxDevices);
    return 0U;
  }();
  return now;
}

/// CPU_DEVICE_COUNT says how many there are (two unless told otherwise); CUDA_VISIBLE_DEVICES
/// then chooses among them, as it does among GPUs: device i of the program is the i-th number of
/// the list, which ends at the first entry that names no device, or one named before. A name that
/// begins with GPU- or MIG- names none of these.
std::vector<int> read_visible_devices() {
  int there = 2;
  if (const char* text = std::getenv("CPU_DEVICE_COUNT")) {
    const long wanted = std::strtol(text, nullptr, 10);
    if (wanted >= 0 && wanted <= kMaxDevices) there = static_cast<int>(wanted);
  }
  std::vector<int> chosen;
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) {
    for (int d = 0; d < there; ++d) chosen.push_back(d);
    return chosen;
  }
  for (const char* p = visible;; ++p) {
    char* end = nullptr;
    const long id = std::strtol(p, &end, 10);
    while (*end == ' ') ++end;
    if (end == p || (*end != ',' && *end != '\0') || id < 0 || id >= there ||
        std::find(chosen.begin(), chosen.end(), id) != chosen.end())
      return chosen;
    chosen.push_back(static_cast<int>(id));
    if (*end == '\0') return chosen;
    p = end;
  }
}

const std::vector<int>& visible_devices() {
  static const auto* all = new std::vector<int>(read_visible_devices());
  return *all;
}

}  // namespace

std::recursive_mutex& api_mutex() {
  static auto* mutex = new std::recursive_mutex;
  return *mutex;
}

int device_count() { return static_cast<int>(visible_devices().size()); }
int device_slot(int device) { return visible_devices()[static_cast<std::size_t>(device)]; }
bool is_device(int device) { return device >= 0 && device < device_count(); }
cudaError_t no_such_device(int device) {
  if (device_count() == 0) return fail(cudaErrorNoDevice);
  return fail(cudaErrorInvalidDevice,
              "there is no device " + std::to_string(device) + ": the numbers are 0 to " +
                  std::to_string(device_count() - 1) + " (CPU_DEVICE_COUNT sets how many)");
}
int current_device() { return tls_device; }
void set_current_device(int device) { tls_device = device; }

cudaError_t pending_error() {
  return device_count() == 0 ? cudaErrorNoDevice : error_of(tls_device);
}
cudaError_t error_of(int device) {
  if (unsettled.load(std::memory_order_relaxed) == 0) return cudaSuccess;  // none is broken
  const std::lock_guard lock(api_mutex());
  return state_of(device).broken;
}

void break_device(int device, cudaError_t error) {
  const std::lock_guard lock(api_mutex());
  cudaError_t& broken = state_of(device).broken;
  if (broken != cudaSuccess) return;
  broken = error;
  excuse_leaks();
  unsettled.fetch_add(1, std::memory_order_relaxed);
}

bool on_reset(reset_step step, void (*forget)(int device)) {
  forget_steps[static_cast<std::size_t>(step)] = forget;
  return true;
}

void reset_device(int device) {
  for (auto* forget : forget_steps)
    if (forget != nullptr) forget(device);
  release_device(device);
  device_state& state = state_of(device);
  if (state.broken != cudaSuccess) unsettled.fetch_sub(1, std::memory_order_relaxed);
  state = {};
  take_last_error();
}

void set_peer_group(unsigned devices) {
  const std::lock_guard lock(api_mutex());
  peer_group() = devices;
}
bool can_reach(int device, int peer) {
  const std::lock_guard lock(api_mutex());
  const auto group = static_cast<int>(std::min(peer_group(), unsigned{kMaxDevices}));
  return device != peer && (group == 0 || device / group == peer / group);
}

unsigned& device_flags() { return state_of(tls_device).flags; }

bool may_use(int device, const allocation& a) {
  if (a.kind != memory_kind::device || a.device == device) return true;
  const std::lock_guard lock(api_mutex());
  if (a.reached_by != nullptr) return a.reached_by->count(device) != 0;
  return state_of(device).peers.count(a.device) != 0;
}
bool enable_peer(int peer) { return state_of(tls_device).peers.insert(peer).second; }
bool disable_peer(int peer) { return state_of(tls_device).peers.erase(peer) != 0; }

}  // namespace cpu_device
