// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Injected faults, changed answers about pinned memory, events of calls, copies and launches, and
// what has not been freed: on the CPU device only.

#include <cpu_device.h>
#include <cpu_device/events.h>
#include <cublas_v2.h>
#include <curand.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "child_process.hpp"
#include "cpu_device_testing.hpp"
#include "run_tests.hpp"

namespace {

using cpu_device::object_kind;
using cpu_device_testing::device_array;

__global__ void add_one(int* data) { data[threadIdx.x] += 1; }
__global__ void access_null(int* data) { *data = 1; }

/// No fault of a test may reach the next one.
class Faults : public ::testing::Test {
 protected:
  ~Faults() override { cpu_device::clear_faults(); }
};

std::vector<std::size_t> all_objects() {
  std::vector<std::size_t> counts;
  for (int kind = 0; kind <= static_cast<int>(cpu_device::kLastObjectKind); ++kind)
    counts.push_back(cpu_device::live_objects(static_cast<object_kind>(kind)));
  counts.push_back(cpu_device::live_allocations());
  return counts;
}

TEST_F(Faults, FailTheCallTheyNameAndNoOther) {
  cpu_device::fail_call("cudaMalloc", 2, cudaErrorMemoryAllocation);
  const std::size_t fired = cpu_device::faults_fired();
  int* first = nullptr;
  int* second = nullptr;
  EXPECT_EQ(cudaMallocHost(&first, 4), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(first), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&first, 4), cudaSuccess);
  EXPECT_EQ(cpu_device::faults_fired(), fired);
  EXPECT_EQ(cudaMalloc(&second, 4), cudaErrorMemoryAllocation);
  EXPECT_EQ(cpu_device::faults_fired(), fired + 1);
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&second, 4), cudaSuccess);
  EXPECT_EQ(cudaFree(first), cudaSuccess);
  EXPECT_EQ(cudaFree(second), cudaSuccess);
}

TEST_F(Faults, LeaveTheInputAsItWas) {
  const device_array<int> data(4, 7);
  int host[4] = {1, 2, 3, 4};
  cpu_device::fail_call("cudaMemcpy", 1, cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host, data.data(), sizeof host, cudaMemcpyDeviceToHost),
            cudaErrorInvalidValue);
  EXPECT_EQ(host[0], 1);
  EXPECT_EQ(cudaMemcpy(host, data.data(), sizeof host, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(host[0], 7);
  cudaGetLastError();
}

TEST_F(Faults, OfALaunchAreFoundByCudaGetLastError) {
  const device_array<int> data(1, 41);
  cpu_device::fail_call("cudaLaunchKernel", 1, cudaErrorLaunchOutOfResources);
  add_one<<<1, 1>>>(data.data());
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorLaunchOutOfResources);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchOutOfResources);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(data.to_host()[0], 41);
  add_one<<<1, 1>>>(data.data());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(data.to_host()[0], 42);
}

TEST_F(Faults, OfStreamsAndEventsMakeNone) {
  const auto before = all_objects();
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  cpu_device::fail_call("cudaStreamCreate", 1, cudaErrorMemoryAllocation);
  cpu_device::fail_call("cudaEventCreate", 1, cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaStreamCreate(&stream), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaEventCreate(&event), cudaErrorMemoryAllocation);
  EXPECT_EQ(stream, nullptr);
  EXPECT_EQ(event, nullptr);
  EXPECT_EQ(all_objects(), before);
  cudaGetLastError();
}

