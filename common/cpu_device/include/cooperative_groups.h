// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Cooperative groups: the block, tiles of a warp and of several, the threads that are at one place
// together, the cluster, and the grid. Reductions, scans and copies are in here, too; CUDA keeps
// those in cooperative_groups/{reduce,scan,memcpy_async}.h.
//
// Not there: several grids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cpu_device/async_copy.h"
#include "cpu_device/clusters.h"
#include "cpu_device/execution.h"
#include "cpu_device/kernel_functions.h"
#include "cpu_device/part_barriers.h"
#include "cpu_device/synchronization.h"

namespace cooperative_groups {

namespace details {

constexpr unsigned kAllLanes = 0xffffffffU;

inline unsigned lanes_below(unsigned lane) { return (1U << lane) - 1U; }
inline unsigned count(unsigned lanes) { return static_cast<unsigned>(__builtin_popcount(lanes)); }

/// The lane of `mask` that has this rank; 32 if there are fewer lanes.
inline unsigned lane_of_rank(unsigned mask, unsigned rank) {
  if (rank >= count(mask)) return 32;
  const auto first = static_cast<unsigned>(__builtin_ctz(mask));
  const unsigned from_first = mask >> first;
  if ((from_first & (from_first + 1U)) == 0) return first + rank;  // neighbours, as in a tile
  for (; rank != 0; --rank) mask &= mask - 1U;
  return static_cast<unsigned>(__builtin_ctz(mask));
}

/// The bits of `lanes` that stand at the lanes of `mask`, moved together.
inline unsigned pack(unsigned lanes, unsigned mask) {
  unsigned packed = 0;
  for (unsigned rank = 0; mask != 0; mask &= mask - 1U, ++rank)
    packed |= (lanes >> __builtin_ctz(mask) & 1U) << rank;
  return packed;
}

/// Lanes of the warp that the block has (its last warp may be a part of one).
inline unsigned lanes_of_warp() {
  const unsigned first = cpu_device::progress.position->linear / 32 * 32;
  const unsigned there = cpu_device::progress.count - first;
  return there >= 32 ? kAllLanes : lanes_below(there);
}

/// The values of all lanes of `mask`, by rank.
template <class T>
CPU_DEVICE_UNWATCHED void gather(unsigned mask, const T& value, T* by_rank, const char* what,
                                 const char* file, int line) {
  static_assert(std::is_trivially_copyable_v<T>, "groups exchange the bytes of a value");
  for (std::size_t at = 0; at < sizeof(T); at += 8) {
    const std::size_t bytes = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
    std::uint64_t part = 0;
    std::memcpy(&part, reinterpret_cast<const char*>(&value) + at, bytes);
    cpu_device::warp_exchange& exchange = cpu_device::meet_warp(mask, part, what, file, line);
    unsigned rank = 0;
    for (unsigned lanes = exchange.mask; lanes != 0; lanes &= lanes - 1U, ++rank)
      std::memcpy(reinterpret_cast<char*>(by_rank + rank) + at,
                  &exchange.value[__builtin_ctz(lanes)], bytes);
    cpu_device::leave_warp(exchange);
  }
}

/// The value of the lane with this rank; the caller's own for a rank that no lane has.
template <class T>
CPU_DEVICE_UNWATCHED T take(unsigned mask, const T& value, unsigned rank, const char* what,
                            const char* file, int line) {
  if constexpr (sizeof(T) <= 8) {
    cpu_device::warp_exchange& exchange =
        cpu_device::meet_warp(mask, cpu_device::to_bits(value), what, file, line);
    const unsigned lane = lane_of_rank(mask, rank);
    const T result = lane < 32 ? cpu_device::from_bits<T>(exchange.value[lane]) : value;
    cpu_device::leave_warp(exchange);
    return result;
  } else {
    T all[32];
    gather(mask, value, all, what, file, line);
    return rank < count(mask) ? all[rank] : value;
  }
}

template <class T>
using plain = std::remove_cv_t<std::remove_reference_t<T>>;

}  // namespace details

// --- groups -------------------------------------------------------------------------------------

/// Any group but a grid or a tile of a fixed size; the others can be passed as one.
class thread_group {
 public:
  void sync(CPU_DEVICE_HERE) const {
    if (whole_block_)
      cpu_device::block_barrier(file, line);
    else
      cpu_device::leave_warp(cpu_device::meet_warp(mask_, 0, "thread_group::sync()", file, line));
  }
  unsigned long long size() const {
    return whole_block_ ? cpu_device::progress.count : details::count(mask_);
  }
  unsigned long long num_threads() const { return size(); }
  unsigned long long thread_rank() const {
    return whole_block_ ? cpu_device::progress.position->linear
                        : details::count(mask_ & details::lanes_below(cpu_device::lane_id()));
  }
  /// The block, or else the lanes of the warp that belong to the group.
  bool is_block() const { return whole_block_; }
  unsigned lane_mask() const { return mask_; }

