// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A process that mpirun has started: it enters here instead of main(), and answers questions.

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif
#include <sys/un.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/new_memory.hpp"
#ifdef LAB_HAVE_NCCL
#include "lab/nccl_check.hpp"
#endif
#include "place.hpp"
#include "protocol.hpp"
#include "sends.hpp"

// What Open MPI has beyond the standard; it needs mpi.h, which is in lab/mpi_check.hpp.
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace lab::mpi {
namespace detail {
namespace {

int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

class connection {
 public:
  explicit connection(const char* path) : path_(path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0 ||
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      std::_Exit(EXIT_FAILURE);
  }

  void send(message kind, const bytes& content) {
    const std::lock_guard lock(sending_);
    if (!send_message(socket_, kind, content)) leave();
  }

  /// Takes what the launcher says, on a thread of its own: so a rank notices that the launcher is
  /// gone whatever its work waits for, and can be asked about that.
  void listen() {
    for (;;) {
      message kind{};
      bytes content;
      if (!receive_message(socket_, kind, content)) leave();
      if (kind == message::where) {
        packer to;
        to.put(current_place());
        send(message::here, to.take());
        continue;
      }
      const std::lock_guard lock(mutex_);
      question_.emplace(std::move(content));
      changed_.notify_all();
    }
  }

  bytes next_question() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return question_.has_value(); });
    bytes question = std::move(*question_);
    question_.reset();
    return question;
  }

 private:
  [[noreturn]] void leave() {
    // Usually the launcher cleans up, but it may have been killed.
    std::error_code ignored;
    std::filesystem::remove_all(std::filesystem::path(path_).parent_path(), ignored);
    std::_Exit(EXIT_SUCCESS);
  }

  std::string path_;
  int socket_ = -1;
  std::mutex sending_, mutex_;
  std::condition_variable changed_;
  std::optional<bytes> question_;
};

connection* the_launcher = nullptr;  // of a rank

bytes packed_exception() {
  packer to;
  const auto put = [&](thrown kind, const char* text) {
    to.put(kind);
    to.put(std::string(text));
  };
  try {
    throw;
  } catch (const invalid_input& error) {
    put(thrown::invalid_input, error.what());
  } catch (const not_possible& error) {
    put(thrown::not_possible, error.what());
  } catch (const not_written& error) {
    put(thrown::not_written, error.what());
  } catch (const cuda_error& error) {
    put(thrown::cuda_error, error.what());
    to.put(error.code());
    to.put(error.expression());
    to.put(error.file());
    to.put(error.line());
#ifdef LAB_HAVE_NCCL
  } catch (const nccl_error& error) {
    put(error.result() == ncclRemoteError ? thrown::nccl_remote_error : thrown::nccl_error,
        error.what());
    to.put(error.result());
    to.put(error.expression());
    to.put(error.file());
    to.put(error.line());
#endif
  } catch (const mpi_error& error) {
    put(thrown::mpi_error, error.what());
  } catch (const std::bad_alloc& error) {
    put(thrown::bad_alloc, error.what());
  } catch (const std::logic_error& error) {
    put(thrown::logic_error, error.what());
  } catch (const std::exception& error) {
    put(thrown::runtime_error, error.what());
  } catch (...) {
    put(thrown::runtime_error, "something was thrown that is no std::exception");
  }
  return to.take();
}

/// New memory holds what it holds in the launcher; where tests choose that, threads and streams
/// take turns with it as tests/support/test_main.cpp has them.
void choose_orders([[maybe_unused]] unsigned char new_memory) {
  lab::detail::new_memory_byte = new_memory;
#ifdef __CPU_DEVICE__
  cpu_device::fill_new_memory_with(new_memory);
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
  using cpu_device::stream_policy, cpu_device::thread_order;
  const int variant = new_memory == 0x5A ? 1 : new_memory == 0xC3 ? 2 : 0;
  constexpr thread_order kThreads[] = {thread_order::forward, thread_order::reverse,
                                       thread_order::random};
  constexpr stream_policy kStreams[] = {stream_policy::eager, stream_policy::deferred,
                                        stream_policy::interleaved};
  if (!is_set("CPU_DEVICE_ORDER")) cpu_device::set_thread_order(kThreads[variant], 2);
  if (!is_set("CPU_DEVICE_STREAMS")) cpu_device::set_stream_policy(kStreams[variant]);
#endif
}

/// Communicators that this rank has made, and not freed yet.
std::atomic<int> live_communicators = 0;

int count_made(int status, const MPI_Comm* made) {
  if (status == MPI_SUCCESS && *made != MPI_COMM_NULL) ++live_communicators;
  return status;
}