TEST_F(Faults, OfLibrariesHaveTheirStatuses) {
  cublasHandle_t blas = nullptr;
  cpu_device::fail_call("cublasCreate", 1, CUBLAS_STATUS_ALLOC_FAILED);
  EXPECT_EQ(cublasCreate(&blas), CUBLAS_STATUS_ALLOC_FAILED);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  ASSERT_EQ(cublasCreate(&blas), CUBLAS_STATUS_SUCCESS);
  const device_array<float> x(2, 1.0F), y(2, 2.0F);
  const float one = 1;
  cpu_device::fail_call("cublasSaxpy", 1, CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(cublasSaxpy(blas, 2, &one, x.data(), 1, y.data(), 1), CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(y.to_host()[0], 2.0F);
  EXPECT_EQ(cublasSaxpy(blas, 2, &one, x.data(), 1, y.data(), 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(y.to_host()[0], 3.0F);
  EXPECT_EQ(cublasDestroy(blas), CUBLAS_STATUS_SUCCESS);

  curandGenerator_t generator = nullptr;
  cpu_device::fail_call("curandCreateGenerator", 1, CURAND_STATUS_ALLOCATION_FAILED);
  EXPECT_EQ(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT),
            CURAND_STATUS_ALLOCATION_FAILED);
  ASSERT_EQ(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT), CURAND_STATUS_SUCCESS);
  cpu_device::fail_any_call(1);
  EXPECT_EQ(curandSetPseudoRandomGeneratorSeed(generator, 1), CURAND_STATUS_LAUNCH_FAILURE);
  EXPECT_EQ(curandDestroyGenerator(generator), CURAND_STATUS_SUCCESS);
}

/// Doubles a number with every kind of call that can fail, and frees what it created on every path
/// out. Returns the first error.
int double_it(int& value) {
  int* device = nullptr;
  cudaStream_t stream = nullptr;
  cublasHandle_t blas = nullptr;
  int status = cudaMalloc(&device, sizeof(int));
  if (status == 0) status = cudaStreamCreate(&stream);
  if (status == 0) status = cublasCreate(&blas);
  if (status == 0) status = cublasSetStream(blas, stream);
  if (status == 0)
    status = cudaMemcpyAsync(device, &value, sizeof(int), cudaMemcpyHostToDevice, stream);
  if (status == 0) {
    add_one<<<1, 1, 0, stream>>>(device);
    status = cudaGetLastError();
  }
  int result = 0;
  if (status == 0)
    status = cudaMemcpyAsync(&result, device, sizeof(int), cudaMemcpyDeviceToHost, stream);
  if (status == 0) status = cudaStreamSynchronize(stream);
  if (blas != nullptr) cublasDestroy(blas);
  if (stream != nullptr) cudaStreamDestroy(stream);
  cudaFree(device);
  if (status == 0) value = result;
  cudaGetLastError();
  return status;
}

TEST_F(Faults, OfAnyCallReachEachOfThemInTurn) {
  const auto before = all_objects();
  std::uint64_t n = 1;
  for (;; ++n) {
    ASSERT_LT(n, 100U);
    int value = 20;
    const std::size_t fired = cpu_device::faults_fired();
    cpu_device::fail_any_call(n);
    const int status = double_it(value);
    cpu_device::clear_faults();
    EXPECT_EQ(all_objects(), before) << n;
    if (cpu_device::faults_fired() == fired) {
      EXPECT_EQ(status, 0);
      break;
    }
    EXPECT_NE(status, 0) << n;
    EXPECT_EQ(value, 20) << n;
    EXPECT_EQ(double_it(value), 0) << n;
    EXPECT_EQ(value, 21) << n;
  }
  EXPECT_EQ(n, 9U);  // malloc, stream, handle, its stream, copy, launch, copy, wait; none is left
}

TEST_F(Faults, AreCountedFromNowOnAndCanBeCleared) {
  const std::uint64_t calls = cpu_device::calls_made();
  int device = 0;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cpu_device::calls_made(), calls + 1);
  cpu_device::fail_any_call(1);
  cpu_device::clear_faults();
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
}

struct owner {
  int* p = nullptr;
  owner() { EXPECT_EQ(cudaMalloc(&p, 4), cudaSuccess); }
  ~owner() { status() = cudaFree(p); }
  static cudaError_t& status() {
    static cudaError_t last = cudaSuccess;
    return last;
  }
};

TEST_F(Faults, InADestructorFreeAllTheSame) {
  const std::size_t before = cpu_device::live_allocations();
  cpu_device::fail_call("cudaFree", 1, cudaErrorIllegalAddress);
  { const owner memory; }
  EXPECT_EQ(owner::status(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cpu_device::live_allocations(), before);
  { const owner memory; }  // and the device is not broken
  EXPECT_EQ(owner::status(), cudaSuccess);
}

TEST_F(Faults, DoNotEndUpInTheGraphThatIsCaptured) {
  const auto before = all_objects();
  const device_array<int> data(1, 40);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  add_one<<<1, 1, 0, stream>>>(data.data());
  cpu_device::fail_call("cudaLaunchKernel", 1, cudaErrorLaunchOutOfResources);
  add_one<<<1, 1, 0, stream>>>(data.data());
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchOutOfResources);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  std::size_t nodes = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 1U);
  cudaGraphExec_t exec = nullptr;
  cpu_device::fail_call("cudaGraphInstantiate", 1, cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph), cudaErrorMemoryAllocation);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(data.to_host()[0], 41);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  cudaGetLastError();
  EXPECT_EQ(all_objects()[0], before[0]);
}

