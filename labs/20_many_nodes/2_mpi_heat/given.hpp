// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.2 mpi_heat: what mpi_heat.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/mpi_job.hpp"
#include "lab/pinned_buffer.hpp"
#include "lab/refuse_if.hpp"
#include "lab/stream.hpp"
#include "mpi_heat.hpp"

namespace lab::mpi_heat {

// --- one part of the plate, on the device --------------------------------------------------------

/// The numbers of the neighbours in the communicator of the grid; MPI_PROC_NULL where there is
/// none: what is sent there goes nowhere, and what is received from there is nothing.
struct neighbours {
  int up = MPI_PROC_NULL, down = MPI_PROC_NULL, left = MPI_PROC_NULL, right = MPI_PROC_NULL;
};

/// The four borders of a part of width x height cells, one after the other in one array: its first
/// row, its last row, its first column, its last column.
struct border_layout {
  int width, height;
  __host__ __device__ int up() const { return 0; }
  __host__ __device__ int down() const { return width; }
  __host__ __device__ int left() const { return 2 * width; }
  __host__ __device__ int right() const { return 2 * width + height; }
  __host__ __device__ int count() const { return 2 * width + 2 * height; }
};

/// What a kernel needs to know of a part.
struct part_view {
  border_layout borders;
  bool has_up, has_down, has_left, has_right;
  const float* cells;    ///< (x, y) is [y * width + x]
  const float* heaters;  ///< likewise
  const float* halo;     ///< the neighbours' cells along the borders, as border_layout has them
  float* next;           ///< the cells after this time step
};

/// A cell after 1 of the contract.
__device__ inline float heated(const part_view& p, int x, int y) {
  const std::size_t i = static_cast<std::size_t>(y) * p.borders.width + x;
  const float heater = p.heaters[i];
  return heater != 0 ? heater : p.cells[i];
}

/// 2 of the contract for one cell. The halo is read only at the borders. __fadd_rn, __fsub_rn and
/// __fmul_rn keep the compiler from contracting + and *.
__device__ inline void blend_cell(const part_view& p, int x, int y) {
  const auto [width, height] = p.borders;
  const float own = heated(p, x, y);
  const float up = y > 0 ? heated(p, x, y - 1) : p.has_up ? p.halo[p.borders.up() + x] : own;
  const float down = y + 1 < height ? heated(p, x, y + 1)
                     : p.has_down   ? p.halo[p.borders.down() + x]
                                    : own;
  const float left = x > 0 ? heated(p, x - 1, y) : p.has_left ? p.halo[p.borders.left() + y] : own;
  const float right = x + 1 < width ? heated(p, x + 1, y)
                      : p.has_right ? p.halo[p.borders.right() + y]
                                    : own;
  const float around = __fadd_rn(__fadd_rn(__fadd_rn(up, down), left), right);
  p.next[static_cast<std::size_t>(y) * width + x] =
      __fadd_rn(own, __fmul_rn(0.25F, __fsub_rn(around, __fmul_rn(4, own))));
}

/// The cells that are at least `margin` away from all borders of the part.
static __global__ void blend(part_view p, int margin) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) + margin;
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y) + margin;
  if (x < p.borders.width - margin && y < p.borders.height - margin) blend_cell(p, x, y);
}

constexpr unsigned kThreads = 256;  // of a block along the borders
const dim3 kTile(32, 8);            // of a block inside

inline unsigned blocks_along(const border_layout& borders) {
  return (static_cast<unsigned>(borders.count()) + kThreads - 1) / kThreads;
}

/// Launches blend() for all cells (margin 0), or for those inside (margin 1), if there are any.
inline void launch_blend(const part_view& p, int margin, cudaStream_t stream) {
  const int width = p.borders.width - 2 * margin, height = p.borders.height - 2 * margin;
  if (width < 1 || height < 1) return;
  const dim3 blocks((static_cast<unsigned>(width) + kTile.x - 1) / kTile.x,
                    (static_cast<unsigned>(height) + kTile.y - 1) / kTile.y);
  blend<<<blocks, kTile, 0, stream>>>(p, margin);
  CUDA_CHECK(cudaGetLastError());
}

/// Memory of a part, on the device and on the host.
struct part_buffers {
  part_buffers(border_layout of_part, std::span<const float> initial,
               std::span<const float> the_heaters)
      : borders(of_part),
        cells(initial),
        heaters(the_heaters),
        next(initial.size()),
        packed(count()),
        halo(count()),
        to_send(count()),
        received(count()) {}

