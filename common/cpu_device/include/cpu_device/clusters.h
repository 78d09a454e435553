// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Clusters of blocks: their barrier, and the shared memory of another block.
#pragma once

#include "cpu_device/synchronization.h"

namespace cpu_device {

/// Where the running block is in its cluster. Without clusters each block is its own cluster.
struct cluster_place {
  uint3 index;  ///< of the block, in its cluster
  dim3 dim;     ///< blocks of a cluster
  unsigned rank, size;
  uint3 cluster;  ///< which one of the grid
};
cluster_place place_in_cluster();

/// The two halves of the cluster's barrier. `what` was called, for reports.
inline constexpr char kClusterArrive[] = "cluster_group::barrier_arrive()";
inline constexpr char kClusterWait[] = "cluster_group::barrier_wait()";
inline constexpr char kClusterSync[] = "cluster_group::sync()";
void cluster_arrive(const char* what, const char* file, int line);
void cluster_wait(const char* what, const char* file, int line);
inline void cluster_barrier(const char* file, int line) {
  cluster_arrive(kClusterSync, file, line);
  cluster_wait(kClusterSync, file, line);
}

/// The same variable of shared memory in the block of this rank.
void* map_shared(const void* address, unsigned rank, const char* file, int line);
/// The rank of the block whose shared memory the address is in.
unsigned rank_of_shared(const void* address, const char* file, int line);

}  // namespace cpu_device
