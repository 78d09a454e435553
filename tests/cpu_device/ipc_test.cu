// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Memory and events of two processes (cudaIpc…). The program starts itself again, since a forked
// process cannot use CUDA if its parent has, and both talk through pipes. They never sleep: each
// step follows a message of the other process.

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "conformance.hpp"
#include "run_tests.hpp"

namespace {

using conformance::device_array;

// What CUDA's documents leave open is checked on the CPU device only.
#ifdef __CPU_DEVICE__
#define EXPECT_REFUSED(call, error) EXPECT_EQ(call, error)
#else
#define EXPECT_REFUSED(call, error) EXPECT_NE(call, cudaSuccess)
#endif

constexpr unsigned kShared = cudaEventInterprocess | cudaEventDisableTiming;

// --- two processes ------------------------------------------------------------------------------

template <class T>
bool read_from(int pipe, T* value) {
  auto* bytes = reinterpret_cast<char*>(value);
  for (std::size_t done = 0; done < sizeof *value;) {
    const ssize_t n = read(pipe, bytes + done, sizeof *value - done);
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

/// This program with `--child task`.
class child_process {
 public:
  explicit child_process(const std::string& task) {
    std::array<int, 2> to, from, errors;
    for (auto* ends : {&to, &from, &errors}) EXPECT_EQ(pipe2(ends->data(), O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors[1], STDERR_FILENO);
    std::string words[] = {"ipc_test", "--child", task};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    EXPECT_EQ(posix_spawn(&process_, "/proc/self/exe", &actions, nullptr, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    for (const int end : {to[0], from[1], errors[1]}) close(end);
    to_ = to[1];
    from_ = from[0];
    errors_ = errors[0];
  }
  ~child_process() { finish(); }
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  template <class T>
  void send(const T& value) {
    EXPECT_EQ(write(to_, &value, sizeof value), static_cast<ssize_t>(sizeof value));
  }
  template <class T>
  T receive() {
    T value{};
    EXPECT_TRUE(read_from(from_, &value)) << finish();
    return value;
  }
  /// Waits until it has ended, expects success, and returns what it has printed on stderr.
  std::string finish() {
    if (process_ == 0) return said_;
    close(to_);
    char piece[4096];
    for (ssize_t n; (n = read(errors_, piece, sizeof piece)) > 0;)
      said_.append(piece, static_cast<std::size_t>(n));
    int status = -1;
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    EXPECT_EQ(status, 0) << said_;
    process_ = 0;
    close(from_);
    close(errors_);
    return said_;
  }

 private:
  pid_t process_ = 0;
  int to_ = -1, from_ = -1, errors_ = -1;
  std::string said_;
};

/// On the CPU device: both processes have streams whose work runs at once, late, and in turns.
template <class Body>
void in_every_policy_of_both(Body body) {
#ifdef __CPU_DEVICE__
  using cpu_device::stream_policy;
  const std::pair<stream_policy, const char*> policies[] = {
      {stream_policy::eager, "eager"},
      {stream_policy::deferred, "deferred"},
      {stream_policy::interleaved, "interleaved"}};
  for (const auto& [policy, name] : policies) {
    SCOPED_TRACE(name);
    cpu_device::set_stream_policy(policy);
    setenv("CPU_DEVICE_STREAMS", name, 1);
    body();
  }
  cpu_device::set_stream_policy(stream_policy::eager);
  unsetenv("CPU_DEVICE_STREAMS");
#else
  body();
#endif
}

// --- the child's side ---------------------------------------------------------------------------

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      std::fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
      std::_Exit(1);                                                                \
    }                                                                               \
  } while (false)

template <class T>
T from_parent() {
  T value{};
  CHECK(read_from(STDIN_FILENO, &value));
  return value;
}
template <class T>
void to_parent(const T& value) {
  CHECK(write(STDOUT_FILENO, &value, sizeof value) == static_cast<ssize_t>(sizeof value));
}

__global__ void add_to_each(int* data, int n, int x) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] += x;
}

/// Slow, so that code that does not wait for it runs before it.
__global__ void step(int* value, int from, int to) {
  const long long begin = clock64();
  while (clock64() - begin < 10'000'000) continue;
  *value = *value == from ? to : -1000;
}

int* open_memory() {
  void* memory = nullptr;
  CHECK(cudaIpcOpenMemHandle(&memory, from_parent<cudaIpcMemHandle_t>(),
                             cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
  return static_cast<int*>(memory);
}
int first_of(const int* memory) {
  int value = 0;
  CHECK(cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess);
  return value;
}

/// Adds 1000 to each of so many numbers, which were their indices.
void reads_and_writes() {
  int* memory = open_memory();
  const int n = from_parent<int>();
  cudaPointerAttributes attributes{};
  CHECK(cudaPointerGetAttributes(&attributes, memory + n - 1) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeDevice);
  CHECK(attributes.devicePointer == memory + n - 1);
  std::vector<int> values(static_cast<std::size_t>(n));
  CHECK(cudaMemcpy(values.data(), memory, values.size() * sizeof(int), cudaMemcpyDeviceToHost) ==
        cudaSuccess);
  for (int i = 0; i < n; ++i) CHECK(values[static_cast<std::size_t>(i)] == i);
  add_to_each<<<(n + 127) / 128, 128>>>(memory, n, 1000);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  to_parent('w');
  // The parent adds 5, and this process sees that.
  from_parent<char>();
  CHECK(first_of(memory) == 1005);
  CHECK(cudaIpcCloseMemHandle(memory) == cudaSuccess);
}

void opens_twice() {
  const auto handle = from_parent<cudaIpcMemHandle_t>();
  void *first = nullptr, *second = nullptr;
  CHECK(cudaIpcOpenMemHandle(&first, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
  CHECK(cudaIpcOpenMemHandle(&second, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
  CHECK(first == second);
  CHECK(cudaIpcCloseMemHandle(first) == cudaSuccess);
  CHECK(first_of(static_cast<int*>(second)) == 7);
  CHECK(cudaIpcCloseMemHandle(second) == cudaSuccess);
  CHECK(cudaIpcCloseMemHandle(second) != cudaSuccess);
  // It can be opened again.
  CHECK(cudaIpcOpenMemHandle(&first, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
  CHECK(first_of(static_cast<int*>(first)) == 7);
  CHECK(cudaIpcCloseMemHandle(first) == cudaSuccess);
}

void says_the_first_value() {
  int* memory = open_memory();
  to_parent(first_of(memory));
  CHECK(cudaIpcCloseMemHandle(memory) == cudaSuccess);
}

constexpr int kRounds = 4;

/// Does every second step. Neither process waits for its own work.
void takes_turns() {
  int* value = open_memory();
  cudaEvent_t parents = nullptr, mine = nullptr;
  CHECK(cudaIpcOpenEventHandle(&parents, from_parent<cudaIpcEventHandle_t>()) == cudaSuccess);
  CHECK(cudaEventCreateWithFlags(&mine, kShared) == cudaSuccess);
  cudaIpcEventHandle_t handle;
  CHECK(cudaIpcGetEventHandle(&handle, mine) == cudaSuccess);
  to_parent(handle);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  for (int round = 0; round < kRounds; ++round) {
    from_parent<char>();
    CHECK(cudaStreamWaitEvent(stream, parents, 0) == cudaSuccess);
    step<<<1, 1, 0, stream>>>(value, 2 * round + 1, 2 * round + 2);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(cudaEventRecord(mine, stream) == cudaSuccess);
    to_parent('r');
  }
  from_parent<char>();  // the parent has done with the event
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaEventDestroy(mine) == cudaSuccess);
  CHECK(cudaEventDestroy(parents) == cudaSuccess);
  CHECK(cudaIpcCloseMemHandle(value) == cudaSuccess);
}

/// Records an event of the parent's, waits for it, and asks what it is.
void records_the_parents() {
  int* value = open_memory();
  cudaEvent_t event = nullptr;
  CHECK(cudaIpcOpenEventHandle(&event, from_parent<cudaIpcEventHandle_t>()) == cudaSuccess);
  step<<<1, 1>>>(value, 0, 1);
  CHECK(cudaEventRecord(event) == cudaSuccess);
  to_parent('r');
  from_parent<char>();  // the parent has waited for the event
  CHECK(cudaEventSynchronize(event) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaSuccess);
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, event, event) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventDestroy(event) == cudaSuccess);
  CHECK(cudaIpcCloseMemHandle(value) == cudaSuccess);
}

/// Passes handles on, and ends when it is told to.
void exports() {
  void* memory = nullptr;
  cudaEvent_t event = nullptr;
  cudaIpcMemHandle_t of_memory;
  cudaIpcEventHandle_t of_event;
  CHECK(cudaMalloc(&memory, 100) == cudaSuccess);
  CHECK(cudaIpcGetMemHandle(&of_memory, memory) == cudaSuccess);
  CHECK(cudaEventCreateWithFlags(&event, kShared) == cudaSuccess);
  CHECK(cudaIpcGetEventHandle(&of_event, event) == cudaSuccess);
  to_parent(of_memory);
  to_parent(of_event);
  from_parent<char>();
  CHECK(cudaEventDestroy(event) == cudaSuccess);
  CHECK(cudaFree(memory) == cudaSuccess);
}

#ifdef __CPU_DEVICE__
__global__ void write_at(char* data, int place) { data[place] = 1; }

void uses_after_close() {
  int* memory = open_memory();
  CHECK(cudaIpcCloseMemHandle(memory) == cudaSuccess);
  int value = 0;
  CHECK(cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  add_to_each<<<1, 1>>>(memory, 1, 1);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

void frees_what_is_not_its() {
  int* memory = open_memory();
  CHECK(cudaFree(memory) == cudaErrorInvalidValue);
  cudaIpcMemHandle_t handle;
  CHECK(cudaIpcGetMemHandle(&handle, memory) == cudaErrorInvalidValue);
  CHECK(first_of(memory) == 7);
  CHECK(cpu_device::live_allocations() == 0);
  CHECK(cpu_device::live_objects(cpu_device::object_kind::opened_memory) == 1);
  CHECK(cudaDeviceReset() == cudaSuccess);
  CHECK(cpu_device::live_objects(cpu_device::object_kind::opened_memory) == 0);
}

void closes_at_once() {
  int* memory = open_memory();
  add_to_each<<<1, 10>>>(memory, 10, 1);  // in a stream that is never waited for
  CHECK(cudaIpcCloseMemHandle(memory) == cudaSuccess);
}

void never_closes() { open_memory(); }

void keeps_what_is_freed() {
  int* memory = open_memory();
  to_parent('o');
  from_parent<char>();  // the parent has freed it
  CHECK(first_of(memory) == 7);
  CHECK(cudaIpcCloseMemHandle(memory) == cudaSuccess);
}

void writes_past_the_end() {
  auto* memory = reinterpret_cast<char*>(open_memory());
  write_at<<<1, 1>>>(memory, 999);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(cpu_device::report_count() == 0);
  write_at<<<1, 1>>>(memory, 1004);
  cudaDeviceSynchronize();
  CHECK(cpu_device::report_count() == 1);
  cudaIpcCloseMemHandle(memory);
}
#endif

int child(const std::string& task) {
  const std::pair<const char*, void (*)()> tasks[] = {
      {"reads_and_writes", reads_and_writes},
      {"opens_twice", opens_twice},
      {"says_the_first_value", says_the_first_value},
      {"takes_turns", takes_turns},
      {"records_the_parents", records_the_parents},
      {"exports", exports},
#ifdef __CPU_DEVICE__
      {"uses_after_close", uses_after_close},
      {"frees_what_is_not_its", frees_what_is_not_its},
      {"closes_at_once", closes_at_once},
      {"never_closes", never_closes},
      {"keeps_what_is_freed", keeps_what_is_freed},
      {"writes_past_the_end", writes_past_the_end},
#endif
  };
  for (const auto& [name, run] : tasks)
    if (task == name) {
      run();
      return 0;
    }
  return 2;
}

// --- memory -------------------------------------------------------------------------------------

template <class T>
cudaIpcMemHandle_t handle_of(T* memory) {
  cudaIpcMemHandle_t handle{};
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, memory), cudaSuccess);
  return handle;
}

TEST(IpcMemory, AnotherProcessReadsAndWritesIt) {
  in_every_policy_of_both([] {
    for (const int n : {1, 1009, 3'000'017}) {
      SCOPED_TRACE(n);
      std::vector<int> values(static_cast<std::size_t>(n));
      std::iota(values.begin(), values.end(), 0);
      const device_array<int> memory(values);
      child_process other("reads_and_writes");
      other.send(handle_of(memory.data()));
      other.send(n);
      other.receive<char>();
      for (int& x : values) x += 1000;
      EXPECT_EQ(memory.to_host(), values);
      add_to_each<<<1, 1>>>(memory.data(), 1, 5);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      other.send('a');
      other.finish();
    }
  });
}

// Whether it runs before the handle is there or later.
TEST(IpcMemory, WorkInFlightIsNotLost) {
  in_every_policy_of_both([] {
    const device_array<int> memory(1, 0);
    step<<<1, 1>>>(memory.data(), 0, 3);
    child_process other("says_the_first_value");
    const cudaIpcMemHandle_t handle = handle_of(memory.data());
    step<<<1, 1>>>(memory.data(), 3, 4);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    other.send(handle);
    EXPECT_EQ(other.receive<int>(), 4);
  });
}

TEST(IpcMemory, AHandleIsOfTheWholeAllocation) {
  const device_array<int> memory(std::vector<int>{11, 22, 33, 44});
  child_process other("says_the_first_value");
  other.send(handle_of(memory.data() + 2));
  EXPECT_EQ(other.receive<int>(), 11);
}

TEST(IpcMemory, TheHandleOfAnAllocationStaysTheSame) {
  const device_array<int> memory(10, 1), others(10, 2);
  const cudaIpcMemHandle_t handle = handle_of(memory.data()), again = handle_of(memory.data()),
                           different = handle_of(others.data());
  EXPECT_EQ(std::memcmp(&handle, &again, sizeof handle), 0);
  EXPECT_NE(std::memcmp(&handle, &different, sizeof handle), 0);
}

TEST(IpcMemory, MayBeOpenedTwice) {
  const device_array<int> memory(10, 7);
  child_process other("opens_twice");
  other.send(handle_of(memory.data()));
}

TEST(IpcMemory, MayBeOpenedByTwoProcesses) {
  const device_array<int> memory(10, 7);
  child_process a("says_the_first_value"), b("says_the_first_value");
  a.send(handle_of(memory.data()));
  b.send(handle_of(memory.data()));
  EXPECT_EQ(a.receive<int>(), 7);
  EXPECT_EQ(b.receive<int>(), 7);
}

TEST(IpcMemory, OfThisProcessIsNotOpened) {
  const device_array<int> memory(10, 7);
  void* address = nullptr;
  EXPECT_EQ(
      cudaIpcOpenMemHandle(&address, handle_of(memory.data()), cudaIpcMemLazyEnablePeerAccess),
      cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaGetLastError(), cudaErrorDeviceUninitialized);
  EXPECT_EQ(memory.to_host()[9], 7);
}

TEST(IpcMemory, OfAnotherKindIsRefused) {
  cudaIpcMemHandle_t handle;
  int on_host = 0;
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, &on_host), cudaErrorInvalidValue);
  int *pinned = nullptr, *managed = nullptr, *of_pool = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 400), cudaSuccess);
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, pinned), cudaErrorInvalidValue);
  ASSERT_EQ(cudaMallocManaged(&managed, 400), cudaSuccess);
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, managed), cudaErrorInvalidValue);
  ASSERT_EQ(cudaMallocAsync(&of_pool, 400, nullptr), cudaSuccess);
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, of_pool), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeAsync(of_pool, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  cudaGetLastError();
}