  part_view view(const neighbours& next_to) {
    const auto is_there = [](int rank) { return rank != MPI_PROC_NULL; };
    return {borders,
            is_there(next_to.up),
            is_there(next_to.down),
            is_there(next_to.left),
            is_there(next_to.right),
            cells.data(),
            heaters.data(),
            halo.data(),
            next.data()};
  }

  border_layout borders;
  device_buffer<float> cells, heaters, next;
  device_buffer<float> packed, halo;       // borders: the part's own, and the neighbours'
  pinned_buffer<float> to_send, received;  // the same on the host, for MPI

 private:
  std::size_t count() const { return static_cast<std::size_t>(borders.count()); }
};

// --- messages under way --------------------------------------------------------------------------

/// Requests of MPI_Isend and MPI_Irecv. When an exception interrupts the work, no message may still
/// be on its way into memory that is freed: the destructor takes receives back.
class messages {
 public:
  messages() = default;
  messages(const messages&) = delete;
  messages& operator=(const messages&) = delete;
  ~messages() {
    for (MPI_Request& one : receives_) {
      if (one == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&one);
      MPI_Wait(&one, MPI_STATUS_IGNORE);
    }
    for (MPI_Request& one : sends_)
      if (one != MPI_REQUEST_NULL) MPI_Request_free(&one);
  }

  /// `count` floats from this rank. A tag tells messages between the same two ranks apart.
  void receive(float* to, int count, int rank, int tag, MPI_Comm grid) {
    receives_.push_back(MPI_REQUEST_NULL);
    MPI_CHECK(MPI_Irecv(to, count, MPI_FLOAT, rank, tag, grid, &receives_.back()));
  }
  void send(const float* from, int count, int rank, int tag, MPI_Comm grid) {
    sends_.push_back(MPI_REQUEST_NULL);
    MPI_CHECK(MPI_Isend(from, count, MPI_FLOAT, rank, tag, grid, &sends_.back()));
  }
  /// Waits for all of them.
  void wait() {
    MPI_CHECK(
        MPI_Waitall(static_cast<int>(receives_.size()), receives_.data(), MPI_STATUSES_IGNORE));
    MPI_CHECK(MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE));
  }

 private:
  std::vector<MPI_Request> receives_, sends_;
};

/// A communicator that is given back.
class communicator {
 public:
  explicit communicator(MPI_Comm owned) : owned_(owned) {}
  communicator(const communicator&) = delete;
  communicator& operator=(const communicator&) = delete;
  ~communicator() {
    if (owned_ != MPI_COMM_NULL) MPI_Comm_free(&owned_);
  }
  operator MPI_Comm() const { return owned_; }

 private:
  MPI_Comm owned_;
};

/// Adds up milliseconds between begin() and end().
class stopwatch {
 public:
  void begin() { begin_ = MPI_Wtime(); }
  void end() { sum_ += MPI_Wtime() - begin_; }
  float milliseconds() const { return static_cast<float>(1000 * sum_); }

 private:
  double begin_ = 0, sum_ = 0;
};

/// What a time step works with.
struct part {
  part_buffers& memory;
  const neighbours& next_to;
  MPI_Comm grid;
  cudaStream_t inside, along_borders;
  stopwatch& exchange;  ///< around calls of MPI
};

// --- ranks ---------------------------------------------------------------------------------------

struct rank_task {
  process_grid grid;
  int width, height;  ///< of this rank's part
  int steps, kill_rank;
};
using rank_result = std::tuple<std::vector<float>, float, float>;  // cells, total_ms, exchange_ms

/// Cells from `first` to `end` - 1 of a side.
struct stretch {
  int first, end;
  int length() const { return end - first; }
};
inline stretch stretch_of(int side, int number, int count) {
  return {side * number / count, side * (number + 1) / count};
}