/// At most so many elements come to this rank.
void count_received(int count, MPI_Datatype type) {
  int bytes = 0;
  if (count > 0 && PMPI_Type_size(type, &bytes) == MPI_SUCCESS)
    received_bytes() += static_cast<std::size_t>(count) * static_cast<std::size_t>(bytes);
}

/// Work that changes a message while it is being sent fails.
void require_unchanged_sends() {
  const std::size_t changed = changed_sends();
  if (changed == 0) return;
  throw std::logic_error("it changed " +
                         (changed == 1 ? "a message" : std::to_string(changed) + " messages") +
                         " before MPI_Wait, MPI_Test or the like had reported that " +
                         (changed == 1 ? "it was" : "they were") + " sent");
}

/// Work that leaves device memory or communicators behind fails: in a program that goes on, it
/// would run out of them.
class leak_watch {
 public:
  void require_nothing_left() const {
    std::string found = objects_left();
    if (const int left = live_communicators - communicators_; left > 0)
      found += (found.empty() ? "" : ", ") + std::to_string(left) +
               (left == 1 ? " communicator of MPI" : " communicators of MPI");
    if (!found.empty()) throw std::logic_error("its work leaves behind: " + found);
#ifdef __CPU_DEVICE__
    if (cpu_device::report_count() > reports_)
      throw std::logic_error("the CPU device reported: " + cpu_device::last_report());
#endif
  }

#ifdef __CPU_DEVICE__
  leak_watch() {
    for (std::size_t kind = 0; kind < kKinds; ++kind) objects_[kind] = count(kind);
  }

 private:
  std::string objects_left() const {
    std::string found;
    if (const auto now = cpu_device::live_allocations(); now > allocations_)
      found = std::to_string(now - allocations_) + " allocations of device or pinned memory";
    for (std::size_t kind = 0; kind < kKinds; ++kind)
      if (const auto now = count(kind); now > objects_[kind])
        found += (found.empty() ? "" : ", ") + std::to_string(now - objects_[kind]) + " " +
                 cpu_device::name_of(static_cast<cpu_device::object_kind>(kind));
    return found;
  }

  static constexpr auto kKinds = static_cast<std::size_t>(cpu_device::kLastObjectKind) + 1;
  static std::size_t count(std::size_t kind) {
    return cpu_device::live_objects(static_cast<cpu_device::object_kind>(kind));
  }
  std::size_t allocations_ = cpu_device::live_allocations();
  std::size_t objects_[kKinds] = {};
  std::size_t reports_ = cpu_device::report_count();
#else
 private:
  static std::string objects_left() { return {}; }
#endif
  int communicators_ = live_communicators;
};

void answer(connection& launcher, const bytes& question) {
  unpacker from(question);
  const auto name = from.get<std::string>();
  choose_orders(from.get<unsigned char>());
  const auto told = from.get<bytes>();
  companion* const beside = the_companion();

  message kind = message::value;
  bytes content;
  // Messages that failed work has left do not get mixed up with those of the next work.
  MPI_Comm world = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  if (beside != nullptr) beside->work_begins(told);
  const auto fails = [&] {
    kind = message::failure;
    content = packed_exception();
  };
  const leak_watch leaks;
  watch_sends(beside != nullptr);  // a program measures times
  try {
    const rank_function* const work = find(name);
    if (work == nullptr) throw std::logic_error("this program has no function for ranks: " + name);
    content = (*work)(world, from.rest());
  } catch (...) {
    fails();
  }
  leave();
  bytes seen;
  if (beside != nullptr) seen = beside->work_ends();
  if (kind == message::value) {
    try {
      require_unchanged_sends();
      leaks.require_nothing_left();
    } catch (...) {
      fails();
    }
  }
  if (kind == message::value) MPI_Comm_free(&world);

  std::fflush(nullptr);
  packer to;
  to.put(seen);
  bytes all = to.take();
  all.insert(all.end(), content.begin(), content.end());
  launcher.send(kind, all);
}

}  // namespace

void report_abort(int code) {
  if (the_launcher == nullptr) return;
  packer to;
  to.put(bytes());
  to.put(thrown::mpi_error);
  to.put("called MPI_Abort with code " + std::to_string(code) + ", and that is the end of the job");
  the_launcher->send(message::failure, to.take());
}

void be_a_rank(const char* socket_path) {
  // What mpirun itself has to say goes elsewhere.
  ::dup2(STDOUT_FILENO, STDERR_FILENO);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  connection launcher(socket_path);
  the_launcher = &launcher;
  packer hello;
  hello.put(number_in("OMPI_COMM_WORLD_RANK"));
  launcher.send(message::hello, hello.take());
  std::thread([&launcher] { launcher.listen(); }).detach();
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  launcher.send(message::ready, {});
  for (;;) answer(launcher, launcher.next_question());
}

}  // namespace detail

