// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuRAND's host functions.

#include <curand.h>
#include <curand_kernel.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "api/stream_queue.hpp"
#include "base/report.hpp"
#include "context/device.hpp"
#include "context/objects.hpp"
#include "library_calls.hpp"
#include "library_memory.hpp"

using namespace cpu_device;

namespace {

/// The states of a generator. Number n of its sequence comes from state n mod count, so that many
/// threads could make them: state i is at subsequence i.
struct sequence {
  std::variant<std::vector<curandStateXORWOW>, std::vector<curandStateMRG32k3a>,
               std::vector<curandStatePhilox4_32_10>>
      states;
  std::size_t next = 0;
};

/// XORWOW and MRG32k3a: 4096 subsequences, as documented. Philox: one.
std::size_t state_count(curandRngType_t type) {
  return type == CURAND_RNG_PSEUDO_PHILOX4_32_10 ? 1 : 4096;
}

template <class State>
void start(sequence& s, std::size_t count, unsigned long long seed, unsigned long long offset) {
  std::vector<State> states(count);
  for (std::size_t i = 0; i < count; ++i)
    curand_init(seed, i, offset / count + (i < offset % count), &states[i]);
  s.states = std::move(states);
  s.next = static_cast<std::size_t>(offset % count);
}

curandStatus_t explain_status(curandStatus_t status, const std::string& sentence) {
  explain(sentence);
  return status;
}

}  // namespace

struct curandGenerator_st {
  curandRngType_t type = CURAND_RNG_PSEUDO_XORWOW;
  bool on_host = false;
  int device = 0;
  cudaStream_t stream = nullptr;
  unsigned long long seed = 0, offset = 0;
  std::shared_ptr<sequence> numbers;  // null until the first number; work in a stream shares it

  void begin() {
    if (numbers) return;
    numbers = std::make_shared<sequence>();
    const std::size_t count = state_count(type);
    if (type == CURAND_RNG_PSEUDO_MRG32K3A)
      start<curandStateMRG32k3a>(*numbers, count, seed, offset);
    else if (type == CURAND_RNG_PSEUDO_PHILOX4_32_10)
      start<curandStatePhilox4_32_10>(*numbers, count, seed, offset);
    else
      start<curandStateXORWOW>(*numbers, count, seed, offset);
  }
};

namespace {

std::map<curandGenerator_t, std::unique_ptr<curandGenerator_st>>& generators() {
  static auto* all = new std::map<curandGenerator_t, std::unique_ptr<curandGenerator_st>>;
  return *all;
}

const object_keeper keeps_generators(object_kind::library_handle,
                                     [] { return generators().size(); });

bool is_generator(curandGenerator_t generator) { return generators().count(generator) != 0; }

curandStatus_t no_generator() {
  return explain_status(CURAND_STATUS_NOT_INITIALIZED,
                        this_call() +
                            ": this is no generator. Try: curandCreateGenerator before the call, "
                            "and curandDestroyGenerator after the last one");
}

curandStatus_t create(curandGenerator_t* generator, curandRngType_t type, bool on_host) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  switch (type) {
    case CURAND_RNG_PSEUDO_DEFAULT:
    case CURAND_RNG_PSEUDO_XORWOW:
    case CURAND_RNG_PSEUDO_MRG32K3A:
    case CURAND_RNG_PSEUDO_PHILOX4_32_10:
      break;
    default:
      return explain_status(CURAND_STATUS_TYPE_ERROR,
                            "curandCreateGenerator: the CPU device has XORWOW, MRG32k3a and "
                            "Philox4x32-10, and no generator of type " +
                                std::to_string(static_cast<int>(type)));
  }
  if (!on_host && (device_count() == 0 || pending_error() != cudaSuccess))
    return CURAND_STATUS_INITIALIZATION_FAILED;
  auto made = std::make_unique<curandGenerator_st>();
  made->type = type;
  made->on_host = on_host;
  made->device = on_host ? 0 : current_device();
  *generator = made.get();
  generators()[*generator] = std::move(made);
  return CURAND_STATUS_SUCCESS;
}

