// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// One kernel for all operations, whose few blocks go through the keys in strides. Keys and values
// are two arrays of words in both steps, and values are changed by loops of atomicCAS. The numbers
// of all batches are copied to the device at once.

#include <cuda_runtime.h>

#include "given.hpp"
#include "lab/timer.hpp"

namespace lab::open_addressing {
namespace {

struct table_view {
  word* keys;
  word* values;
  unsigned windows;
};

/// Home and stride of a key, as those of its step.
template <class Number>
__device__ void begin(word key, unsigned windows, unsigned& window, unsigned& stride) {
  window = home_of(static_cast<Number>(key), windows);
  stride = stride_of(static_cast<Number>(key), windows);
}

__device__ void change(word& value, word to, bool only_down) {
  word now = load(value);
  while (!only_down || to < now) {
    const word before = atomicCAS(&value, now, to);
    if (before == now) return;
    now = before;
  }
}

template <class Number>
__global__ void apply_to(table_view table, operation what, const word* keys, const word* values,
                         std::size_t n, word* found, word* lost) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += threads) {
    const word key = keys[i];
    unsigned window = 0, stride = 0;
    begin<Number>(key, table.windows, window, stride);
    word* slot = nullptr;
    bool over = false;
    for (unsigned w = 0; w < table.windows && !over; ++w) {
      for (unsigned s = 0; s < kWindow && !over; ++s) {
        const std::size_t place = std::size_t{window} * kWindow + s;
        word here = load(table.keys[place]);
        if (here == kNone && what == operation::insert) {
          here = atomicCAS(&table.keys[place], word{kNone}, key);
          if (here == kNone) here = key;
        }
        if (here == key) slot = &table.values[place];
        over = here == key || here == kNone;
      }
      window = static_cast<unsigned>((std::size_t{window} + stride) % table.windows);
    }
    if (what == operation::find) found[i] = slot != nullptr ? load(*slot) : kNone;
    if (what == operation::erase && slot != nullptr) change(*slot, kNone, false);
    if (what == operation::insert && slot != nullptr) change(*slot, values[i], true);
    if (what == operation::insert && slot == nullptr) atomicAdd(lost, word{1});
  }
}

}  // namespace

applied apply_batches(step which, std::size_t slots, std::span<const batch> batches) {
  refuse_wrong(which, slots, batches);
  std::vector<word> all_keys, all_values;
  for (const batch& b : batches) {
    all_keys.insert(all_keys.end(), b.keys.begin(), b.keys.end());
    all_values.insert(all_values.end(), b.values.begin(), b.values.end());
    if (b.values.empty()) all_values.resize(all_keys.size());
  }
  const unsigned windows = windows_for(slots);
  const std::size_t places = std::size_t{windows} * kWindow;
  device_buffer<word> slot_keys(places), slot_values(places), lost(1);
  CUDA_CHECK(cudaMemset(slot_keys.data(), 0xFF, slot_keys.size_bytes()));
  CUDA_CHECK(cudaMemset(slot_values.data(), 0xFF, slot_values.size_bytes()));
  CUDA_CHECK(cudaMemset(lost.data(), 0, lost.size_bytes()));
  const device_buffer<word> keys{std::span<const word>(all_keys)};
  const device_buffer<word> values{std::span<const word>(all_values)};
  device_buffer<word> found(all_keys.size());
  const table_view table{slot_keys.data(), slot_values.data(), windows};

  applied result;
  std::size_t first = 0;
  for (const batch& b : batches) {
    const std::size_t n = b.keys.size();
    if (n != 0) {
      const auto blocks = static_cast<unsigned>(n < 64 * 128 ? (n + 127) / 128 : 64);
      const auto kernel = which == step::packed ? apply_to<std::uint32_t> : apply_to<word>;
      event_timer timer;
      timer.start();
      kernel<<<blocks, 128>>>(table, b.what, keys.data() + first, values.data() + first, n,
                              found.data() + first, lost.data());
      CUDA_CHECK(cudaGetLastError());
      timer.stop();
      result.kernel_ms = timer.milliseconds();
      const word without_slot = lost.to_vector()[0];
      refuse_if(without_slot != 0, "open_addressing: ", without_slot,
                " keys are too many: the table is full");
    }
    first += n;
  }
  const std::vector<word> answers = found.to_vector();
  first = 0;
  for (const batch& b : batches) {
    const auto here = answers.begin() + static_cast<std::ptrdiff_t>(first);
    result.found.emplace_back();
    if (b.what == operation::find)
      result.found.back().assign(here, here + static_cast<std::ptrdiff_t>(b.keys.size()));
    first += b.keys.size();
  }
  return result;
}

}  // namespace lab::open_addressing