TEST(IpcMemory, OfAProcessThatHasEndedIsRefused) {
  child_process other("exports");
  const auto handle = other.receive<cudaIpcMemHandle_t>();
  other.receive<cudaIpcEventHandle_t>();
  other.send('e');
  other.finish();
  void* address = nullptr;
  EXPECT_REFUSED(cudaIpcOpenMemHandle(&address, handle, cudaIpcMemLazyEnablePeerAccess),
                 cudaErrorInvalidResourceHandle);
  EXPECT_EQ(address, nullptr);
  cudaGetLastError();
}

// --- events -------------------------------------------------------------------------------------

cudaIpcEventHandle_t handle_of(cudaEvent_t event) {
  cudaIpcEventHandle_t handle{};
  EXPECT_EQ(cudaIpcGetEventHandle(&handle, event), cudaSuccess);
  return handle;
}

TEST(IpcEvents, AreSupported) {
  int supported = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&supported, cudaDevAttrIpcEventSupport, 0), cudaSuccess);
  EXPECT_EQ(supported, 1);
}

TEST(IpcEvents, OrderTheWorkOfTwoProcesses) {
  in_every_policy_of_both([] {
    const device_array<int> value(1, 0);
    cudaStream_t stream = nullptr;
    cudaEvent_t mine = nullptr, theirs = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaEventCreateWithFlags(&mine, kShared), cudaSuccess);
    child_process other("takes_turns");
    other.send(handle_of(value.data()));
    other.send(handle_of(mine));
    ASSERT_EQ(cudaIpcOpenEventHandle(&theirs, other.receive<cudaIpcEventHandle_t>()), cudaSuccess);
    for (int round = 0; round < kRounds; ++round) {
      step<<<1, 1, 0, stream>>>(value.data(), 2 * round, 2 * round + 1);
      EXPECT_EQ(cudaEventRecord(mine, stream), cudaSuccess);
      other.send('r');
      other.receive<char>();
      EXPECT_EQ(cudaStreamWaitEvent(stream, theirs, 0), cudaSuccess);
    }
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(value.to_host()[0], 2 * kRounds);
    EXPECT_EQ(cudaEventDestroy(theirs), cudaSuccess);
    other.send('e');
    other.finish();
    EXPECT_EQ(cudaEventDestroy(mine), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  });
}