/// Fills output with n numbers; `number` makes one from a state.
template <class T, class Number>
curandStatus_t generate(curandGenerator_t g, T* output, std::size_t n, bool in_pairs,
                        Number number) {
  if (!is_generator(g)) return no_generator();
  if (in_pairs && n % 2 != 0)
    return explain_status(
        CURAND_STATUS_LENGTH_NOT_MULTIPLE,
        this_call() + ": normal numbers are made in pairs, and " + std::to_string(n) + " is odd");
  if (!g->on_host && pending_error() != cudaSuccess) return CURAND_STATUS_PREEXISTING_FAILURE;
  if (n == 0) return CURAND_STATUS_SUCCESS;
  if (g->on_host && is_device_only(output))
    return explain_status(CURAND_STATUS_LAUNCH_FAILURE,
                          this_call() +
                              ": the generator was made by curandCreateGeneratorHost and fills "
                              "host memory, but the output is device memory");
  if (!g->on_host && current_device() != g->device)
    return explain_status(CURAND_STATUS_LAUNCH_FAILURE,
                          this_call() + ": the generator was made on device " +
                              std::to_string(g->device) + ", but the current one is " +
                              std::to_string(current_device()));
  if (!g->on_host &&
      !usable_on_device(g->device, name_of_this_call(), "the output", output, n * sizeof(T)))
    return CURAND_STATUS_LAUNCH_FAILURE;
  g->begin();
  const auto work = [numbers = g->numbers, output, n, number] {
    std::visit(
        [&](auto& states) {
          for (std::size_t i = 0; i < n; ++i) {
            output[i] = number(&states[numbers->next]);
            if (++numbers->next == states.size()) numbers->next = 0;
          }
        },
        numbers->states);
  };
  if (g->on_host) {
    work();
    return CURAND_STATUS_SUCCESS;
  }
  return enqueue(g->stream, work) == cudaSuccess ? CURAND_STATUS_SUCCESS
                                                 : CURAND_STATUS_LAUNCH_FAILURE;
}

}  // namespace

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type) {
  return curand_call<"curandCreateGenerator", CURAND_STATUS_ALLOCATION_FAILED>(
      [&] { return create(generator, type, false); });
}
curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t type) {
  return curand_call<"curandCreateGeneratorHost", CURAND_STATUS_ALLOCATION_FAILED>(
      [&] { return create(generator, type, true); });
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  return curand_call<"curandDestroyGenerator", CURAND_STATUS_INTERNAL_ERROR, rules::releases>(
      [&] { return generators().erase(generator) != 0 ? CURAND_STATUS_SUCCESS : no_generator(); });
}
curandStatus_t curandGetVersion(int* version) {
  return curand_call<"curandGetVersion">([&] {
    if (version == nullptr) return CURAND_STATUS_OUT_OF_RANGE;
    *version = CURAND_VERSION;
    return CURAND_STATUS_SUCCESS;
  });
}
curandStatus_t curandGetProperty(libraryPropertyType type, int* value) {
  return curand_call<"curandGetProperty">([&] {
    if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL)
      return CURAND_STATUS_OUT_OF_RANGE;
    *value = type == MAJOR_VERSION   ? CURAND_VER_MAJOR
             : type == MINOR_VERSION ? CURAND_VER_MINOR
                                     : CURAND_VER_PATCH;
    return CURAND_STATUS_SUCCESS;
  });
}
curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  return curand_call<"curandSetStream">([&] {
    if (!is_generator(generator)) return no_generator();
    generator->stream = stream;
    return CURAND_STATUS_SUCCESS;
  });
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator,
                                                  unsigned long long seed) {
  return curand_call<"curandSetPseudoRandomGeneratorSeed">([&] {
    if (!is_generator(generator)) return no_generator();
    generator->seed = seed;
    generator->numbers.reset();
    return CURAND_STATUS_SUCCESS;
  });
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  return curand_call<"curandSetGeneratorOffset">([&] {
    if (!is_generator(generator)) return no_generator();
    generator->offset = offset;
    generator->numbers.reset();
    return CURAND_STATUS_SUCCESS;
  });
}
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order) {
  return curand_call<"curandSetGeneratorOrdering">([&] {
    if (!is_generator(generator)) return no_generator();
    return order >= CURAND_ORDERING_PSEUDO_BEST && order <= CURAND_ORDERING_PSEUDO_DYNAMIC
               ? CURAND_STATUS_SUCCESS
               : CURAND_STATUS_OUT_OF_RANGE;
  });
}
curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
  return curand_call<"curandGenerateSeeds">([&] {
    if (!is_generator(generator)) return no_generator();
    generator->begin();
    return CURAND_STATUS_SUCCESS;
  });
}

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned int* output, std::size_t n) {
  return curand_call<"curandGenerate">([&] {
    return generate(generator, output, n, false, [](auto* state) { return curand(state); });
  });
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* output, std::size_t n) {
  return curand_call<"curandGenerateUniform">([&] {
    return generate(generator, output, n, false, [](auto* state) { return curand_uniform(state); });
  });
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* output,
                                           std::size_t n) {
  return curand_call<"curandGenerateUniformDouble">([&] {
    return generate(generator, output, n, false,
                    [](auto* state) { return curand_uniform_double(state); });
  });
}
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* output, std::size_t n,
                                    float mean, float stddev) {
  return curand_call<"curandGenerateNormal">([&] {
    return generate(generator, output, n, true,
                    [=](auto* state) { return mean + stddev * curand_normal(state); });
  });
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* output,
                                          std::size_t n, double mean, double stddev) {
  return curand_call<"curandGenerateNormalDouble">([&] {
    return generate(generator, output, n, true,
                    [=](auto* state) { return mean + stddev * curand_normal_double(state); });
  });
}
curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* output, std::size_t n,
                                       float mean, float stddev) {
  return curand_call<"curandGenerateLogNormal">([&] {
    return generate(generator, output, n, true,
                    [=](auto* state) { return curand_log_normal(state, mean, stddev); });
  });
}
curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double* output,
                                             std::size_t n, double mean, double stddev) {
  return curand_call<"curandGenerateLogNormalDouble">([&] {
    return generate(generator, output, n, true,
                    [=](auto* state) { return curand_log_normal_double(state, mean, stddev); });
  });
}
curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned int* output,
                                     std::size_t n, double lambda) {
  return curand_call<"curandGeneratePoisson">([&] {
    if (!(lambda > 0)) return CURAND_STATUS_OUT_OF_RANGE;
    return generate(generator, output, n, false,
                    [=](auto* state) { return curand_poisson(state, lambda); });
  });
}
