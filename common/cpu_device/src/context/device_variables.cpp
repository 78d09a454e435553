// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "context/device_variables.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "base/hashing.hpp"
#include "context/device.hpp"
#include "observers/watchdog.hpp"

namespace cpu_device {

constinit int device_in_variables = 0;

namespace {

using bytes_of_variable = std::vector<char>;

struct known_variable {
  std::size_t bytes = 0;
  unsigned times = 0;       // that it was made known
  bytes_of_variable first;  // what every device begins with; empty: zeros, of whatever length
  std::map<int, bytes_of_variable> kept;  // of the devices that have used it
};

std::map<const char*, known_variable>& variables() {
  static auto* all = new std::map<const char*, known_variable>;
  return *all;
}
// Not api_mutex(): a library that is being loaded must not wait for a kernel, which may need the
// loader.
constinit std::mutex variables_mutex;

bool all_zero(const char* data, std::size_t bytes) {
  return *data == 0 && std::memcmp(data, data + 1, bytes - 1) == 0;
}

void put_in_place(const char* address, std::size_t bytes, const bytes_of_variable& values) {
  auto* to = const_cast<char*>(address);
  if (values.empty())
    std::memset(to, 0, bytes);
  else
    std::memcpy(to, values.data(), bytes);
}

void set_back(int device) {
  const std::lock_guard lock(variables_mutex);
  for (auto& [address, variable] : variables()) {
    variable.kept.erase(device);
    if (device == device_in_variables) put_in_place(address, variable.bytes, variable.first);
  }
}
const bool resets_variables = on_reset(reset_step::variables, set_back);

std::uint64_t hash_variables() {
  const std::lock_guard lock(variables_mutex);
  std::uint64_t hash = 0;
  for (const auto& [address, variable] : variables())
    hash = hash_bytes(hash, address, variable.bytes);
  return hash;
}
const bool watches_variables = (hash_of_variables = hash_variables) != nullptr;

}  // namespace

void note_variable(volatile void* variable, std::size_t bytes) {
  const auto* address = static_cast<const char*>(const_cast<const void*>(variable));
  const std::lock_guard lock(variables_mutex);
  known_variable& known = variables()[address];
  if (known.times++ != 0) return;
  known.bytes = bytes;
  // Most large ones are zero, and then need no memory twice.
  if (!all_zero(address, bytes)) known.first.assign(address, address + bytes);
}

void forget_variable(volatile void* variable) {
  const std::lock_guard lock(variables_mutex);
  const auto it = variables().find(static_cast<const char*>(const_cast<const void*>(variable)));
  if (it != variables().end() && --it->second.times == 0) variables().erase(it);
}

void exchange_variables(int device) {
  const std::lock_guard lock(variables_mutex);
  for (auto& [address, variable] : variables()) {
    variable.kept[device_in_variables].assign(address, address + variable.bytes);
    const auto its_own = variable.kept.find(device);
    put_in_place(address, variable.bytes,
                 its_own != variable.kept.end() ? its_own->second : variable.first);
  }
  device_in_variables = device;
}

bool in_device_variable(const void* address) {
  const auto* wanted = static_cast<const char*>(address);
  const std::lock_guard lock(variables_mutex);
  auto it = variables().upper_bound(wanted);
  return it != variables().begin() && wanted < (--it)->first + it->second.bytes;
}

}  // namespace cpu_device