inline void use_device_of_local_rank(MPI_Comm world) {
  MPI_Comm node = MPI_COMM_NULL;
  int local_rank = 0;
  MPI_CHECK(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  MPI_CHECK(MPI_Comm_rank(node, &local_rank));
  MPI_CHECK(MPI_Comm_free(&node));
  CUDA_CHECK(cudaSetDevice(local_rank % device_count()));
}

/// All time steps of a rank; `advance` is one of them.
template <class Advance>
rank_result run_steps(const rank_task& task, MPI_Comm grid, const neighbours& next_to,
                      std::span<const float> initial, std::span<const float> heaters,
                      const Advance& advance) {
  part_buffers memory({task.width, task.height}, initial, heaters);
  const stream inside, along_borders;
  stopwatch total, exchange;
  int rank = 0;
  MPI_CHECK(MPI_Comm_rank(grid, &rank));
  CUDA_CHECK(cudaDeviceSynchronize());  // what was copied to the device is there
  MPI_CHECK(MPI_Barrier(grid));
  total.begin();
  for (int i = 0; i < task.steps; ++i) {
    if (i == task.steps / 2 && rank == task.kill_rank) std::raise(SIGKILL);
    advance(part{memory, next_to, grid, inside, along_borders, exchange});
    std::swap(memory.cells, memory.next);
  }
  CUDA_CHECK(cudaStreamSynchronize(inside));
  CUDA_CHECK(cudaStreamSynchronize(along_borders));
  total.end();
  return {memory.cells.to_vector(), total.milliseconds(), exchange.milliseconds()};
}

/// The cells of a rectangle of the plate, or back.
template <class Visit>
void visit_rectangle(int width, stretch xs, stretch ys, const Visit& visit) {
  std::size_t i = 0;
  for (int y = ys.first; y < ys.end; ++y)
    for (int x = xs.first; x < xs.end; ++x, ++i)
      visit(static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                static_cast<std::size_t>(x),
            i);
}

/// Gives each rank its part, and puts together what they answer.
template <class Job>
result run(const Job& work, process_grid grid, int width, int height,
           std::span<const float> initial, std::span<const float> heaters, int steps, int ranks,
           int kill_rank) {
  const auto rectangle_of = [&](int rank) {
    return std::pair(stretch_of(width, rank % grid.columns, grid.columns),
                     stretch_of(height, rank / grid.columns, grid.rows));
  };
  const int used = grid.rows * grid.columns;
  using given = std::tuple<rank_task, std::vector<float>, std::vector<float>>;
  const std::vector<rank_result> answers = work.run(
      ranks,
      [&](int rank) -> given {
        if (rank >= used) return {{grid, 0, 0, steps, kill_rank}, {}, {}};
        const auto [xs, ys] = rectangle_of(rank);
        std::vector<float> cells, its_heaters;
        visit_rectangle(width, xs, ys, [&](std::size_t there, std::size_t) {
          cells.push_back(initial[there]);
          its_heaters.push_back(heaters[there]);
        });
        return {{grid, xs.length(), ys.length(), steps, kill_rank}, cells, its_heaters};
      },
      mpi::options{.time_limit_s = 20});
  result all;
  all.grid = grid;
  all.cells.resize(initial.size());
  for (int rank = 0; rank < used; ++rank) {
    const auto& [cells, total_ms, exchange_ms] = answers[static_cast<std::size_t>(rank)];
    const auto [xs, ys] = rectangle_of(rank);
    visit_rectangle(width, xs, ys, [&, &from = cells](std::size_t there, std::size_t i) {
      all.cells[there] = from.at(i);
    });
    all.total_ms = std::max(all.total_ms, total_ms);
    all.exchange_ms = std::max(all.exchange_ms, exchange_ms);
  }
  return all;
}

// --- what cannot be simulated --------------------------------------------------------------------

inline void require_sizes(int width, int height, int ranks) {
  refuse_if(width < 1 || height < 1 || width > kLongestSide || height > kLongestSide,
            "mpi_heat: a plate of ", width, " x ", height, " cells cannot be; a side has 1 to ",
            kLongestSide);
  refuse_if(ranks < 1 || ranks > kMostRanks, "mpi_heat: ", ranks, " ranks; there must be 1 to ",
            kMostRanks);
}

inline void require_temperatures(const char* name, std::span<const float> cells,
                                 std::size_t count) {
  refuse_if(cells.size() != count, "mpi_heat: ", name, " has ", cells.size(), " cells, the plate ",
            count);
  for (const float t : cells)
    refuse_if(!(std::fabs(t) <= kHottest), "mpi_heat: ", name, " has ", t,
              ", which is no temperature from -1e30 to 1e30");
}

inline void require_good(int width, int height, std::span<const float> initial,
                         std::span<const float> heaters, int steps, int ranks) {
  require_sizes(width, height, ranks);
  refuse_if(steps < 0, "mpi_heat: ", steps, " steps would go back in time");
  const std::size_t count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  require_temperatures("initial", initial, count);
  require_temperatures("heaters", heaters, count);
}

}  // namespace lab::mpi_heat