TEST(IpcEvents, MayBeRecordedByTheOtherProcess) {
  in_every_policy_of_both([] {
    const device_array<int> value(1, 0);
    cudaEvent_t event = nullptr;
    ASSERT_EQ(cudaEventCreateWithFlags(&event, kShared), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);  // never recorded
    child_process other("records_the_parents");
    other.send(handle_of(value.data()));
    other.send(handle_of(event));
    other.receive<char>();
    cudaError_t status = cudaErrorNotReady;
    while ((status = cudaEventQuery(event)) == cudaErrorNotReady) continue;
    EXPECT_EQ(status, cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
    EXPECT_EQ(value.to_host()[0], 1);
    other.send('w');
    other.finish();
    EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
    cudaGetLastError();  // where cudaErrorNotReady was one
  });
}

// --- what only the CPU device does --------------------------------------------------------------

#ifdef __CPU_DEVICE__

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// On an H100 such arguments end the program in the driver.
TEST(IpcOnTheCpu, WrongArgumentsForMemoryAreRefused) {
  const device_array<int> memory(10, 7);
  cudaIpcMemHandle_t handle;
  EXPECT_EQ(cudaIpcGetMemHandle(nullptr, memory.data()), cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcOpenMemHandle(nullptr, handle_of(memory.data()), cudaIpcMemLazyEnablePeerAccess),
            cudaErrorInvalidValue);
  void* address = nullptr;
  std::memset(&handle, 0xAB, sizeof handle);
  EXPECT_EQ(cudaIpcOpenMemHandle(&address, handle, cudaIpcMemLazyEnablePeerAccess),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcCloseMemHandle(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcCloseMemHandle(memory.data()), cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcOpenMemHandle(&address, handle_of(memory.data()), 0), cudaErrorInvalidValue);
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(memory.to_host()[9], 7);
  cudaGetLastError();
}

TEST(IpcOnTheCpu, WrongArgumentsForEventsAreRefused) {
  cudaEvent_t shared = nullptr, own = nullptr, opened = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&own, cudaEventInterprocess), cudaErrorInvalidValue);
  ASSERT_EQ(cudaEventCreateWithFlags(&own, cudaEventDisableTiming), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&shared, kShared), cudaSuccess);
  cudaIpcEventHandle_t handle;
  EXPECT_EQ(cudaIpcGetEventHandle(nullptr, shared), cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcGetEventHandle(&handle, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaIpcGetEventHandle(&handle, own), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaIpcOpenEventHandle(nullptr, handle_of(shared)), cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcOpenEventHandle(&opened, handle_of(shared)), cudaErrorDeviceUninitialized);
  std::memset(&handle, 0xAB, sizeof handle);
  EXPECT_EQ(cudaIpcOpenEventHandle(&opened, handle), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventDestroy(own), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(shared), cudaSuccess);
  cudaGetLastError();
}