cuda_support query_cuda_support() {
  if (const auto said = said_of_cuda_support()) return {said->first, said->second};
  cuda_support support;
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  support.compiled = MPIX_CUDA_AWARE_SUPPORT != 0;
  support.running = MPIX_Query_cuda_support() != 0;
#endif
  return support;
}

}  // namespace lab::mpi

// MPI's own functions begin with PMPI_ as well, so that a program can have one of its own in their
// place. This one tells the launcher who ends the job.
extern "C" int MPI_Abort(MPI_Comm communicator, int code) {
  lab::mpi::detail::report_abort(code);
  return PMPI_Abort(communicator, code);
}

// So that several nodes can be tried on one machine: with LAB_MPI_RANKS_PER_NODE, ranks share
// memory with so many others only.
extern "C" int MPI_Comm_split_type(MPI_Comm communicator, int type, int key, MPI_Info info,
                                   MPI_Comm* made) {
  using lab::mpi::detail::count_made;
  const int ranks_per_node = lab::mpi::detail::number_in("LAB_MPI_RANKS_PER_NODE");
  if (type != MPI_COMM_TYPE_SHARED || ranks_per_node <= 0)
    return count_made(PMPI_Comm_split_type(communicator, type, key, info, made), made);
  int rank = 0;  // in the whole job
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return count_made(PMPI_Comm_split(communicator, rank / ranks_per_node, key, made), made);
}

// So that communicators are missed that nobody frees.
extern "C" int MPI_Comm_split(MPI_Comm communicator, int color, int key, MPI_Comm* made) {
  return lab::mpi::detail::count_made(PMPI_Comm_split(communicator, color, key, made), made);
}
extern "C" int MPI_Comm_dup(MPI_Comm communicator, MPI_Comm* made) {
  return lab::mpi::detail::count_made(PMPI_Comm_dup(communicator, made), made);
}
extern "C" int MPI_Comm_create(MPI_Comm communicator, MPI_Group group, MPI_Comm* made) {
  return lab::mpi::detail::count_made(PMPI_Comm_create(communicator, group, made), made);
}
extern "C" int MPI_Cart_create(MPI_Comm communicator, int dimensions, const int* sizes,
                               const int* periodic, int reorder, MPI_Comm* made) {
  return lab::mpi::detail::count_made(
      PMPI_Cart_create(communicator, dimensions, sizes, periodic, reorder, made), made);
}
extern "C" int MPI_Comm_free(MPI_Comm* communicator) {
  if (communicator != nullptr && *communicator != MPI_COMM_NULL)
    --lab::mpi::detail::live_communicators;
  return PMPI_Comm_free(communicator);
}

// And so that a companion knows how much has come to this rank. What a rank sends to itself counts.
extern "C" int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root,
                         MPI_Comm communicator) {
  int rank = root;
  PMPI_Comm_rank(communicator, &rank);
  if (rank != root) lab::mpi::detail::count_received(count, type);
  return PMPI_Bcast(buffer, count, type, root, communicator);
}
extern "C" int MPI_Scatter(const void* from, int count, MPI_Datatype type, void* to, int its_count,
                           MPI_Datatype its_type, int root, MPI_Comm communicator) {
  if (to != MPI_IN_PLACE) lab::mpi::detail::count_received(its_count, its_type);
  return PMPI_Scatter(from, count, type, to, its_count, its_type, root, communicator);
}
extern "C" int MPI_Scatterv(const void* from, const int* counts, const int* displacements,
                            MPI_Datatype type, void* to, int its_count, MPI_Datatype its_type,
                            int root, MPI_Comm communicator) {
  if (to != MPI_IN_PLACE) lab::mpi::detail::count_received(its_count, its_type);
  return PMPI_Scatterv(from, counts, displacements, type, to, its_count, its_type, root,
                       communicator);
}
extern "C" int MPI_Recv(void* to, int count, MPI_Datatype type, int rank, int tag,
                        MPI_Comm communicator, MPI_Status* status) {
  lab::mpi::detail::count_received(count, type);
  return PMPI_Recv(to, count, type, rank, tag, communicator, status);
}
extern "C" int MPI_Irecv(void* to, int count, MPI_Datatype type, int rank, int tag,
                         MPI_Comm communicator, MPI_Request* request) {
  lab::mpi::detail::count_received(count, type);
  return PMPI_Irecv(to, count, type, rank, tag, communicator, request);
}
