// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The allocations of the CPU device. Internal to the CPU device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/shared_file.hpp"
#include "cpu_device/events.h"
#include "cpu_device/runtime_api.h"

namespace cpu_device {

/// The devices that may use memory of a pool, beside its own.
using device_set = std::shared_ptr<const std::set<int>>;

inline constexpr unsigned kPitchedRows = 1;  // flag of device memory: of cudaMallocPitch

struct allocation {
  /// Memory that the CPU device made, and that is to be freed.
  bool ours() const { return !imported && has_slack(); }
  /// The CPU device looks at the bytes behind it.
  bool has_slack() const { return kind != memory_kind::registered && kind != memory_kind::symbol; }

  char* begin = nullptr;
  std::size_t bytes = 0;
  memory_kind kind = memory_kind::device;
  int device = 0;
  unsigned flags = 0;
  bool freed = false;
  bool closed = false;      // stream-ordered, and its stream has not come to it
  bool of_graph = false;    // of a node of a graph; closed: not allocated now
  void* mapping = nullptr;  // with the guard pages
  std::size_t mapping_bytes = 0;
  const void* made_at = nullptr;  // return address of the call that made it
  std::uint64_t number = 0;       // the newer, the larger
  device_set reached_by;          // null: not of a pool, and peers may use it

  std::shared_ptr<const shared_file> file;  // that has its pages, for other processes; null: none
  bool imported = false;                    // of another process, which has to free it
  int opened = 0;                           // how often this process has opened it
  std::uint64_t token = 0;                  // of the file of an imported one
  std::uintptr_t home = 0;                  // where an imported one is in the process that made it
};

/// A kernel has failed, and what is allocated cannot be given back: nothing is told of it at the
/// end.
void excuse_leaks();
bool leaks_excused();

/// Memory between two pages that cannot be touched; its end is as close to the second one as an
/// alignment of 256 bytes allows. Filled with 0xFF bytes. Null when there is not enough.
void* allocate(std::size_t bytes, memory_kind kind, int device, unsigned flags,
               const void* made_at);
/// False when `pointer` is not the begin of an allocation of one of these kinds. Freed memory
/// stays unreachable for a while, so that later uses of it are found.
bool release(void* pointer, bool device_memory, std::string* why_not);

/// Makes an allocation unreachable, and reachable again: memory that a stream has not come to yet.
/// open_memory() does nothing for one that is not closed, or gone. `of_graph`: that a node of a
/// graph allocates, and that no launch has allocated, or that has been freed since.
void close_memory(void* pointer, bool of_graph = false);
void open_memory(void* pointer);

/// From now on these devices may use the allocation that begins here, and not its device's peers.
void set_access(void* pointer, device_set devices);

/// Puts the pages of the allocation that begins here into a file, where they stay: nobody may use
/// them meanwhile. The same file each time; null if there cannot be one.
std::shared_ptr<const shared_file> share(void* pointer, std::string* why);
/// The `bytes` bytes that share() has put into a file of another process, where they are at `home`;
/// as memory of `device`. Each device has them once, at the same address however often they are
/// opened. Null if that is impossible.
void* open_shared(const shared_file& file, std::size_t bytes, std::uintptr_t home, int device,
                  const void* made_at, std::string* why);
/// Undoes one open_shared(); after the last one, later uses are found as those of freed memory.
/// False if it is not open.
bool close_shared(void* pointer);
/// How many open_shared() have not been undone.
std::size_t live_openings();

/// The allocation that holds this address.
std::optional<allocation> find_allocation(const void* address);
/// The allocation (or freed one) whose memory or guard pages hold this address.
std::optional<allocation> find_near(const void* address);
std::optional<allocation> find_freed(const void* address);

/// Looks at the bytes between the end of each allocation and its guard page: a kernel that wrote
/// there is reported once. Returns true if one was found.
bool check_slack(const char* after_what);

/// Reads what kernels can write to, a piece at a time, while they run. (Not what the program has
/// registered, which may be gone.)
class memory_reading {
 public:
  /// Goes on for up to `bytes` bytes. At the end of all: a number that stands for what was read,
  /// and the next call begins again.
  std::optional<std::uint64_t> go_on(std::size_t bytes);

 private:
  std::uintptr_t next_ = 0;
  std::uint64_t hash_ = 0;
};

std::size_t device_bytes_in_use(int device);
std::size_t device_capacity();
void release_device(int device);

cudaError_t register_host(void* pointer, std::size_t bytes, unsigned flags);
bool unregister_host(void* pointer);
/// How much host memory is registered, in pieces.
std::size_t live_registrations();
/// A __device__ or __constant__ variable whose address the program has asked for: device memory.
void note_symbol(void* pointer, std::size_t bytes);

/// "device memory (400 bytes, cudaMalloc at add.cu:12)" and the like.
std::string describe(const allocation& a);
/// What else to try where an access was past the end of it: of cudaMallocPitch's, or nothing.
const char* pitch_advice(const allocation& a);

}  // namespace cpu_device