TEST(IpcOnTheCpu, MemoryThatWasClosedIsNotUsed) {
  const device_array<int> memory(10, 7);
  child_process other("uses_after_close");
  other.send(handle_of(memory.data()));
  const std::string said = other.finish();
  EXPECT_TRUE(has(said, "device memory of another process (40 bytes, opened at ipc_test.cu:"))
      << said;
  EXPECT_TRUE(has(said, "already closed")) << said;
  EXPECT_EQ(memory.to_host()[0], 7);
}

TEST(IpcOnTheCpu, OpenedMemoryIsNotFreed) {
  const device_array<int> memory(10, 7);
  child_process other("frees_what_is_not_its");
  other.send(handle_of(memory.data()));
  const std::string said = other.finish();
  EXPECT_TRUE(has(said, "cudaIpcCloseMemHandle gives it back")) << said;
}

TEST(IpcOnTheCpu, ClosingWaitsForWhatUsesTheMemory) {
  in_every_policy_of_both([] {
    const device_array<int> memory(10, 7);
    child_process other("closes_at_once");
    other.send(handle_of(memory.data()));
    other.finish();
    EXPECT_EQ(memory.to_host()[9], 8);
  });
}

TEST(IpcOnTheCpu, MemoryThatIsNeverClosedIsNamed) {
  const device_array<int> memory(10, 7);
  child_process other("never_closes");
  other.send(handle_of(memory.data()));
  const std::string said = other.finish();
  EXPECT_TRUE(has(said,
                  "1 allocation of other processes never closed; one of them is device memory of "
                  "another process (40 bytes, opened at ipc_test.cu:"))
      << said;
  EXPECT_FALSE(has(said, "never freed")) << said;
}