 protected:
  thread_group(bool whole_block, unsigned mask) : mask_(mask), whole_block_(whole_block) {}

 private:
  unsigned mask_;
  bool whole_block_;
};

class thread_block : public thread_group {
 public:
  struct arrival_token {};

  static void sync(CPU_DEVICE_HERE) { cpu_device::block_barrier(file, line); }
  /// Arriving costs nothing and barrier_wait() is a whole barrier, which every thread must reach.
  arrival_token barrier_arrive() const { return {}; }
  void barrier_wait(arrival_token&&, CPU_DEVICE_HERE) const {
    cpu_device::block_barrier(file, line);
  }
  static unsigned size() { return cpu_device::progress.count; }
  static unsigned num_threads() { return size(); }
  static unsigned thread_rank() { return cpu_device::progress.position->linear; }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }

 private:
  friend thread_block this_thread_block();
  thread_block() : thread_group(true, 0) {}
};
inline thread_block this_thread_block() { return {}; }

/// Shared memory for tiles of several warps, which some GPUs need for them; nothing is in it here.
template <unsigned MostThreads = cpu_device::kMostThreads>
struct block_tile_memory {
  static_assert(MostThreads <= cpu_device::kMostThreads, "a block has at most 1024 threads");
  unsigned char unused[16];
};
template <unsigned MostThreads>
thread_block this_thread_block(block_tile_memory<MostThreads>&) {
  return this_thread_block();
}