TEST_F(Faults, AtTheEndOfACaptureLoseTheGraphAndEndTheCapture) {
  const auto before = all_objects();
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  cudaGraph_t graph = nullptr;
  cpu_device::fail_call("cudaStreamEndCapture", 1, cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  cudaGetLastError();
  int* memory = nullptr;  // which could not be allocated during the capture
  EXPECT_EQ(cudaMalloc(&memory, 4), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(all_objects(), before);
}

TEST_F(Faults, InAResetForgetTheDeviceAllTheSame) {
  int* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 4), cudaSuccess);
  cpu_device::fail_call("cudaDeviceReset", 1, cudaErrorLaunchFailure);
  EXPECT_EQ(cudaDeviceReset(), cudaErrorLaunchFailure);
  EXPECT_EQ(cpu_device::live_allocations(), 0U);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  ASSERT_EQ(cudaMalloc(&memory, 4), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST_F(Faults, OfAKernelThatRunsInTheResetGoWithTheDevice) {
  cpu_device::set_stream_policy(cpu_device::stream_policy::deferred);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  const std::size_t reports = cpu_device::report_count();
  access_null<<<1, 1, 0, stream>>>(nullptr);
  add_one<<<1, 1, 0, stream>>>(nullptr);
  EXPECT_EQ(cpu_device::report_count(), reports);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_GT(cpu_device::report_count(), reports);
  cpu_device::set_stream_policy(cpu_device::stream_policy::eager);
  EXPECT_EQ(cpu_device::live_objects(object_kind::stream), 0U);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  const device_array<int> data(1, 1);
  add_one<<<1, 1>>>(data.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(data.to_host()[0], 2);
}

TEST_F(Faults, ThatCannotBeAreRefusedWithASentence) {
  const auto refusal = [](auto action) {
    try {
      action();
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_NE(refusal([] { cpu_device::fail_call("cudaMaloc", 1, 2); }).find("'cudaMaloc'"),
            std::string::npos);
  EXPECT_NE(refusal([] { cpu_device::fail_call("cudaMalloc", 0, 2); }).find("counted from 1"),
            std::string::npos);
  EXPECT_NE(refusal([] { cpu_device::fail_call("cudaMalloc", 1, 0); }).find("success"),
            std::string::npos);
  EXPECT_NE(refusal([] { cpu_device::fail_any_call(0); }).find("counted from 1"),
            std::string::npos);
}

TEST_F(Faults, ComeFromTheEnvironmentToo) {
  const auto run = [](const std::string& value) {
    return child_process::run("CPU_DEVICE_FAIL='" + value + "'", "allocate_twice 2>&1");
  };
  EXPECT_EQ(run("cudaMalloc:2:cudaErrorMemoryAllocation").output, "0 2\n");
  EXPECT_EQ(run("cudaMalloc:2:46").output, "0 46\n");
  EXPECT_EQ(run("any:1").output, "2 0\n");
  EXPECT_EQ(run("cudaMalloc:1:3,cudaMalloc:2:4").output, "3 4\n");
  EXPECT_EQ(run("cublasSaxpy:1:CUBLAS_STATUS_EXECUTION_FAILED").output, "0 0\n");
  for (const char* value :
       {"cudaMaloc:1:2", "cudaMalloc:x:2", "cudaMalloc:0:2", "cudaMalloc:1:cudaErrorNone",
        "cudaMalloc:1", "cudaMalloc:1:0", "cublasSaxpy:1:cudaErrorUnknown", "any", "any:0"}) {
    const auto [exit_code, output] = run(value);
    EXPECT_EQ(exit_code, 2) << value;
    EXPECT_EQ(output.find(std::string("CPU device: CPU_DEVICE_FAIL=") + value + ": "), 0U)
        << output;
    EXPECT_EQ(output.find('\n'), output.size() - 1) << "one sentence: " << output;
  }
}

// --- events --------------------------------------------------------------------------------------

/// Records what it is told; calls that it makes itself must not be reported to it.
class diary : public cpu_device::observer {
 public:
  explicit diary(cpu_device::event_set kinds) { cpu_device::add_observer(*this, kinds); }
  ~diary() override { cpu_device::remove_observer(*this); }
  diary(const diary&) = delete;
  diary& operator=(const diary&) = delete;

  std::string text;

  int call_begins(const cpu_device::call_event& event) override {
    int device = 0;
    cudaGetDevice(&device);
    text += std::string(event.function) + " ";
    return 0;
  }
  void call_ends(const cpu_device::call_event& event) override {
    text += "= " + std::to_string(event.status) + "; ";
  }
  void copied(const cpu_device::copy_event& event) override {
    text += "copy " + std::to_string(event.bytes) + " kind " + std::to_string(event.kind) + "; ";
  }
  void launch_begins(const cpu_device::launch_event& event) override {
    text += std::string(event.kernel) + " " + std::to_string(event.grid.x) + " x " +
            std::to_string(event.block.x) + " ";
  }
  void launch_ends(const cpu_device::launch_event& event) override {
    text += "ended " + std::to_string(event.status) + "; ";
  }
};

using cpu_device::event_kind;

TEST(Events, OfCallsAreThoseOfTheProgramAlone) {
  int value = 0;
  const device_array<int> data(1, 41);
  diary d(static_cast<cpu_device::event_set>(event_kind::call));
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);  // which calls cudaStreamCreateWithFlags
  add_one<<<1, 1, 0, stream>>>(data.data());
  EXPECT_EQ(cudaMemcpy(&value, nullptr, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(d.text,
            "cudaStreamCreate = 0; cudaLaunchKernel = 0; cudaMemcpy = 1; cudaStreamDestroy = 0; ");
  cudaGetLastError();
}

TEST(Events, OfCopiesAndLaunchesComeWhenTheyHappen) {
  const device_array<int> data(3, 41), other(3, 0);
  int host[3] = {};
  diary d(event_kind::copy | event_kind::launch);
  EXPECT_EQ(cudaMemset(data.data(), 0, 12), cudaSuccess);
  add_one<<<2, 1>>>(data.data());
  EXPECT_EQ(cudaMemcpy(host, data.data(), 8, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(other.data(), data.data(), 12, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(data.data(), host, 4, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(d.text,
            "copy 12 kind 3; add_one 2 x 1 ended 0; copy 8 kind 2; copy 12 kind 3; "
            "copy 4 kind 1; ");
}

TEST(Events, OfCopiesCountTheNumbersThatCublasReturns) {
  const device_array<float> x(3, 2.0F);
  float on_host = 0;
  const device_array<float> on_device(1, 0.0F);
  cublasHandle_t blas = nullptr;
  ASSERT_EQ(cublasCreate(&blas), CUBLAS_STATUS_SUCCESS);
  diary d(static_cast<cpu_device::event_set>(event_kind::copy));
  EXPECT_EQ(cublasSdot(blas, 3, x.data(), 1, x.data(), 1, &on_host), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(on_host, 12.0F);
  EXPECT_EQ(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasSdot(blas, 3, x.data(), 1, x.data(), 1, on_device.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasDestroy(blas), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.text, "copy 4 kind 2; ");
}

// --- what is still there -------------------------------------------------------------------------

TEST(LiveObjects, CountWhatAProgramMakes) {
  const auto live = [](object_kind kind) { return cpu_device::live_objects(kind); };
  const auto before = all_objects();
  const auto made = [&](object_kind kind) {
    return live(kind) - before[static_cast<std::size_t>(kind)];
  };

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
  EXPECT_EQ(made(object_kind::graph), 1U);
  EXPECT_EQ(made(object_kind::executable_graph), 1U);

  cudaMemPoolProps props{};
  props.allocType = cudaMemAllocationTypePinned;
  props.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaMemPoolCreate(&pool, &props), cudaSuccess);
  EXPECT_EQ(made(object_kind::memory_pool), 1U);

  std::vector<int> host(100);
  ASSERT_EQ(cudaHostRegister(host.data(), 400, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(made(object_kind::registration), 1U);

  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  ASSERT_EQ(cudaMallocArray(&array, &format, 8, 8, cudaArraySurfaceLoadStore), cudaSuccess);
  EXPECT_EQ(made(object_kind::array), 1U);
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  const cudaTextureDesc description{};
  cudaTextureObject_t texture = 0;
  cudaSurfaceObject_t surface = 0;
  ASSERT_EQ(cudaCreateTextureObject(&texture, &resource, &description, nullptr), cudaSuccess);
  ASSERT_EQ(cudaCreateSurfaceObject(&surface, &resource), cudaSuccess);
  EXPECT_EQ(made(object_kind::texture_object), 1U);
  EXPECT_EQ(made(object_kind::surface_object), 1U);

  EXPECT_EQ(cudaDestroySurfaceObject(surface), cudaSuccess);
  EXPECT_EQ(cudaDestroyTextureObject(texture), cudaSuccess);
  EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(all_objects(), before);
}

TEST(LiveObjects, MayBeAMillionStreams) {
  constexpr std::size_t kMany = 1000000;
  const std::size_t before = cpu_device::live_objects(object_kind::stream);
  std::vector<cudaStream_t> streams(kMany);
  for (cudaStream_t& s : streams) ASSERT_EQ(cudaStreamCreate(&s), cudaSuccess);
  EXPECT_EQ(cpu_device::live_objects(object_kind::stream), before + kMany);
  const device_array<int> data(1, 0);
  for (std::size_t i = 0; i < kMany; i += 1000) add_one<<<1, 1, 0, streams[i]>>>(data.data());
  add_one<<<1, 1>>>(data.data());  // waits for all of them
  EXPECT_EQ(data.to_host()[0], 1001);
  for (const cudaStream_t s : streams) ASSERT_EQ(cudaStreamDestroy(s), cudaSuccess);
  EXPECT_EQ(cpu_device::live_objects(object_kind::stream), before);
}

TEST(DeviceProperties, AreWhatTheyAreSaidToBe) {
  cudaDeviceProp truth{}, heard{};
  ASSERT_EQ(cudaGetDeviceProperties(&truth, 0), cudaSuccess);
  cudaDeviceProp made_up = truth;
  made_up.warpSize = 48;
  int warp = 0;
  cpu_device::set_said_of_devices(&made_up);
  EXPECT_EQ(cudaGetDeviceProperties(&heard, 0), cudaSuccess);
  EXPECT_EQ(heard.warpSize, 48);
  EXPECT_EQ(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0), cudaSuccess);
  EXPECT_EQ(warp, 48);
  EXPECT_EQ(cudaGetDeviceProperties(&heard, 1 << 20), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  for (const int device : {1, 0}) {
    cpu_device::set_said_of_devices(&made_up, device);
    EXPECT_EQ(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0), cudaSuccess);
    EXPECT_EQ(warp, device == 0 ? 48 : 32);
  }
  cpu_device::set_said_of_devices(nullptr);
  EXPECT_EQ(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0), cudaSuccess);
  EXPECT_EQ(warp, 32);
}

TEST(DeviceAttributes, AreWhatTheyAreSaidToBe) {
  const auto mode = [] {
    int heard = -1;
    EXPECT_EQ(cudaDeviceGetAttribute(&heard, cudaDevAttrComputeMode, 0), cudaSuccess);
    return heard;
  };
  int said = cudaComputeModeProhibited;
  for (const int of : {cpu_device::kEveryDevice, 1, 0}) {
    cpu_device::set_said_of_attribute(cudaDevAttrComputeMode, &said, of);
    EXPECT_EQ(mode(), of == 1 ? cudaComputeModeDefault : cudaComputeModeProhibited);
  }
  int warp = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0), cudaSuccess);
  EXPECT_EQ(warp, 32) << "nothing was said of this one";
  EXPECT_EQ(cudaDeviceGetAttribute(&warp, cudaDevAttrComputeMode, 1 << 20), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  cpu_device::set_said_of_attribute(cudaDevAttrComputeMode, nullptr);
  EXPECT_EQ(mode(), cudaComputeModeDefault);
}

TEST(Events, TakeTheirTimesFromAnyClock) {
  cudaEvent_t start{}, stop{};
  ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&stop), cudaSuccess);
  float milliseconds = 0;
  static std::int64_t now = 5;
  cpu_device::set_event_clock([] { return now; });
  // An idle stream reaches the first one at once, even where work runs late.
  using cpu_device::stream_policy;
  for (const auto policy : {stream_policy::deferred, stream_policy::eager}) {
    cpu_device::set_stream_policy(policy);
    EXPECT_EQ(cudaEventRecord(start), cudaSuccess);
    now += 86'400'000'000'000;  // a day
    EXPECT_EQ(cudaEventRecord(stop), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(stop), cudaSuccess);
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, stop), cudaSuccess);
    EXPECT_EQ(milliseconds, 86'400'000.0F);
  }
  cpu_device::set_event_clock(nullptr);
  EXPECT_EQ(cudaEventRecord(start), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(stop), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(stop), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, stop), cudaSuccess);
  EXPECT_LT(milliseconds, 86'400'000.0F);
  EXPECT_EQ(cudaEventDestroy(start), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(stop), cudaSuccess);
}

TEST(PinnedMemory, IsWhatItIsSaidToBe) {
  using cpu_device::said_of_pinned_memory;
  int *host = nullptr, *device = nullptr;
  ASSERT_EQ(cudaHostAlloc(&host, 64 * sizeof(int), cudaHostAllocMapped), cudaSuccess);
  for (int i = 0; i < 64; ++i) host[i] = i;
  cudaPointerAttributes attributes{};
  unsigned flags = 0;
  const std::size_t before = cpu_device::live_allocations();

  cpu_device::set_said_of_pinned_memory(said_of_pinned_memory::unregistered);
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, host), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaHostGetDevicePointer(&device, host, 0), cudaSuccess);
  EXPECT_EQ(device, host);

  cpu_device::set_said_of_pinned_memory(said_of_pinned_memory::elsewhere);
  EXPECT_EQ(cudaHostGetDevicePointer(&device, host + 5, 0), cudaSuccess);
  EXPECT_NE(device, host + 5);
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, host), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes.devicePointer, device - 5);
  EXPECT_EQ(attributes.hostPointer, host);
  EXPECT_EQ(cudaHostGetFlags(&flags, host), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaHostAllocMapped | cudaHostAllocPortable});
  add_one<<<1, 32>>>(device);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(host[5], 5);

  cpu_device::set_said_of_pinned_memory(said_of_pinned_memory::the_truth);
  EXPECT_EQ(cpu_device::live_allocations(), before);
  EXPECT_EQ(cudaHostGetDevicePointer(&device, host, 0), cudaSuccess);
  EXPECT_EQ(device, host);
  EXPECT_EQ(cudaHostGetFlags(&flags, host), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaHostAllocMapped});
  EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--child") {
    int* memory = nullptr;
    const int first = cudaMalloc(&memory, 4), second = cudaMalloc(&memory, 4);
    std::printf("%d %d\n", first, second);
    std::fflush(stdout);
    _exit(0);  // what is still allocated is no subject here
  }
  return run_tests(argc, argv);
}