TEST(IpcOnTheCpu, MemoryOutlivesItsFreeing) {
  const device_array<int> memory(10, 7);
  int* freed = nullptr;
  ASSERT_EQ(cudaMalloc(&freed, 40), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(freed, memory.data(), 40, cudaMemcpyDeviceToDevice), cudaSuccess);
  child_process other("keeps_what_is_freed");
  const cudaIpcMemHandle_t handle = handle_of(freed);
  other.send(handle);
  other.receive<char>();
  ASSERT_EQ(cudaFree(freed), cudaSuccess);
  other.send('f');
  other.finish();
  // It can no longer be opened, nor can its handle open what now has the number of its descriptor.
  std::vector<int*> others(10);
  for (int*& more : others) {
    ASSERT_EQ(cudaMalloc(&more, 40), cudaSuccess);
    handle_of(more);
  }
  void* address = nullptr;
  EXPECT_EQ(cudaIpcOpenMemHandle(&address, handle, cudaIpcMemLazyEnablePeerAccess),
            cudaErrorInvalidResourceHandle);
  for (int* more : others) EXPECT_EQ(cudaFree(more), cudaSuccess);
  cudaGetLastError();
}

TEST(IpcOnTheCpu, WritesPastTheEndAreReportedInTheirProcess) {
  const std::size_t before = cpu_device::report_count();
  char* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 1000), cudaSuccess);
  child_process other("writes_past_the_end");
  other.send(handle_of(memory));
  const std::string said = other.finish();
  EXPECT_TRUE(has(said, "device memory of another process (1000 bytes, opened at ipc_test.cu:"))
      << said;
  write_at<<<1, 1>>>(memory, 0);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cpu_device::report_count(), before);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST(IpcOnTheCpu, AProcessThatHasEndedIsNamed) {
  child_process other("exports");
  other.receive<cudaIpcMemHandle_t>();
  const auto handle = other.receive<cudaIpcEventHandle_t>();
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaIpcOpenEventHandle(&event, handle), cudaSuccess);
  EXPECT_EQ(cpu_device::live_objects(cpu_device::object_kind::event), 1U);
  cudaIpcEventHandle_t again;
  EXPECT_EQ(cudaIpcGetEventHandle(&again, event), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  other.send('e');
  other.finish();
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaIpcOpenEventHandle(&event, handle), cudaErrorInvalidResourceHandle);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(has(said, "cudaIpcOpenEventHandle: process ")) << said;
  EXPECT_TRUE(has(said, " has ended")) << said;
  cudaGetLastError();
}

