// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "sends.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lab/mpi_check.hpp"

namespace lab::mpi::detail {
namespace {

struct message_under_way {
  MPI_Request request;  // MPI_REQUEST_NULL: it was freed, and MPI will not report anything
  const void* from;
  std::size_t bytes;
  std::uint64_t hash;
};

std::vector<message_under_way> under_way;
std::size_t changed = 0;
bool watched = false;

/// nullopt if the memory no longer exists, or is that of a GPU. (So no plain read.)
std::optional<std::uint64_t> hash_of(const void* from, std::size_t bytes) {
  std::vector<char> copy(bytes);
  const iovec to{copy.data(), bytes}, source{const_cast<void*>(from), bytes};
  if (::process_vm_readv(::getpid(), &to, 1, &source, 1, 0) != static_cast<ssize_t>(bytes))
    return std::nullopt;
  return std::hash<std::string_view>()({copy.data(), bytes});
}

void look_for_changes() {
  std::erase_if(under_way, [](const message_under_way& one) {
    const auto hash = hash_of(one.from, one.bytes);
    if (hash && *hash != one.hash) ++changed;
    return hash != one.hash;
  });
}

int note_send(int status, const void* from, int count, MPI_Datatype type, int rank,
              MPI_Request request) {
  int size = 0;
  MPI_Aint begin = 0, extent = 0;
  if (!watched || status != MPI_SUCCESS || rank == MPI_PROC_NULL || count <= 0 ||
      PMPI_Type_size(type, &size) != MPI_SUCCESS ||
      PMPI_Type_get_extent(type, &begin, &extent) != MPI_SUCCESS)
    return status;
  if (begin != 0 || extent != size) return status;  // there are gaps in it
  const std::size_t bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
  if (const auto hash = hash_of(from, bytes)) under_way.push_back({request, from, bytes, *hash});
  return status;
}

void is_sent(MPI_Request request) {
  const auto one = std::ranges::find(under_way, request, &message_under_way::request);
  if (one != under_way.end()) under_way.erase(one);
}

/// Calls a function that completes some of the requests, which are MPI_REQUEST_NULL afterwards.
template <class Call>
int complete(int count, MPI_Request* requests, const Call& call) {
  if (under_way.empty()) return call();
  look_for_changes();
  const std::vector<MPI_Request> before(requests, requests + std::max(count, 0));
  const int status = call();
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i] != MPI_REQUEST_NULL && requests[i] == MPI_REQUEST_NULL) is_sent(before[i]);
  return status;
}

/// Calls a function that returns when all ranks have called it. After it, a rank may know that what
/// it sent was received, also if it has freed the request.
template <class Call>
int meet(const Call& call) {
  look_for_changes();
  const int status = call();
  std::erase_if(under_way, [](const auto& one) { return one.request == MPI_REQUEST_NULL; });
  return status;
}

}  // namespace

void watch_sends(bool are_watched) {
  watched = are_watched;
  under_way.clear();
  changed = 0;
}

std::size_t changed_sends() { return changed; }

}  // namespace lab::mpi::detail

// As in rank.cpp: MPI's own functions begin with PMPI_ as well.

using lab::mpi::detail::complete, lab::mpi::detail::meet, lab::mpi::detail::note_send;

extern "C" int MPI_Isend(const void* from, int count, MPI_Datatype type, int rank, int tag,
                         MPI_Comm communicator, MPI_Request* request) {
  const int status = PMPI_Isend(from, count, type, rank, tag, communicator, request);
  return note_send(status, from, count, type, rank, *request);
}
extern "C" int MPI_Issend(const void* from, int count, MPI_Datatype type, int rank, int tag,
                          MPI_Comm communicator, MPI_Request* request) {
  const int status = PMPI_Issend(from, count, type, rank, tag, communicator, request);
  return note_send(status, from, count, type, rank, *request);
}

extern "C" int MPI_Request_free(MPI_Request* request) {
  using namespace lab::mpi::detail;
  const auto one = std::ranges::find(under_way, *request, &message_under_way::request);
  if (one != under_way.end()) one->request = MPI_REQUEST_NULL;
  return PMPI_Request_free(request);
}

extern "C" int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  return complete(1, request, [&] { return PMPI_Wait(request, status); });
}
extern "C" int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  return complete(count, requests, [&] { return PMPI_Waitall(count, requests, statuses); });
}
extern "C" int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  return complete(count, requests, [&] { return PMPI_Waitany(count, requests, index, status); });
}
extern "C" int MPI_Waitsome(int count, MPI_Request requests[], int* completed, int indices[],
                            MPI_Status statuses[]) {
  return complete(count, requests,
                  [&] { return PMPI_Waitsome(count, requests, completed, indices, statuses); });
}
extern "C" int MPI_Test(MPI_Request* request, int* completed, MPI_Status* status) {
  return complete(1, request, [&] { return PMPI_Test(request, completed, status); });
}
extern "C" int MPI_Testall(int count, MPI_Request requests[], int* completed,
                           MPI_Status statuses[]) {
  return complete(count, requests,
                  [&] { return PMPI_Testall(count, requests, completed, statuses); });
}
extern "C" int MPI_Testany(int count, MPI_Request requests[], int* index, int* completed,
                           MPI_Status* status) {
  return complete(count, requests,
                  [&] { return PMPI_Testany(count, requests, index, completed, status); });
}
extern "C" int MPI_Testsome(int count, MPI_Request requests[], int* completed, int indices[],
                            MPI_Status statuses[]) {
  return complete(count, requests,
                  [&] { return PMPI_Testsome(count, requests, completed, indices, statuses); });
}

extern "C" int MPI_Barrier(MPI_Comm communicator) {
  return meet([&] { return PMPI_Barrier(communicator); });
}
extern "C" int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op add,
                             MPI_Comm communicator) {
  return meet([&] { return PMPI_Allreduce(from, to, count, type, add, communicator); });
}