class grid_group {
 public:
  bool is_valid() const { return cpu_device::launched_cooperatively(); }
  void sync(CPU_DEVICE_HERE) const {
    if (!is_valid())
      cpu_device::refuse(
          "grid_group::sync() needs a kernel that was launched with cudaLaunchCooperativeKernel, "
          "not with <<<...>>>. Try: that, or two kernels, one after the other.",
          file, line);
    cpu_device::grid_barrier(file, line);
  }
  static unsigned long long size() { return num_blocks() * cpu_device::progress.count; }
  static unsigned long long num_threads() { return size(); }
  static unsigned long long thread_rank() {
    return block_rank() * cpu_device::progress.count + cpu_device::progress.position->linear;
  }
  static unsigned long long num_blocks() {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  static unsigned long long block_rank() {
    return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x +
           blockIdx.x;
  }
  static dim3 dim_clusters() {
    const dim3 cluster = cpu_device::place_in_cluster().dim;
    return dim3(gridDim.x / cluster.x, gridDim.y / cluster.y, gridDim.z / cluster.z);
  }
  static unsigned long long num_clusters() {
    const dim3 clusters = dim_clusters();
    return static_cast<unsigned long long>(clusters.x) * clusters.y * clusters.z;
  }
  static dim3 cluster_index() { return cpu_device::place_in_cluster().cluster; }
  static unsigned long long cluster_rank() {
    const dim3 clusters = dim_clusters(), index = cluster_index();
    return (static_cast<unsigned long long>(index.z) * clusters.y + index.y) * clusters.x + index.x;
  }
  static dim3 group_dim() { return gridDim; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 block_index() { return blockIdx; }
  static dim3 dim_threads() {
    return dim3(gridDim.x * blockDim.x, gridDim.y * blockDim.y, gridDim.z * blockDim.z);
  }
  static dim3 thread_index() {
    return dim3(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
                blockIdx.z * blockDim.z + threadIdx.z);
  }

 private:
  friend grid_group this_grid();
  grid_group() = default;
};
inline grid_group this_grid() { return {}; }

/// The blocks that were launched as one cluster: without clusters, the block alone.
class cluster_group {
 public:
  struct arrival_token {};

  static void sync(CPU_DEVICE_HERE) { cpu_device::cluster_barrier(file, line); }
  static arrival_token barrier_arrive(CPU_DEVICE_HERE) {
    cpu_device::cluster_arrive(cpu_device::kClusterArrive, file, line);
    return {};
  }
  static void barrier_wait(CPU_DEVICE_HERE) {
    cpu_device::cluster_wait(cpu_device::kClusterWait, file, line);
  }
  static void barrier_wait(arrival_token&&, CPU_DEVICE_HERE) { barrier_wait(file, line); }

  /// The same variable of shared memory in the block of this rank. It exists until that block
  /// exits.
  template <class T>
  static T* map_shared_rank(T* variable, int rank, CPU_DEVICE_HERE) {
    return static_cast<T*>(
        cpu_device::map_shared(const_cast<const void*>(static_cast<const volatile void*>(variable)),
                               static_cast<unsigned>(rank), file, line));
  }
  static unsigned query_shared_rank(const void* address, CPU_DEVICE_HERE) {
    return cpu_device::rank_of_shared(address, file, line);
  }

  static dim3 block_index() { return cpu_device::place_in_cluster().index; }
  static unsigned block_rank() { return cpu_device::place_in_cluster().rank; }
  static dim3 dim_blocks() { return cpu_device::place_in_cluster().dim; }
  static unsigned num_blocks() { return cpu_device::place_in_cluster().size; }
  static dim3 thread_index() {
    const dim3 block = block_index();
    return dim3(block.x * blockDim.x + threadIdx.x, block.y * blockDim.y + threadIdx.y,
                block.z * blockDim.z + threadIdx.z);
  }
  static unsigned thread_rank() {
    return block_rank() * cpu_device::progress.count + cpu_device::progress.position->linear;
  }
  static dim3 dim_threads() {
    const dim3 blocks = dim_blocks();
    return dim3(blocks.x * blockDim.x, blocks.y * blockDim.y, blocks.z * blockDim.z);
  }
  static unsigned num_threads() { return num_blocks() * cpu_device::progress.count; }
  static unsigned size() { return num_threads(); }

 private:
  friend cluster_group this_cluster();
  cluster_group() = default;
};
inline cluster_group this_cluster() { return {}; }

namespace details {

/// What tiles and coalesced groups share: threads of one warp.  Self has mask().
template <class Self>
class lanes {
 public:
  void sync(CPU_DEVICE_HERE) const {
    cpu_device::leave_warp(cpu_device::meet_warp(mask(), 0, "sync()", file, line));
  }
  unsigned thread_rank() const { return count(mask() & lanes_below(cpu_device::lane_id())); }
  unsigned size() const { return count(mask()); }
  unsigned num_threads() const { return size(); }

  template <class T>
  plain<T> shfl(T&& value, unsigned rank, CPU_DEVICE_HERE) const {
    return take<plain<T>>(mask(), value, rank % self().ranks(), "shfl()", file, line);
  }
  template <class T>
  plain<T> shfl_up(T&& value, unsigned delta, CPU_DEVICE_HERE) const {
    return take<plain<T>>(mask(), value, thread_rank() - delta, "shfl_up()", file, line);
  }
  template <class T>
  plain<T> shfl_down(T&& value, unsigned delta, CPU_DEVICE_HERE) const {
    return take<plain<T>>(mask(), value, thread_rank() + delta, "shfl_down()", file, line);
  }

  int any(int predicate, CPU_DEVICE_HERE) const {
    return lanes_where(predicate, "any()", file, line) != 0;
  }
  int all(int predicate, CPU_DEVICE_HERE) const {
    return lanes_where(!predicate, "all()", file, line) == 0;
  }
  /// Bit r is the predicate of the thread with rank r.
  unsigned ballot(int predicate, CPU_DEVICE_HERE) const {
    return pack(lanes_where(predicate, "ballot()", file, line), mask());
  }
  template <class T>
  unsigned match_any(T value, CPU_DEVICE_HERE) const {
    return pack(same_as(value, "match_any()", file, line), mask());
  }
  template <class T>
  unsigned match_all(T value, int& all_equal, CPU_DEVICE_HERE) const {
    const unsigned same = same_as(value, "match_all()", file, line);
    all_equal = same == mask();
    return all_equal ? pack(same, mask()) : 0;
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
  unsigned mask() const { return self().mask(); }
  unsigned lanes_where(bool predicate, const char* what, const char* file, int line) const {
    return cpu_device::ballot(mask(), predicate, what, file, line,
                              [](std::uint64_t v) { return v != 0; });
  }
  template <class T>
  unsigned same_as(T value, const char* what, const char* file, int line) const {
    const std::uint64_t mine = cpu_device::to_bits(value);
    return cpu_device::ballot(mask(), mine, what, file, line,
                              [=](std::uint64_t v) { return v == mine; });
  }
};

}  // namespace details

/// Threads of a warp that are at one place together.
class coalesced_group : public details::lanes<coalesced_group>, public thread_group {
 public:
  using details::lanes<coalesced_group>::num_threads;
  using details::lanes<coalesced_group>::size;
  using details::lanes<coalesced_group>::sync;
  using details::lanes<coalesced_group>::thread_rank;
  unsigned meta_group_rank() const { return meta_rank_; }
  unsigned meta_group_size() const { return meta_size_; }

  /// For the functions of this file: lanes of the caller's warp.
  static coalesced_group of(unsigned mask, unsigned meta_rank = 0, unsigned meta_size = 1) {
    return coalesced_group(mask, meta_rank, meta_size);
  }
  unsigned mask() const { return thread_group::lane_mask(); }
  unsigned ranks() const { return size(); }

 private:
  coalesced_group(unsigned mask, unsigned meta_rank, unsigned meta_size)
      : thread_group(false, mask), meta_rank_(meta_rank), meta_size_(meta_size) {}
  unsigned meta_rank_, meta_size_;
};
inline coalesced_group coalesced_threads(CPU_DEVICE_HERE) {
  return coalesced_group::of(cpu_device::active_mask(file, line));
}

template <unsigned Size, class Parent = void>
class thread_block_tile;

namespace details {

/// The number of its threads; 0 for other groups.
template <class Group>
inline constexpr unsigned size_of_tile = 0;
template <unsigned Size, class Parent>
inline constexpr unsigned size_of_tile<thread_block_tile<Size, Parent>> = Size;

/// Neighbouring threads of a warp, Size of them (fewer at the end of a block).
template <unsigned Size, class Self>
class tile_lanes : public lanes<Self> {
 public:
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  static unsigned thread_rank() { return cpu_device::lane_id() % Size; }

  template <class T>
  plain<T> shfl_xor(T&& value, unsigned lane_mask, CPU_DEVICE_HERE) const {
    return take<plain<T>>(mask(), value, thread_rank() ^ lane_mask, "shfl_xor()", file, line);
  }
  operator thread_group() const { return coalesced_group::of(mask()); }

  static unsigned mask() {
    const unsigned first = cpu_device::lane_id() & ~(Size - 1U);
    return (Size == 32 ? kAllLanes : lanes_below(Size % 32) << first) & lanes_of_warp();
  }
  static unsigned ranks() { return Size; }
};

/// Neighbouring threads of several warps, Size of them (fewer at the end of a block). CUDA gives
/// them no more than this: no shfl_up(), no ballot().
template <unsigned Size>
class tile_warps {
 public:
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  static unsigned thread_rank() { return cpu_device::progress.position->linear % Size; }
  static void sync(CPU_DEVICE_HERE) { cpu_device::tile_barrier<Size>("sync()", file, line); }

  template <class T>
  static plain<T> shfl(T&& value, unsigned rank, CPU_DEVICE_HERE) {
    const plain<T> mine = value;
    return exchange(
        mine,
        [&](const auto* all, unsigned n) { return rank % Size < n ? all[rank % Size] : mine; },
        "shfl()", file, line);
  }
  static int any(int predicate, CPU_DEVICE_HERE) {
    return threads_where(predicate != 0, "any()", file, line) != 0;
  }
  static int all(int predicate, CPU_DEVICE_HERE) {
    return threads_where(predicate == 0, "all()", file, line) == 0;
  }

  /// For the functions of this file: `read` of all values by rank, and how many there are.
  template <class T, class Read>
  static auto exchange(const T& mine, Read read, const char* what, const char* file, int line) {
    return cpu_device::exchange_in_tile<Size>(mine, read, what, file, line);
  }

 private:
  static unsigned threads_where(bool predicate, const char* what, const char* file, int line) {
    return exchange(
        predicate,
        [](const bool* all, unsigned n) {
          unsigned found = 0;
          for (unsigned i = 0; i < n; ++i) found += all[i];
          return found;
        },
        what, file, line);
  }
};

template <unsigned Size, class Self>
using tile = std::conditional_t<(Size <= 32), tile_lanes<Size, Self>, tile_warps<Size>>;

template <class Group>
constexpr bool has_several_warps = false;
template <unsigned Size, class Parent>
constexpr bool has_several_warps<thread_block_tile<Size, Parent>> = (Size > 32);

template <class Parent>
struct parent_size;
template <unsigned Size, class Parent>
struct parent_size<thread_block_tile<Size, Parent>> {
  static constexpr unsigned value = Size;
};

}  // namespace details

/// A part of a block or of a larger tile.
template <unsigned Size, class Parent>
class thread_block_tile : public details::tile<Size, thread_block_tile<Size, Parent>> {
  static_assert(Size != 0 && (Size & (Size - 1)) == 0, "the size of a tile is a power of two");
  static_assert(Size <= cpu_device::kMostThreads / 2, "a tile has at most 512 threads");

 public:
  explicit thread_block_tile(const Parent&) {
    if constexpr (!std::is_same_v<Parent, thread_block>)
      static_assert(Size <= details::parent_size<Parent>::value, "a tile fits into its parent");
  }
  static unsigned meta_group_rank() {
    if constexpr (std::is_same_v<Parent, thread_block>)
      return thread_block::thread_rank() / Size;
    else
      return Parent::thread_rank() / Size;
  }
  static unsigned meta_group_size() {
    if constexpr (std::is_same_v<Parent, thread_block>)
      return (thread_block::size() + Size - 1) / Size;
    else
      return (Parent::size() + Size - 1) / Size;
  }
};

/// A tile that has forgotten what it is a part of.
template <unsigned Size>
class thread_block_tile<Size, void> : public details::tile<Size, thread_block_tile<Size, void>> {
 public:
  template <class Parent>
  thread_block_tile(const thread_block_tile<Size, Parent>& tile)  // NOLINT: implicit, as in CUDA
      : meta_rank_(tile.meta_group_rank()), meta_size_(tile.meta_group_size()) {}
  unsigned meta_group_rank() const { return meta_rank_; }
  unsigned meta_group_size() const { return meta_size_; }

 private:
  friend thread_block_tile<1, void> this_thread();
  thread_block_tile() = default;
  unsigned meta_rank_ = 0, meta_size_ = 1;
};
inline thread_block_tile<1, void> this_thread() { return {}; }

// --- making groups of groups --------------------------------------------------------------------

template <unsigned Size, class Parent>
thread_block_tile<Size, Parent> tiled_partition(const Parent& group) {
  static_assert(details::size_of_tile<Parent> == 0 || Size < details::size_of_tile<Parent>,
                "a tile can only be divided into smaller tiles");
  return thread_block_tile<Size, Parent>(group);
}

/// Parts of `size` threads, by rank: 1, 2, 4, 8, 16 or 32.
inline coalesced_group tiled_partition(const coalesced_group& group, unsigned size,
                                       CPU_DEVICE_HERE) {
  if (size == 0 || size > 32 || (size & (size - 1)) != 0)
    cpu_device::refuse("tiled_partition() makes tiles of 1, 2, 4, 8, 16 or 32 threads.", file,
                       line);
  const unsigned part = group.thread_rank() / size;
  unsigned mine = 0;
  for (unsigned rank = part * size; rank < (part + 1) * size; ++rank)
    if (const unsigned lane = details::lane_of_rank(group.mask(), rank); lane < 32)
      mine |= 1U << lane;
  return coalesced_group::of(mine, part, (group.size() + size - 1) / size);
}
inline thread_group tiled_partition(const thread_group& group, unsigned size, CPU_DEVICE_HERE) {
  if (!group.is_block())
    return tiled_partition(coalesced_group::of(group.lane_mask()), size, file, line);
  return tiled_partition(coalesced_group::of(details::lanes_of_warp()), size, file, line);
}

/// The threads whose label is the caller's; the parts are ranked by their labels.
template <class Group, class Label>
coalesced_group labeled_partition(const Group& group, Label label, CPU_DEVICE_HERE) {
  static_assert(std::is_integral_v<Label>, "a label is an integer");
  Label all[32];
  details::gather(group.mask(), label, all, "labeled_partition()", file, line);
  unsigned mine = 0, smaller = 0, parts = 0;
  const unsigned n = details::count(group.mask());
  for (unsigned i = 0; i < n; ++i) {
    if (all[i] == label) mine |= 1U << details::lane_of_rank(group.mask(), i);
    bool first = true;
    for (unsigned j = 0; j < i; ++j) first &= all[j] != all[i];
    parts += first;
    smaller += first && all[i] < label;
  }
  return coalesced_group::of(mine, smaller, parts);
}
template <class Group>
coalesced_group binary_partition(const Group& group, bool predicate, CPU_DEVICE_HERE) {
  return labeled_partition(group, static_cast<int>(predicate), file, line);
}

// --- functions on groups ------------------------------------------------------------------------

template <class Group>
void sync(const Group& group, CPU_DEVICE_HERE) {
  group.sync(file, line);
}
template <class Group>
auto thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group>
auto group_size(const Group& group) {
  return group.num_threads();
}

/// Has one thread of the group call the function.
template <class Group, class Function, class... Args>
void invoke_one(const Group& group, Function&& function, Args&&... args) {
  if (group.thread_rank() == 0) std::forward<Function>(function)(std::forward<Args>(args)...);
}
template <class Group, class Function, class... Args>
auto invoke_one_broadcast(const Group& group, Function&& function, Args&&... args) {
  using result = decltype(std::forward<Function>(function)(std::forward<Args>(args)...));
  result value{};
  if (group.thread_rank() == 0)
    value = std::forward<Function>(function)(std::forward<Args>(args)...);
  return group.shfl(value, 0);
}

template <class T>
struct plus {
  T operator()(T a, T b) const { return static_cast<T>(a + b); }
};
/// Gives the smaller one.
template <class T>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
/// Gives the greater one.
template <class T>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct bit_and {
  T operator()(T a, T b) const { return static_cast<T>(a & b); }
};
template <class T>
struct bit_or {
  T operator()(T a, T b) const { return static_cast<T>(a | b); }
};
template <class T>
struct bit_xor {
  T operator()(T a, T b) const { return static_cast<T>(a ^ b); }
};

/// All values combined, for every thread of the group. The values are combined in pairs, then the
/// pairs in pairs: floats are added up in the order that shuffles would add them.
template <class Group, class T, class Op>
auto reduce(const Group& group, T&& value, Op&& op, CPU_DEVICE_HERE) {
  using V = details::plain<T>;
  const auto combine = [&op](V* all, unsigned n) {
    for (unsigned half = 16; half != 0; half /= 2)
      for (unsigned i = 0; i < half; ++i)
        if (i + half < n) all[i] = op(all[i], all[i + half]);
    return all[0];
  };
  V all[32];
  if constexpr (details::has_several_warps<Group>) {  // first those of each warp
    const auto of_warps = [&](const V* values, unsigned n) {
      V sums[32];
      unsigned warps = 0;
      for (unsigned first = 0; first < n; first += 32) {
        const unsigned lanes = n - first < 32 ? n - first : 32;
        std::memcpy(all, values + first, lanes * sizeof(V));
        sums[warps++] = combine(all, lanes);
      }
      return combine(sums, warps);
    };
    return group.exchange(V(value), of_warps, "reduce()", file, line);
  } else {
    details::gather<V>(group.mask(), value, all, "reduce()", file, line);
    return combine(all, details::count(group.mask()));
  }
}

template <class Group, class T, class Op>
auto inclusive_scan(const Group& group, T&& value, Op&& op, CPU_DEVICE_HERE) {
  using V = details::plain<T>;
  V all[32];
  details::gather<V>(group.mask(), value, all, "inclusive_scan()", file, line);
  V total = all[0];
  for (unsigned i = 1; i <= group.thread_rank(); ++i) total = op(total, all[i]);
  return total;
}
template <class Group, class T>
auto inclusive_scan(const Group& group, T&& value, CPU_DEVICE_HERE) {
  return inclusive_scan(group, std::forward<T>(value), plus<details::plain<T>>(), file, line);
}
/// The thread with rank 0 gets a T{}.
template <class Group, class T, class Op>
auto exclusive_scan(const Group& group, T&& value, Op&& op, CPU_DEVICE_HERE) {
  using V = details::plain<T>;
  V all[32];
  details::gather<V>(group.mask(), value, all, "exclusive_scan()", file, line);
  if (group.thread_rank() == 0) return V{};
  V total = all[0];
  for (unsigned i = 1; i < group.thread_rank(); ++i) total = op(total, all[i]);
  return total;
}
template <class Group, class T>
auto exclusive_scan(const Group& group, T&& value, CPU_DEVICE_HERE) {
  return exclusive_scan(group, std::forward<T>(value), plus<details::plain<T>>(), file, line);
}

// --- copies -------------------------------------------------------------------------------------
// Each thread copies its share when it waits.

/// The threads of the group copy `bytes` bytes together.
template <class Group>
void memcpy_async(const Group& group, void* to, const void* from, std::size_t bytes,
                  CPU_DEVICE_HERE) {
  cpu_device::start_async_copy({.to = to,
                                .from = from,
                                .bytes = bytes,
                                .rank = static_cast<std::size_t>(group.thread_rank()),
                                .ranks = static_cast<std::size_t>(group.num_threads()),
                                .file = file,
                                .line = line},
                               &cpu_device_look_at_call);
  cpu_device::commit_async_copies();
}
/// As many elements as both sides have.
template <class Group, class T>
void memcpy_async(const Group& group, T* to, std::size_t to_count, const T* from,
                  std::size_t from_count, CPU_DEVICE_HERE) {
  memcpy_async(group, static_cast<void*>(to), static_cast<const void*>(from),
               sizeof(T) * (to_count < from_count ? to_count : from_count), file, line);
}
/// Waits for all copies but the last `Stages` ones.
template <unsigned Stages, class Group>
void wait_prior(const Group& group, CPU_DEVICE_HERE) {
  cpu_device::finish_async_copies(Stages, &cpu_device_look_at_call);
  group.sync(file, line);
}
template <class Group>
void wait(const Group& group, CPU_DEVICE_HERE) {
  wait_prior<0>(group, file, line);
}

}  // namespace cooperative_groups