TEST(IpcOnTheCpu, AForkedProcessSharesWhatWasExported) {
  const device_array<int> shared(10, 7), own(10, 7);
  const cudaIpcMemHandle_t handle = handle_of(shared.data());
  const pid_t process = fork();
  if (process == 0) {
    void* opened = nullptr;
    CHECK(cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
    CHECK(first_of(static_cast<int*>(opened)) == 7);
    CHECK(cudaIpcCloseMemHandle(opened) == cudaSuccess);
    add_to_each<<<1, 10>>>(shared.data(), 10, 1);
    add_to_each<<<1, 10>>>(own.data(), 10, 1);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    std::_Exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(process, &status, 0), process);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(shared.to_host()[9], 8);
  EXPECT_EQ(own.to_host()[9], 7);
}

TEST(IpcOnTheCpu, MemoryIsNotSharedDuringACapture) {
  const device_array<int> memory(10, 7);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaIpcMemHandle_t handle;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, memory.data()), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  cudaGetLastError();
}

// A graph that records an event is not left for later either.
TEST(IpcOnTheCpu, AGraphThatRecordsAnEventRunsAtOnce) {
  cpu_device::set_stream_policy(cpu_device::stream_policy::deferred);
  int* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaMemset(memory, 0, sizeof(int)), cudaSuccess);
  cudaEvent_t event = nullptr;
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, kShared), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  const cudaIpcMemHandle_t handle = handle_of(memory);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  step<<<1, 1, 0, stream>>>(memory, 0, 1);
  EXPECT_EQ(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0ULL), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  child_process other("says_the_first_value");
  other.send(handle);
  EXPECT_EQ(other.receive<int>(), 1);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  cpu_device::set_stream_policy(cpu_device::stream_policy::eager);
}

#endif

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // a child that ends early is recognized by its output
  if (argc == 3 && std::string(argv[1]) == "--child") return child(argv[2]);
  return run_tests(argc, argv);
}
